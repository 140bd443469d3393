"""Messages that were delivered too often."""

from __future__ import annotations

from ...judging.environment import Environment, expect
from ...judging.running import PATIENCE
from ..registry import check
from ..state import MishapError
from . import module
from .queues import counts, dead_of, made, popped


@module("reliable.dead", "MQ.RECOVER", level="decided")
def dead(env: Environment) -> None:
    """What is delivered too often goes to a queue of its own."""
    queue = made(env, b"1", b"2", max_deliveries=1)
    first, _ = popped(queue, 2)
    queue.retry(first, 0)
    env.until(lambda: all(each.idle > 0 for each in queue.pending()), "had time passed")
    expect((queue.recover(0, 5), counts(queue)), ([], (0, 0, 0, 2)), "what was delivered too often")
    letters = env.kind("ReliableQueue", "jobs:dead")
    told = [(each.data, each.deliveries) for each in letters.pop(5, timeout=PATIENCE)]
    expect(told, [(b"1", 1), (b"2", 1)], "the queue of the dead, and deliveries")


@check("reliable.dead")
def spares_the_others(env: Environment) -> None:
    """A recovery that finds one dead looks further, and delivers each of the others once."""
    queue = made(env, b"1", b"2", b"3", max_deliveries=2)
    popped(queue, 3)
    expect([each.data for each in queue.recover(0, 1)], [b"1"], "what is recovered first")
    found = sorted((each.data, each.deliveries) for each in queue.recover(0, 3))
    expect(found, [(b"2", 2), (b"3", 2)], "what is recovered then, and deliveries")
    expect([each.value for each in queue.dead()], [b"1"], "what is dead")


@module("reliable.dead-why", "MQ.RECOVER", level="decided")
def tells_why(env: Environment) -> None:
    """What is dead tells why, and how often it came."""
    queue = dead_of(env, b"1", b"2", b"3")
    for taken in range(4):  # those that were popped from the queue of the dead come first
        told = [(each.value, each.error, each.text, each.deliveries) for each in queue.dead()]
        wanted = [(each, "MishapError", "no customer", 1) for each in (b"1", b"2", b"3")]
        expect(told, wanted, f"why they are dead, {taken} of which were popped")
        env.kind("ReliableQueue", "jobs:dead").pop(block=False)


@check("reliable.dead-why")
def tells_why_at_some_length(env: Environment) -> None:
    for length in (999, 1000, 1001):
        queue = env.kind("ReliableQueue", f"jobs {length}", max_deliveries=1)
        queue.push(b"v")
        queue.retry(*popped(queue), 0, MishapError("." * length))
        (letter,) = queue.dead()
        expect(letter.text, "." * min(length, 1000), f"what is left of {length} characters")


@module("reliable.redrive", "MQ.PUSH", level="decided")
def redrives(env: Environment) -> None:
    """What is dead can be put into the queue again."""
    queue = dead_of(env, b"1", b"2")
    expect((queue.redrive(1), counts(queue)), (1, (1, 0, 0, 1)), "one is put again")
    again = [(each.data, each.deliveries) for each in popped(queue)]
    expect(again, [(b"1", 1)], "the oldest, as a new message")
