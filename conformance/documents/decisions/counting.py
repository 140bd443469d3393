"""What a repair makes of counters that are not right."""

from __future__ import annotations

from itertools import count as numbers
from typing import Any, Final

from ...judging.environment import Environment, expect
from ..registry import check
from ..state import COUNTERS, counters
from .mending import VALUES, refilled, told

TAKEN: Final = "counted {} that a client had taken and not counted"
PUT: Final = "counted {} that a client had put and not counted"
ANEW: Final = "reset {}"

LARGEST: Final = (1 << 63) - 1

COUNTED: Final = (
    ("3 3 0 0", "3 3 0 0"),
    ("4 8 0 0", "4 8 1 5", TAKEN.format("1 message")),
    ("6 8 0 0", "6 8 3 5", TAKEN.format("3 messages")),
    ("2 2 0 0", "3 3 0 0", PUT.format("1 message")),
    ("0 0 2 4", "5 7 2 4", PUT.format("5 messages")),
    ("4 3 0 0", "4 3 1 0", TAKEN.format("1 message")),
    ("4 2 0 0", "4 2 1 0", TAKEN.format("1 message")),
    ("2 9 0 0", "3 9 0 0", PUT.format("1 message")),
    ("3 9 0 0", "3 9 0 0"),
    ("x 3 0 0", "3 3 0 0", ANEW.format("1 counter that was not a number")),
    ("x 3 -1 0", "3 3 0 0", ANEW.format("2 counters that were not numbers")),
    ("3 x 0 0", "3 3 0 0", ANEW.format("1 counter that was not a number")),
    ("3 9 0 x", "3 9 0 6", ANEW.format("1 counter that was not a number")),
    ("4 3 x 0", "4 3 1 0", ANEW.format("1 counter that was not a number")),
    ("4 x 0 0", "4 3 1 0", ANEW.format("1 counter that was not a number"), TAKEN.format("1 message")),
    (f"{1 << 63} 3 0 0", "3 3 0 0", ANEW.format("1 counter that was not a number")),
    (f"{LARGEST} 3 0 0", f"{LARGEST} 3 {LARGEST - 3} 0", TAKEN.format(f"{LARGEST - 3} messages")),
    ("x x x x", "3 3 0 0", ANEW.format("4 counters that were not numbers")),
)
"""Messages and bytes produced, messages and bytes consumed of a queue with 3 messages of 3 bytes, what a repair
makes of them, and what it tells."""


@check("decided.repair-corrects")
def counts_what_was_not_counted(env: Environment) -> None:
    with refilled(env, 0, VALUES) as queue:
        for given, right, *done in COUNTED:
            for name, number in zip(COUNTERS, given.split(), strict=True):
                env.redis.set(env.queue_key(name), number)
            expect(told(queue.repair()), (tuple(done), ()), f"what is told of the counters {given}")
            expect(
                counters(env), [int(each) for each in right.split()], f"what becomes of the counters {given}"
            )


@check("decided.repair-corrects")
def counts_nothing_where_a_counter_changes_meanwhile(env: Environment) -> None:
    """The next repair does it."""

    def change() -> None:
        env.redis.incr(env.queue_key(COUNTERS[0]))
        env.redis.decr(env.queue_key(COUNTERS[0]))

    for moment in numbers(1):
        queue: Any
        queue, gate = env.gated()
        queue.create()
        queue.put_many(VALUES)
        env.redis.set(env.queue_key(COUNTERS[0]), 4)
        gate.arm(moment, change)
        done, is_over = queue.repair().done, gate.disarm() < moment
        told = (TAKEN.format("1 message"),)
        expect(done in ((), told), True, f"what is told, a counter changed at message {moment}: {done}")
        right = [4, 3, int(bool(done)), 0]
        expect(counters(env), right, f"counters, changed at message {moment} of a repair that says {done}")
        expect(is_over and not done, False, "whether a repair is undone that nobody disturbed")
        queue.delete()
        if is_over:
            break


@check("decided.repair-corrects")
def counts_many_messages(env: Environment) -> None:
    with refilled(env, 0, VALUES) as queue:
        env.redis.lpush(env.queue_key(), *(b"%d" % (number % 10) for number in range(2100)))
        expect(told(queue.repair()), ((PUT.format("2100 messages"),), ()), "what is told")
        expect(counters(env), [2103, 2103, 0, 0], "counters of 2103 messages")
