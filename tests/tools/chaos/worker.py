"""A worker: ``python -m tests.tools.chaos.worker``. It puts values, or takes them, whatever happens.

A producer puts a value until it knows that the value is in the queue, or cannot know; then the next one. A
consumer receives until the queue is closed and empty. What they do they write down, see ``journal``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, Final

from conformance.clients.flavours import FLAVOURS, MAKERS

from .journal import Journal

__all__ = ["main", "patch_looks"]

REST: Final = 0.05
"""Seconds after an error of the connection."""

WORK: Final = 0.001
"""Seconds that a message takes."""


def produce(queue: Any, journal: Journal, name: str, first: int, count: int, rate: float) -> None:
    """Puts values at a rate; what could not be put in time is made up for."""
    import pressure

    begun = time.monotonic()
    for number in range(count):
        time.sleep(max(begun + number / rate - time.monotonic(), 0))
        value = f"{name}.{first + number}"
        while True:
            journal.note("putting", value)
            try:
                queue.put(value.encode())
            except pressure.OutcomeUnknownError as error:
                journal.note("error", type(error).__name__)
                break
            except pressure.PressureError as error:
                journal.note("error", type(error).__name__)
                time.sleep(REST)
            else:
                journal.note("put", value)
                break


def consume(queue: Any, journal: Journal) -> None:
    """Receives values until the queue is closed and empty."""
    import pressure

    while True:
        try:
            with queue.receive() as message:
                value = message.data.decode()
                journal.note("got", value)
                time.sleep(WORK)
            journal.note("done", value)
        except pressure.QueueClosedError:
            return
        except pressure.PressureError as error:
            journal.note("error", type(error).__name__)
            time.sleep(REST)


def patch_looks(seconds: float) -> None:
    """Has those who wait for a role look at its holder after so many seconds, and again after as many."""
    from pressure.protocol import liveness

    vars(liveness)["PROBE_INTERVAL"] = seconds


def main() -> None:
    """Works."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["producer", "consumer"])
    for name in ("url", "queue", "name"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--flavour", choices=FLAVOURS, required=True)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--lease", type=float, required=True)
    parser.add_argument("--looks", type=float)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--rate", type=float, default=1.0)
    given = parser.parse_args()
    if given.looks:
        patch_looks(given.looks)
    queue = MAKERS[given.flavour]("Queue", given.queue, url=given.url, lease=given.lease)
    journal = Journal(given.file)
    if given.role == "producer":
        produce(queue, journal, given.name, given.first, given.count, given.rate)
    else:
        consume(queue, journal)
    journal.note("over", given.name)
    queue.disconnect()


if __name__ == "__main__":
    main()
