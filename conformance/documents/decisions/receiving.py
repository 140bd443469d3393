"""Reliable get, and many values at once: our own client's, and nothing that other clients could tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count as numbers
from itertools import product
from typing import Any

from pressure import QueueClosedError, QueueDoesNotExistError, QueueFullError, QueueInUseError

from ...clients.textbook import LATER, Textbook
from ...judging.environment import Environment, expect, expect_error
from ..large import IN_PARTS, LARGE, gist
from ..registry import check
from ..state import CONSUMER, MishapError, count, counters, expect_roles_free, length, text, values
from . import RECEIVE, decided, ours
from .moments import expect_no_queue_while_waiting
from .roles import impatient


def with_ours(work: Callable[[Environment, Any], None]) -> Callable[[Environment], None]:
    """A check of our client, on a queue with a bound of 2 that holds a and b."""

    def checked(env: Environment) -> None:
        with ours(env) as queue:
            queue.create(2)
            queue.put(b"a")
            queue.put(b"b")
            work(env, queue)

    checked.__name__, checked.__doc__ = work.__name__, work.__doc__
    return checked


@decided("decided.reliable-done", "room for 'additional data reliability'", needs=RECEIVE)
@with_ours
def is_done(env: Environment, queue: Any) -> None:
    """A received message leaves the server when its block ends well; the role is held, and not_full and
    counters stay, until then."""
    with queue.receive() as message:
        expect(message.data, b"a", "what is received")
        expect(length(env, ":unacked"), 1, "messages that are not acknowledged")
        expect(length(env, CONSUMER), 0, "elements of consumer_free in the block")
        expect((length(env, ":not_full"), counters(env)), (0, [2, 2, 0, 0]), "not_full and counters there")
    expect((length(env, ":not_full"), counters(env)), (1, [2, 2, 1, 1]), "not_full and counters after it")
    expect((length(env, ":unacked"), values(env)), (0, [b"b"]), "what is left")
    expect_roles_free(env)


@check("decided.reliable-done")
@with_ours
def an_over_filled_queue_drains_to_its_bound(env: Environment, queue: Any) -> None:
    for value in (b"c", b"d"):
        queue.put(value, overfill=True)
    seen = []
    for _ in range(3):
        with queue.receive():
            pass
        seen.append((queue.length(), length(env, ":not_full")))
    expect(seen, [(3, 0), (2, 0), (1, 1)], "length and elements of not_full after each message")


@decided("decided.reliable-put-back", "room for 'additional data reliability'", needs=RECEIVE)
@with_ours
def is_put_back(env: Environment, queue: Any) -> None:
    """A received message goes back to the front when its block ends by an error."""
    with expect_error(MishapError, "a block that ends by an error"), queue.receive():
        raise MishapError
    expect((values(env), counters(env)), ([b"a", b"b"], [2, 2, 0, 0]), "values and counters after it")
    expect(length(env, ":unacked"), 0, "messages that are not acknowledged")
    expect_roles_free(env)


@decided("decided.reliable-orphans", "room for 'additional data reliability'", needs=RECEIVE)
@with_ours
def orphans(env: Environment, queue: Any) -> None:
    """What a dead consumer received comes first, with a repair or without."""
    for many, repaired in product((1, 2), (False, True)):
        for _ in range(many):
            env.redis.lmove(env.queue_key(), env.queue_key(":unacked"), "RIGHT", "LEFT")
        if repaired:
            queue.repair()
            expect((values(env), length(env, ":unacked")), ([b"a", b"b"], 0), "what a repair puts back")
        with queue.receive() as message:
            expect(message.data, b"a", "what is received where a dead consumer left it")
            expect(
                (values(env), length(env, ":unacked")), ([b"b"], 1), "what waits meanwhile, and is received"
            )
            queue.put(b"b", overfill=True)
        queue.get()
        env.redis.rpush(env.queue_key(), b"a")
    expect_roles_free(env)


@decided("decided.reliable-repaired", "room for 'additional data reliability'", needs=RECEIVE)
@with_ours
def is_repaired(env: Environment, queue: Any) -> None:
    """A repair that frees the role puts the message back, and its receiver is told."""
    with expect_error(QueueInUseError, "the end of a block whose role was taken away"), queue.receive():
        queue.repair(force=True)
    expect((values(env), counters(env)), ([b"a", b"b"], [2, 2, 0, 0]), "values and counters after a repair")
    expect_roles_free(env)


@decided("decided.reliable-close", "room for 'additional data reliability'", needs=RECEIVE)
def hears_of_a_close(env: Environment) -> None:
    """A reliable get that waits hears of a close, and leaves both marks."""
    with impatient(), ours(env) as queue:
        queue.create()

        def receive() -> None:
            with queue.receive():
                pass

        receiving = env.start_blocked(receive)
        env.queue().shutdown()
        receiving.expect_error(QueueClosedError, "a reliable get that waits when the queue is closed")
        expect(length(env, ":closed"), 2, "marks")
        expect_roles_free(env)


@check("decided.reliable-close")
def deleted_at_any_moment_of_a_receive_that_finds_nothing(env: Environment) -> None:
    expect_no_queue_while_waiting(env, lambda queue: queue.receive(timeout=0.02).__enter__())


@decided("decided.reliable-unseen", "room for 'additional data reliability'", needs=RECEIVE)
@with_ours
def others_see_a_get(env: Environment, queue: Any) -> None:
    """Other clients see a Get that takes long, and a Delete takes all along."""
    other = env.using(Textbook(env.address.url, env.queue_key(), LATER))
    with queue.receive():
        getting = env.start_blocked(other.get)
    expect(getting.finish("a client from the documents that gets"), b"b", "what it got")
    queue.delete()
    expect(count(env), 0, "keys that are left")


@check("decided.reliable-unseen")
@with_ours
def a_put_that_gives_up_leaves_what_is_received(env: Environment, queue: Any) -> None:
    other: Any = env.queue()
    with queue.receive():
        queue.put(b"c", overfill=True)
        with expect_error(QueueFullError, "a Put to a full queue while a message is received"):
            other.put(b"d", timeout=0.02)
        seen = values(env), length(env, ":unacked")
        expect(seen, ([b"b", b"c"], 1), "what waits, and how many messages are received")


@check("decided.reliable-unseen")
@with_ours
def a_delete_takes_other_messages_along(env: Environment, queue: Any) -> None:
    with queue.receive() as message:
        message.reject()
    env.redis.lmove(env.queue_key(), env.queue_key(":unacked"), "RIGHT", "LEFT")
    found = [length(env, suffix) for suffix in (":rejected", ":unacked")]
    expect(found, [1, 1], "messages that are rejected, and that a dead consumer left")
    queue.delete()
    expect(count(env), 0, "keys that are left")


@decided("decided.many", "a run of Puts or Gets", needs=("list-count",))
@with_ours
def many(env: Environment, queue: Any) -> None:
    """Many values at once are one Put or Get after the other, by one producer or consumer."""
    expect(queue.get_many(5), [b"a", b"b"], "what is there")
    putting = env.start_blocked(lambda: queue.put_many([b"1", b"2", b"3"]))
    expect((values(env), length(env, ":not_full")), ([b"1", b"2"], 0), "values and not_full at the bound")
    expect(bool(text(env, ":producer")), True, "the producer is named")
    expect(queue.get_many(1), [b"1"], "one of them")
    putting.finish("a run of Puts")
    expect((values(env), counters(env)), ([b"2", b"3"], [5, 5, 3, 3]), "values and counters")
    expect_roles_free(env)


@check("decided.many")
@with_ours
def many_after_a_wait(env: Environment, queue: Any) -> None:
    expect(queue.get_many(2), [b"a", b"b"], "what is there")
    getting = env.start(lambda: queue.get_many(3))
    env.until_blocked(1)
    env.redis.lpush(env.queue_key(), "1", "2", "3")
    expect(getting.finish("a run of Gets that waits for the first"), [b"1", b"2", b"3"], "what it got")
    expect(counters(env)[2:], [5, 5], "messages and bytes consumed")


@check("decided.many")
def many_fill_up_to_the_bound(env: Environment) -> None:
    some = [b"%d" % number for number in range(4)]
    for there, bound, putting in product(range(4), range(4), range(1, 5)):
        room = putting if not bound else max(bound - there, 0)
        if room < putting and env.foreign:
            continue  # an adapter cannot ask it for as many as fit
        with ours(env) as queue:
            queue.create(bound)
            for each in some[:there]:
                queue.put(each, overfill=True)
            what = f"{putting} put to {there} with a bound of {bound}"
            if room < putting:
                with expect_error(QueueFullError, what):
                    queue.put_many(some[:putting], block=False)
            else:
                queue.put_many(some[:putting])
            stored = some[:there] + some[: min(room, putting)]
            expect(values(env), stored, f"what is stored of {what}")
            if stored:
                most = 1 + (there + putting) % 4
                expect(queue.get_many(most), stored[:most], f"up to {most} of {stored}")
            queue.delete()


@check("decided.many")
def many_short_ones_come_at_once(env: Environment) -> None:
    """However many a client asks for at a time as long as it does not know how long they are."""
    some = [b"%d" % number for number in range(80)]
    for there, most in product((16, 17, 80), (15, 16, 17, 64, 80, 81)):
        with ours(env) as queue:
            queue.create()
            queue.put_many(some[:there])
            expect(queue.get_many(most), some[: min(there, most)], f"up to {most} of {there}")
            expect(values(env), some[min(there, most) : there], "what is left")
            queue.delete()


@check("decided.many")
def large_ones_come_in_parts(env: Environment) -> None:
    """However many bytes a run of Gets takes at a time, what is left stays in its place."""
    got: list[bytes] = []
    with ours(env) as queue:
        queue.create()
        queue.put_many(IN_PARTS)
        while values(env):
            got += queue.get_many(len(IN_PARTS))
            expect(list(map(gist, values(env))), list(map(gist, IN_PARTS[len(got) :])), "what is left")
    expect(list(map(gist, got)), list(map(gist, IN_PARTS)), "what came")
    expect(counters(env)[2:], [len(IN_PARTS), sum(map(len, IN_PARTS))], "messages and bytes consumed")
    expect_roles_free(env)


@check("decided.reliable-put-back")
def large_messages_are_received(env: Environment) -> None:
    with ours(env) as queue:
        queue.create()
        queue.put_many(LARGE)
        with expect_error(MishapError, "a block that ends by an error"), queue.receive():
            raise MishapError
        for value in LARGE:
            with queue.receive() as message:
                expect(gist(message.data), gist(value), f"what is received of {gist(value)}")
    expect((values(env), length(env, ":unacked")), ([], 0), "what is left")
    expect_roles_free(env)


@decided("decided.rejected", "room for 'additional data reliability'", needs=RECEIVE)
def is_kept_apart(env: Environment) -> None:
    """A rejected message counts as consumed, and is kept apart until it is put again, the oldest first."""
    messages = [b"%d" % number * number for number in range(4)]
    for number, most in product(range(4), range(1, 5)):
        some = messages[:number]
        with rejecting(env, 0, some) as queue:
            expect(queue.rejected(most), some[:most], f"up to {most} rejected messages of {number}")
            size = sum(map(len, some))
            expect(
                counters(env), [len(some), size, len(some), size], f"counters of {number} rejected messages"
            )
            expect(queue.redrive(most), len(some[:most]), f"how many of {number} are put again, up to {most}")
            expect(
                (values(env), queue.rejected(9)), (some[:most], some[most:]), "what waits, what is rejected"
            )
            again = [*some, *some[:most]]
            expect(counters(env)[:2], [len(again), sum(map(len, again))], "messages and bytes produced")


@contextmanager
def rejecting(env: Environment, bound: int, messages: list[bytes]) -> Iterator[Any]:
    """Our client of a queue whose messages were rejected, and which is gone after the block."""
    with ours(env) as queue:
        queue.create(bound)
        for each in messages:
            queue.put(each)
            with queue.receive() as message:
                message.reject()
        yield queue
        queue.delete()


@check("decided.rejected")
def is_put_again_by_two(env: Environment) -> None:
    """Another client puts some again between any two messages of the one: none is lost, and one at most is doubled."""
    for moment in numbers(1):
        with rejecting(env, 0, [b"1", b"2", b"3"]) as other:

            def put_again_too(other: Any = other) -> None:
                with suppress(QueueInUseError):
                    other.redrive(2, block=False)

            queue: Any
            queue, gate = env.gated()
            gate.arm(moment, put_again_too)
            queue.redrive(3)
            gate.disarm()
            other.redrive(3)
            expect((sorted(set(values(env))), other.rejected(9)), ([b"1", b"2", b"3"], []), "what waits")
            expect(len(values(env)) in {3, 4}, True, f"{values(env)} wait, put again by two")
            if gate.messages < moment:
                return


@check("decided.rejected")
def is_put_again_as_long_as_there_is_room(env: Environment) -> None:
    for bound in (1, 2, 3):
        with rejecting(env, bound, [b"1", b"2", b"3"]) as queue:
            error = env.start(lambda queue=queue: queue.redrive(9, timeout=0.02)).error("a redrive")  # type: ignore[misc]
            seen = (type(error), getattr(error, "done", None))
            wanted = (QueueFullError, bound) if bound < 3 else (type(None), None)
            expect(seen, wanted, f"how a redrive ends with a bound of {bound}, and what it has done")
            expect(
                (len(values(env)), len(queue.rejected(9))), (bound, 3 - bound), "what waits, what is rejected"
            )
    with ours(env) as queue, expect_error(QueueDoesNotExistError, "a redrive of no queue"):
        queue.redrive(1)
