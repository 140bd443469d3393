"""``python -m tests.tools.chaos.spark``: kills all that moves rows through Spark, and judges what came of it.

``pressure pipeline`` copies a queue into another while numbered rows are put. Every row that was put has to come out
once, and in the order in which it was put: in the target, or in the queue for rows that are not in the format. A server
that is rolled back by a second takes with it what was put in that second. Other rows may then be lost or come twice only if
the pipeline names them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from random import Random

from conformance.arguments import amount, as_program

from .run import Run

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.tools.chaos.spark",
        description="Copies rows from queue to queue with Spark, kills and freezes its driver, its workers, its executors and "
        "the server, rolls the server back, and has connections hang; then says whether a row was lost, or came twice.",
        epilog="Exit status: 0 all is well, 1 something is not.",
    )
    for name, type_, default, text in (
        ("seconds", amount, 3600.0, "for how many seconds harm is done"),
        ("rate", amount, 200.0, "rows put in a second"),
        (
            "pause",
            amount,
            5.0,
            "seconds from the first row that moves after a blow to the next blow, at most",
        ),
        ("seed", int, 0, "decides what is done"),
    ):
        made.add_argument(
            f"--{name}", type=type_, default=default, metavar="N", help=f"{text} (default: %(default)s)"
        )
    made.add_argument("--master", default="local[2,4]", help="where Spark runs (default: %(default)s)")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    given = parser().parse_args(arguments)
    with ExitStack() as stack:
        run = Run(stack, given.rate, given.master, Random(given.seed))  # noqa: S311  (nothing here is secret)
        run.harm(given.seconds, given.pause)
        run.drain()
        wrong = run.wrong()
    print(f"{len(run.feed.put):,} rows were put, and perhaps {len(run.feed.unknown):,} more", flush=True)
    for title, counts in (("blows", run.blows), ("ends of the pipeline", run.pipeline.ends)):
        print(f"{title}: {', '.join(f'{count} of {what}' for what, count in sorted(counts.items()))}")
    for name, what in run.by_rollbacks.items():
        print(f"by rollbacks of the server: {name}: {what}")
    print("\n".join(f"WRONG: {each}" for each in wrong) or "no row was lost, doubled or out of order")
    return 1 if wrong else 0


if __name__ == "__main__":
    as_program(main)
