"""What each subcommand does: a function of the parsed arguments that returns the exit status.

To add one: a function here, and its parser in ``pressure.cli``.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pressure.cli.lines import LineWriter, read_lines
from pressure.cli.stop import Signals, Stop, is_closed, output_closed
from pressure.errors import QueueClosedError
from pressure.queue import Queue

DONE: Final = 0
NO: Final = 1


def create(queue: Queue, arguments: Namespace) -> int:
    """Create the queue."""
    queue.create(arguments.bound)
    return DONE


def length(queue: Queue, _: Namespace) -> int:
    """Print how many values are in the queue."""
    return _answer(queue.length())


def exists(queue: Queue, _: Namespace) -> int:
    """Print whether the queue exists."""
    return _answer(queue.exists())


def closed(queue: Queue, _: Namespace) -> int:
    """Print whether the queue is closed."""
    return _answer(queue.closed())


def close(queue: Queue, _: Namespace) -> int:
    """Close the queue."""
    with _stoppable(queue):
        queue.close()
    return DONE


def delete(queue: Queue, arguments: Namespace) -> int:
    """Delete the queue, waiting for those at work."""
    with _stoppable(queue):
        queue.delete(arguments.timeout)
    return DONE


def repair(queue: Queue, arguments: Namespace) -> int:
    """Free what the dead left taken, and print what was done and what was not."""
    with _stoppable(queue):
        report = queue.repair(arguments.force, arguments.role)
    _print(str(report))
    return NO if report.left else DONE


def put(queue: Queue, arguments: Namespace) -> int:
    """Put the lines of standard input."""
    with _stoppable(queue) as signals, _counting("put") as acknowledge:
        if arguments.create:
            queue.create(arguments.bound or 0)
        acks = LineWriter(sys.stdout.fileno(), signals) if arguments.acks else None
        for line in read_lines(sys.stdin.fileno(), signals):
            signals.check()
            queue.put(line, overfill=arguments.overfill)
            count = acknowledge()
            if acks:
                acks.write(b"%d" % count)
        if arguments.close:
            queue.close()
    return DONE


def get(queue: Queue, arguments: Namespace) -> int:
    """Write what is in the queue to standard output, a line each, until it is closed and empty."""
    output = sys.stdout.fileno()
    with _stoppable(queue, output) as signals, _counting("get") as acknowledge:
        lines = LineWriter(output, signals)
        while True:
            lines.wait_ready()
            try:
                line = queue.get()
            except QueueClosedError:
                break
            lines.write(line)
            acknowledge()
        if arguments.delete:
            queue.delete()
    return DONE


class _Counter:
    """Counts the lines that are safely where they belong."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> int:
        self.count += 1
        return self.count


@contextmanager
def _counting(command: str) -> Iterator[_Counter]:
    """Say on the way out, whichever it is, how many lines were acknowledged."""
    counter = _Counter()
    try:
        yield counter
    finally:
        sys.stderr.write(f"pressure {command}: {counter.count} lines acknowledged\n")


@contextmanager
def _stoppable(queue: Queue, output: int | None = None) -> Iterator[Signals]:
    """Let signals, and the closing of the output, stop the queue's operations before their next wait."""

    def wish() -> Stop | None:
        if stop := signals.wish():
            return stop
        return output_closed() if output is not None and is_closed(output) else None

    with Signals() as signals:
        queue.interrupt = wish
        try:
            yield signals
        finally:
            queue.interrupt = None


def _answer(value: int) -> int:
    """Print a number, or the answer to a question; the exit status says it too."""
    if isinstance(value, bool):
        _print("true" if value else "false")
        return DONE if value else NO
    _print(str(value))
    return DONE


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
