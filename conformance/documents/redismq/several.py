"""Several groups of one queue, and several queues of one group."""

from __future__ import annotations

from typing import Any

from pressure import QueueAlreadyExistsError

from ...judging.environment import Environment, expect, expect_error
from ...judging.running import PATIENCE
from ..registry import check
from ..state import datas
from . import module
from .queues import counts, dead_of, made, popped


@module("reliable.groups", "MQ.ACK", level="decided")
def groups(env: Environment) -> None:
    """What one group acknowledges stays for the others."""
    queue, audit = made(env, b"1"), env.kind("ReliableQueue", group="audit")
    env.redis.xgroup_create(env.key("jobs"), "audit", "0")
    queue.ack(*popped(queue))
    if "lag" in env.redis.xinfo_groups(env.key("jobs"))[0]:  # since 7.0
        told = [each.info().undelivered for each in (queue, audit)]
        expect(told, [0, 1], "messages that wait for one group, and for the other")
    expect(datas(popped(audit)), [b"1"], "what another group gets")


@check("reliable.groups")
def the_dead_of_another_group_stay(env: Environment) -> None:
    queue = dead_of(env, b"1", b"2")
    env.redis.xgroup_create(env.key("jobs:dead"), "audit", "0")
    expect((queue.redrive(2), counts(queue)[0]), (2, 2), "what is put again")
    letters = env.kind("ReliableQueue", "jobs:dead", group="audit")
    expect(datas(popped(letters, 2)), [b"1", b"2"], "the dead that another group gets")


@check("reliable.groups")
def what_another_group_works_on_stays(env: Environment) -> None:
    """Until the last group has acknowledged it, whichever that is."""
    for is_first in (True, False):
        name = f"jobs {is_first}"
        queues = [made_as(env, name, group) for group in ("pressure", "audit")]
        queues[0].push(b"1", b"2")
        messages = [popped(queue, 2) for queue in queues]
        first, last = (0, 1) if is_first else (1, 0)
        queues[first].ack(*messages[first])
        again = [(each.data, each.deliveries) for each in queues[last].recover(0, 5)]
        expect(again, [(b"1", 2), (b"2", 2)], "what a group recovers that another has acknowledged")
        queues[last].ack(*messages[last])
        expect(env.redis.xlen(env.key(name)), 0, "entries that all groups have acknowledged")


def made_as(env: Environment, name: str, group: str) -> Any:
    """A queue of a group, which is there."""
    env.redis.xgroup_create(env.key(name), group, "0", mkstream=True)
    return env.kind("ReliableQueue", name, group=group)


@module("reliable.several", "MQ.POP", level="decided")
def several(env: Environment) -> None:
    """Of several queues the first that has something is popped."""
    first, second = made(env), env.kind("ReliableQueue", "more")
    second.push(b"late")
    first.push(b"early", b"next")
    found = [each for _ in range(2) for each in first.pop_any(second, count=2, timeout=PATIENCE)]
    told = [(queue.keys.queue, message.data) for queue, message in found]
    names = [env.key(name).encode() for name in ("jobs", "more")]
    wanted = [(names[0], b"early"), (names[0], b"next"), (names[1], b"late")]
    expect(told, wanted, "what is popped of two queues")


@check("reliable.several")
def several_are_of_one_kind(env: Environment) -> None:
    queue = made(env)
    env.kind("BackupQueue", "other").push(b"v")
    with expect_error(QueueAlreadyExistsError, "a pop of a queue of another kind"):
        queue.pop_any(env.kind("ReliableQueue", "other"), block=False)
    with expect_error(TypeError, "a pop of what is no queue"):
        queue.pop_any(b"other", block=False)
    for count in range(1, 4):
        queues = [env.kind("ReliableQueue", f"several {count} {number}") for number in range(3)]
        for number, each in enumerate(queues):
            each.push(*(b"%d" % number,) * 2)
        found = queues[0].pop_any(*queues[1:], count=2 * count, block=False)
        told = [(queue.keys.queue, message.data) for queue, message in found]
        wanted = [(each.keys.queue, b"%d" % number) for number, each in enumerate(queues) for _ in range(2)]
        expect(told, wanted[: 2 * count], f"what is popped of three queues, {2 * count} at most")
