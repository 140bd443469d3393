"""One call of the command: its arguments, where the queues are, what signals do, and how it answers.

Every command imports this module, so that it imports redis-py only once a queue is asked for.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pressure
from pressure.cli import shown
from pressure.cli.stop import Signals, Stop, is_closed, output_closed
from pressure.text import printable

if TYPE_CHECKING:
    from pressure import BackupQueue, Queue, ReliableQueue, RingQueue
    from pressure.driver import Driver
    from pressure.keys import Located
    from pressure.settings import Settings

AnyQueue = TypeVar("AnyQueue", "Queue", "BackupQueue", "RingQueue", "ReliableQueue")

#: Options that say where the server is, and what the keys are called.
WHERE: Final = ("url", "host", "port", "db", "prefix")


class Call:
    """What a subcommand is given. Queues that it asks for are disconnected at the end.

    Attributes:
        arguments: What was parsed.
        signals: Says when to stop.
    """

    def __init__(self, arguments: Namespace, signals: Signals, stack: ExitStack) -> None:
        self.arguments = arguments
        self.signals = signals
        self._stack = stack
        self._drivers: dict[bytes | None, Driver] = {}

    @property
    def where(self) -> dict[str, Any]:
        """The arguments of a queue, as far as they were given."""
        given = {name: getattr(self.arguments, name, None) for name in WHERE}
        if given["prefix"] is not None:
            given["prefix"] = os.fsencode(given["prefix"])
        return given

    def queue(self, name: str, output: int | None = None) -> Queue:
        """A queue whose waits end when a signal comes, or when nobody reads the output any more."""
        heal = not getattr(self.arguments, "no_heal", False)
        return self.using(pressure.Queue(os.fsencode(name), **self.where, heal=heal), output)

    def using(self, queue: AnyQueue, output: int | None = None) -> AnyQueue:
        """A queue of any kind, likewise."""

        def wish() -> Stop | None:
            if stop := self.signals.wish():
                return stop
            return output_closed() if output is not None and is_closed(output) else None

        queue.interrupt = wish
        self._stack.callback(queue.disconnect)
        return queue

    @cached_property
    def settings(self) -> Settings:
        """Where the server is."""
        from pressure.arguments import settings

        return settings(**self.where)

    def driver(self, tag: bytes | None = None, keys: Located | None = None) -> Driver:
        """What asks the server that has these keys, and all others with the same hash tag; or any server."""
        from pressure.driver import Driver

        if tag not in self._drivers:
            driver = self._drivers[tag] = Driver(self.settings, keys)
            self._stack.callback(driver.connections.disconnect)
        return self._drivers[tag]


def write(text: str) -> None:
    """Print text; what stands for bytes that are not UTF-8 comes out as those bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def answer(text: str) -> None:
    """Print a line."""
    write(text + "\n")


def answer_json(value: object) -> None:
    """Print a line of JSON, for programs."""
    answer(shown.json_line(value))


def complain(text: str) -> None:
    """A line on standard error, one whatever is in it."""
    sys.stderr.write(f"pressure: {printable(' '.join(line.strip() for line in text.splitlines()))}\n")
