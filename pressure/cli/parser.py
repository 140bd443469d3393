"""The parser of the command line, made from the table of subcommands.

It accepts two things that argparse does not: options between positional arguments, and a command between two
``--``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from pressure.cli.options import GOES_WITH, JSON, WHERE, Arguments
from pressure.cli.status import statuses_as_text
from pressure.cli.table import COMMANDS

_EPILOG: Final = f"""\
example:
  pressure create jobs --bound 1000
  seq 1 5 | pressure put jobs --close &
  pressure get jobs --delete

'pressure COMMAND --help' has the options of a command.

where the server is, the first of these that is given:
  --url
  --host, --port and --db
  the environment variable REDIS_URL (with --db, another database of that server)
  the environment variables REDIS_SERVER, REDIS_PORT and REDIS_DB
  127.0.0.1, port 6379, database 0
Without --prefix, keys begin with the environment variable PRESSURE_PREFIX, or else with __pressure__.

put, get and pipe print on standard error how many messages were acknowledged, also when they fail.

exit status:
{statuses_as_text()}
"""
_SUB_EPILOG: Final = "'pressure --help' explains the exit statuses, and where the server is by default.\n"


class _Version(argparse.Action):
    """Prints the version, and looks it up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        sys.stdout.write(f"pressure {version('pressure-queues')}\n")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line.

    Attributes:
        between: The name of the argument that is written between two ``--``; None if there is none.
    """

    between: str | None = None
    _inside = False

    def __init__(self, **kwargs: Any) -> None:
        kwargs.update(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
        super().__init__(**kwargs)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where the help is, and exit with status 2."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())}; see {self.prog} --help\n")


class SubParser(Parser):
    """The parser of a subcommand; options may be written between its positional arguments."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but take the words after ``--`` as they are."""
        if self._inside:
            return super().parse_known_args(args, namespace)
        words, between = self._split_at_command(list(args or ()))
        at = words.index("--") if "--" in words else len(words)
        after = words[at + 1 :]
        # argparse would drop the first word after --, or take it for an option, so it parses placeholders
        hidden = [f"{_PLACEHOLDER}{number}" for number in range(len(after))]
        self._inside = True
        found, extras = self.parse_known_intermixed_args([*words[:at], *hidden], namespace)
        for name, value in vars(found).items():
            setattr(found, name, _words_restored(value, after))
        if self.between:
            setattr(found, self.between, between)
        if extras:
            self.error(f"unrecognized arguments: {' '.join(extras)}")
        return found, extras

    def _split_at_command(self, words: list[str]) -> tuple[list[str], list[str]]:
        """The words outside the first and the last ``--``, and the words between them."""
        if not self.between or (words.count("--") < 2 and not {"-h", "--help"}.isdisjoint(words)):
            return words, []
        if words.count("--") < 2:
            self.error("write the command between two --, as in: pressure pipe QUEUE -- COMMAND -- QUEUE_OUT")
        first, last = words.index("--"), len(words) - 1 - words[::-1].index("--")
        if first + 1 == last:
            self.error("there is no command between the two --")
        return [*words[:first], *words[last + 1 :]], words[first + 1 : last]


#: Begins a placeholder for a word after ``--``; a word of a command line cannot contain NUL.
_PLACEHOLDER: Final = "\0"


def _words_restored(value: Any, after: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_words_restored(each, after) for each in value]
    if isinstance(value, str) and value.startswith(_PLACEHOLDER):
        return after[int(value.removeprefix(_PLACEHOLDER))]
    return value


def parser(words: Sequence[str] | None = None) -> Parser:
    """The parser of the whole command line.

    Args:
        words: what it is to parse. Subcommands that are not among them get no arguments, to save the time.
            None: all get theirs.
    """
    where = SubParser(add_help=False, argument_default=argparse.SUPPRESS)
    _add(where, WHERE)
    whole = Parser(
        prog="pressure",
        description="Queues between processes and machines, on any Redis server.",
        epilog=_EPILOG,
        parents=[where],
    )
    version = "print the version and end"
    whole.add_argument("--version", nargs=0, action=_Version, default=argparse.SUPPRESS, help=version)
    subparsers = whole.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=SubParser, prog="pressure"
    )
    for name, command in COMMANDS.items():
        if words is not None and name not in words:
            subparsers.add_parser(name, help=command.help, add_help=False)
            continue
        sub = subparsers.add_parser(
            name,
            help=command.help,
            description=f"{command.help[0].upper()}{command.help[1:]}.",
            epilog=_SUB_EPILOG,
            parents=[where],
            usage=command.usage,
        )
        sub.between = command.between
        _add(sub, command.arguments)
        if command.json:
            _add(sub, JSON)
        # since -0 is an option, argparse would take -1 for an option, too, and not for a value
        sub._has_negative_number_optionals.clear()
    return whole


def _add(target: argparse.ArgumentParser, arguments: Arguments) -> None:
    for flags, told_of_it in arguments.items():
        target.add_argument(*flags.split(), **told_of_it)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments. Raises ValueError for options that exclude each other."""
    words = sys.argv[1:] if argv is None else argv
    found = parser(words).parse_args(words)
    if getattr(found, "bound", None) is not None and not getattr(found, "create", True):
        raise ValueError("--bound works only with --create")
    if COMMANDS[found.command].by_kind:
        _check_kind(found)
    return found


def _check_kind(found: argparse.Namespace) -> None:
    for name, kinds in GOES_WITH.items():
        if getattr(found, name, None) not in (None, False) and found.kind not in kinds:
            wanted = " or ".join(f"--kind {kind}" for kind in kinds)
            raise ValueError(f"--{name.replace('_', '-')} works only with {wanted}, not --kind {found.kind}")
