"""What puts back the items of a queue with an in-progress list that were claimed too long ago."""

from __future__ import annotations

import threading
from itertools import combinations
from typing import Any

from ...judging.environment import Environment, expect
from ...wire.gate import Instead, no_scripts
from ..large import LARGE, gist
from ..registry import check
from ..state import LONG, datas, during, server_time
from . import ITEMS, noted
from .backup import age, claim, claims_of, forget, made, pending, processing


@noted("backup.reaper", "5", level="may")
def reaps(env: Environment) -> None:
    """A reaper requeues what was claimed too long ago, by times in a sorted set."""
    queue = aged(env)
    expect({each.data for each in queue.requeue_stale(LONG)}, {b"1", b"2"}, "what goes back")
    expect((sorted(pending(env)), processing(env)), ([b"1", b"2", b"4"], [b"3"]), "both lists")
    env.redis.lrem(env.key("jobs:processing"), 1, "3")
    queue.requeue_stale(LONG)
    expect(env.redis.zcard(env.key("jobs:claims")), 0, "times of what is not in progress")


@check("backup.reaper")
def any_of_many_are_reaped(env: Environment) -> None:
    queue = made(env)
    for count in range(len(ITEMS) + 1):
        for old in combinations(ITEMS, count):
            forget(env)
            queue.push(*ITEMS, b"waits")
            for _ in ITEMS:
                claim(queue)
            times = claims_of(env)
            age(env, *old)
            young = [each for each in ITEMS if each not in old]
            expect(datas(queue.requeue_stale(LONG)), list(old), "what goes back, the oldest first")
            expect((pending(env), processing(env)), ([*old, b"waits"], young), "both lists")
            expect(claims_of(env), {each: times[each] for each in young}, "times of what stays")


@check("backup.reaper")
def equal_items_are_reaped(env: Environment) -> None:
    queue = made(env)
    queue.push(b"same", b"same", b"other", b"same")
    for _ in range(4):
        claim(queue)
    expect(queue.requeue(b"same"), True, "whether one of three was put back")
    expect((pending(env), processing(env)), ([b"same"], [b"same", b"same", b"other"]), "both lists")
    queue.requeue_stale(LONG)
    age(env, "same")
    expect(datas(queue.requeue_stale(LONG)), [b"same", b"same"], "what goes back of equal items")
    expect((pending(env), processing(env)), ([b"same"] * 3, [b"other"]), "both lists")


@check("backup.reaper")
def times_without_an_item_go(env: Environment) -> None:
    queue, many = made(env), [b"item %d" % number for number in range(130)]
    queue.push(*many)
    for _ in many:
        claim(queue)
    late = server_time(env) + int(LONG)
    times = {f"gone {number}": number + 1 if number < 130 else late + number for number in range(260)}
    env.redis.zadd(env.key("jobs:claims"), times)
    expect(queue.requeue_stale(LONG), [], "what goes back of what was claimed just now")
    expect((processing(env), sorted(claims_of(env))), (many, sorted(many)), "what is in progress, and times")
    age(env, many[0], many[64], many[129])
    expect(datas(queue.requeue_stale(LONG)), [many[0], many[64], many[129]], "what goes back of 130")
    left = [each for each in many if each not in (many[0], many[64], many[129])]
    expect((processing(env), sorted(claims_of(env))), (left, sorted(left)), "what is in progress, and times")


@check("backup.reaper")
def more_than_one_look_are_reaped(env: Environment) -> None:
    """A script looks at 10,000 items at a time, and equal ones go back wherever they are."""
    queue, gate = env.gated_kind("BackupQueue")
    for pairs, looks in ((5000, 1), (5001, 2)):
        forget(env)
        queue.push(b"waits")
        queue.requeue_stale(0)  # it knows its kind then, and the server the script
        env.redis.delete(env.key("jobs"))
        env.redis.lpush(env.key("jobs:processing"), *((b"old", b"young") * pairs))
        now = server_time(env)
        env.redis.zadd(env.key("jobs:claims"), {"old": 1, "young": now, "gone": now})
        gate.arm(0, lambda: None)
        expect(len(queue.requeue_stale(LONG)), pairs, f"how many go back of {pairs} old ones")
        expect(
            gate.disarm(), 2 if env.flavour == "plain" else looks, f"messages of a reaper of {pairs} pairs"
        )
        expect((pending(env), processing(env)), ([b"old"] * pairs, [b"young"] * pairs), "both lists")
        expect(claims_of(env).get(b"young"), float(now), "the time of what stays")
        expect(b"old" in claims_of(env), False, "whether what went back has a time")


