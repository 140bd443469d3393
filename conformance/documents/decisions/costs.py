"""How many times our own client asks the server: what need not be waited for is one round trip, where scripts run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any, Final
from unittest import mock

from pressure import PressureError
from pressure.protocol import liveness

from ...judging.environment import Environment, expect
from ...wire.gate import Gate
from ..registry import check
from ..state import LONG, MishapError, our_own
from . import RECEIVE, decided
from .attempts import OPERATIONS, THERE
from .healing import DEAD
from .roles import take

ROUND_TRIPS: Final = {
    "put": (1, 3), "put_many": (1, 3), "close": (1, 3), "get": (1, 3), "get_many": (1, 4),
    "receive": (2, 4), "reject": (2, 4), "fail": (2, 4),
}  # fmt: skip
"""By the operation, with scripts and without."""

REFUSED: Final[dict[str, tuple[Callable[[Any], object], tuple[int, int]]]] = {
    "put": (lambda queue: queue.put_nowait(b"v"), (1, 4)),
    "get": (lambda queue: [queue.get_nowait() for _ in range(3)], (3, 10)),
    "receive": (lambda queue: queue.receive(block=False).__enter__(), (1, 4)),
}
"""The same of what finds a full queue, or an empty one after two values."""

OF_KINDS: Final[dict[str, tuple[tuple[Callable[[Any], Any], ...], tuple[int, ...], tuple[int, ...]]]] = {
    "BackupQueue": (
        (lambda queue: queue.push(b"v"), lambda queue: queue.claim(block=False), lambda queue: queue.complete(b"v")),
        (1, 1, 1), (1, 2, 1),
    ),
    "RingQueue": (
        (lambda queue: queue.push(b"v"), lambda queue: queue.claim_next(LONG), lambda queue: queue.complete(queue.peek()[0])),
        (1, 1, 2), (1, 2, 3),
    ),
}  # fmt: skip
"""By the kind, what adds, takes and finishes, and the round trips of each."""


WAITING: Final[dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "producer": (lambda queue: queue.put(b"v"), lambda queue: queue.put_nowait(b"v")),
    "consumer": (lambda queue: queue.get(), lambda queue: queue.get_nowait()),
}
"""What waits for each role, and what does not."""


LOOKS: Final = {DEAD: 3, b"other": 1}
"""How many messages it takes to look at a holder that is dead, which is noted, and at one that may be alive."""


TRIES: Final = 5
"""How often the round trips are counted: at first the server may not know the script, and a client that a busy
machine holds up may look whether a holder is dead."""


def sent(gate: Gate, work: Callable[[], object]) -> int:
    """How many messages a client sends that does something; it may be refused."""
    gate.arm(0, lambda: None)
    with suppress(PressureError, MishapError):
        work()
    return gate.disarm()


@decided("decided.round-trips", "INSIDE.md, 'step by step'", needs=RECEIVE)
def few_round_trips(env: Environment) -> None:
    """What need not be waited for is one round trip where scripts run, and three where none do, or four for
    several values at once; the end of a reliable get is one more."""
    queue: Any
    queue, gate = env.gated()
    is_plain = env.flavour == "plain"
    for name, operation in OPERATIONS.items():
        for _ in range(TRIES):
            queue.create()
            queue.put_many(THERE)
            seen = sent(gate, partial(operation.work, queue))
            queue.delete()
            if seen == ROUND_TRIPS[name][is_plain]:
                break
        expect(seen, ROUND_TRIPS[name][is_plain], f"round trips of {name}")
    for name, (work, wanted) in REFUSED.items():
        for _ in range(TRIES):
            queue.create(2)
            for value in THERE if name in ("put", "get") else ():
                queue.put(value)
            seen = sent(gate, partial(work, queue))
            queue.delete()
            if seen == wanted[is_plain]:
                break
        expect(seen, wanted[is_plain], f"round trips of {name} that is refused")


@check("decided.round-trips")
def few_of_kinds(env: Environment) -> None:
    for kind, (operations, *wanted) in OF_KINDS.items():
        queue, gate = env.gated_kind(kind, key=env.key(kind))
        for _ in range(TRIES):
            seen = tuple(sent(gate, partial(work, queue)) for work in operations)
            if seen == wanted[env.flavour == "plain"]:
                break
        expect(seen, wanted[env.flavour == "plain"], f"round trips to add, take and finish of a {kind}")


@check("decided.heals")
def looks_seldom(env: Environment) -> None:
    """Who waits looks at a holder after a fifth of the time between two looks; who does not, once in that time."""
    for (role, (waits, fails)), (holder, looks) in product(WAITING.items(), LOOKS.items()):
        gate = env.using(Gate(env.address))
        with (
            mock.patch.object(liveness, "PROBE_INTERVAL", LONG),
            mock.patch("pressure.queue.SLICE", LONG),
            our_own(env, "jobs", url=gate.url, prefix=env.prefix) as queue,
        ):
            queue.create()
            queue.put_many(THERE)
            waits(queue)
            take(env, role, holder)
            gate.arm(0, lambda: None)
            waiting = env.start_blocked(partial(waits, queue))
            expect(gate.disarm(), 3 - (env.flavour == "plain"), f"messages of who waits for the {role} role")
            env.redis.lpush(env.queue_key(f":{role}_free"), "0")
            waiting.finish(f"a client that waits for the {role} role")
            seen = []
            for each in (holder, holder, DEAD + b"1"):
                take(env, role, each)
                seen.append(sent(gate, partial(fails, queue)))
            least = seen[1]
            expect(seen, [least + looks, least, least], f"messages of who does not wait for the {role} role")
            queue.repair(force=True)
            queue.delete()
