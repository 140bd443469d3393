"""What a repair by our own client puts right, what it leaves as it is, and what it tells of both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count as numbers
from itertools import product
from typing import Any, Final

from pressure import QueueDoesNotExistError

from ...judging.environment import Environment, expect, expect_error
from ...wire.gate import Gate
from ..registry import check
from ..state import (
    CONSUMER,
    PRODUCER,
    contents,
    count,
    expect_roles_free,
    held,
    length,
    our_own,
    text,
)
from . import HOLD, RECEIVE, decided, ours
from .attempts import looks
from .moments import begin_delete
from .roles import HOLDERS, ROLES, impatient, shown, take


@decided("decided.repair-forced", "a client dies holding a role")
def repair_forced(env: Environment) -> None:
    """A forced repair frees what is taken, once."""
    env.created(2)
    for role in (PRODUCER, CONSUMER):
        env.redis.delete(env.queue_key(role))
    with ours(env) as queue:
        for _ in range(2):
            queue.repair(force=True)
            expect_roles_free(env)
        queue.put(b"v")
        expect(queue.get(), b"v", "what is got from the repaired queue")


@decided("decided.repair-spares", "a client dies holding a role")
def repair_spares(env: Environment) -> None:
    """Without force a role stays with a holder that may be alive."""
    env.created()
    with impatient(), held(env, PRODUCER), ours(env) as queue:
        env.redis.set(env.queue_key(":producer"), "another program's client")
        queue.repair()
        expect(length(env, PRODUCER), 0, "elements of producer_free")
        expect(text(env, ":producer"), b"another program's client", "the holder")


ALIVE: Final[dict[bytes | None, str]] = {
    b"other": "its id is not of this package's form, so its connection is not known",
    HOLD: "its connection is open",
}
"""Why a holder may be alive."""


def told(report: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a repair has done, and what it has left."""
    expect(str(report), "\n".join((*report.done, *report.left)) or "nothing to repair", "the whole report")
    return report.done, report.left


@decided("decided.repair-corrects", "a client dies holding a role", needs=RECEIVE)
def puts_back_messages_and_marks(env: Environment) -> None:
    """A repair corrects what dead clients left: messages, marks, role lists, the token, counters."""
    for orphans, marks in product(range(4), range(4)):
        is_held = (orphans + marks) % 2 == 1
        with refilled(env, 5, VALUES) as queue:
            for _ in range(orphans):
                env.redis.lmove(env.queue_key(), env.queue_key(":unacked"), "RIGHT", "LEFT")
            if marks:
                env.redis.lpush(env.queue_key(":closed"), *range(marks))
            if is_held:
                take(env, "consumer", b"other")
            wanted = contents(env)
            wanted.pop(":unacked", None)
            wanted |= {"": [*VALUES[::-1]], **({":closed": [b"0", b"0"]} if marks == 1 else {})}
            done = (
                *(PUT_BACK[orphans],) * (orphans > 0),
                *("restored the second element of :closed",) * (marks == 1),
                *("freed the consumer role, held by other",) * is_held,
            )
            expect(told(queue.repair(force=True)), (done, ()), f"told of {orphans} messages, {marks} marks")
            if is_held:
                wanted |= {":consumer": text(env, ":consumer"), CONSUMER: [b"0"]}
            expect(contents(env), wanted, f"the keys, after {orphans} messages and {marks} marks")


VALUES: Final = (b"aa", b"", b"b")

PUT_BACK: Final = {
    0: "", 1: "put 1 unacknowledged message back into the queue", 2: "put 2 unacknowledged messages back into the queue",
    3: "put 3 unacknowledged messages back into the queue",
}  # fmt: skip


@contextmanager
def refilled(env: Environment, bound: int, some: tuple[bytes, ...]) -> Iterator[Any]:
    """Our client of a queue that holds these values, and is gone after the block."""
    with ours(env) as queue:
        queue.create(bound)
        for value in some:
            queue.put(value, overfill=True)
        yield queue
        queue.repair(force=True)
        queue.delete()


