"""Run operations on the server of a queue, over connections like those of ``pressure.Queue``.

An operation is run again while the server cannot be reached, for the seconds of the option ``retry``. So each
must be one that may be run twice; one that may not is run by ``ask_once``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from pressure.errors import (
    ConnectionFailedError,
    OutcomeUnknownError,
    PressureError,
    QueueDoesNotExistError,
    ServerReplyError,
)
from pressure.kinds.commands import pairs
from pressure.kinds.kind import KindContext
from pressure.kinds.reliable.base import BACKENDS
from pressure.kinds.reliable.delaying import move
from pressure.kinds.reliable.model import ReliableKeys
from pressure.kinds.reliable.operations import QueueState
from pressure.protocol.commands import check
from pressure.protocol.lua import Script
from pressure.protocol.operation import Batch, Command, Operation, Pause, Reply, ServerFacts
from pressure.protocol.scripts import NO_SCRIPTS, eval_script
from pressure.spark.lua import Step
from pressure.spark.options import Options
from pressure.spark.places import Places, places_of
from pressure.sync.driver import Driver
from pressure.text import printable

T = TypeVar("T")

#: Error replies of a server that may soon be fit.
_UNFIT: Final = frozenset({"LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY", "TRYAGAIN"})
#: What the server must be set to, so that it keeps what it has acknowledged.
_DURABLE: Final = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
#: The first and the longest pause (seconds) between two attempts.
SHORTEST: Final = 0.05
LONGEST: Final = 2.0

#: The possible types (TYPE) of a queue's main key, by kind; a reliable queue has two backends.
_TYPES: Final = {"backup": (b"list",), "reliable": (b"stream", b"Queue-EDU")}


def is_outage(error: PressureError) -> bool:
    """Whether an error means that the server cannot be reached, or cannot serve requests now."""
    if isinstance(error, ServerReplyError):
        return error.code in _UNFIT
    return isinstance(error, ConnectionFailedError | OutcomeUnknownError)


class QueueServer:
    """Runs scripts and commands on the server of one queue.

    Args:
        options: Name the queue.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.places: Places = places_of(options)
        self._context = KindContext(self.places.keys, ServerFacts(scripts=True))
        self._driver = Driver(options.where, self.places.keys)
        self._backend: str | None = None

    def script(self, script: Script, keys: Sequence[bytes], *args: bytes | str | int) -> Any:
        """Run a script.

        Raises:
            PressureError: The server runs no scripts, cannot be reached, or refused the script.
        """
        words = [arg.encode() if isinstance(arg, str) else arg for arg in args]
        reply = self.run(partial(eval_script, self._context.server, script, keys, *words))
        if reply is NO_SCRIPTS:
            raise PressureError(
                f"queue {self.places.keys}: pressure.spark needs Lua scripts, and this server runs none, or "
                "refuses them to this user: the guide has the rights that Spark needs, and ACL LOG says "
                "what was refused"
            )
        return reply

    def step(self, step: Step, keys: Sequence[bytes], *args: bytes | str | int) -> list[Any]:
        """Run the script of a step for this kind of queue."""
        reply: list[Any] = self.script(step.of(self.backend), (*keys, *self.places.all), *args)
        return reply

    def ask(self, *commands: Command) -> list[Reply]:
        """Run commands in one round trip; raises the error of the first that is refused."""
        return self.run(partial(_replies, commands))

    def ask_once(self, *commands: Command) -> list[Reply]:
        """Run commands in one round trip, and not again if the connection is lost."""
        return self._once(partial(_replies, commands))

    def reply_to(self, *command: bytes) -> Reply:
        """The reply to a command; an error is returned, not raised, except that of an outage."""
        return self.run(partial(_raw_replies, (command,)))[0]

    def pause(self, seconds: float) -> None:
        """Sleep."""
        self.run(partial(_sleep, seconds))

    def run(self, make: Callable[[], Operation[T]]) -> T:
        """Run an operation that may be run twice; again and again while the server cannot be reached.

        Raises:
            ConnectionFailedError: The server could not be reached for the seconds of the option ``retry``.
            ServerReplyError: The server refused a command. The text has the name of the queue.
        """
        began, pause = time.monotonic(), SHORTEST
        while True:
            try:
                return self._once(make)
            except PressureError as error:
                if not is_outage(error):
                    raise
                left = began + self.options.retry - time.monotonic()
                if left <= 0:
                    if self.options.retry:
                        error.add_note(f"it was tried for {self.options.retry:g} s")
                    raise
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST)

    def _once(self, make: Callable[[], Operation[T]]) -> T:
        try:
            return self._driver.run(make())
        except ServerReplyError as error:
            error.explain(str(self.places.keys))
            raise

    @property
    def backend(self) -> str:
        """The kind; for a reliable queue its backend, ``module`` or ``stream``. The server is asked once."""
        if self._backend is None:
            self._backend = self.places.kind
            if self._backend == "reliable":
                has = self.reply_to(b"TYPE", self.places.main) == b"Queue-EDU"
                self._backend = "module" if has else "stream"
        return self._backend

    def check(self, *, reading: bool = False) -> None:
        """Check that a queue of kind ``pressure`` exists, or that the key of another kind has the right type.

        Args:
            reading: Whether a queue of another kind must have messages now, or be known to Spark. Such a
                queue is made by its first message, and an empty list is no key: nothing else tells it from a
                wrong name.

        Raises:
            QueueDoesNotExistError: The queue was not created.
            PressureError: Its key holds something else, or the server cannot be reached.
        """
        if self.places.kind == "pressure":
            if not self.ask((b"EXISTS", self.places.main + b":bound"))[0]:
                raise QueueDoesNotExistError(f"queue {self.places.keys} does not exist; create it first")
            return
        known = (self.places.beside("source"), self.places.pending)
        kind, count = self.ask((b"TYPE", self.places.main), (b"EXISTS", *known))
        if reading and kind == b"none" and not count and self.options.missing == "fail":
            raise QueueDoesNotExistError(
                f"queue {self.places.keys} does not exist: there is no key {printable(self.places.main)}, so "
                "it never had a message or has none any more; missing=empty reads it as one without messages"
            )
        if kind not in (b"none", *_TYPES[self.places.kind]):
            raise PressureError(
                f"queue {self.places.keys}: its key holds a {kind.decode()}, so it is no "
                f"{self.places.kind} queue"
            )

    @property
    def run_id(self) -> str:
        """Identifies the process of the server; "" if it does not say."""
        found = self.reply_to(b"INFO", b"server")
        lines = found.decode(errors="replace").splitlines() if isinstance(found, bytes) else []
        return next((line.partition(":")[2] for line in lines if line.startswith("run_id:")), "")

    def weaknesses(self) -> str:
        """The settings, of those that the server tells, by which it may lose what it has acknowledged."""
        replies = (self.reply_to(b"CONFIG", b"GET", name.encode()) for name in _DURABLE)
        found = {
            name: reply[1].decode() for name, reply in zip(_DURABLE, replies, strict=True) if _told(reply)
        }
        return ", ".join(f"{name} {value}" for name, value in found.items() if value != _DURABLE[name])

    def length(self) -> int:
        """How many rows are in the queue at this moment."""
        return self.run(partial(_LENGTHS[self.backend], self.places.main))

    def move_due(self) -> None:
        """Make the delayed messages of a reliable queue that are due available to consumers."""
        backend = QueueState(ReliableKeys.of(self.places.main, b"workers"), BACKENDS[self.backend](), None)
        self.run(partial(move, self._context, backend))

    def close(self) -> None:
        """Close the connections."""
        self._driver.connections.disconnect()


