"""What 8.0 and Valkey make of deleted entries: how far a group has read, and how far XSETID goes back.

They distrust a group's count from the first deleted entry ahead of the group on, wherever the stream begins;
and they know nothing of the entries up to one that is older than a deleted one. 8.0 also counts what is there
where nothing ahead of the group was deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..commands.streams.streams import read_knowledge
from ..declarations.registry import Handler, instead_of, wrap_in_versions
from ..keyspace.keyspace import STREAM
from ..protocol import errors
from ..protocol.errors import CommandError
from ..values.groups import ConsumerGroup
from ..values.stream_ids import read_strict_id
from ..values.stream_nodes import wrapped
from ..values.stream_progress import advance, entries_up_to, lag
from ..values.streams import Stream

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..protocol.replies import Reply


def is_broken_after(stream: Stream, number: int) -> bool:
    """Whether an entry with this id or a higher one was deleted from a stream that still has others."""
    return len(stream) > 0 and stream.max_deleted > 0 and number <= stream.max_deleted


def known_up_to(stream: Stream, number: int) -> int | None:
    """The number of entries ever added up to an id; None if that is unknown."""
    return None if len(stream) and 0 < number < stream.max_deleted else entries_up_to(stream, number)


@instead_of(advance, "8.0 valkey-8.1+")
def advance_unbroken(stream: Stream, group: ConsumerGroup, number: int) -> None:
    """Advances a group to an entry that it delivers."""
    is_within = group.last >= stream.first and not is_broken_after(stream, group.last)
    if group.entries_read is not None and is_within:
        group.entries_read = wrapped(group.entries_read + 1)
    elif stream.added:
        group.entries_read = known_up_to(stream, number)
    group.last = number


@instead_of(lag, "valkey-8.1+")
def lag_unbroken(stream: Stream, group: ConsumerGroup) -> int | None:
    """The number of entries a group has not read yet; None if that is unknown."""
    if not stream.added:
        return 0
    read = group.entries_read
    if read is None or is_broken_after(stream, group.last):
        read = known_up_to(stream, group.last)
    return None if read is None else wrapped(stream.added - read)


@instead_of(lag, "8.0")
def lag_by_length(stream: Stream, group: ConsumerGroup) -> int | None:
    """The same; what is there is counted where the group is before all of it."""
    if not len(stream):
        return 0
    if group.last < stream.first and stream.max_deleted < stream.first:
        return len(stream)
    return lag_unbroken(stream, group)


def with_deleted_ids(handler: Handler) -> Handler:
    """XSETID, which goes back behind no entry that was deleted."""

    def run(session: Session, args: list[bytes]) -> Reply:
        last = read_strict_id(args[2])
        read_knowledge(args[3:], last)  # what is wrong with the options comes first
        stream = session.db.lookup_write(args[1], STREAM)
        if stream is not None and last < stream.max_deleted:
            raise CommandError(errors.XSETID_BELOW_DELETED)
        return handler(session, args)

    return run


wrap_in_versions("7.2+", "xsetid", with_deleted_ids)
