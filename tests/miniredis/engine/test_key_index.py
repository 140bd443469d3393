"""SCAN and random choice over names that are added and removed meanwhile."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miniredis.engine.values.key_index import KeyIndex

from ...sizes import sizes

NAMES = st.integers(0, 40).map(lambda number: b"%d" % number)
SETS = st.sets(NAMES) | sizes(5000).map(lambda size: {b"%d" % number for number in range(size)})


@settings(deadline=None)
@given(stay=SETS, others=st.lists(SETS, max_size=30), count=sizes(1000, 1))
def test_a_scan_returns_each_key_that_exists_throughout(
    stay: set[bytes], others: list[set[bytes]], count: int
) -> None:
    index = KeyIndex(sorted(stay))
    there = set(stay)
    met: set[bytes] = set()
    cursor = 0
    changes = iter(others)
    while True:
        cursor, names = index.walk(cursor, count)
        assert len(names) <= count
        assert set(names) <= there
        assert met.isdisjoint(set(names) & stay)
        met |= set(names)
        if not cursor:
            break
        for name in next(changes, set()) - stay:
            (index.remove if name in there else index.add)(name)
            there ^= {name}
    assert stay <= met


def test_a_scan_ends_while_keys_are_added() -> None:
    index = KeyIndex([b"a", b"b", b"c"])
    cursor, steps = index.walk(0, 1)[0], 1
    while cursor:
        index.add(b"new %d" % steps)
        cursor, steps = index.walk(cursor, 1)[0], steps + 1
    assert steps == 3


def test_a_scan_returns_each_key_once_while_others_are_deleted() -> None:
    names = [b"%d" % number for number in range(3000)]
    index, luck = KeyIndex(names), random.Random(1)  # noqa: S311
    left, met, cursor = set(names), [], 0
    while True:
        cursor, found = index.walk(cursor, 7)
        met += found
        if not cursor:
            break
        for name in luck.sample(sorted(left), min(20, len(left) - 1)):
            left.remove(name)
            index.remove(name)
    assert len(met) == len(set(met))
    assert left <= set(met)


def test_a_walk_does_not_end_with_an_empty_step_where_the_last_names_have_gone() -> None:
    index = KeyIndex([b"a", b"b", b"c"])
    index.remove(b"a")
    assert index.walk(0, 2) == (0, [b"b", b"c"])
    assert index.walk(0, 1) == (3, [b"c"])
    assert index.walk(3, 1) == (0, [b"b"])


def test_names_that_have_gone_are_forgotten() -> None:
    index = KeyIndex([b"stays"])
    for number in range(1000):
        index.add(b"%d" % number)
        index.remove(b"%d" % number)
    assert len(index._gone) < 20
    assert len(index._names) < 40


@pytest.mark.parametrize("count", [1, 3, 30, 70])
def test_names_are_drawn_evenly_from_those_that_remain(count: int) -> None:
    index, luck = KeyIndex([b"%d" % number for number in range(150)]), random.Random(1)  # noqa: S311
    remaining = {b"%d" % number for number in range(0, 150, 2)}
    for number in range(1, 150, 2):
        index.remove(b"%d" % number)
    drawn = Counter[bytes]()
    rounds = 40_000 // count
    for _ in range(rounds):
        names = index.several(count, luck)
        assert len(set(names)) == len(names) == count
        drawn.update(names)
        drawn.update(index.repeated(count, luck))
    assert drawn.keys() == remaining
    even = 2 * rounds * count / len(remaining)
    assert all(0.8 * even < times < 1.2 * even for times in drawn.values())


def test_the_random_choice_returns_every_remaining_key_eventually() -> None:
    index = KeyIndex([b"a", b"b", b"c"])
    index.remove(b"a")
    rng = random.Random(0)  # noqa: S311
    assert {index.any(rng) for _ in range(100)} == {b"b", b"c"}
    index.remove(b"b")
    index.remove(b"c")
    assert index.any(rng) is None
