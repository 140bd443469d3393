"""The same clauses with large values and very many elements: what is right for a byte may be cut at a limit."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from ..judging.environment import Environment, expect, expect_error
from .lifecycle import our_own
from .lists import Talk, array, bulk, number
from .registry import check
from .reliable import MishapError
from .state import expect_roles_free, length, values
from .waiting import waiters

MEGABYTE: Final = 1 << 20

LARGE: Final = tuple(
    bytes(range(256)) * (size // 256) + b"\r\n" for size in (64 << 10, MEGABYTE, 8 * MEGABYTE)
)
"""Values beyond the usual buffers of sockets and servers, of all bytes."""

MANY: Final = 100_000


def gist(value: bytes) -> str:
    """A large value in few words."""
    return f"{len(value)} bytes, {hashlib.sha1(value, usedforsecurity=False).hexdigest()}"


@check("list.push.binary")
def large_elements(env: Environment) -> None:
    talk = Talk(env)
    for place, value in enumerate(LARGE, 1):
        expect(talk.raw.command("LPUSH", talk.key("k"), value), number(place), f"LPUSH of {gist(value)}")
    for value in LARGE:
        seen = talk.ask("LINDEX k -1")
        expect(gist(seen), gist(bulk(value)), f"LINDEX of {gist(value)}")
        expect(gist(talk.ask("RPOP k")), gist(seen), f"RPOP of {gist(value)}")


def many() -> list[bytes]:
    return [b"%d" % place for place in range(MANY)]


@check("list.push.length")
def very_many_elements(env: Environment) -> None:
    talk, elements = Talk(env), many()
    expect(talk.raw.command("RPUSH", talk.key("k"), *elements), number(MANY), f"RPUSH of {MANY} elements")
    talk.expect("LLEN k", number(MANY))
    expect(gist(talk.ask("LRANGE k 0 -1")), gist(array(*elements)), "LRANGE of all of them")
    talk.expect(f"LINDEX k {MANY // 2}", bulk(elements[MANY // 2]))


@check("list.pop.count")
def very_many_at_once(env: Environment) -> None:
    talk, elements = Talk(env), many()
    talk.raw.command("RPUSH", talk.key("k"), *elements, b"last")
    expect(gist(talk.ask(f"LPOP k {MANY}")), gist(array(*elements)), f"LPOP with a count of {MANY}")
    talk.expect(f"RPOP k {MANY}", array(b"last"))


@check("list.block.wakes-on-push")
def waiters_for_large_elements(env: Environment) -> None:
    blocked = waiters(env, *("BLPOP k 0" for _ in LARGE))
    other = Talk(env)
    expect(other.raw.command("RPUSH", other.key("k"), *LARGE), number(len(LARGE)), "RPUSH of large elements")
    for waiter, value in zip(blocked, LARGE, strict=True):
        wanted = array(waiter.key("k"), value)
        expect(gist(waiter.raw.reply()), gist(wanted), f"what the waiter for {gist(value)} gets")
    other.expect("LLEN k", number(0))


@check("get.pops-right")
def large_messages(env: Environment) -> None:
    queue = env.created(len(LARGE))
    for value in LARGE:
        queue.put(value)
    expect(list(map(gist, values(env))), list(map(gist, LARGE)), "what is stored")
    for value in LARGE:
        expect(gist(queue.get()), gist(value), f"what is got of {gist(value)}")
    expect((values(env), length(env, ":not_full")), ([], 1), "what is left, and the elements of not_full")
    expect_roles_free(env)


@check("get.waits-for-value")
def get_waits_for_a_large_message(env: Environment) -> None:
    queue = env.created()
    got = env.start(queue.get)
    env.until_blocked(1)
    env.redis.lpush(env.queue_key(), LARGE[1])
    expect(gist(got.finish("get when there is a value")), gist(LARGE[1]), "what is got")
    expect_roles_free(env)


@check("decided.reliable-put-back")
def large_messages_are_received(env: Environment) -> None:
    with our_own(env, "jobs", url=env.address.url, prefix=env.prefix) as queue:
        queue.create()
        queue.put_many(LARGE)
        with expect_error(MishapError, "a block that ends by an error"), queue.receive():
            raise MishapError
        for value in LARGE:
            with queue.receive() as message:
                expect(gist(message.data), gist(value), f"what is received of {gist(value)}")
    expect((values(env), length(env, ":unacked")), ([], 0), "what is left")
    expect_roles_free(env)


@check("reliable.pop")
def large_messages_are_delivered(env: Environment) -> None:
    queue = env.kind("ReliableQueue")
    queue.push(*LARGE[:2])
    found = queue.pop(2)
    expect([gist(each.data) for each in found], list(map(gist, LARGE[:2])), "what is popped")
    expect(len(queue.ack(*found)), 2, "messages acknowledged")


@check("backup.claim")
def a_large_item_is_claimed(env: Environment) -> None:
    claim_and_complete(env, env.kind("BackupQueue"))


@check("ring.claim")
def a_large_item_is_locked(env: Environment) -> None:
    claim_and_complete(env, env.kind("RingQueue"), 3600.0)


def claim_and_complete(env: Environment, queue: Any, *options: float) -> None:
    queue.push(*LARGE[:2])
    for value in LARGE[:2]:
        item = queue.claim(*options)
        expect(gist(item.data), gist(value), f"what is claimed of {gist(value)}")
        queue.complete(item)
    expect(env.redis.llen(env.key("jobs")), 0, "items that are left")
