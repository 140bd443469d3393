"""Partial sorting by the quicksort of Bentley and McIlroy, as Redis's SORT uses it with LIMIT.

It is not stable, so the algorithm's steps decide which of several equal items a LIMIT returns: how pivots are
chosen, and which items are swapped. Hence this module follows the published algorithm ("Engineering a Sort
Function", 1993) swap by swap. Parts outside the requested range stay unsorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["partly_sorted"]

SMALL: Final = 7
"""Fewer items are sorted by insertion; more use the median of three as their pivot."""

LARGE: Final = 40
"""More items use the median of three medians as their pivot."""


def partly_sorted(weights: Sequence[Any], first: int, last: int) -> list[int]:
    """The indexes of the items, of which those from ``first`` to ``last`` (included) are in sorted order.

    Args:
        weights: the sort keys, in the order of the items.
        first: the first position that must be correct.
        last: the last one.
    """
    items = list(range(len(weights)))
    parts = [(0, len(items))]
    while parts:
        start, end = parts.pop()
        if end - start < SMALL:
            insert_in_order(items, weights, start, end)
            continue
        less, greater = partition(items, weights, start, end)
        unsorted = (start, start + less), (end - greater, end)
        parts += [part for part in unsorted if matters(part, first, last)]
    return items


def matters(part: tuple[int, int], first: int, last: int) -> bool:
    """Whether a part has something to sort and overlaps the positions that must be correct."""
    start, end = part
    outside = (first < start and last < start) or (first >= end and last >= end)
    return end - start > 1 and not outside


def insert_in_order(items: list[int], weights: Sequence[Any], start: int, end: int) -> None:
    for top in range(start + 1, end):
        at = top
        while at > start and weights[items[at - 1]] > weights[items[at]]:
            swap(items, at, at - 1)
            at -= 1


def partition(items: list[int], weights: Sequence[Any], start: int, end: int) -> tuple[int, int]:
    """Moves lesser items before those equal to the pivot and greater ones after; returns the number of each.

    Equal items gather at both ends (up to ``left``, from ``right`` on) and are finally swapped to the middle.
    """
    swap(items, start, pivot_of(items, weights, start, end))
    pivot = weights[items[start]]
    left = low = start + 1
    right = high = end - 1
    while True:
        while low <= high and weights[items[low]] <= pivot:
            if weights[items[low]] == pivot:
                swap(items, left, low)
                left += 1
            low += 1
        while low <= high and weights[items[high]] >= pivot:
            if weights[items[high]] == pivot:
                swap(items, high, right)
                right -= 1
            high -= 1
        if low > high:
            break
        swap(items, low, high)
        low += 1
        high -= 1
    swap_runs(items, start, low, min(left - start, low - left))
    swap_runs(items, low, end, min(right - high, end - 1 - right))
    return low - left, right - high


def pivot_of(items: list[int], weights: Sequence[Any], start: int, end: int) -> int:
    """The position of the pivot."""
    count = end - start
    low, middle, high = start, start + count // 2, end - 1
    if count == SMALL:
        return middle
    if count > LARGE:
        step = count // 8
        low = median(items, weights, low, low + step, low + 2 * step)
        middle = median(items, weights, middle - step, middle, middle + step)
        high = median(items, weights, high - 2 * step, high - step, high)
    return median(items, weights, low, middle, high)


def median(items: list[int], weights: Sequence[Any], one: int, two: int, three: int) -> int:
    """Which of three positions holds the median item."""
    a, b, c = weights[items[one]], weights[items[two]], weights[items[three]]
    if a < b:
        return two if b < c else three if a < c else one
    return two if b > c else one if a < c else three


def swap(items: list[int], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]


def swap_runs(items: list[int], start: int, end: int, count: int) -> None:
    """Exchanges the ``count`` items from ``start`` on with the ``count`` items before ``end``."""
    other = end - count
    items[start : start + count], items[other:end] = items[other:end], items[start : start + count]
