"""Estimates of the bytes that values take, for MEMORY USAGE."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from .groups import ConsumerGroup
    from .streams import Stream

__all__ = ["Size", "of_elements", "of_stream", "of_text"]

Size: TypeAlias = Callable[[Any, int], int]
"""Measures a value by a number of samples of its elements; 0 for the largest number."""

ELEMENT_OVERHEAD: Final = 41
"""The header of an element and its slot in the list, in bytes."""

MOST_SAMPLES: Final = 50_000
"""The most elements measured: more would make the estimate slower and no better."""


def of_text(text: bytes | bytearray, _samples: int) -> int:
    """The size of a string."""
    return len(text)


def of_stream(stream: Stream, _samples: int) -> int:
    """The size of a stream, whose nodes know their sizes."""
    return sum(node.size for node in stream.nodes) + sum(map(of_group, stream.groups.values()))


def of_group(group: ConsumerGroup) -> int:
    return (len(group.pending) * 2 + len(group.consumers) + 1) * ELEMENT_OVERHEAD


def of_elements(columns: Callable[[Any], Iterable[Iterable[bytes]]]) -> Size:
    """Makes a function for an aggregate; ``columns`` returns an iterable for each string of an element."""

    def size(value: Any, samples: int) -> int:
        measured = min(samples or MOST_SAMPLES, MOST_SAMPLES, len(value))
        if not measured:
            return 0
        strings = sum(sum(map(len, islice(column, measured))) for column in columns(value))
        return len(value) * (strings + measured * ELEMENT_OVERHEAD) // measured

    return size
