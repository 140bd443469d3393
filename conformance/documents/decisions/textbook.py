"""Our client beside those that were written from the documents alone, whichever end is whose."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeAlias

from pressure import QueueClosedError, QueueDoesNotExistError, QueueFullError

from ...clients.textbook import FIRST, LATER, MOVING, Edition, Gone, Shut, Textbook
from ...judging.environment import Environment, Running, expect, expect_error
from ..model import Clause
from ..registry import Check, check, declare
from ..state import consume, count, expect_roles_free, length, number, produce
from . import DECISIONS

MESSAGES: Final = 30

SENT: Final = [b"%d" % place for place in range(MESSAGES)]

PARTNERS: Final = (
    (LATER, Clause("decided.textbook", DECISIONS, "slips of the pseudocode", "decided", "Our client and one written from 0.15 alone, its pseudocode corrected where it cannot run, share a queue, at either end or at both.")),
    (FIRST, Clause("decided.textbook-first", DECISIONS, "slips of the pseudocode of 0.1", "decided", "Our client and one written from 0.1, which does not over-fill, and whose Get always makes room, share a queue, at either end or at both.")),
    (MOVING, Clause("decided.textbook-moves", DECISIONS, "BRPOPLPUSH onto not_full", "decided", "Our client and one whose Get is a BRPOPLPUSH onto not_full share a queue, at either end or at both.")),
)  # fmt: skip
"""The clients of others, each with the clause that speaks of it."""

declare(*(clause for _, clause in PARTNERS))

BOUNDS: Final = (0, 1, 10)

Together: TypeAlias = Callable[[Environment, Edition, int], None]


def beside_each(work: Together) -> Together:
    """A check of each of those clients, with each of the bounds."""
    for edition, clause in PARTNERS:
        check(clause.id)(with_bounds(work, edition))
    return work


def with_bounds(work: Together, edition: Edition) -> Check:
    def checked(env: Environment) -> None:
        for bound in BOUNDS:
            work(env, edition, bound)
            env.redis.delete(*env.redis.keys(f"{env.prefix}*") or ["none"])

    checked.__name__ = f"{work.__name__} beside {edition.name}"
    return checked


def textbook(env: Environment, edition: Edition = LATER) -> Textbook:
    """A client from the documents."""
    return env.using(Textbook(env.address.url, env.queue_key(), edition))


def textbook_consumes(env: Environment, edition: Edition, most: int = MESSAGES + 1) -> list[bytes]:
    """All that such a client gets, until the queue is closed and empty or it has got so many."""
    other, got = textbook(env, edition), list[bytes]()
    while len(got) < most:
        try:
            got.append(other.get())
        except Shut:
            break
    return got


def textbook_produces(
    env: Environment, edition: Edition, messages: list[bytes], *, close: bool = True
) -> None:
    other = textbook(env, edition)
    for message in messages:
        other.put(message)
    if close:
        other.shutdown()


def expect_settled(env: Environment, edition: Edition) -> None:
    """Fails unless the queue has been emptied, and is as it should be then."""
    expect(length(env, ""), 0, "values that are left")
    tokens = length(env, ":not_full")
    expect(tokens >= 1 if edition.moves else tokens == 1, True, f"not_full is right with {tokens} elements")
    expect(
        number(env, "produced_messages"), number(env, "consumed_messages"), "messages produced and consumed"
    )
    expect_roles_free(env)


@beside_each
def theirs_gets(env: Environment, edition: Edition, bound: int) -> None:
    env.created(bound)
    got = env.start(lambda: textbook_consumes(env, edition))
    produce(env, SENT, close=True)
    expect(got.finish("a client from the documents that gets"), SENT, "what it got")
    expect(number(env, "consumed_messages"), MESSAGES, "messages consumed")
    expect_settled(env, edition)


@beside_each
def theirs_puts(env: Environment, edition: Edition, bound: int) -> None:
    textbook(env, edition).create(bound)
    queue, closed = env.queue(), env.start(env.queue().wait_closed)
    put = env.start(lambda: textbook_produces(env, edition, SENT))
    expect(env.start(lambda: consume(env, MESSAGES)).finish("a consumer"), SENT, "what is got")
    put.finish("a client from the documents that puts and closes")
    expect(closed.finish("wait_closed"), True, "what wait_closed says")
    with expect_error(QueueClosedError, "get from a queue that the other client closed"):
        queue.get()
    expect_settled(env, edition)


@beside_each
def all_at_once(env: Environment, edition: Edition, bound: int) -> None:
    env.created(bound)
    ours, theirs = [b"ours %d" % place for place in range(20)], [b"theirs %d" % place for place in range(20)]
    putting = (
        env.start(lambda: produce(env, ours, close=False)),
        env.start(lambda: textbook_produces(env, edition, theirs, close=False)),
    )
    getting = (env.start(lambda: consume(env, 20)), env.start(lambda: textbook_consumes(env, edition, 20)))
    longest = longest_while(env, putting)
    got = [each.finish("a consumer") for each in getting]
    expect(sorted(got[0] + got[1]), sorted(ours + theirs), "what both got")
    for mine in got:
        for put in (ours, theirs):
            expect(
                [value for value in mine if value in put], [value for value in put if value in mine], "order"
            )
    expect(
        not bound or longest <= bound + 1, True, f"a bound of {bound} is kept but for one, and not {longest}"
    )
    expect_settled(env, edition)


def longest_while(env: Environment, putting: tuple[Running[None], ...]) -> int:
    """The longest that the queue is seen to be until all is put."""
    longest = 0

    def is_over() -> bool:
        nonlocal longest
        longest = max(longest, length(env, ""))
        return all(each.done() for each in putting)

    env.until(is_over, "were all values put")
    for each in putting:
        each.finish("a producer")
    return longest


@beside_each
def theirs_hears_of_a_close(env: Environment, edition: Edition, bound: int) -> None:
    queue, other = env.created(bound), textbook(env, edition)
    queue.put(b"left")
    expect(other.get(), b"left", "what is got")
    waiting = env.start_blocked(other.get)
    queue.shutdown()
    waiting.expect_error(Shut, "a client from the documents that waits when the queue is closed")
    for operate in (other.get, other.shutdown, lambda: other.put(b"v")):
        with expect_error(Shut, "a client from the documents at a closed queue"):
            operate()
    with expect_error(QueueClosedError, "our client at the queue whose mark the other one took"):
        queue.get()
    expect_roles_free(env)


@beside_each
def ours_overfills(env: Environment, edition: Edition, bound: int) -> None:
    queue, other = env.created(bound), textbook(env, edition)
    sent = [b"%d" % place for place in range(bound + 3)]
    for value in sent:
        queue.put(value, overfill=True)
    expect([other.get() for _ in sent[:3]], sent[:3], "what is got from an over-filled queue")
    if bound and edition == LATER:
        with expect_error(QueueFullError, "put to a queue that is at its bound"):
            queue.put_nowait(b"v")
    expect([other.get() for _ in sent[3:]], sent[3:], "what is got when it is over-filled no more")
    expect_settled(env, edition)


@beside_each
def theirs_overfills(env: Environment, edition: Edition, bound: int) -> None:
    if not edition.overfills:
        return
    queue, other = env.created(bound), textbook(env, edition)
    sent = [b"%d" % place for place in range(bound + 3)]
    for place, value in enumerate(sent):
        other.put(value, overfill=place >= bound)
    if bound:
        with expect_error(QueueFullError, "put to a queue that the other client over-filled"):
            queue.put_nowait(b"v")
    expect([queue.get() for _ in sent], sent, "what is got from a queue that the other client over-filled")
    expect_settled(env, edition)


@beside_each
def theirs_is_woken_by_delete(env: Environment, edition: Edition, bound: int) -> None:
    other = textbook(env, edition)
    waits: list[tuple[int, Callable[[], object]]] = [(0, other.get)]
    if bound:
        waits.append((bound, lambda: other.put(b"v")))
    for fill, operate in waits:
        queue = env.created(bound)
        for _ in range(fill):
            queue.put(b"there")
        waiting = env.start_blocked(operate)
        env.start(queue.delete).finish("delete while a client from the documents waits")
        with suppress(Gone, Shut):  # it does not look again, so that its Put is done, and deleted
            waiting.finish("a client from the documents that waits when the queue is deleted")
        expect(count(env), 0, "keys that are left")


@beside_each
def theirs_deletes(env: Environment, edition: Edition, bound: int) -> None:
    queue, other = env.created(bound), textbook(env, edition)
    got = env.start_blocked(queue.get)
    env.start(other.delete).finish("a Delete by the other client while a Get waits")
    got.expect_error(QueueDoesNotExistError, "a Get that waited")
    expect(count(env), 0, "keys that are left")
    if bound:
        theirs_deletes_what_is_full(env, other, bound)


def theirs_deletes_what_is_full(env: Environment, other: Textbook, bound: int) -> None:
    queue = env.created(bound)
    for _ in range(bound):
        queue.put(b"there")
    put = env.start_blocked(lambda: queue.put(b"v"))
    env.start(other.delete).finish("a Delete by the other client while a Put waits")
    put.expect_error(QueueDoesNotExistError, "a Put that waited")
    expect(count(env), 0, "keys that are left")
