"""Asking the server: an operation at a time, over connections like those of any queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from pressure.driver import Driver
from pressure.errors import PressureError, QueueDoesNotExistError, ServerReplyError
from pressure.kinds.asking import pairs
from pressure.kinds.kind import KindContext
from pressure.kinds.reliable.carrying import BACKENDS
from pressure.kinds.reliable.delaying import move
from pressure.kinds.reliable.model import ReliableKeys
from pressure.kinds.reliable.operations import Carried
from pressure.protocol.lua import Script
from pressure.protocol.scripted import NO_SCRIPTS, evaluated
from pressure.protocol.steps import Batch, Command, Operation, Pause, Reply, Server, check
from pressure.spark.lua import Step
from pressure.spark.options import Options
from pressure.spark.places import Places, places_of

T = TypeVar("T")

__all__ = ["Asking"]

#: The type of a queue's main key, by kind; of a reliable queue by what carries it.
_TYPES: Final = {"backup": (b"list",), "reliable": (b"stream", b"Queue-EDU")}


class Asking:
    """Runs scripts and commands on the server of one queue.

    Args:
        options: Which one.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.places: Places = places_of(options)
        self._context = KindContext(self.places.located, Server(scripts=True))
        self._driver = Driver(options.where, self.places.located)
        self._carried: str | None = None

    def script(self, script: Script, keys: Sequence[bytes], *args: bytes | str | int) -> Any:
        """Run a script.

        Raises:
            PressureError: The server runs none, or cannot be reached, or refused it.
        """
        words = (arg.encode() if isinstance(arg, str) else arg for arg in args)
        reply = self.run(evaluated(self._context.server, script, keys, *words))
        if reply is NO_SCRIPTS:
            raise PressureError(
                f"queue {self.places.located}: pressure.spark needs Lua scripts, and this server runs none"
            )
        return reply

    def step(self, step: Step, keys: Sequence[bytes], *args: bytes | str | int) -> list[Any]:
        """Run a step that differs by kind."""
        reply: list[Any] = self.script(step.of(self.carried), (*keys, *self.places.all), *args)
        return reply

    def ask(self, *commands: Command) -> list[Reply]:
        """Some commands in one round trip, none of which may be refused."""
        return self.run(_asked(commands))

    def told(self, *command: bytes) -> Reply:
        """What the server has to say to a command, an error included."""
        return self.run(_as_they_come((command,)))[0]

    def pause(self, seconds: float) -> None:
        """Let some time pass."""
        self.run(_pausing(seconds))

    def run(self, operation: Operation[T]) -> T:
        """Run an operation; an error of the server's names the queue."""
        try:
            return self._driver.run(operation)
        except ServerReplyError as error:
            error.explain(str(self.places.located))
            raise

    @property
    def carried(self) -> str:
        """The kind; of a reliable queue what carries it, which is asked once."""
        if self._carried is None:
            self._carried = self.places.kind
            if self._carried == "reliable":
                has = self.told(b"TYPE", self.places.main) == b"Queue-EDU"
                self._carried = "module" if has else "stream"
        return self._carried

    def check(self) -> None:
        """Ask whether the queue is there, and is of its kind.

        Raises:
            QueueDoesNotExistError: Its kind has to be created, and it was not.
            PressureError: Something else has its key; the server cannot be reached.
        """
        if self.places.kind == "pressure":
            if not self.ask((b"EXISTS", self.places.main + b":bound"))[0]:
                raise QueueDoesNotExistError(f"queue {self.places.located} does not exist; create it first")
            return
        (kind,) = self.ask((b"TYPE", self.places.main))
        if kind not in (b"none", *_TYPES[self.places.kind]):
            raise PressureError(
                f"queue {self.places.located}: its key holds a {kind.decode()}, so it is no "
                f"{self.places.kind} queue"
            )

    def length(self) -> int:
        """How many rows wait, at this moment."""
        return self.run(_LENGTHS[self.carried](self.places.main))

    def move_due(self) -> None:
        """Have messages of a reliable queue that were delayed until now wait with the others."""
        carried = Carried(ReliableKeys.of(self.places.main, b"workers"), BACKENDS[self.carried](), None)
        self.run(move(self._context, carried))

    def close(self) -> None:
        """Close the connections."""
        self._driver.connections.disconnect()


def _length_of_list(main: bytes) -> Operation[int]:
    return int((yield from _asked(((b"LLEN", main),)))[0])


def _length_of_stream(main: bytes) -> Operation[int]:
    """With what others have and have not acknowledged."""
    return int((yield from _asked(((b"XLEN", main),)))[0])


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


def _asked(commands: Sequence[Command]) -> Operation[list[Reply]]:
    return check((yield Batch(tuple(commands))))


def _as_they_come(commands: Sequence[Command]) -> Operation[list[Reply]]:
    return (yield Batch(tuple(commands)))


def _pausing(seconds: float) -> Operation[None]:
    yield Pause(seconds)
