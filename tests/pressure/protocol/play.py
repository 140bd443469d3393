"""Runs an operation against replies that the test writes; there is no server."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pressure import (
    ServerReplyError,
    protocol,
)
from pressure.keys import Keys
from pressure.protocol import Batch, Context, Deadline, NewHold, Operation, Step

KEYS = Keys.of("q", "p")


ME = b"host:1:00000000/1/1"


MARK = ME.decode() + "/released"


#: What the holder key says when a role is popped.
BEFORE = b"host:2:00000000/1/1/released"


OK, NULL, QUEUED = b"OK", None, b"QUEUED"


ERROR = ServerReplyError("OOM command not allowed")


def pop(popped: Any, exists: Any = 1, closed: int = 0, before: Any = BEFORE) -> list[Any]:
    """The replies to an attempt to pop a role."""
    return [popped, OK, OK, before, exists, closed]


def as_producer(closed: int, token: Any, bound: Any, length: Any, *, said: Any = OK) -> list[Any]:
    """The replies to a producer who says that the role is theirs, and looks around."""
    done = [QUEUED, [OK, token]] if said is OK else [QUEUED, ERROR]
    return [
        OK,
        QUEUED if said is OK else said,
        *done,
        OK,
        ME if said is OK else BEFORE,
        bound,
        length,
        closed,
    ]


def as_consumer(closed: int, value: Any, bound: Any, length: Any) -> list[Any]:
    """The replies to a consumer who says that the role is theirs, and pops a value."""
    return [OK, *[QUEUED] * 6, [OK, closed, NULL, value, bound, length], OK, ME]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def context(clock: Callable[[], float] | None = None) -> Context:
    return Context(KEYS, clock or Clock(), 1.0)


def words(step: Step) -> list[str]:
    """The commands of a step as text, keys without their root."""
    assert isinstance(step, Batch)
    return [
        " ".join(
            re.sub("^p:q", "", word.decode()) or "queue" if isinstance(word, bytes) else str(word)
            for word in command
        )
        for command in step.commands
    ]


class Play:
    """Runs an operation against scripted replies and records what it sent."""

    def __init__(self, operation: Operation[Any]) -> None:
        self.operation = operation
        self.step: Step | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self._go(lambda: next(operation))

    def _go(self, advance: Callable[[], Step]) -> None:
        try:
            self.step = advance()
            while isinstance(self.step, NewHold):
                self.step = self.operation.send([ME])
        except StopIteration as stop:
            self.step, self.result = None, stop.value
        except BaseException as error:
            self.step, self.error = None, error

    def reply(self, *replies: Any) -> Play:
        if isinstance(self.step, Batch):
            assert len(replies) == len(self.step.commands), words(self.step)
        self._go(lambda: self.operation.send(list(replies)))
        return self

    def throw(self, error: BaseException) -> Play:
        self._go(lambda: self.operation.throw(error))
        return self

    @property
    def sent(self) -> list[str]:
        assert self.step is not None, self.error
        return words(self.step)


def put(block: bool = True, timeout: float | None = None, **options: Any) -> Play:
    ctx = context()
    return Play(protocol.put(ctx, b"v", Deadline.of(ctx, block, timeout), **options))


def get(block: bool = True, timeout: float | None = None) -> Play:
    ctx = context()
    return Play(protocol.get(ctx, Deadline.of(ctx, block, timeout)))


OURS = [OK, OK, ME]


RELEASE = {role: [f"SET :{role} {MARK}", f"LPUSH :{role}_free 0"] for role in ("producer", "consumer")}


TOKEN = ["LPUSH :not_full 0", "LTRIM :not_full 0 0"]


WITH_ROLE = pop(b"0")
