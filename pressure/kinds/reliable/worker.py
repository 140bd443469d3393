"""The loop of a worker: recover a message or pop one, call the handler, and acknowledge or retry it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pressure.checks import duration, milliseconds
from pressure.kinds.reliable.model import Delivered
from pressure.methods.handlers import check_handler
from pressure.methods.methods import CallbackOperation, MethodCall
from pressure.protocol.operation import Operation
from pressure.text import printable

log: Final = logging.getLogger("pressure.worker")

#: Longest time in seconds between two attempts to recover messages, and longest wait of a pop.
LOOK: Final = 1.0


class WorkerOperations(Protocol):
    """The operations that a worker needs."""

    def recover(self, count: int, idle: int) -> Operation[list[Delivered]]:
        """See ``operations``, also for the methods below."""

    def pop(self, count: int, timeout: float) -> Operation[list[Delivered]]:
        """See ``operations``."""

    def ack(self, ids: list[bytes]) -> Operation[list[bytes]]:
        """See ``operations``."""

    def retry(self, message: Delivered, delay: float, error: Exception) -> Operation[bool]:
        """See ``operations``."""

    def heartbeat(self, messages: Sequence[Delivered]) -> Operation[list[bytes]]:
        """See ``operations``."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The options of ``work``.

    Attributes:
        handle: Called with each message.
        min_idle: Idle time in seconds after which a pending message is recovered.
        heartbeat: Seconds between two heartbeats; None for no heartbeats.
        backoff: Returns the seconds until a failed message is retried, by its deliveries; None for no retry.
        most: How many messages to handle; None for no limit.
        until_empty: Whether to end when no message can be delivered.
    """

    handle: Callable[[Any], Any]
    min_idle: float
    heartbeat: float | None
    backoff: Callable[[int], float] | None
    most: int | None
    until_empty: bool

    def check(self, *, coroutines: bool) -> int:
        """``min_idle`` in milliseconds. Raises TypeError or ValueError if an option is invalid.

        Args:
            coroutines: Whether the handler must be a coroutine function.
        """
        check_handler(self.handle, coroutines=coroutines)
        if self.backoff is not None:
            if not callable(self.backoff):
                raise TypeError(
                    "backoff must be a function that takes how often a message was delivered, such as "
                    f"pressure.exponential(), not {self.backoff!r}"
                )
            milliseconds(self.backoff(1), "what backoff returns")  # or the first failure would end the worker
        idle = milliseconds(self.min_idle, "min_idle")
        if self.heartbeat is not None and not 0 < duration(self.heartbeat, "heartbeat") < self.min_idle:
            raise ValueError(
                f"heartbeat must be more than 0 and less than min_idle ({self.min_idle!r}), "
                f"not {self.heartbeat!r}"
            )
        return idle


def work_loop(
    options: WorkerOptions, idle: int, operations: WorkerOperations, clock: Callable[[], float]
) -> CallbackOperation[int]:
    """Run a worker; returns how many messages were handled and acknowledged."""
    done = handled = 0
    looked = float("-inf")
    while options.most is None or handled < options.most:
        yield None
        messages: list[Delivered] = []
        if clock() - looked >= min(LOOK, options.min_idle):
            messages = yield operations.recover(1, idle)
        if not messages:
            looked = clock()
            messages = yield operations.pop(1, 0.0 if options.until_empty else LOOK)
        if not messages and options.until_empty:
            break
        for message in messages:
            handled += 1
            done += yield from _handled(options, operations, message)
    return done


def _handled(
    options: WorkerOptions, operations: WorkerOperations, message: Delivered
) -> CallbackOperation[int]:
    """Handle one message; returns 1 if it was handled and acknowledged, else 0."""
    ids = [message.id]
    heartbeat = None if options.heartbeat is None else lambda: operations.heartbeat([message])
    try:
        yield MethodCall(options.handle, message, heartbeat, options.heartbeat or 0.0)
    except Exception as error:
        log.exception("message %s failed, delivered %d times", printable(message.id), message.deliveries)
        if options.backoff is not None:
            yield operations.retry(message, options.backoff(message.deliveries), error)
        return 0
    if (yield operations.ack(ids)):
        return 1
    log.warning("another client has acknowledged the message %s, too", printable(message.id))
    return 0


def exponential(first: float = 1.0, most: float = 3600.0) -> Callable[[int], float]:
    """A backoff that doubles with each delivery.

    Args:
        first: Seconds to wait after the first delivery.
        most: The longest wait, in seconds.
    """
    return lambda deliveries: min(first * 2 ** min(max(deliveries, 1) - 1, 62), most)
