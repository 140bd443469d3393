"""Sorting as much of a list as is asked for: the quicksort of Bentley and McIlroy, as Redis's SORT uses it.

It is not stable, so which of several equal items a LIMIT shows depends on each step of it: where the pivots
come from, and what is swapped with what. Hence this follows the published algorithm ("Engineering a Sort
Function", 1993) swap by swap. Parts that hold nothing of what is asked for stay unsorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["partly_sorted"]

SMALL: Final = 7
"""Fewer items than this are sorted by insertion; more have the median of three as their pivot."""

LARGE: Final = 40
"""More items than this have the median of three medians as their pivot."""


def partly_sorted(weights: Sequence[Any], first: int, last: int) -> list[int]:
    """The indexes of the items, those from ``first`` to ``last`` (both included) where sorting puts them.

    Args:
        weights: by which the items compare, in the order of the items.
        first: the first place that has to be right.
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
    """Whether there is something to sort in a part, and it reaches into the places that have to be right."""
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
    """Puts lesser items before those that equal the pivot, and greater ones behind; returns how many of each.

    Equal ones gather at both ends (up to ``left``, from ``right`` on) and are swapped to the middle at last.
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
    """Where the pivot is taken from."""
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
    """Which of three places holds the item between the other two."""
    a, b, c = weights[items[one]], weights[items[two]], weights[items[three]]
    if a < b:
        return two if b < c else three if a < c else one
    return two if b > c else one if a < c else three


def swap(items: list[int], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]


def swap_runs(items: list[int], start: int, end: int, count: int) -> None:
    """Exchanges ``count`` items from ``start`` on with those before ``end``."""
    other = end - count
    items[start : start + count], items[other:end] = items[other:end], items[start : start + count]
