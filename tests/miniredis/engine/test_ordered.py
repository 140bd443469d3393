"""The ordered collection behaves as a plain sorted list."""

import random
from bisect import insort

import pytest

from miniredis.engine.values import ordered
from miniredis.engine.values.ordered import Entry, Ordered


def entry(rng: random.Random) -> Entry:
    return float(rng.randrange(20)), b"%d" % rng.randrange(100)


@pytest.fixture(params=[(1024, 128), (8, 2), (4, 1)], ids=str)
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    full, sparse = request.param
    monkeypatch.setattr(ordered, "FULL", full)
    monkeypatch.setattr(ordered, "SPARSE", sparse)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("seed", range(5))
def test_the_ordered_collection_behaves_as_a_sorted_list(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    entries, model = Ordered(), list[Entry]()
    for _ in range(800):
        new, first = entry(rng), rng.randrange(len(model) + 1)
        end = min(first + rng.randrange(40), len(model))
        chance = rng.random()
        if chance < 0.6 and new not in model:
            entries.add(new)
            insort(model, new)
        elif chance < 0.8 and model:
            entries.remove(old := rng.choice(model))
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
def test_removing_from_a_copy_leaves_the_original_unchanged() -> None:
    entries = Ordered([(1.0, b"a"), (2.0, b"b")])
    copied = entries.copy()
    copied.remove((1.0, b"a"))
    assert (list(entries), list(copied)) == ([(1.0, b"a"), (2.0, b"b")], [(2.0, b"b")])


def test_scores_zero_and_minus_zero_are_equal_and_sort_by_member() -> None:
    entries = Ordered()
    for each in ((0.0, b"b"), (-0.0, b"c"), (-0.0, b"a")):
        entries.add(each)
    assert [member for _, member in entries] == [b"a", b"b", b"c"]
