"""A client that is a process of its own: ``python -m conformance.histories.worker``.

What it does it writes to a file, when it begins and when it is over, so that an operation in which it is
killed stays open there.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from ..clients.flavours import FLAVOURS
from .recorder import Log, RecordedQueue, Recorder
from .runs import consume, produce

__all__ = ["main"]


def main() -> None:
    """Puts or gets as luck has it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["producer", "consumer"])
    for name in ("url", "prefix", "queue", "client", "seed"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--flavour", choices=FLAVOURS, default="sync")
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--puts", type=int, default=0)
    given = parser.parse_args()
    made = FLAVOURS[given.flavour](given.queue, url=given.url, prefix=given.prefix)
    queue = RecordedQueue(made, Recorder(given.client, Log(given.file)), given.queue)
    luck = random.Random(f"{given.seed} {given.client}")  # noqa: S311  (nothing here is secret)
    if given.role == "producer":
        produce(queue, given.client, given.puts, luck)
    else:
        consume(queue, luck)
    queue.disconnect()


if __name__ == "__main__":
    main()