@check("decided.repair-corrects")
def leaves_one_token_if_there_is_room_and_else_none(env: Environment) -> None:
    for bound, size, tokens in product((0, 2), (0, 1, 2, 3), (0, 1, 3)):
        elements = 1 + (size + tokens) % 3
        roles = dict(zip(ROLES, (elements, 4 - elements), strict=True))
        with refilled(env, bound, (b"v",) * size) as queue:
            for suffix, number in ((":not_full", tokens), (PRODUCER, elements), (CONSUMER, 4 - elements)):
                env.redis.delete(env.queue_key(suffix))
                if number:
                    env.redis.lpush(env.queue_key(suffix), *range(number))
            left = int(bound == 0 or size < bound)
            to = "one" if left else "none: the queue is full"
            token = f"reduced :not_full from {tokens} elements to {to}" if tokens else ROOM
            reduced = (f"reduced :{role}_free from {n} elements to one" for role, n in roles.items() if n > 1)
            expect(told(queue.repair()), ((*(token,) * (tokens != left), *reduced), ()), "what is told")
            expect(length(env, ":not_full"), left, f"tokens for {size} of {bound}")
            expect_roles_free(env)


ROOM: Final = "restored the token in :not_full, which says that there is room"


@check("decided.repair-corrects")
def finishes_a_delete(env: Environment) -> None:
    with impatient(), ours(env) as queue:
        with expect_error(QueueDoesNotExistError, "a repair of no queue"):
            queue.repair()
        for holders, is_left in (((), False), (("producer",), True), (ROLES, True)):
            queue.create()
            queue.put(b"v")
            for role in holders:
                take(env, role, b"other")
            env.redis.delete(env.queue_key(":bound"))
            done, left = told(queue.repair())
            waits = "did not finish the delete of the queue: it waits for a role that is held"
            seen = (done, left[-1:])
            finished = "finished a delete that was interrupted"
            expect(
                seen,
                ((), (waits,)) if is_left else ((finished,), ()),
                f"what is told when {holders} are held",
            )
            expect(
                told(queue.repair(force=True))[0] if is_left else (finished,),
                (finished,),
                "what is told by force",
            )
            expect(count(env), 0, "keys that are left")


@check("decided.repair-corrects")
def ends_when_it_is_deleted_meanwhile(env: Environment) -> None:
    """A Delete begins before any message of a repair, which ends; the next one finishes it."""
    for moment in numbers(1):
        gate = env.using(Gate(env.address))
        with impatient(), our_own(env, "jobs", url=gate.url, prefix=env.prefix) as queue:
            queue.create(3)
            queue.put(b"v")
            env.redis.delete(env.queue_key(":not_full"))
            gate.arm(moment, lambda: begin_delete(env))
            with suppress(QueueDoesNotExistError):
                expect(told(queue.repair())[1], (), f"what is left by a repair, a Delete at message {moment}")
            if gate.messages < moment:
                expect(length(env, ":not_full"), 1, "elements of not_full after a repair without a Delete")
                break
            with suppress(QueueDoesNotExistError):
                queue.repair()
            expect(count(env), 0, f"keys after a Delete that began at message {moment} of a repair")


@check("decided.repair-corrects")
def spares_what_is_created_meanwhile(env: Environment) -> None:
    """A Delete is finished and the queue created again before any message of a repair that would finish it."""

    def create_again() -> None:
        env.redis.delete(*env.redis.keys(f"{env.queue_key()}*") or ["none"])
        env.created(3).put(b"new")

    for moment in numbers(1):
        gate = env.using(Gate(env.address))
        with impatient(), our_own(env, "jobs", url=gate.url, prefix=env.prefix) as queue:
            queue.create(3)
            queue.put(b"v")
            begin_delete(env)
            gate.arm(moment, create_again)
            done: tuple[str, ...] = ()
            with suppress(QueueDoesNotExistError):
                done = queue.repair().done
            if gate.disarm() < moment:
                expect(count(env), 0, "keys after a repair that finishes a Delete")
                break
            expect("finished a delete that was interrupted" in done, False, f"whether it tells so: {done}")
            new = contents(env)
            seen = [new.get(suffix) for suffix in ("", ":bound", ":closed")]
            expect(seen, [[b"new"], b"3", None], f"a queue that was created at message {moment} of a repair")
            expect(looks(env, queue), True, "whether a look is told after it, whatever it has watched")
            queue.delete()


