"""How far a consumer group has read its stream, as far as Redis 7.0 can tell.

A stream counts the entries ever added, and a group those it has delivered. The two stay comparable until an
entry ahead of the group is deleted: then the group's count is unknown until the group has passed that entry.
"""

from __future__ import annotations

from .groups import ConsumerGroup
from .stream_nodes import wrapped
from .streams import Stream

__all__ = ["advance", "entries_up_to", "lag"]


def is_broken_from(stream: Stream, number: int) -> bool:
    """Whether an entry with this id or a higher one was deleted from the middle."""
    return number <= stream.max_deleted and len(stream) > 0 and stream.first <= stream.max_deleted


def entries_up_to(stream: Stream, number: int) -> int | None:
    """The number of entries ever added up to an id; None if that is unknown."""
    if not stream.added:
        return 0
    if not len(stream) and number <= stream.last:
        return wrapped(stream.added)
    if number >= stream.last:
        return wrapped(stream.added) if number == stream.last else None
    first = stream.first
    if (stream.max_deleted and stream.max_deleted >= first) or number > first:
        return None
    return wrapped(stream.added - len(stream) + (number == first))


def advance(stream: Stream, group: ConsumerGroup, number: int) -> None:
    """Advances a group to an entry that it delivers."""
    if group.entries_read is not None and not is_broken_from(stream, number):
        group.entries_read = wrapped(group.entries_read + 1)
    elif stream.added:
        group.entries_read = entries_up_to(stream, number)
    group.last = number


def lag(stream: Stream, group: ConsumerGroup) -> int | None:
    """The number of entries a group has not read yet; None if that is unknown."""
    if not stream.added:
        return 0
    read = group.entries_read
    if read is None or is_broken_from(stream, group.last):
        read = entries_up_to(stream, group.last)
    return None if read is None else wrapped(stream.added - read)
