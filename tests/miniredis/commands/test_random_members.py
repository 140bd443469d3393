"""SCAN, random members and pops, whose replies two servers may choose differently."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from conformance.targets import Address

from ...conftest import ANY_LOOP

MEMBERS = {b"m%d" % number for number in range(1000)}
FIELDS = {member: b"v" + member for member in MEMBERS}
DRAWS = 100


@pytest.fixture
def client(empty_server: Address) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(empty_server.url, protocol=2) as client:
        yield client
        client.config_set("set-max-intset-entries", 512)


def ask(client: redis.Redis, *words: object) -> Any:
    return client.execute_command(*words)  # type: ignore[no-untyped-call]


def fill(client: redis.Redis) -> None:
    client.sadd("s", *MEMBERS)
    client.hset("h", items=[part for pair in FIELDS.items() for part in pair])


def walk(client: redis.Redis, *words: object) -> list[bytes]:
    """All that a SCAN of some kind finds, in steps."""
    name, key, *options = words
    found: list[bytes] = []
    cursor = b"0"
    while True:
        cursor, part = ask(client, name, key, cursor, *options)
        found += part
        if int(cursor) == 0:
            return found


# Walking


@ANY_LOOP
@pytest.mark.parametrize("count", [1, 10, 5000])
def test_a_scan_returns_every_member(client: redis.Redis, count: int) -> None:
    fill(client)
    assert set(walk(client, "SSCAN", "s", "COUNT", count)) == MEMBERS
    cursor: Any = b"0"
    fields: dict[bytes, bytes] = {}
    steps = 0
    while steps == 0 or int(cursor):
        cursor, part = ask(client, "HSCAN", "h", cursor, "COUNT", count)
        fields.update(part)  # redis-py makes a dictionary of it
        steps += 1
    assert fields == FIELDS
    assert (steps > 1) == (count < len(FIELDS))


def test_a_scan_with_match_returns_the_members_that_match(client: redis.Redis) -> None:
    fill(client)
    fitting = {member for member in MEMBERS if member.startswith(b"m99")}
    assert set(walk(client, "SSCAN", "s", "MATCH", "m99*")) == fitting


def test_a_scan_returns_members_that_stay_while_others_are_removed(client: redis.Redis) -> None:
    fill(client)
    rng = random.Random(1)  # noqa: S311
    gone: set[bytes] = set()
    met: set[bytes] = set()
    cursor: Any = b"0"
    while True:
        cursor, part = ask(client, "SSCAN", "s", cursor, "COUNT", 50)
        met |= set(part)
        leaving = rng.sample(sorted(MEMBERS - gone), 20)
        client.srem("s", *leaving)
        gone |= set(leaving)
        if int(cursor) == 0:
            break
    assert met >= MEMBERS - gone


# Drawing


@ANY_LOOP
def test_random_choices_return_every_member_eventually(client: redis.Redis) -> None:
    client.sadd("s", *"abcde")
    client.hset("h", mapping={name: name for name in "abcde"})
    draws: list[tuple[Any, ...]] = [
        ("SRANDMEMBER", "s"), ("SRANDMEMBER", "s", 1), ("SRANDMEMBER", "s", -1), ("HRANDFIELD", "h"),
        ("HRANDFIELD", "h", 1), ("HRANDFIELD", "h", -1),
    ]  # fmt: skip
    for draw in draws:
        found = Counter(str(ask(client, *draw)) for _ in range(DRAWS))
        assert len(found) == 5, draw
        assert max(found.values()) < DRAWS / 2, draw


def test_a_positive_count_draws_distinct_members_and_a_negative_one_may_repeat(client: redis.Redis) -> None:
    fill(client)
    for command, key in (("SRANDMEMBER", "s"), ("HRANDFIELD", "h")):
        some = ask(client, command, key, 900)
        assert len(some) == len(set(some) & MEMBERS) == 900
        many = ask(client, command, key, -3000)
        assert len(many) == 3000
        assert 600 < len(set(many) & MEMBERS) <= 1000
    pairs = ask(client, "HRANDFIELD", "h", -50, "WITHVALUES")
    assert len(pairs) == 100
    assert all(FIELDS[field] == value for field, value in zip(pairs[::2], pairs[1::2], strict=True))


def test_spop_removes_the_members_it_returns(client: redis.Redis) -> None:
    fill(client)
    left = set(MEMBERS)
    for count in (1, 10, 900, 85, 100):
        popped = ask(client, "SPOP", "s", count)
        assert len(popped) == len(set(popped) & left) == min(count, len(left))
        left -= set(popped)
        assert client.smembers("s") == left
        assert set(ask(client, "SRANDMEMBER", "s", 5000)) == left
    assert not client.exists("s")


def test_spop_without_a_count_returns_all_members_in_random_order(client: redis.Redis) -> None:
    client.sadd("s", *range(100))
    popped = [client.spop("s") for _ in range(100)]
    assert sorted(popped, key=int) == [b"%d" % number for number in range(100)]  # type: ignore[arg-type]
    assert popped != sorted(popped, key=int)  # type: ignore[arg-type]
    assert client.spop("s") is None


@pytest.mark.parametrize(("count", "encoding"), [(8, b"hashtable"), (9, b"hashtable"), (10, b"intset")])
def test_spop_of_nearly_all_members_chooses_the_encoding_again_and_keeps_the_ttl(
    client: redis.Redis, count: int, encoding: bytes
) -> None:
    client.config_set("set-max-intset-entries", 5)
    client.sadd("s", *range(12))
    client.expire("s", 1000)
    client.spop("s", count)
    assert client.object("encoding", "s") == encoding
    assert client.ttl("s") > 0


def test_an_intset_stays_sorted_after_spop(client: redis.Redis) -> None:
    client.sadd("s", *range(100, 0, -1))
    client.spop("s", 20)
    client.spop("s")
    members = ask(client, "SSCAN", "s", 0)[1]
    assert members == sorted(members, key=int)
    assert len(members) == 79


# Nothing that was not sent


@pytest.mark.parametrize(
    "request_", ["SRANDMEMBER s -9223372036854775807", "HRANDFIELD h -4000000000000000000 WITHVALUES"]
)
def test_a_very_large_count_with_repetition_is_refused(embedded_server: Address, request_: str) -> None:
    with redis.Redis.from_url(embedded_server.url) as client:
        client.sadd("s", "a")
        client.hset("h", "f", "v")
        with pytest.raises(redis.ResponseError, match="out of range"):
            ask(client, *request_.split())
        client.sadd("long", b"x" * 1_000_000)
        with pytest.raises(redis.ResponseError, match="out of range"):
            ask(client, "SRANDMEMBER", "long", -1000)
        assert len(ask(client, "SRANDMEMBER", "long", -3)) == 3
        client.delete("long")
