"""What SCAN, SSCAN, HSCAN and ZSCAN promise while elements go and come, on both servers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from conformance.targets import Address

from ...conftest import ANY_LOOP

KEY = "the key"
SIZE = 60
NAMES = [f"{number} {'x' * 70}" for number in range(2 * SIZE)]
"""Too long for the packed encodings, which are passed in one step."""


@dataclass(frozen=True)
class Walked:
    """A command that walks, and those by which elements come and go."""

    add: Callable[[redis.Redis, str], object]
    remove: Callable[[redis.Redis, str], object]
    scan: Callable[[redis.Redis, int, int], tuple[int, Any]]


WALKED = {
    "SCAN": Walked(
        lambda client, name: client.set(name, "v"),
        lambda client, name: client.delete(name),
        lambda client, cursor, count: client.scan(cursor, count=count),
    ),
    "SSCAN": Walked(
        lambda client, name: client.sadd(KEY, name),
        lambda client, name: client.srem(KEY, name),
        lambda client, cursor, count: client.sscan(KEY, cursor, count=count),
    ),
    "HSCAN": Walked(
        lambda client, name: client.hset(KEY, name, "v"),
        lambda client, name: client.hdel(KEY, name),
        lambda client, cursor, count: client.hscan(KEY, cursor, count=count),
    ),
    "ZSCAN": Walked(
        lambda client, name: client.zadd(KEY, {name: 1}),
        lambda client, name: client.zrem(KEY, name),
        lambda client, cursor, count: client.zscan(KEY, cursor, count=count),
    ),
}


@pytest.fixture
def client(empty_server: Address) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(empty_server.url, decode_responses=True) as client:
        yield client


@pytest.fixture(params=WALKED)
def walked(request: pytest.FixtureRequest, client: redis.Redis) -> Walked:
    """A command, over elements that are there."""
    walked = WALKED[request.param]
    for name in NAMES[:SIZE]:
        walked.add(client, name)
    return walked


def steps(client: redis.Redis, walked: Walked, luck: random.Random) -> Iterator[list[str]]:
    """The elements of each step of a whole walk."""
    cursor = -1
    while cursor:
        cursor, found = walked.scan(client, max(cursor, 0), luck.randint(1, 6))
        yield [item[0] if isinstance(item, tuple) else item for item in found]


@ANY_LOOP
@pytest.mark.parametrize("seed", range(2))
def test_a_walk_gives_no_element_twice_while_others_are_deleted(
    client: redis.Redis, walked: Walked, seed: int
) -> None:
    luck = random.Random(seed)  # noqa: S311
    left, given = set(NAMES[:SIZE]), []
    for found in steps(client, walked, luck):
        given += found
        if len(left) > SIZE // 2:  # so many that no hash table shrinks
            for name in luck.sample(sorted(left), 2):
                left.remove(name)
                walked.remove(client, name)
    assert sorted(given) == sorted(set(given))
    assert left <= set(given)


@ANY_LOOP
@pytest.mark.parametrize("seed", range(2))
def test_a_walk_misses_no_element_that_is_there_all_the_time(
    client: redis.Redis, walked: Walked, seed: int
) -> None:
    luck = random.Random(seed)  # noqa: S311
    there, given = set(NAMES[:SIZE]), set()
    stay = set(luck.sample(NAMES[:SIZE], SIZE // 3))
    for found in steps(client, walked, luck):
        given.update(found)
        for name in luck.sample([name for name in NAMES if name not in stay], 5):
            (walked.remove if name in there else walked.add)(client, name)
            there ^= {name}
    assert stay <= given


def test_scan_gives_each_key_that_is_replaced_meanwhile(client: redis.Redis) -> None:
    names = NAMES[:SIZE]
    client.mset(dict.fromkeys(names, "v"))
    given: list[Any] = []
    cursor = -1
    while cursor:
        cursor, found = client.scan(max(cursor, 0), count=7)
        given += map(str, found)
        for name in names:
            client.set("other", "w")
            client.rename("other", name)
    assert set(given) - {"other"} == set(names)


def test_a_walk_through_a_set_goes_on_after_spop_has_taken_most_of_it(client: redis.Redis) -> None:
    client.sadd(KEY, *NAMES)
    cursor, given = client.sscan(KEY, 0, count=60)
    client.spop(KEY, len(NAMES) - 10)
    left = client.smembers(KEY)
    while cursor:
        cursor, found = client.sscan(KEY, cursor, count=1)
        given += found
    assert left <= set(given)
