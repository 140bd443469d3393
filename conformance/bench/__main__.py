"""``python -m conformance.bench``: measures miniredis side by side with its peers."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from .chart import draw
from .guard import accept
from .model import QUICK, Effort, MissingError, Outcome, Row
from .progress import shown
from .report import as_json, markdown, table
from .rows import ROWS
from .runner import run

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m conformance.bench",
        description="Measures miniredis side by side with redis-server and others, in alternation.",
        epilog="Exit status: 0 all that is here could be measured, 1 something went wrong or (--strict) a "
        "target is missed, 2 bad arguments.",
    )
    add = made.add_argument
    add("--rows", nargs="+", metavar="NAME", help="only these rows or groups of rows")
    add("--list", action="store_true", help="print the rows, and measure nothing")
    add("--quick", action="store_true", help="about a minute in all")
    add("--strict", action="store_true", help="a missed target is an error")
    add("--markdown", type=Path, metavar="FILE", help="write the table there, in Markdown")
    add("--json", type=Path, metavar="FILE", help="write the outcomes there")
    add(
        "--accept",
        action="store_true",
        help="accept what requests cost now, in instructions; measure nothing",
    )
    add("--chart", type=Path, metavar="FILE", help="draw the ratios there, PNG or SVG (needs matplotlib)")
    add("--pairs", type=int, metavar="N", help="turns of each row")
    add("--seconds", type=float, metavar="S", help="about how long a run takes")
    add("--size", type=float, metavar="FACTOR", help="what crowds and long lists are scaled by")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    if options.accept:
        return accept_costs()
    rows = chosen(options.rows)
    if options.list:
        for row in rows:
            say(f"{row.name} [{row.group}; {row.reference or 'by itself'}; {row.target}] {row.what}")
        return 0
    effort = effort_of(options)
    with shown(rows, effort) as progress:
        outcomes = run(rows, effort, progress)
    for line in table(outcomes):
        say(line)
    if options.markdown:
        options.markdown.write_text("\n".join(markdown(outcomes)) + "\n")
    if options.json:
        options.json.write_text(json.dumps(as_json(outcomes, effort), indent=1, ensure_ascii=False) + "\n")
    drawn = options.chart is None or draw_chart(outcomes, options.chart)
    return max(status(outcomes, strict=options.strict), int(not drawn))


def accept_costs() -> int:
    """Writes down what the guard of the tests goes by."""
    for name, count in accept().items():
        say(f"{name}: {count:g} instructions per command")
    return 0


def draw_chart(outcomes: Sequence[Outcome], file: Path) -> bool:
    """Draws, or says why not; tells whether it did."""
    try:
        draw(outcomes, file)
    except (MissingError, ValueError) as error:
        say(f"{file} is not drawn: {error}")
        return False
    return True


def effort_of(options: argparse.Namespace) -> Effort:
    basis = QUICK if options.quick else Effort()
    return Effort(options.pairs or basis.pairs, options.seconds or basis.seconds, options.size or basis.size)


def chosen(names: Sequence[str] | None) -> list[Row]:
    """The rows that have one of the names, or are of a group that has; all if there are no names."""
    if not names:
        return list(ROWS.values())
    known = {row.name for row in ROWS.values()} | {row.group for row in ROWS.values()}
    if unknown := [name for name in names if name not in known]:
        parser().error(f"no row or group {unknown[0]!r}; --list shows them")
    return [row for row in ROWS.values() if {row.name, row.group} & set(names)]


def status(outcomes: Sequence[Outcome], *, strict: bool) -> int:
    bad = {"failed", "missed"} if strict else {"failed"}
    return int(any(outcome.verdict in bad for outcome in outcomes))


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def script() -> None:
    """Runs the command as a program: told to end, it takes the servers it started along."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())


if __name__ == "__main__":
    script()
