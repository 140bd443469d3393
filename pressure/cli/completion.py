"""``completion``: print the completion script for bash, zsh or fish, which is made from the parser.

The script gets the queue names from ``pressure ls --names``, with the options that say where the server is.

To add a shell: write a module in ``shells`` whose ``script`` makes the script from an ``Outline``, and add
its name to ``shells.SHELLS``.
"""

from __future__ import annotations

import argparse
import importlib
from dataclasses import dataclass
from typing import Any, Final

from pressure.cli.call import WHERE, Call, write
from pressure.cli.parser import parser
from pressure.cli.status import DONE

#: Arguments whose values are names of queues.
_QUEUES: Final = frozenset({"name", "names", "patterns", "target"})


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its flags, the name of its value (None if it has none), and the possible values."""

    flags: tuple[str, ...]
    help: str
    takes: str | None
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subcommand:
    """One subcommand.

    Attributes:
        name: Its name.
        help: Its purpose.
        options: Its options.
        queues: How many of its first words are names of queues; -1 if all are.
        choices: The possible values of its first word, if that is not a queue.
        between: Whether it takes a command between two ``--``.
    """

    name: str
    help: str
    options: tuple[Option, ...]
    queues: int
    choices: tuple[str, ...]
    between: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """The whole command line.

    Attributes:
        where: The flags that say where the server is; each takes a value.
        options: The options before the subcommand.
        commands: The subcommands.
    """

    where: tuple[str, ...]
    options: tuple[Option, ...]
    commands: tuple[Subcommand, ...]


def outline(parser: argparse.ArgumentParser) -> Outline:
    """The outline of a parser."""
    (subparsers,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    helps = {each.dest: each.help or "" for each in subparsers._choices_actions}
    commands = (_subcommand(name, helps[name], sub) for name, sub in subparsers.choices.items())
    return Outline(tuple(f"--{name}" for name in WHERE), _options(parser), tuple(commands))


def _options(parser: argparse.ArgumentParser) -> tuple[Option, ...]:
    return tuple(
        Option(tuple(each.option_strings), each.help or "", _takes(each), _choices(each))
        for each in parser._actions
        if each.option_strings
    )


def _takes(action: argparse.Action) -> str | None:
    if action.nargs == 0:
        return None
    return str(action.metavar or action.dest).upper()


def _choices(action: argparse.Action) -> tuple[str, ...]:
    return tuple(action.choices or ())


def _subcommand(name: str, about: str, parser: Any) -> Subcommand:
    words = [each for each in parser._actions if not each.option_strings]
    queues = [each for each in words if each.dest in _QUEUES]
    many = any(each.nargs == "*" for each in queues)
    choices = _choices(words[0]) if words else ()
    return Subcommand(
        name, about, _options(parser), -1 if many else len(queues), choices, parser.between is not None
    )


def completion(call: Call) -> int:
    """Print the completion script for a shell."""
    shell = importlib.import_module(f"pressure.cli.shells.{call.arguments.shell}")
    write(shell.script(outline(parser())))
    return DONE
