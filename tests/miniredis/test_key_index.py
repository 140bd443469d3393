"""SCAN and random choice over names that are added and removed meanwhile."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from miniredis.engine.key_index import KeyIndex

from ..sizes import sizes

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


def test_the_random_choice_returns_every_remaining_key_eventually() -> None:
    index = KeyIndex([b"a", b"b", b"c"])
    index.remove(b"a")
    rng = random.Random(0)  # noqa: S311
    assert {index.any(rng) for _ in range(100)} == {b"b", b"c"}
    index.remove(b"b")
    index.remove(b"c")
    assert index.any(rng) is None
