"""Close."""

from __future__ import annotations

from pressure import QueueClosedError, QueueDoesNotExistError

from ..judging.environment import Environment, expect, expect_error
from .getting import filled
from .registry import check
from .state import PRODUCER, count, expect_roles_free, held, length, text


@check("close.needs-queue")
def needs_queue(env: Environment) -> None:
    with expect_error(QueueDoesNotExistError, "close of no queue"):
        env.queue().shutdown()
    expect(count(env), 0, "keys that this left")


@check("close.waits-for-role")
def waits_for_role(env: Environment) -> None:
    queue = env.created()
    with held(env, PRODUCER):
        close = env.start(queue.shutdown)
        env.until_blocked(1)
        expect(length(env, ":closed"), 0, "marks while the role is held")
    close.finish("close when the role is free again")
    expect(length(env, ":closed"), 2, "marks then")


@check("close.names-producer")
def names_producer(env: Environment) -> None:
    queue = env.created()
    queue.shutdown()
    expect(bool(text(env, ":producer")), True, "the producer is named")


@check("close.marks-twice")
def marks_twice(env: Environment) -> None:
    env.created().shutdown()
    expect(length(env, ":closed"), 2, "marks")


@check("close.once", "decided.close-twice")
def once(env: Environment) -> None:
    queue = env.created()
    queue.shutdown()
    with expect_error(QueueClosedError, "a second close"):
        queue.shutdown()
    expect(length(env, ":closed"), 2, "marks")
    expect_roles_free(env)


@check("close.gives-role-back")
def gives_role_back(env: Environment) -> None:
    env.created().shutdown()
    expect_roles_free(env)


@check("close.is-for-ever")
def is_for_ever(env: Environment) -> None:
    queue = filled(env, b"a", b"b")
    queue.shutdown()
    for _ in range(2):
        queue.get()
        expect(queue.closed(), True, "closed after a Get")
    for _ in range(3):
        with expect_error(QueueClosedError, "get from a closed and empty queue"):
            queue.get_nowait()
        expect(queue.closed(), True, "closed after a Get that found nothing")