@check("backup.reaper")
def scripts_are_refused_between_two_looks(env: Environment) -> None:
    """A script looks at 16 MB at a time. Plain commands put back the rest, and the order is that of the claims."""
    items = [b"first", LARGE[2], LARGE[2][::-1]]
    queue, gate = env.gated_kind("BackupQueue")
    queue.push(b"waits")
    queue.requeue_stale(0)  # it knows its kind then, and the server the script
    env.redis.lpush(env.key("jobs:processing"), *items)
    env.redis.zadd(env.key("jobs:claims"), dict.fromkeys(items, 1))
    gate.arm(2, Instead(no_scripts))
    back, sent = datas(queue.requeue_stale(LONG)), gate.disarm()
    expect(list(map(gist, back)), list(map(gist, items)), "what goes back")
    expect((pending(env) == [*items, b"waits"], processing(env)), (True, []), "whether all wait, or not")
    expect(sent, 2 if env.flavour == "plain" else 4, "messages of a reaper whose second script is refused")


@noted("backup.front", "5", level="decided")
def to_the_front(env: Environment) -> None:
    """What goes back is claimed next, the oldest first."""
    queue = aged(env)
    queue.requeue_stale(LONG)
    expect([claim(queue).data for _ in range(3)], [b"1", b"2", b"4"], "what is claimed then")


def aged(env: Environment) -> Any:
    """A queue with 1, 2 and 3 in progress, two of them for long, and 4 waiting."""
    queue = made(env)
    queue.push(b"1", b"2", b"3", b"4")
    for _ in range(3):
        claim(queue)
    age(env, "1", "2")
    return queue


@noted("backup.first-sight", "5", level="decided")
def first_sight(env: Environment) -> None:
    """An item without a time is given that at which the reaper sees it."""
    queue = made(env)
    queue.push(b"v")
    env.redis.lmove(env.key("jobs"), env.key("jobs:processing"), "RIGHT", "LEFT")
    expect(queue.requeue_stale(LONG), [], "what goes back at first sight")
    age(env, "v")
    expect([each.data for each in queue.requeue_stale(LONG)], [b"v"], "what goes back a period later")


@check("backup.first-sight")
def all_are_old_at_once(env: Environment) -> None:
    """With no age at all, what has no time goes back, too."""
    queue = made(env)
    env.redis.lpush(env.key("jobs:processing"), *ITEMS)
    expect(datas(queue.requeue_stale(0)), list(ITEMS), "what goes back at the age of 0 s")
    expect((pending(env), claims_of(env)), (list(ITEMS), {}), "what waits, and times")


@check("backup.first-sight")
def sight_is_now(env: Environment) -> None:
    queue = made(env)
    queue.push(*ITEMS)
    for _ in ITEMS:
        claim(queue)
    env.redis.zrem(env.key("jobs:claims"), ITEMS[0], ITEMS[2])
    age(env, ITEMS[3])
    with during(env, "the time of an item that had none") as times:
        expect(datas(queue.requeue_stale(LONG)), [ITEMS[3]], "what goes back")
        times += (claims_of(env)[each] for each in (ITEMS[0], ITEMS[2]))
    expect(processing(env), list(ITEMS[:3]), "what is in progress")


@noted("backup.once", "5", level="decided")
def two_reapers(env: Environment) -> None:
    """Of two reapers one puts an item back."""
    items = [b"%d" % number for number in range(50)]
    queue = made(env)
    queue.push(*items)
    for _ in items:
        claim(queue)
    begin = threading.Barrier(3)

    def reap(reaper: Any) -> list[bytes]:
        begin.wait()
        return [each.data for each in reaper.requeue_stale(0)]

    reaping = [env.start(lambda reaper=made(env): reap(reaper)) for _ in range(3)]  # type: ignore[misc]  # noqa: B008
    back = [data for each in reaping for data in each.finish("a reaper")]
    expect(sorted(back), sorted(items), "what three reapers say that they put back")
    expect((pending(env), processing(env)), (items, []), "both lists")
