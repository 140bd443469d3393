"""``python -m conformance.differential``: miniredis and a real Redis, or any two, request by request."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Final

from miniredis.engine.versions.version import DEFAULT, VERSIONS, version_named, versions_in

from ..arguments import add_seed, amount, as_program, count, one_of
from ..targets import NotInstalledError, real_redis, target_named
from ..wire import RawConnection
from .both import Both
from .coverage import Coverage, all_names
from .grammar import LEFT_OUT, Form, read_forms
from .pair import Pair
from .report import transcript
from .rival import RIVALS, rival_named
from .search import Found, Player, converse, of_seed
from .sizes import LARGEST
from .tolerated import TOLERATED

ENGINE: Final = "miniredis"
"""What is compared unless told otherwise: the engine, in this process."""

EXAMPLES: Final = 10
"""Conversations of one seed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status: 0 if nothing differed."""
    options = read_options(arguments)
    try:
        forms = forms_for(options)
        coverage, used = Coverage(), Counter[str]()
        with ExitStack() as up:
            player = players(options, coverage, used, up)
            found = look(player, coverage, forms, options)
    except (NotInstalledError, ValueError) as error:
        print(f"python -m conformance.differential: error: {error}", file=sys.stderr)
        return 2
    print("\n".join(summary(coverage, used, [form.name for form in forms])))
    if found:
        theirs = "redis-server" if options.target == ENGINE else options.against
        print(f"\nThe replies differ:\n\n{transcript(found, options.target, theirs)}")
    return int(found is not None)


def forms_for(options: argparse.Namespace) -> list[Form]:
    """The forms of the commands, as the real server of that version tells them; for 6.x, one of 7.0 does."""
    is_told = versions_in("7.2+").isdisjoint({version_named(options.version)})
    up = real_redis() if is_told else target_named(options.against).up()
    with up as address, RawConnection(address.host, address.port) as server:
        return read_forms(server, chosen(options))


def players(
    options: argparse.Namespace, coverage: Coverage, used: Counter[str], up: ExitStack
) -> Pair | Both:
    """The servers side by side, which ``up`` ends."""

    def beside_engine(name: str) -> Pair:
        rival = up.enter_context(rival_named(name))
        print(f"{ENGINE} beside {rival.origin}")
        pair = Pair(rival, coverage, used, options.version)
        up.callback(pair.close)
        return pair

    if options.target == ENGINE:
        return beside_engine(options.against)
    return Both(beside_engine(options.target), beside_engine(options.against))


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m conformance.differential",
        description="Sends the same made-up requests to two servers, miniredis and a real Redis by "
        "default, and compares each reply, byte by byte. Prints the shortest conversation in "
        "which they differ.",
        epilog="Exit status: 0 no reply differs, 1 one does, 2 wrong arguments, or a server is not there.",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=amount, metavar="M", help="run for so many minutes")
    length.add_argument(
        "--commands", type=count(1), metavar="N", help="run until N requests were sent (default: 20000)"
    )
    add_seed(parser, "which requests are made up first")
    parser.add_argument(
        "--version", default=DEFAULT.name, choices=VERSIONS,
        help="as which miniredis answers (default: %(default)s); name a real server of it with --against",
    )  # fmt: skip
    names = dict.fromkeys(name for version in VERSIONS for name in names_of_commands(version))
    name = one_of("command", list(names), "the command COMMAND LIST")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="COMMAND", type=name,
        help="send only these commands, such as lpush or 'client|list'",
    )  # fmt: skip
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="COMMAND", type=name, help="send all commands but these"
    )
    parser.add_argument(
        "--target", default=ENGINE, metavar="SERVER",
        help="one server (default: miniredis, without sockets): one of those for --against",
    )  # fmt: skip
    parser.add_argument(
        "--against", default="redis-server", metavar="SERVER",
        help=f"the other server (default: redis-server): {', '.join(RIVALS)}, where the last three are "
        "miniredis behind one of its loops or as server.client(); or a program like redis-server",
    )  # fmt: skip
    parser.add_argument(
        "--largest", type=count(0), default=LARGEST, metavar="BYTES",
        help="about how large some requests become; 0 for none (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--as-found", action="store_true", help="print a conversation that differs as it is, not shortened"
    )
    options = parser.parse_args(arguments)
    options.commands = options.commands or (0 if options.minutes else 20_000)
    if not chosen(options):
        parser.error("no command is left: --without has all commands of --only")
    return options


def names_of_commands(version: str = DEFAULT.name) -> list[str]:
    return [name for name in all_names(version) if name not in LEFT_OUT]


def chosen(options: argparse.Namespace) -> list[str]:
    names = [name for name in names_of_commands(options.version) if name not in options.without]
    return [name for name in names if name in options.only] if options.only else names


def look(
    player: Player, coverage: Coverage, forms: Sequence[Form], options: argparse.Namespace
) -> Found | None:
    """Goes from seed to seed until something differs, or there was enough."""
    began, number, found = time.monotonic(), options.seed, None

    def done() -> float:
        """How much of it is done, from 0 to 1."""
        spent = (time.monotonic() - began) / 60 if options.minutes else coverage.total
        return float(spent / (options.minutes or options.commands))

    def show() -> None:
        """Writes anew the line that tells how far it is."""
        rate = coverage.total / (time.monotonic() - began)
        line = f"{min(done(), 1.0):4.0%}  {coverage.total:,} requests, {rate:,.0f}/s "
        print(f"\r{line}", end="", file=sys.stderr)

    in_terminal = sys.stderr.isatty()
    while found is None and done() < 1:
        found = converse(
            player,
            *of_seed(forms, number),
            examples=EXAMPLES,
            shorten=not options.as_found,
            largest=options.largest,
            tick=show if in_terminal else lambda: None,
        )
        number += 1
    if in_terminal:
        print(file=sys.stderr)
    return found


def summary(coverage: Coverage, used: Counter[str], names: Sequence[str]) -> Iterable[str]:
    """A table of the outcomes that each command had, then those that it never had, and what was tolerated."""
    yield from coverage.lines(names)
    gaps = list(coverage.gaps(names))
    yield f"\n{coverage.total:,} requests of {len(names)} commands"
    yield "never seen: " + (", ".join(f"{name} {outcome}" for name, outcome in gaps) or "nothing")
    tolerated = [f"{row.name} {used[row.name]:,}" for row in TOLERATED if used[row.name]]
    yield f"tolerated differences (conformance/differential/tolerated.py): {', '.join(tolerated) or 'none'}"


if __name__ == "__main__":
    as_program(main)
