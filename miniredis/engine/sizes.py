"""About how many bytes values take, for MEMORY USAGE."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from .groups import Group
    from .streams import Stream

__all__ = ["Size", "of_elements", "of_stream", "of_text"]

Size: TypeAlias = Callable[[Any, int], int]
"""Measures a value by so many samples of its elements; 0 stands for as many as are ever measured."""

ELEMENT_OVERHEAD: Final = 41
"""The header of an element, and its place in the list."""

MOST_SAMPLES: Final = 50_000
"""So many elements are measured at most: more make the answer, which is about, no better, only slower."""


def of_text(text: bytes | bytearray, _samples: int) -> int:
    """A string."""
    return len(text)


def of_stream(stream: Stream, _samples: int) -> int:
    """A stream, whose nodes know their size."""
    return sum(node.size for node in stream.nodes) + sum(map(of_group, stream.groups.values()))


def of_group(group: Group) -> int:
    return (len(group.pending) * 2 + len(group.consumers) + 1) * ELEMENT_OVERHEAD


def of_elements(columns: Callable[[Any], Iterable[Iterable[bytes]]]) -> Size:
    """An aggregate, given one iterable for each string that an element has."""

    def size(value: Any, samples: int) -> int:
        measured = min(samples or MOST_SAMPLES, MOST_SAMPLES, len(value))
        if not measured:
            return 0
        strings = sum(sum(map(len, islice(column, measured))) for column in columns(value))
        return len(value) * (strings + measured * ELEMENT_OVERHEAD) // measured

    return size
