"""``python -m conformance.pipeline``: judges histories in Parquet files, queue by queue."""

from __future__ import annotations

import argparse
import importlib.util
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..histories.model import Answer

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
        prog="python -m conformance.pipeline",
        description="Judges histories in Parquet files, queue by queue: in one process, or on Spark.",
        epilog="Exit status: 0 all is explained, 1 something is illegal, 2 bad arguments, or a file or a "
        "program is not there, 3 it cannot be told.",
    )
    add = made.add_argument
    add(
        "history",
        nargs="*",
        type=Path,
        metavar="HISTORY",
        help="Parquet files or folders of them; one history",
    )
    way = made.add_mutually_exclusive_group()
    way.add_argument(
        "--spark", action="store_true", default=None,
        help=f"on Spark, however small it is (default: from {SPARK_FROM:,} rows on, if it is installed)",
    )  # fmt: skip
    way.add_argument("--no-spark", dest="spark", action="store_false", help="in one process, however large")
    add("--master", default="local[*,4]", metavar="URL", help="where Spark runs (%(default)s)")
    add("--json", type=Path, metavar="FILE", help="write what was found there")
    add("--report", type=Path, metavar="DIR", help="write a page with it there, index.html")
    add("--from-jsonl", nargs="+", type=Path, metavar="FILE", help="write recordings as Parquet; needs --to")
    add("--sample", type=int, metavar="N", help="write a legal history of N operations; needs --to")
    add("--queues", type=int, default=1000, metavar="N", help="of the sample (%(default)s)")
    add("--to", type=Path, metavar="FILE", help="the Parquet file to write")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    writes = bool(options.from_jsonl or options.sample)
    if writes != bool(options.to) or writes == bool(options.history):
        parser().error("either histories to judge, or --from-jsonl or --sample with --to")
    if importlib.util.find_spec("pyarrow") is None:
        say("histories in Parquet files need pyarrow: install the extra 'spark'")
        return 2
    try:
        return written(options) if writes else told(checked(options), options)
    except (OSError, ValueError, MissingError) as error:
        say(f"{error}")
        return 2


class MissingError(Exception):
    """A program is not there."""


def written(options: argparse.Namespace) -> int:
    from .files import convert
    from .samples import write_sample

    if options.sample:
        write_sample(options.to, options.sample, options.queues)
    else:
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


def script() -> None:
    """Runs the command as a program: told to end, it takes what it started along."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())


if __name__ == "__main__":
    script()
