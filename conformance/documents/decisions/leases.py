"""How leases end a hold of our own client."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from pressure import QueueInUseError

from ...judging.environment import Environment, expect, expect_error
from ..registry import check
from ..state import CONSUMER, LONG, length, server_time, values
from . import RECEIVE, decided
from .healing import DEAD, refilled
from .roles import take


@decided("decided.lease", "a client hangs holding a role", needs=RECEIVE)
def holds_for_a_time(env: Environment) -> None:
    """With a lease a role is held for so long, unless the lease is renewed."""
    with refilled(env, lease=LONG) as queue:
        before = server_time(env)
        with queue.receive():
            left = time_left(env)
            least = 1000 * LONG - (server_time(env) - before) - 2
            expect(least <= left <= 1000 * LONG, True, f"{left} ms are left of {LONG} s")
        expect(time_left(env), -1, "the time of a role that was given back")


def time_left(env: Environment) -> int:
    """Milliseconds until the consumer's identifier expires; -1 for never."""
    left: Any = env.redis.pttl(env.queue_key(":consumer"))
    return int(left)


@check("decided.lease")
def is_renewed(env: Environment) -> None:
    with refilled(env, lease=0.9) as queue, queue.receive():
        env.redis.pexpire(env.queue_key(":consumer"), 700)
        env.until(lambda: time_left(env) > 700, "was a lease renewed")


@check("decided.lease")
def is_lost(env: Environment) -> None:
    for holder, why in LOST.items():
        with refilled(env, lease=LONG) as queue:
            error = env.start(partial(loses_its_role, env, queue, holder)).error("a block that lost its role")
            expect(isinstance(error, QueueInUseError), True, f"{error!r} of a block that lost its role")
            expect(f"has lost the consumer role: {why}" in str(error), True, f"whether it tells why: {error}")
            expect((values(env), length(env, ":unacked"), length(env, CONSUMER)), ([], 1, 0), "what is left")


LOST: Final = {
    None: "its lease of 3600 s ran out",
    b"another": "it was freed, and is held by another now",
    DEAD + b"/released": "it was freed, by a repair or by a client that waited for it, maybe since its lease",
}
"""By what the holder key says to who has lost the role, what its error says."""


def loses_its_role(env: Environment, queue: Any, holder: bytes | None) -> None:
    with queue.receive():
        take(env, "consumer", holder)


@check("decided.lease")
def another_frees_what_is_lost(env: Environment) -> None:
    with refilled(env, lease=LONG) as queue:
        with expect_error(QueueInUseError, "a block whose lease ran out"):
            loses_its_role(env, queue, None)
        expect(
            (values(env), length(env, ":unacked"), length(env, CONSUMER)), ([], 1, 0), "what is left to free"
        )
        expect(env.start(queue.get).finish("a Get after a lease ran out"), b"v", "what is got")
