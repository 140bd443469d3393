"""Entries in order, next to a plain sorted list."""

import random
from bisect import insort

import pytest

from miniredis.engine import ordered
from miniredis.engine.ordered import Entry, Ordered


def entry(luck: random.Random) -> Entry:
    return float(luck.randrange(20)), b"%d" % luck.randrange(100)


@pytest.fixture(params=[(1024, 128), (8, 2), (4, 1)], ids=str)
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    full, sparse = request.param
    monkeypatch.setattr(ordered, "FULL", full)
    monkeypatch.setattr(ordered, "SPARSE", sparse)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("seed", range(5))
def test_it_is_a_sorted_list(seed: int) -> None:
    luck = random.Random(seed)  # noqa: S311
    entries, model = Ordered(), list[Entry]()
    for _ in range(800):
        new, first = entry(luck), luck.randrange(len(model) + 1)
        end = min(first + luck.randrange(40), len(model))
        chance = luck.random()
        if chance < 0.6 and new not in model:
            entries.add(new)
            insort(model, new)
        elif chance < 0.8 and model:
            entries.remove(old := luck.choice(model))
            model.remove(old)
        elif chance < 0.85:
            assert entries.remove_between(first, end) == model[first:end]
            del model[first:end]
        first, end = min(first, len(model)), min(end, len(model))
        assert (list(entries), list(reversed(entries)), len(entries)) == (model, model[::-1], len(model))
        assert entries.between(first, end) == model[first:end]
        below = sum(each < new for each in model)
        assert entries.count_below(new) == entries.count_first(lambda each: each < new) == below  # noqa: B023


@pytest.mark.usefixtures("_blocks")
def test_a_copy_is_on_its_own() -> None:
    entries = Ordered([(1.0, b"a"), (2.0, b"b")])
    copied = entries.copy()
    copied.remove((1.0, b"a"))
    assert (list(entries), list(copied)) == ([(1.0, b"a"), (2.0, b"b")], [(2.0, b"b")])


def test_zero_and_minus_zero_are_in_one_place() -> None:
    entries = Ordered()
    for each in ((0.0, b"b"), (-0.0, b"c"), (-0.0, b"a")):
        entries.add(each)
    assert [member for _, member in entries] == [b"a", b"b", b"c"]
