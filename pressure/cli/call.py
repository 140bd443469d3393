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

from pressure.arguments import settings
from pressure.cli.stop import Signals, Stop, is_closed, output_closed
from pressure.driver import Driver
from pressure.keys import Keys
from pressure.protocol import Diagnosis
from pressure.queue import Queue
from pressure.settings import Settings
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

    def _driver(self, tag: bytes | None = None, keys: Keys | None = None) -> Driver:
        """What asks the server that has these keys, and all others with the same hash tag; or any server."""
        if tag not in self._drivers:
            driver = self._drivers[tag] = Driver(self.settings, keys)
            self._stack.callback(driver.connections.disconnect)
        return self._drivers[tag]

    def look(self, names: Sequence[str] = ()) -> list[Diagnosis]:
        """The queues with these names, or all of them, at this moment; without those that are not there."""
        prefix = self.settings.prefix
        if not names:
            return self._driver().run(survey(prefix))
        queues = [Keys.of(os.fsencode(name), prefix) for name in names]
        found: dict[bytes, Diagnosis] = {}
        for tag in dict.fromkeys(keys.hash_tag for keys in queues):
            some = [keys for keys in queues if keys.hash_tag == tag]
            driver = self._driver(tag, some[0])
            seen = driver.run(survey(prefix, [keys.name for keys in some]))
            found.update((each.queue, each) for each in seen)
        return [found[keys.name] for keys in queues if keys.name in found]


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
