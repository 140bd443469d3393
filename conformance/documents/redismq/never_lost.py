"""A client that dies, or is refused something, at any moment of its work."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count as numbers
from typing import Any, Final

from pressure import PressureError

from ...judging.environment import Environment, expect
from ...wire.gate import Act, Instead, loading
from ..dying import every_death
from ..registry import check
from ..state import LONG, datas
from . import module
from .queues import counts, dead_of, made, pass_time, popped


@module("reliable.never-lost", "The Reliable Queue")
def dies(env: Environment) -> None:
    """Wherever a client dies, a message comes, or is done with."""
    lanes = [f"{lane}{suffix}" for lane in ("", ":due") for suffix in ("", ":deliveries", ":beats", ":notes")]
    suffixes = (*lanes, ":delayed", ":dead", ":dead:notes")

    def setup() -> Any:
        env.redis.delete(*(env.key(f"jobs{suffix}") for suffix in suffixes))
        return made(env, b"1", b"2", b"3", b"4")

    def work(queue: Any) -> None:
        first, second, third = popped(queue, 3)
        queue.retry(first, 0)
        queue.retry(second, LONG)
        queue.move_due()
        queue.recover(0, 5)
        queue.heartbeat(third)
        queue.ack(third)

    for survivor, done in every_death(env, "ReliableQueue", setup, work):
        survivor.move_due()
        info = survivor.info()
        delayed: Any = env.redis.zrange(env.key("jobs:delayed"), 0, -1)
        left = {*datas(survivor.recover(0, 9)), *datas(survivor.pop(9, block=False))}
        left |= {each[-1:] for each in delayed}  # the payload is the end of a delayed message
        expect(left >= {b"1", b"2", b"4"}, True, f"what is left of four messages, one acknowledged: {left}")
        expect(
            b"3" in left or info.undelivered + info.delivered + info.delayed == 3, True, "no message twice"
        )
        expect(done and b"3" in left, False, "an acknowledged message is left")


ANY: Final[dict[str, Callable[[Any, Any, Any], object]]] = {
    "pop": lambda queue, _, __: datas(queue.pop(5, block=False)),
    "pop_any": lambda queue, other, _: datas(each for _, each in queue.pop_any(other, count=9, block=False)),
    "push": lambda queue, *_: queue.push(b"a", b"b"),
    "push later": lambda queue, *_: queue.push(b"a", b"b", delay=LONG),
    "retry": lambda queue, _, message: queue.retry(message, LONG),
    "recover": lambda queue, *_: queue.recover(0, 5),
    "heartbeat": lambda queue, _, message: queue.heartbeat(message),
    "ack": lambda queue, _, message: queue.ack(message),
    "move_due": lambda queue, *_: queue.move_due(),
    "redrive": lambda queue, *_: queue.redrive(2),
}
"""What is done to a queue, to another one and with a message that is delivered, by its name."""


@check("reliable.never-lost")
def is_refused_at_any_moment(env: Environment) -> None:
    """No message is lost, and no error is raised that is none of a queue."""
    for name in ANY:
        at_each_message(env, name, Instead(loading))


@check("reliable.never-lost")
def a_lost_connection_tells_what_was_delivered(env: Environment) -> None:
    for name in ("pop", "pop_any"):
        at_each_message(env, name, "lose-message")


def at_each_message(env: Environment, name: str, act: Act) -> None:
    """Something happens at each message of an operation, with keys of its own each time."""
    for moment in numbers(1):
        with Environment(env.address, env.client) as own:
            own.of_kinds = env.of_kinds
            if is_over_at(own, moment, act, name):
                break


def is_over_at(env: Environment, moment: int, act: Act, name: str) -> bool:
    """Whether an operation is over before something happens at a message; fails if it does not end as it should."""
    dead_of(env, b"5", b"6")
    one, other = made(env, b"1", b"2"), env.kind("ReliableQueue", "other")
    one.push(b"4", b"3", delay=LONG)
    pass_time(env, LONG)
    (message,) = popped(one)
    other.push(b"7")
    queue, gate = env.gated_kind("ReliableQueue")
    second = env.kind("ReliableQueue", "other", url=gate.url)
    gate.arm(moment, act)
    got: Any = []
    told: BaseException | str = "nothing"
    try:
        got = ANY[name](queue, second, message)
    except PressureError as error:
        got, told = list(getattr(error, "taken", ())), error
    sent, several = gate.disarm(), (one, other, env.kind("ReliableQueue", "jobs:dead"))
    there = [each.message for queue in several for each in queue.pending()]
    what = f"{name}, {act} at message {moment}, {told!r} raised"
    if act == "lose-message":
        expect(
            sorted(got),
            sorted(each.data for each in there if each.id != message.id),
            f"what is told of {what}",
        )
    total = len({each.data for each in there}) + sum(
        sum(counts(each)) - counts(each)[1] for each in several[:2]
    )
    expect(total >= (6 if name == "ack" else 7), True, f"{total} messages are left of 7 after {what}")
    return sent < moment
