"""One call of the command: its arguments, where the queues are, what signals do, and how it answers."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any, Final

from pressure.cli.stop import Signals, Stop, is_closed, output_closed
from pressure.connection import Settings, settings
from pressure.driver import Driver
from pressure.protocol import Diagnosis
from pressure.queue import Queue
from pressure.survey import survey

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

    @property
    def where(self) -> dict[str, Any]:
        """The arguments of a queue, as far as they were given."""
        given = {name: getattr(self.arguments, name, None) for name in WHERE}
        if given["prefix"] is not None:
            given["prefix"] = os.fsencode(given["prefix"])
        return given

    def queue(self, name: str, output: int | None = None) -> Queue:
        """A queue whose waits end when a signal comes, or when nobody reads the output any more."""

        def wish() -> Stop | None:
            if stop := self.signals.wish():
                return stop
            return output_closed() if output is not None and is_closed(output) else None

        queue = self._stack.enter_context(Queue(os.fsencode(name), **self.where))
        queue.interrupt = wish
        return queue

    @cached_property
    def settings(self) -> Settings:
        """Where the server is."""
        return settings(**self.where)

    @cached_property
    def _driver(self) -> Driver:
        driver = Driver(self.settings)
        self._stack.callback(driver.connections.disconnect)
        return driver

    def look(self, names: Sequence[str] = ()) -> list[Diagnosis]:
        """The queues with these names, or all of them, at this moment; without those that are not there."""
        only = [os.fsencode(name) for name in names]
        return self._driver.run(survey(self.settings.prefix, only or None))


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
    answer(json.dumps(value, ensure_ascii=False))


def complain(text: str) -> None:
    """A line on standard error, one whatever is in it."""
    sys.stderr.write(f"pressure: {' '.join(text.split())}\n")
