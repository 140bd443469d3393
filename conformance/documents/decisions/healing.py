"""What our own client does about a dead holder while it waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import Any, Final
from unittest import mock

from pressure import QueueFullError, QueueInUseError
from pressure.protocol import liveness

from ...clients.textbook import LATER, Textbook
from ...judging.environment import Environment, expect, expect_error
from ..registry import check
from ..state import CONSUMER, LONG, count, expect_roles_free, length, text, values
from . import HOLD, RECEIVE, decided, ours
from .roles import impatient, take


def receive(queue: Any, timeout: float | None = None) -> None:
    with queue.receive(timeout=timeout):
        pass


OPERATIONS: Final[dict[str, tuple[str, Callable[[Any, float | None], object]]]] = {
    "put": ("producer", lambda queue, timeout: queue.put(b"v", timeout=timeout)),
    "close": ("producer", lambda queue, timeout: queue.shutdown(timeout=timeout)),
    "get": ("consumer", lambda queue, timeout: queue.get(timeout=timeout)),
    "receive": ("consumer", receive),
    "delete": ("consumer", lambda queue, timeout: queue.delete(timeout=timeout)),
}
"""What waits for a role, by name, with the role."""

SHORT: Final = ("put", "get")
"""Those that try every case."""

ALIVE: Final = 0.1
"""Seconds in which a role would be freed whose holder is dead."""


DEAD: Final = b"host:2:00000000/1/1"


@decided("decided.heals", "a client dies holding a role", needs=RECEIVE)
def frees_the_role_of_the_dead(env: Environment) -> None:
    """A client that waits frees the role of a holder that is dead, and of no other."""
    for name, (role, operate) in OPERATIONS.items():
        for holder in (DEAD, HOLD + b"/released", None)[: 3 if name in SHORT else 1]:
            with refilled(env) as queue:
                take(env, role, holder)
                env.redis.delete(env.queue_key(":not_full"))  # it had the token, too
                work = env.start(partial(operate, queue, None))
                work.finish(f"{name} while {holder!r} holds the {role} role")
                if queue.exists():
                    expect_roles_free(env)
                    expect(length(env, ":not_full"), 1, f"tokens after a {name}")


@contextmanager
def refilled(env: Environment, bound: int = 0, **settings: Any) -> Iterator[Any]:
    """Our client, with little patience, of a queue that holds a message and is gone after the block."""
    with impatient(), ours(env, **settings) as queue:
        queue.create(bound)
        queue.put(b"v")
        yield queue
        if count(env):
            queue.repair(force=True)
        if queue.exists():
            queue.delete()


@check("decided.heals")
def spares_who_may_be_alive(env: Environment) -> None:
    env.connect().command("CLIENT", "SETNAME", HOLD.rpartition(b"/")[0])
    for name, (role, operate) in OPERATIONS.items():
        cases: tuple[tuple[bytes, dict[str, Any]], ...]
        cases = (b"other", {}), (HOLD, {}), (DEAD, {"heal": False})
        for holder, settings in cases[: 3 if name in SHORT else 1]:
            with refilled(env, **settings) as queue:
                take(env, role, holder)
                with expect_error(QueueInUseError, f"{name} while {holder!r} holds the {role} role"):
                    operate(queue, ALIVE)
                expect(text(env, f":{role}"), holder, "the holder")


@check("decided.heals")
def frees_its_own_at_once(env: Environment) -> None:
    """A hold of this process that is over needs no second look, and a client that does not wait frees it, too."""
    with refilled(env) as queue, mock.patch.object(liveness, "PROBE_INTERVAL", LONG):
        env.start(queue.repair).finish("a repair where both roles are free")
        with queue.receive():
            ours_before = text(env, ":consumer")
        queue.put(b"w")
        for role, operate in (("producer", partial(queue.put_nowait, b"x")), ("consumer", queue.get_nowait)):
            for free in (operate, queue.repair):
                take(env, role, ours_before)
                env.start(free).finish(f"what frees the {role} role of a hold that is over")
                expect_roles_free(env)


@check("decided.heals")
def looks_twice_before_it_frees_a_role(env: Environment) -> None:
    """Who has taken a role and not written its id yet has the time between two looks to do so."""
    for role, operate in (OPERATIONS[name] for name in SHORT):
        with refilled(env) as queue, mock.patch.object(liveness, "PROBE_INTERVAL", BETWEEN):
            take(env, role, None)
            began = time.monotonic()
            env.start(partial(operate, queue, None)).finish(f"a client that waits for the {role} role")
            lasted = time.monotonic() - began
            expect(lasted >= BETWEEN, True, f"{lasted:.2f} s until a role was freed, looks {BETWEEN} s apart")
            vars(liveness)["PROBE_INTERVAL"] = SOON
            take(env, role, None)
            began = time.monotonic()
            queue.repair()
            lasted = time.monotonic() - began
            expect(lasted >= SOON, True, f"{lasted:.2f} s until a repair freed a role, looks {SOON} s apart")


@check("decided.heals")
def goes_on_when_a_lease_runs_out(env: Environment) -> None:
    """Between two looks the holder key expires: the second one is enough, as if it had named nobody before."""
    for role, operate in (OPERATIONS[name] for name in SHORT):
        with (
            refilled(env) as queue,
            mock.patch.object(liveness, "PROBE_INTERVAL", BETWEEN),
            mock.patch("pressure.protocol.healing.probe", wraps=liveness.probe) as looks,
        ):
            take(env, role, DEAD)
            work = env.start(partial(operate, queue, None))
            env.until(partial(getattr, looks, "called"), f"was there a look at the {role}")
            env.redis.delete(env.queue_key(f":{role}"))
            work.finish(f"a client that waits for the {role} role")
            expect(looks.call_count, 2, f"looks until the {role} role is freed")


BETWEEN: Final = 0.15
"""Seconds between two looks at a holder."""

SOON: Final = 0.05
"""The same for a repair, which always takes as long."""


@check("decided.heals")
def needs_no_note_of_another(env: Environment) -> None:
    """Who waits looks twice itself: a note that another program has written, and that never expires, is no matter."""
    for role, operate in (OPERATIONS[name] for name in SHORT):
        with refilled(env) as queue:
            take(env, role, DEAD)
            env.redis.set(env.queue_key(f":{role}:suspect"), DEAD)
            env.start(partial(operate, queue, None)).finish(f"a client that waits for the {role} role")


@check("decided.heals")
def two_that_do_not_wait_free_it(env: Environment) -> None:
    """One finds the holder dead and notes it for an hour; another that finds so a minute later frees the role."""
    for role, operate in (("producer", attrgetter("put_nowait")), ("consumer", attrgetter("get_nowait"))):
        for seconds, is_freed in ((0, False), (50, False), (61, True), (None, False)):
            with refilled(env), mock.patch.object(liveness, "PROBE_INTERVAL", 60.0):
                take(env, role, DEAD)
                for is_last in (False, True):
                    with ours(env) as queue:
                        error = env.start(partial(operate(queue), *(b"w",) * (role == "producer"))).error(
                            role
                        )
                        wanted = type(None) if is_last and is_freed else QueueInUseError
                        expect(type(error), wanted, f"what stops who tries again after {seconds} s")
                    noted_before(env, f":{role}:suspect", seconds)
        with refilled(env), mock.patch.object(liveness, "PROBE_INTERVAL", 60.0):
            for holder in (DEAD, DEAD + b"2"):
                take(env, role, holder)
                with ours(env) as queue:
                    error = env.start(partial(operate(queue), *(b"w",) * (role == "producer"))).error(role)
                expect(type(error), QueueInUseError, f"what stops the first who finds {holder!r} dead")
                noted_before(env, f":{role}:suspect", 61)


def noted_before(env: Environment, suffix: str, seconds: int | None) -> None:
    """What a client has noted for an hour was noted so many seconds ago; None: for ever, by another program."""
    if seconds is None:
        env.redis.persist(env.queue_key(suffix))
    else:
        env.redis.pexpire(env.queue_key(suffix), 3_600_000 - 1000 * seconds)


@check("decided.heals")
def two_that_do_not_wait_restore_a_token(env: Environment) -> None:
    """A Put finds room and no token and notes it; another that finds so a minute later restores the token."""
    for seconds, is_restored in ((0, False), (50, False), (61, True), (None, False)):
        with refilled(env), mock.patch.object(liveness, "PROBE_INTERVAL", 60.0):
            env.redis.delete(env.queue_key(":not_full"))
            for is_last in (False, True):
                puts = is_last and is_restored
                with ours(env) as queue:
                    put = env.start(partial(queue.put, b"w", timeout=0.1 if puts else 0.02))
                    error = put.error("a Put that finds no token")
                wanted = type(None) if puts else QueueFullError
                expect(type(error), wanted, f"what stops a Put that finds no token, noted {seconds} s before")
                noted_before(env, ":not_full:suspect", seconds)


@check("decided.heals")
def restores_each_token_after_a_time(env: Environment) -> None:
    """Room without a token is seen for as long as a token may be on its way, each time anew."""
    with refilled(env) as queue, mock.patch.object(liveness, "PROBE_INTERVAL", BETWEEN):
        for holds in (False, False, True):
            env.redis.delete(env.queue_key(":not_full"))
            began = time.monotonic()
            putting = env.start_blocked(partial(queue.put, b"w"))
            if holds:
                env.redis.blpop([env.key("none")], BETWEEN / 2)
                take(env, "consumer", b"other")
                env.redis.blpop([env.key("none")], BETWEEN / 2)
                began = time.monotonic()
                env.redis.lpush(env.queue_key(CONSUMER), "0")
            putting.finish("a Put that finds no token")
            lasted = time.monotonic() - began
            expect(
                lasted >= BETWEEN, True, f"{lasted:.2f} s until a token was restored, looks {BETWEEN} s apart"
            )


@check("decided.heals")
def notes_no_token_that_is_not_lost(env: Environment) -> None:
    """A Put that finds no room, or that may not heal a queue; or else another would restore a token at once."""
    for bound, settings in ((1, {}), (2, {"heal": False})):
        with refilled(env, bound, **settings) as queue:
            env.redis.delete(env.queue_key(":not_full"))
            env.start(partial(queue.put, b"w", timeout=0.02)).expect_error(
                QueueFullError, "a Put without a token"
            )
            expect(
                env.redis.exists(env.queue_key(":not_full:suspect")), 0, f"notes, {settings}, bound {bound}"
            )


@check("decided.heals")
def restores_no_token_that_another_will(env: Environment) -> None:
    """Room that a live consumer has made, who will tell of it when it is done."""
    with refilled(env, 1) as queue:
        putting = env.start_blocked(partial(queue.put, b"w"))
        take(env, "consumer", b"other")
        env.redis.rpop(env.queue_key())
        expect(
            type(env.start(partial(queue.put, b"w", timeout=ALIVE)).error("a Put")),
            QueueInUseError,
            "an error",
        )
        expect(length(env, ":not_full"), 0, "tokens while a consumer is at work")
        env.redis.lpush(env.queue_key(":not_full"), "0")
        putting.finish("a Put that waits for room")


@check("decided.heals")
def puts_back_what_the_dead_had(env: Environment) -> None:
    with refilled(env) as queue:
        queue.put(b"w")
        env.redis.lmove(env.queue_key(), env.queue_key(":unacked"), "RIGHT", "LEFT")
        env.redis.lpush(env.queue_key(":closed"), "0")
        env.redis.delete(env.queue_key(":not_full"))
        take(env, "consumer", DEAD)
        expect(env.start(queue.get).finish("a Get after a dead consumer"), b"v", "what is got")
        expect(
            [length(env, suffix) for suffix in (":unacked", ":closed", ":not_full")], [0, 2, 1], "its lists"
        )


@check("decided.heals")
def restores_a_lost_token(env: Environment) -> None:
    """Room that a dead consumer made, and did not tell of."""
    with refilled(env, 1) as queue:
        take(env, "consumer", DEAD)
        putting = env.start_blocked(partial(queue.put, b"w"))
        env.until(
            lambda: length(env, CONSUMER) == 1, "was the role of a dead consumer freed for who waits for room"
        )
        env.redis.rpop(env.queue_key())
        putting.finish("a Put that waits for room")
        expect(values(env), [b"w"], "what waits")


@check("decided.heals")
def restores_the_token_that_the_dead_owed(env: Environment) -> None:
    """Another program waits for the room that a dead consumer made, and who frees that role waits for what it puts."""
    with refilled(env, 1) as queue:
        other = env.using(Textbook(env.address.url, env.queue_key(), LATER))
        putting = env.start_blocked(partial(other.put, b"w"))
        take(env, "consumer", DEAD)
        env.redis.rpop(env.queue_key())
        expect(env.start(queue.get).finish("a Get after a dead consumer"), b"w", "what is got")
        putting.finish("a Put of another program that waits for room")
