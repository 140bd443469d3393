"""A worker's loop, and what the methods of a queue refuse."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from unittest import mock

from ...judging.environment import Environment, expect, expect_error
from ...judging.running import PATIENCE
from ..registry import check
from ..state import LONG, MishapError
from . import module
from .queues import counts, made, popped


@module("reliable.worker", "MQ.ACK", level="decided")
def works(env: Environment) -> None:
    """A worker acknowledges when it is done, not before."""
    queue = made(env, b"bad", b"good")
    seen: list[tuple[bytes, int]] = []

    def handle(message: Any) -> None:
        seen.append((message.data, env.kind("ReliableQueue").info().delivered))
        if message.data == b"bad":
            raise MishapError

    with mock.patch.object(logging.getLogger("pressure.worker"), "disabled", True):  # what fails is meant to
        expect(queue.work(handle, min_idle=LONG, until_empty=True), 1, "messages that went well")
    expect(seen, [(b"bad", 1), (b"good", 2)], "messages, and how many are delivered while each is handled")
    expect(counts(queue), (0, 1, 0, 0), "undelivered, delivered, delayed, dead")
    with expect_error(MishapError, "a block that ends by an error"):
        queue.push(b"v")
        with queue.take(timeout=PATIENCE):
            raise MishapError
    expect(counts(queue), (0, 2, 0, 0), "undelivered, delivered, delayed, dead")


@check("reliable.worker")
def works_on_what_is_idle_first(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3", b"4")
    popped(queue, 2)
    seen: list[tuple[bytes, int]] = []
    env.until(lambda: all(each.idle > 0 for each in queue.pending()), "had time passed")

    def handle(message: Any) -> None:
        seen.append((message.data, message.deliveries))

    done = [queue.work(handle, min_idle=0, max_messages=most, until_empty=True) for most in (1, 2, 5)]
    wanted = [(b"1", 2), (b"2", 2), (b"3", 1), (b"4", 1)]
    expect((seen, done), (wanted, [1, 2, 1]), "messages, and how many went well")


WRONG: Final[tuple[tuple[str, tuple[object, ...], Mapping[str, object]], ...]] = (
    *((f"{name}", ("1-1", 1), {}) for name in ("ack", "heartbeat", "push")),
    *((f"{name}", (no_id,), {}) for name in ("cancel", "retry") for no_id in ("1-1", bytearray(b"1-1"))),
    ("retry", (b"1-1",), {}), ("work", (None,), {}), ("pop", ("1",), {}), ("recover", ("1",), {}), ("redrive", ("1",), {}),
    *((name, (0,), {}) for name in ("pop", "pop_nowait", "dead", "redrive")),
    *((name, (0, 0), {}) for name in ("recover", "inspect", "pending")), ("recover", (-1,), {}), ("pop_any", (), {"count": 0}),
    *(("work", (print,), {"heartbeat": beat, "min_idle": 2}) for beat in (0, -1, 2, 3)),
)  # fmt: skip
"""Methods and arguments that they refuse."""


@check("reliable.worker")
def wrong_arguments_are_refused(env: Environment) -> None:
    """Before anything is done; and a heartbeat that comes before a message is idle is right."""
    queue = made(env, b"v")
    for name, arguments, options in WRONG:
        error = env.start(partial(getattr(queue, name), *arguments, **options)).error(name)
        expect(
            isinstance(error, TypeError | ValueError), True, f"{name} of {arguments}, {options}: {error!r}"
        )
    expect(counts(queue), (1, 0, 0, 0), "undelivered, delivered, delayed, dead")
    done = [
        queue.work(lambda _: None, heartbeat=beat, min_idle=2, until_empty=True)
        for beat in (0.5, 1, 1.9, None)
    ]
    expect(done, [1, 0, 0, 0], "messages that went well")


@check("reliable.worker")
def beats_while_it_works(env: Environment) -> None:
    queue, other = made(env, b"v"), env.kind("ReliableQueue")

    def handle(_: Any) -> None:
        (before,) = other.pending()
        env.until(lambda: other.pending()[0].since > before.since, "was there a heartbeat")

    expect(queue.work(handle, heartbeat=0.01, min_idle=LONG, until_empty=True), 1, "messages that went well")


@check("reliable.worker")
def does_not_count_what_another_acknowledged(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3")

    def handle(message: Any) -> None:
        if message.data == b"2":
            env.kind("ReliableQueue").ack(message)

    with mock.patch.object(logging.getLogger("pressure.worker"), "disabled", True):  # it is warned of
        expect(queue.work(handle, until_empty=True), 2, "messages that went well, but for one done twice")