@check("decided.repair-corrects")
def ends_when_a_holder_changes_meanwhile(env: Environment) -> None:
    """Another client takes the role over before any message of a repair, which frees one holder or the other, or none."""
    gone = "did not free the producer role: its holder changed during the repair"
    for moment in numbers(1):
        gate = env.using(Gate(env.address))
        with our_own(env, "jobs", url=gate.url, prefix=env.prefix) as queue:
            queue.create()
            take(env, "producer", b"other")
            gate.arm(moment, lambda: take(env, "producer", b"another"))
            report = queue.repair(force=True)
            is_over = gate.disarm() < moment
            freed = [f"freed the producer role, held by {holder}" for holder in ("other", "another")]
            expect(
                (len(report.done), report.left) in ((1, ()), (0, (gone,))),
                True,
                f"{report}, changed at {moment}",
            )
            expect(report.done in ((), *((each,) for each in freed)), True, f"{report}, changed at {moment}")
            expect(is_over and report.done != (freed[0],), False, f"{report}, not changed")
            queue.repair(force=True)
            queue.delete()
            if is_over:
                break


@check("decided.repair-corrects")
def touches_nothing_that_is_held(env: Environment) -> None:
    """What the holder of a role will change is not changed by a repair."""
    with impatient(), refilled(env, 0, VALUES) as queue:
        for role in ROLES:
            take(env, role, b"other")
        env.redis.lmove(env.queue_key(), env.queue_key(":unacked"), "RIGHT", "LEFT")
        env.redis.lpush(env.queue_key(":closed"), "0")
        env.redis.lpush(env.queue_key(":not_full"), "0", "0")
        env.redis.incr(env.queue_key(":stats:produced_messages"))
        before = contents(env)
        expect(queue.repair().done, (), "what is done")
        expect(contents(env), before, "keys")


@check("decided.repair-corrects")
def tells_of_a_bound_that_is_none(env: Environment) -> None:
    with refilled(env, 0, VALUES) as queue:
        env.redis.set(env.queue_key(":bound"), "x")
        how = f"set key {env.queue_key(':bound')} to the right number by hand"
        expect(
            told(queue.repair()),
            ((), (f"its bound is not a number of 0 or more: b'x'; {how}",)),
            "what is told",
        )


@check("decided.repair-corrects")
def spares_by_connection(env: Environment) -> None:
    """Of a hold of ours its connection tells whether it is alive; of others nobody knows."""
    connection = env.connect()
    with impatient(), ours(env) as queue:
        for role, holder, is_there in product(("producer", "consumer"), HOLDERS, (True, False)):
            queue.create()
            take(env, role, holder)
            connection.command("CLIENT", "SETNAME", HOLD.rpartition(b"/")[0] if is_there else b"nobody")
            is_spared = holder == b"other" or (holder == HOLD and is_there)
            whom = f"the {role} role, held by {shown(holder)}"
            left = f"did not free {whom}: {ALIVE.get(holder or b'')}; force frees it all the same"
            wanted = ((), (left,)) if is_spared else ((f"freed {whom}",), ())
            expect(told(queue.repair()), wanted, f"what is told when the connection is open: {is_there}")
            expect(length(env, f":{role}_free"), int(not is_spared), "elements of the role's list")
            queue.repair(force=True)
            queue.delete()


@check("decided.repair-corrects")
def frees_one_role_or_both(env: Environment) -> None:
    with ours(env) as queue:
        for only, holder in product((None, "producer", "consumer"), HOLDERS):
            queue.create()
            for role in ROLES:
                take(env, role, holder)
            freed = [role for role in ROLES if only in (None, role)]
            wanted = tuple(f"freed the {role} role, held by {shown(holder)}" for role in freed)
            expect(told(queue.repair(force=True, role=only)), (wanted, ()), f"what is told of {only}")
            expect(
                [length(env, f":{role}_free") for role in ROLES],
                [int(role in freed) for role in ROLES],
                "roles",
            )
            queue.repair(force=True)
            queue.delete()
