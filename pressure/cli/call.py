"""One call of the command: its arguments, its connections, and functions that print its answers.

All subcommands import this module, so it imports what a queue needs only when one is opened.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import ExitStack
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

import pressure
from pressure.cli import formatting
from pressure.cli.stop import Signals, Stop, is_closed, output_closed
from pressure.text import printable

if TYPE_CHECKING:
    from pressure import BackupQueue, Queue, ReliableQueue, RingQueue
    from pressure.connections.settings import Settings
    from pressure.keys import QueueKeys
    from pressure.sync.driver import Driver

AnyQueue = TypeVar("AnyQueue", "Queue", "BackupQueue", "RingQueue", "ReliableQueue")

#: Options that say where the server is, and with what the keys begin.
WHERE: Final = ("url", "host", "port", "db", "prefix")


class Call:
    """The argument of every subcommand. The queues that it opens are disconnected when the command ends.

    Attributes:
        arguments: The parsed arguments.
        signals: Says whether SIGINT or SIGTERM has arrived.
    """

    def __init__(self, arguments: Namespace, signals: Signals, stack: ExitStack) -> None:
        self.arguments = arguments
        self.signals = signals
        self._stack = stack
        self._drivers: dict[bytes | None, Driver] = {}

    @property
    def where(self) -> dict[str, Any]:
        """Arguments for a queue that say where the server is; None for those that were not given."""
        given = {name: getattr(self.arguments, name, None) for name in WHERE}
        if given["prefix"] is not None:
            given["prefix"] = os.fsencode(given["prefix"])
        return given

    def queue(self, name: str, output: int | None = None) -> Queue:
        """A queue whose waits end when a signal arrives, or when the reader of ``output`` has gone."""
        heal = not getattr(self.arguments, "no_heal", False)
        return self.using(pressure.Queue(os.fsencode(name), **self.where, heal=heal), output)

    def using(self, queue: AnyQueue, output: int | None = None) -> AnyQueue:
        """A queue of any kind; its waits end as those of ``queue`` do."""

        def interrupt() -> Stop | None:
            if stop := self.signals.requested_stop():
                return stop
            return output_closed() if output is not None and is_closed(output) else None

        queue.interrupt = interrupt
        self._stack.callback(queue.disconnect)
        return queue

    @cached_property
    def settings(self) -> Settings:
        """Where the server is."""
        from pressure.connections.arguments import settings

        return settings(**self.where)

    def driver(self, tag: bytes | None = None, keys: QueueKeys | None = None) -> Driver:
        """A driver for the node that has these keys and all others with this hash tag; or for any node."""
        from pressure.sync.driver import Driver

        if tag not in self._drivers:
            driver = self._drivers[tag] = Driver(self.settings, keys)
            self._stack.callback(driver.connections.disconnect)
        return self._drivers[tag]


def write(text: str) -> None:
    """Print text. Bytes that are not UTF-8 (decoded with ``surrogateescape``) are printed unchanged."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def answer(text: str) -> None:
    """Print a line."""
    write(text + "\n")


def answer_json(value: object) -> None:
    """Print a value as one line of JSON."""
    answer(formatting.json_line(value))


def print_error(text: str) -> None:
    """Print text on standard error, always as one line."""
    tell(f"pressure: {printable(' '.join(line.strip() for line in text.splitlines()))}\n")


def tell(text: str) -> None:
    """Print text on standard error; discard it if its reader has gone or the disk is full.

    That does not change the exit status, on which a program may depend.
    """
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def discard(stream: IO[str]) -> None:
    """Discard what is written to a standard stream from now on, and what could not be written."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)
