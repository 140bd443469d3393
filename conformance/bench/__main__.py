"""``python -m conformance.bench``: measures miniredis side by side with its peers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..arguments import amount, as_program, count, output_file
from ..arguments import unknown as nearest
from .chart import as_svg, groups_of
from .model import Outcome, Row
from .progress import shown
from .report import as_json, compared, markdown, table
from .rows import ROWS
from .runner import run
from .turns import QUICK, Effort

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m conformance.bench",
        description="Measures how fast miniredis is beside redis-server and others, which take turns.",
        epilog="Exit status: 0 every row whose programs are installed was measured, 1 a measurement "
        "failed, or with --strict a ratio missed its target, 2 wrong arguments.",
    )
    add = made.add_argument
    add("--rows", nargs="+", metavar="NAME", help="measure only these rows or groups of rows")
    add("--list", action="store_true", help="print the rows and their groups, and measure nothing")
    add("--quick", action="store_true", help="shorter runs of smaller sizes: some minutes in all")
    add("--strict", action="store_true", help="exit with status 1 if a ratio misses its target")
    add("--markdown", type=output_file, metavar="FILE", help="write the table to FILE, in Markdown")
    add("--json", type=output_file, metavar="FILE", help="write the results to FILE, in JSON")
    add(
        "--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"),
        help="instead: compare two files that --json has written, of two releases or commits",
    )  # fmt: skip
    add("--chart", type=chart_file, metavar="FILE", help="draw the ratios to FILE, as SVG")
    add("--pairs", type=count(1), metavar="N", help=f"turns of each row (default: {Effort().pairs})")
    add(
        "--seconds", type=amount, metavar="S",
        help=f"about how long each run takes (default: {Effort().seconds:g})",
    )  # fmt: skip
    add(
        "--size", type=amount, metavar="FACTOR",
        help="multiply the numbers of clients and the lengths of lists by FACTOR (default: 1)",
    )  # fmt: skip
    return made


def chart_file(word: str) -> Path:
    """A file for a chart, as an argument."""
    path = output_file(word)
    if path.suffix.lower() != ".svg":
        raise argparse.ArgumentTypeError(
            f"cannot draw {word}: a chart is SVG, so name a file that ends in .svg"
        )
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    if options.compare:
        for line in compared(*map(document, options.compare)):
            say(line)
        return 0
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
    if options.chart:
        draw(options.chart, outcomes)
    return status(outcomes, strict=options.strict)


def draw(file: Path, outcomes: Sequence[Outcome]) -> None:
    """Writes the chart, or says that there is nothing to draw."""
    if groups := groups_of(outcomes):
        file.write_text(as_svg(groups))
    else:
        say(f"--chart: {file} is not written, since none of these rows has a ratio")


def document(file: Path) -> Any:
    """What ``--json`` wrote into a file."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError) as error:
        parser().error(f"--compare: cannot read {file}: {error}")


def effort_of(options: argparse.Namespace) -> Effort:
    basis = QUICK if options.quick else Effort()
    return Effort(options.pairs or basis.pairs, options.seconds or basis.seconds, options.size or basis.size)


def chosen(names: Sequence[str] | None) -> list[Row]:
    """The rows that have one of the names, or are of a group that has; all if there are no names."""
    if not names:
        return list(ROWS.values())
    known = {row.name for row in ROWS.values()} | {row.group for row in ROWS.values()}
    if unknown := [name for name in names if name not in known]:
        parser().error(f"--rows: {nearest('row or group', unknown[0], known, '--list prints them')}")
    return [row for row in ROWS.values() if {row.name, row.group} & set(names)]


def status(outcomes: Sequence[Outcome], *, strict: bool) -> int:
    bad = {"failed", "missed"} if strict else {"failed"}
    return int(any(outcome.verdict in bad for outcome in outcomes))


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    as_program(main)
