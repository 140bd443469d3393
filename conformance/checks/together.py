"""Our client beside one that was written from the documents alone."""

from __future__ import annotations

from contextlib import suppress

from pressure import QueueClosedError, QueueDoesNotExistError

from ..environment import Environment, expect, expect_error
from ..textbook import Gone, Shut, Textbook
from .deleting import consume, produce
from .registry import check
from .state import count, expect_roles_free, length, number

MESSAGES = 60

SENT = [b"%d" % place for place in range(MESSAGES)]


def textbook(env: Environment) -> Textbook:
    """A client from the documents."""
    return env.using(Textbook(env.address.url, env.queue_key()))


def textbook_consumes(env: Environment, most: int = MESSAGES + 1) -> list[bytes]:
    """All that such a client gets, until the queue is closed and empty or it has got so many."""
    other, got = textbook(env), list[bytes]()
    while len(got) < most:
        try:
            got.append(other.get())
        except Shut:
            break
    return got


def textbook_produces(env: Environment, messages: list[bytes], *, close: bool = True) -> None:
    other = textbook(env)
    for message in messages:
        other.put(message)
    if close:
        other.close()


@check("decided.textbook")
def textbook_gets(env: Environment) -> None:
    env.created(3)
    got = env.start(lambda: textbook_consumes(env))
    produce(env, SENT, close=True)
    expect(got.finish("a client from the documents that gets"), SENT, "what it got")
    expect(
        (number(env, "consumed_messages"), length(env, ":not_full")), (MESSAGES, 1), "counter and not_full"
    )
    expect_roles_free(env)


@check("decided.textbook")
def textbook_puts(env: Environment) -> None:
    queue = env.created(3)
    put = env.start(lambda: textbook_produces(env, SENT))
    expect(env.start(lambda: consume(env, MESSAGES)).finish("a consumer"), SENT, "what is got")
    put.finish("a client from the documents that puts and closes")
    with expect_error(QueueClosedError, "get from a queue that the other client closed"):
        queue.get()
    expect_roles_free(env)


@check("decided.textbook")
def all_at_once(env: Environment) -> None:
    env.created(2)
    ours, theirs = [b"ours %d" % place for place in range(40)], [b"theirs %d" % place for place in range(40)]
    putting = (
        env.start(lambda: produce(env, ours, close=False)),
        env.start(lambda: textbook_produces(env, theirs, close=False)),
    )
    getting = (env.start(lambda: consume(env, 40)), env.start(lambda: textbook_consumes(env, 40)))
    for each in putting:
        each.finish("a producer")
    got = [each.finish("a consumer") for each in getting]
    expect(sorted(got[0] + got[1]), sorted(ours + theirs), "what both got")
    for mine in got:
        for put in (ours, theirs):
            expect(
                [value for value in mine if value in put], [value for value in put if value in mine], "order"
            )
    expect((number(env, "produced_messages"), number(env, "consumed_messages")), (80, 80), "the counters")
    expect_roles_free(env)


@check("decided.textbook")
def textbook_is_woken_by_delete(env: Environment) -> None:
    for fill, operate in ((1, lambda: textbook(env).put(b"v")), (0, lambda: textbook(env).get())):
        queue = env.created(1)
        for _ in range(fill):
            queue.put(b"there")
        waiting = env.start(operate)
        env.until_blocked(1)
        env.start(queue.delete).finish("delete while a client from the documents waits")
        with suppress(Gone, Shut):  # it does not look again, so that its Put is done, and deleted
            waiting.finish("a client from the documents that waits when the queue is deleted")
        expect(count(env), 0, "keys that are left")


@check("decided.textbook")
def textbook_deletes(env: Environment) -> None:
    queue = env.created()
    got = env.start(queue.get)
    env.until_blocked(1)
    env.start(textbook(env).delete).finish("a Delete by the other client while a Get waits")
    with expect_error(QueueDoesNotExistError, "a Get that waited"):
        got.finish("a Get that waited")
    expect(count(env), 0, "keys that are left")