def _told(reply: Reply) -> bool:
    return isinstance(reply, list) and len(reply) == 2


def _length_of_list(main: bytes) -> Operation[int]:
    return int((yield from _replies(((b"LLEN", main),)))[0])


def _length_of_stream(main: bytes) -> Operation[int]:
    """Includes messages that other consumers have not acknowledged."""
    return int((yield from _replies(((b"XLEN", main),)))[0])


def _length_of_module(main: bytes) -> Operation[int]:
    (reply,) = yield Batch(((b"MQ.QINFO", main),))
    if isinstance(reply, ServerReplyError) and reply.code == "EMPTYKEY":
        return 0
    return int(dict(pairs(check([reply])[0]))[b"undelivered-queue-length"])


_LENGTHS: Final[dict[str, Callable[[bytes], Operation[int]]]] = {
    "pressure": _length_of_list,
    "backup": _length_of_list,
    "stream": _length_of_stream,
    "module": _length_of_module,
}


def _replies(commands: Sequence[Command]) -> Operation[list[Reply]]:
    return check((yield Batch(tuple(commands))))


def _raw_replies(commands: Sequence[Command]) -> Operation[list[Reply]]:
    found = yield Batch(tuple(commands))
    for reply in found:
        if isinstance(reply, ServerReplyError) and is_outage(reply):
            raise reply
    return found


def _sleep(seconds: float) -> Operation[None]:
    yield Pause(seconds)
