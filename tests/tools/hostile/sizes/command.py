"""``python -m tests.tools.hostile --sizes``: grows every argument of every command beside a real Redis."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance.arguments import amount, count
from miniredis.testing.real_servers import NotInstalledError

from .excuses import EXCUSES, Excuse, excuse_for
from .growths import Growth, growths
from .judge import Curve, merged, verdict
from .race import Budget, Race
from .servers import GoneError, parties

__all__ = ["Outcome", "main", "run"]

DEFAULT: Final = Budget()

MORE: Final = 3
"""How often a growth that would be convicted is measured again; the best of each size counts."""


@dataclass(slots=True)
class Outcome:
    """What a run found.

    Attributes:
        tried: how many growths were tried.
        convicted: the names of those that stand outside the table, with what is wrong.
        excused: those that stand in it.
        used: the rows of the table that were needed.
        tried_excuses: the rows that could have been, at sizes as large as asked for.
    """

    tried: int = 0
    convicted: dict[str, str] = field(default_factory=dict)
    excused: dict[str, str] = field(default_factory=dict)
    used: set[Excuse] = field(default_factory=set)
    tried_excuses: set[Excuse] = field(default_factory=set)

    def note(self, growth: Growth, curve: Curve) -> str:
        """Judges a curve; returns what is wrong."""
        self.tried += 1
        excuse, wrong = excuse_for(growth.command, growth.what), verdict(curve)
        if excuse is not None and curve.is_whole:
            self.tried_excuses.add(excuse)
        if is_convicted(growth, curve):
            self.convicted[growth.name] = wrong
        elif wrong and excuse is not None:
            self.used.add(excuse)
            self.excused[growth.name] = wrong
        return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status: 0 if nothing stands outside the table of excuses."""
    options = read_options(arguments)
    chosen = pick(growths(), options)
    if not any(chosen.values()):
        print("nothing to grow: no command or argument has such a name (--list prints them)", file=sys.stderr)
        return 2
    if options.list:
        for each in (growth for many in chosen.values() for growth in many):
            print(each.name)
        return 0
    budget = Budget(options.largest, options.seconds, options.building, options.memory << 20)
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # the servers end with this process
    try:
        with parties() as both:
            outcome = run(Race(both, budget), chosen, options.verbose)
    except (NotInstalledError, GoneError) as error:
        print(error, file=sys.stderr)
        return 2
    passed = time.monotonic() - began
    print(f"{outcome.tried:,} growths of {len(chosen)} commands, up to {budget.largest:,}; {passed:.0f} s")
    for name, wrong in outcome.excused.items():
        print(f"  excused  {name}: {wrong}")
    complete = budget.largest >= DEFAULT.largest
    idle = [row for row in EXCUSES if complete and row in outcome.tried_excuses - outcome.used]
    for row in idle:
        print(f"  an excuse that is not needed any more: {', '.join(sorted(row.commands))} {row.what}")
    print(f"{len(outcome.convicted)} outside the table")
    return int(bool(outcome.convicted or idle))


def run(race: Race, chosen: Mapping[str, Sequence[Growth]], verbose: bool = False) -> Outcome:
    """All growths of some commands; what is convicted is printed as it is found."""
    outcome = Outcome()
    for done, (command, several) in enumerate(chosen.items()):
        for number, growth in enumerate(several):
            show(f"{done}/{len(chosen)} commands; {command} {number}/{len(several)}: {growth.what}")
            curve = measured(race, growth)
            wrong = outcome.note(growth, curve)
            show("")
            if wrong and growth.name in outcome.convicted:
                print(f"{growth.name}\n    {wrong}\n    {figures(curve)}", flush=True)
            elif verbose:
                print(f"{growth.name}\n    {figures(curve)}", flush=True)
    return outcome


def measured(race: Race, growth: Growth) -> Curve:
    """The curve of a growth; what would be convicted is measured again, since other programs slow it down."""
    curve = race.run(growth)
    for _ in range(MORE):
        if not is_convicted(growth, curve):
            break
        curve = merged(curve, race.run(growth))
    return curve


def is_convicted(growth: Growth, curve: Curve) -> bool:
    """Whether something is wrong with a growth that the table does not excuse."""
    excuse, wrong = excuse_for(growth.command, growth.what), verdict(curve)
    return bool(wrong) and not (excuse is not None and excuse.allows(wrong))


def figures(curve: Curve) -> str:
    """The curve in a line: size, milliseconds of both, and MiB of both."""
    told = [
        f"{step.size:,}: "
        + (f"{step.ours.seconds * 1000:.1f} ms {step.ours.memory >> 20} MiB" if step.ours else "-")
        + f" / {step.theirs.seconds * 1000:.1f} ms {step.theirs.memory >> 20} MiB"
        for step in curve.steps[-4:]
    ]
    return "; ".join([*told, *([curve.ended] if curve.ended else [])])


def pick(found: Mapping[str, list[Growth]], options: argparse.Namespace) -> dict[str, list[Growth]]:
    """The growths that are asked for."""
    names = [name.lower().replace(" ", "|") for name in options.commands]
    return {
        name: [growth for growth in several if options.only in growth.what]
        for name, several in found.items()
        if several and (not names or name in names)
    }


def show(line: str) -> None:
    """The line of progress, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{line[:100]}")
        sys.stderr.flush()


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.hostile --sizes",
        description="Grows each argument of every command by orders of magnitude, beside a redis-server, "
        "and prints what takes more than 20 times as long or as much memory as there at the "
        "largest size, or grows faster. Known cases are excused, each with its reason, in "
        "tests/tools/hostile/sizes/excuses.py.",
        epilog="Exit status: 0 every finding is excused, 1 one is not, or an excuse is not needed any more; "
        "2 wrong arguments, or there is no redis-server.",
    )
    parser.add_argument("commands", nargs="*", help="grow only these commands, such as lrem or client|kill")
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="grow only arguments whose name, as in --list, has TEXT in it",
    )
    parser.add_argument(
        "--largest", type=count(1), default=DEFAULT.largest, metavar="N",
        help="the largest size (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=amount, default=DEFAULT.seconds, metavar="S",
        help="longest time for one request: sizes that would take longer are not tried, and a request that "
        "does is a finding where Redis took a twentieth of it (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--building", type=amount, default=DEFAULT.building, metavar="S",
        help="longest time for filling both servers before a request (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--memory", type=count(1), default=DEFAULT.memory >> 20, metavar="MIB",
        help="most memory for one request on either server: larger ones are not tried (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print what would be grown, and measure nothing")
    parser.add_argument("--verbose", action="store_true", help="print every measurement")
    return parser.parse_args(arguments)
