"""``python -m conformance.histories.parquet``: judges histories in Parquet files, queue by queue."""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pressure.extras import how_to_install

from ...arguments import as_program, output_file
from ..model import Answer

if TYPE_CHECKING:
    from .summary import Summary

__all__ = ["SPARK_FROM", "main"]

SPARK_FROM: Final = 5_000_000
"""Rows from which on Spark judges, where it is installed.

Measured on two processors with a thousand queues: 3,000,000 operations take 24 s in one process, and in Spark
8 s to start and 30 s; 10,000,000 take 133 s in one process, and 87 s in a Spark that has warmed up.
"""

STATUS: Final[Mapping[Answer, int]] = {"ok": 0, "illegal": 1, "unknown": 3}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m conformance.histories.parquet",
        description="Judges a history in Parquet files, queue by queue: whether correct queues can have "
        "given the results that clients got. Works in one process, or on Spark.",
        epilog="Exit status: 0 ok, 1 illegal: no correct queue gives these results, 2 wrong arguments, or a "
        "file or a program is not there, 3 unknown: it cannot be decided.",
    )
    add = made.add_argument
    add(
        "history",
        nargs="*",
        type=Path,
        metavar="HISTORY",
        help="Parquet file, or folder of them; several are one history",
    )
    way = made.add_mutually_exclusive_group()
    way.add_argument(
        "--spark", action="store_true", default=None,
        help=f"use Spark, however small the history is (default: from {SPARK_FROM:,} rows on, if PySpark is "
        "installed)",
    )  # fmt: skip
    way.add_argument(
        "--no-spark", dest="spark", action="store_false",
        help="use this process only, however large the history is",
    )  # fmt: skip
    add("--master", default="local[*,4]", metavar="URL", help="where Spark runs (default: %(default)s)")
    add("--json", type=output_file, metavar="FILE", help="write the verdicts to FILE, in JSON")
    add("--report", type=Path, metavar="DIR", help="write a report in HTML to DIR/index.html")
    add(
        "--from-jsonl", nargs="+", type=Path, metavar="FILE",
        help="instead: convert histories in JSON Lines to Parquet, into the file of --to",
    )  # fmt: skip
    add("--to", type=output_file, metavar="FILE", help="Parquet file for --from-jsonl")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    converts = bool(options.from_jsonl)
    if converts != bool(options.to) or converts == bool(options.history):
        parser().error("give either a HISTORY to judge, or --from-jsonl together with --to")
    if importlib.util.find_spec("pyarrow") is None:
        say(f"Parquet files need pyarrow, which is not installed: {how_to_install('spark')}")
        return 2
    try:
        return written(options) if converts else told(checked(options), options)
    except (OSError, ValueError, MissingError) as error:
        say(f"{error}")
        return 2


class MissingError(Exception):
    """A program is not there."""


def written(options: argparse.Namespace) -> int:
    from .files import convert

    say(f"{convert(options.from_jsonl, options.to):,} operations")
    return 0


def checked(options: argparse.Namespace) -> Summary:
    from .alone import check_alone

    if not on_spark(options):
        return check_alone(options.history)
    from .session import MissingSparkError, session

    try:
        with session(options.master) as spark:
            from .cluster import check_on_spark

            return check_on_spark(spark, options.history)
    except MissingSparkError as error:
        raise MissingError(str(error)) from error


def on_spark(options: argparse.Namespace) -> bool:
    """Whether Spark is to judge."""
    from .files import rows_in

    if options.spark is not None:
        return bool(options.spark)
    return rows_in(options.history) >= SPARK_FROM and importlib.util.find_spec("pyspark") is not None


def told(summary: Summary, options: argparse.Namespace) -> int:
    from .page import write_page
    from .report import as_json, lines

    for line in lines(summary):
        say(line)
    if options.json:
        options.json.write_text(json.dumps(as_json(summary), indent=1) + "\n")
    if options.report:
        say(f"{write_page(summary, options.report)}")
    return STATUS[summary.answer]


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    as_program(main)
