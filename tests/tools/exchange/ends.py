"""The two ends of an exchange, each a process of its own: ``python -m tests.tools.exchange.ends``.

What an end has done it writes to a file, a number at a time, so that nothing is forgotten when it is killed:
the producer what was acknowledged, the consumer what it worked on. The producer goes on behind the last
number that was acknowledged; the one after it may be in the queue already, and then comes twice.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pressure import Queue, QueueClosedError

__all__ = ["NUMBER", "Role", "numbers"]

Role: TypeAlias = Literal["producer", "consumer"]

NUMBER: Final = 8
"""Bytes of a number in the files."""


class Log:
    """A file of numbers that outlives its process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, number: int) -> None:
        """One more; it is not lost when the process is killed after it."""
        os.write(self._file, number.to_bytes(NUMBER, "big"))


def numbers(path: Path) -> list[int]:
    """What a log has."""
    data = path.read_bytes() if path.exists() else b""
    return [int.from_bytes(data[at : at + NUMBER], "big") for at in range(0, len(data), NUMBER)]


def produce(queue: Queue, log: Path, messages: int) -> None:
    """Puts the numbers that are not acknowledged yet, and closes the queue."""
    acknowledged, done = Log(log), numbers(log)
    if queue.closed():
        return
    for number in range(done[-1] + 1 if done else 0, messages):
        queue.put(b"%d" % number)
        acknowledged.add(number)
    queue.shutdown()


def consume(queue: Queue, log: Path, _: int) -> None:
    """Works on what comes, until the queue is closed and empty."""
    worked_on = Log(log)
    while True:
        try:
            with queue.receive() as message:
                worked_on.add(int(message.data))
        except QueueClosedError:
            return


ENDS: Final[Mapping[str, Callable[[Queue, Path, int], None]]] = {"producer": produce, "consumer": consume}


def repaired(queue: Queue, role: Role, notes: Path, *, force: bool) -> None:
    """Has the role of the end that died freed, however long that takes; notes what was done."""
    begin, done = time.monotonic(), list[str]()
    while True:
        report = queue.repair(force=force, role=role)
        done += report.done
        if not report.left:
            break
    with notes.open("a") as file:
        file.write(json.dumps({"seconds": time.monotonic() - begin, "done": done}) + "\n")


def main() -> None:
    """One end, from where it stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=ENDS)
    for name in ("url", "prefix"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--messages", type=int, required=True)
    for name in ("plain", "again", "force"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args()
    folder: Path = given.folder
    with Queue("exchange", url=given.url, prefix=given.prefix, scripts=not given.plain) as queue:
        if given.again:
            repaired(queue, given.role, folder / "repairs", force=given.force)
        ENDS[given.role](queue, folder / given.role, given.messages)


if __name__ == "__main__":
    main()
