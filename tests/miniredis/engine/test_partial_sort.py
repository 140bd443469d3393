"""SORT with LIMIT sorts only what it returns; the order of equal items is in the transcripts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from miniredis.engine.values.partial_sort import partly_sorted

from ...sizes import repeated


@settings(deadline=None)
@given(repeated(st.lists(st.integers(0, 9), min_size=1, max_size=200), 10_000), st.data())
def test_the_requested_range_is_sorted(weights: list[int], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(weights) - 1))
    last = data.draw(st.integers(first, len(weights) - 1))
    order = partly_sorted(weights, first, last)
    assert sorted(order) == list(range(len(weights)))
    assert [weights[index] for index in order[first : last + 1]] == sorted(weights)[first : last + 1]


def test_items_outside_the_requested_range_are_not_sorted() -> None:
    weights = [*range(100, 0, -1)]
    order = partly_sorted(weights, 0, 0)
    assert weights[order[0]] == 1
    assert [weights[index] for index in order] != sorted(weights)
