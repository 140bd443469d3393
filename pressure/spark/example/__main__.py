"""The example as a program: it brings up what it needs, and leaves Parquet files and a picture behind."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pressure import PressureError, Queue, QueueDoesNotExistError
from pressure.cli.options import positive_number
from pressure.extras import how_to_install
from pressure.spark import finish, session
from pressure.spark.errors import SetupError
from pressure.spark.pipeline import Plan, running, started
from pressure.spark.sessions import QUIET

from .chart import as_text, draw
from .lines import lines
from .steps import parsed, report

#: How many lines wait at most.
BOUND: Final = 10_000
TOGETHER: Final = 1000
LOG, REPORT = "access-log", "access-report"
"""The two queues."""


@dataclass(frozen=True, slots=True)
class Example:
    """What to do.

    Attributes:
        url: Where the queues are.
        folder: Where the results go.
        number: How many lines there are.
        master: Where Spark runs; None for where it says itself.
    """

    url: str
    folder: Path
    number: int
    master: str | None

    def run(self) -> list[dict[str, Any]]:
        """From the lines to the report, which is read from the second queue."""
        source = self._queue(LOG, BOUND)
        self._queue(REPORT, 0)
        spark = session("access log", self.master, spark__sql__session__timeZone="UTC", **QUIET)
        try:
            self._parse(spark, source)
            self._report(spark)
        finally:
            spark.stop()
        with Queue(REPORT, url=self.url) as queue:
            found = [json.loads(value) for value in queue.peek_many(25)]
        return sorted(found, key=lambda hour: -1 if hour["hour"] is None else int(hour["hour"]))

    def _queue(self, name: str, bound: int) -> Queue:
        """A new one, in place of what an earlier run left."""
        queue = Queue(name, url=self.url)
        try:
            queue.repair(force=True)
            queue.delete(timeout=10)
        except QueueDoesNotExistError:
            pass
        queue.create(bound)
        return queue

    def _parse(self, spark: Any, source: Queue) -> None:
        """Lines to Parquet, while they come."""
        plan = Plan(
            {"queue": LOG, "url": self.url, "format": "text"},
            str(self.folder / "requests.parquet"),
            str(self.folder / "checkpoint"),
            parsed,
            every=0.0,
        )
        putting = threading.Thread(target=self._put, daemon=True)
        putting.start()
        query, done = started(spark, plan), [0]
        for batch in running(query, lambda: sum(done) >= self.number):
            done.append(batch.rows)
            print(f"batch {batch.number}: {batch.rows} lines, {sum(done)} in all", flush=True)
        putting.join(10)
        finish(query, self.url)
        source.disconnect()

    def _put(self) -> None:
        with Queue(LOG, url=self.url) as queue:
            made = lines(self.number)
            while some := list(islice(made, TOGETHER)):
                queue.put_many(some)

    def _report(self, spark: Any) -> None:
        """Parquet to a report, which is Parquet and the values of a queue."""
        table = report(spark.read.parquet(str(self.folder / "requests.parquet"))).cache()
        table.write.mode("overwrite").parquet(str(self.folder / "report.parquet"))
        options = {"queue": REPORT, "url": self.url, "format": "json"}
        table.write.format("pressure").options(**options).mode("append").save()


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m pressure.spark.example",
        description="An example: sends the made-up access log of a web server through a bounded queue to "
        "Spark, which writes the requests and a report by the hour as Parquet files.",
        epilog="Exit status: 0 done, 2 wrong arguments, or the server or Spark is not there.",
    )
    parser.add_argument(
        "--lines",
        type=positive_number,
        default=100_000,
        metavar="N",
        help="lines of the log (default: %(default)s)",
    )
    parser.add_argument(
        "--url",
        metavar="URL",
        help="server of the queues, such as redis://127.0.0.1:6379/0 (default: miniredis in this process)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("access-log"), metavar="DIR",
        help="folder for the results (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--master", metavar="URL", help="where Spark runs (default: local[*])")
    chosen = parser.parse_args(argv)
    if (chosen.out / "checkpoint").exists():
        parser.error(f"{chosen.out} has the results of an earlier run: remove it, or name another with --out")
    try:
        Queue(LOG, url=chosen.url)  # it only reads the URL
        chosen.out.mkdir(parents=True, exist_ok=True)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    try:
        with server_at(chosen.url) as url:
            hours = Example(url, chosen.out.resolve(), chosen.lines, chosen.master).run()
    except (PressureError, SetupError) as error:
        print(error)
        return 2
    for text in told(hours, chosen.out):
        print(text)
    return 0


@contextmanager
def server_at(url: str | None) -> Iterator[str]:
    """The URL that was given, or that of a miniredis which runs as long as the block."""
    if url is not None:
        yield url
        return
    import miniredis  # only who gives no URL needs it

    with miniredis.start() as server:
        yield server.url


def told(hours: list[dict[str, Any]], out: Path) -> Iterator[str]:
    """The report for people; the picture is written by the way."""
    whole = [hour for hour in hours if hour.get("hour") is not None]
    broken = sum(hour["requests"] for hour in hours if hour.get("hour") is None)
    yield as_text(whole)
    try:
        draw(whole, out / "chart.svg")
        draw(whole, out / "chart-dark.svg", dark=True)
    except ImportError:
        yield f"there is no picture, since matplotlib is missing; {how_to_install('spark')}"
    yield f"{broken} lines are broken; requests, report and chart are in {out}"


if __name__ == "__main__":
    sys.exit(main())
