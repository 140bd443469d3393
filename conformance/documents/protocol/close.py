"""Close."""

from __future__ import annotations

from pressure import PressureError, QueueClosedError

from ...judging.environment import Environment, expect, expect_error
from ..state import PRODUCER, expect_named, expect_no_queue, expect_roles_free, filled, held, length
from . import both


@both("close.needs-queue", "Close")
def needs_queue(env: Environment) -> None:
    """To close a queue that does not exist is an error."""
    expect_no_queue(env, lambda queue: queue.shutdown(), "close of")


@both("close.waits-for-role", "Close")
def waits_for_role(env: Environment) -> None:
    """A Close waits while another client is the producer."""
    queue = env.created()
    with held(env, PRODUCER):
        close = env.start_blocked(queue.shutdown)
        expect(length(env, ":closed"), 0, "marks while the role is held")
    close.finish("close when the role is free again")
    expect(length(env, ":closed"), 2, "marks then")


@both("close.names-producer", "Close")
def names_producer(env: Environment) -> None:
    """A Close leaves its client's identifier as the producer."""
    expect_named(env, ":producer", lambda queue: queue.shutdown())


@both("close.marks-twice", "Close")
def marks_twice(env: Environment) -> None:
    """A Close leaves two elements in the closed list."""
    env.created().shutdown()
    expect(length(env, ":closed"), 2, "marks")


@both("close.once", "Close")
def once(env: Environment) -> None:
    """To close a closed queue is an error, and adds no mark."""
    queue = env.created()
    queue.shutdown()
    with expect_error(PressureError, "a second close"):
        queue.shutdown()
    expect(length(env, ":closed"), 2, "marks")


@both("close.gives-role-back", "Close")
def gives_role_back(env: Environment) -> None:
    """A Close gives the producer role back."""
    env.created().shutdown()
    expect_roles_free(env)


@both("close.is-for-ever", "Close")
def is_for_ever(env: Environment) -> None:
    """A closed queue stays closed, whatever is got from it."""
    queue = filled(env, b"a", b"b")
    queue.shutdown()
    for _ in range(2):
        queue.get()
        expect(queue.closed(), True, "closed after a Get")
    for _ in range(3):
        with expect_error(QueueClosedError, "get from a closed and empty queue"):
            queue.get_nowait()
        expect(queue.closed(), True, "closed after a Get that found nothing")
