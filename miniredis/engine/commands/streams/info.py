"""XINFO: describes a stream, its groups and their consumers."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import Keys, by_version, chosen, command, completed_in, container
from ...keyspace.keyspace import STREAM
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Map, Reply
from ...values.groups import Consumer, ConsumerGroup
from ...values.stream_nodes import id_text, wrapped
from ...values.stream_progress import lag
from ...values.streams import Stream
from .streams import shown

if TYPE_CHECKING:
    from ...versions.version import Version

LOOKED_AT: Final = Keys(2, "RO access")
SHOWN_IN_FULL: Final = 10
"""How many entries of each kind XINFO STREAM FULL shows by default."""

container("XINFO", -2, module=__name__, summary="Describes streams, groups and consumers.", since="5.0.0")


@command(
    "XINFO CONSUMERS",
    4,
    "readonly",
    acl="stream",
    keys=LOOKED_AT,
    tips="nondeterministic_output",
    since="5.0.0",
    syntax="key#0 groupname",
)
def xinfo_consumers(session: Session, args: list[bytes]) -> Reply:
    """Describes the consumers of a group, sorted by name."""
    group = read_stream(session, args[2]).groups.get(args[3])
    if group is None:
        raise CommandError(errors.no_group_of_key(args[2], args[3]))
    now, tells = session.engine.now.milliseconds, tells_activity(session.engine.version)
    return [
        Map(
            {
                b"name": consumer.name,
                b"pending": len(consumer.pending),
                b"idle": max(now - consumer.seen, 0),
                **({b"inactive": inactivity(consumer, now)} if tells else {}),
            }
        )
        for _, consumer in sorted(group.consumers.items())
    ]


tells_activity: Final = by_version(False, {"7.2+": True})
"""Whether a version tells when a consumer last got an entry."""


def inactivity(consumer: Consumer, now: int) -> int:
    """For how long a consumer got no entry; -1 if it never got one."""
    return max(now - consumer.active, 0) if consumer.active >= 0 else -1


@command("XINFO GROUPS", 3, "readonly", acl="stream", keys=LOOKED_AT, since="5.0.0", syntax="key#0")
def xinfo_groups(session: Session, args: list[bytes]) -> Reply:
    """Describes the groups of a stream, sorted by name."""
    stream = read_stream(session, args[2])
    count_lag = chosen(session.engine.version, lag)
    return [
        Map(
            {
                b"name": name,
                b"consumers": len(group.consumers),
                b"pending": len(group.pending),
                b"last-delivered-id": id_text(group.last),
                b"entries-read": group.entries_read,
                b"lag": count_lag(stream, group),
            }
        )
        for name, group in sorted(stream.groups.items())
    ]


@command(
    "XINFO STREAM",
    -3,
    "readonly",
    acl="stream",
    keys=LOOKED_AT,
    since="5.0.0",
    syntax="key#0 [FULL full{[COUNT count:integer]}]",
)
def xinfo_stream(session: Session, args: list[bytes]) -> Reply:
    """Describes a stream; with FULL, also its entries, groups and pending entries."""
    stream = read_stream(session, args[2])
    if len(args) == 3:
        ends = {b"first-entry": stream.walk(), b"last-entry": stream.walk_back()}
        shown_ends = {name: next(iter(shown(islice(walk, 1))), None) for name, walk in ends.items()}
        return Map({**figures(stream), b"groups": len(stream.groups), **shown_ends})
    count = read_full(args)
    version = session.engine.version
    groups = [in_full(stream, name, group, count, version) for name, group in sorted(stream.groups.items())]
    return Map({**figures(stream), b"entries": shown(islice(stream.walk(), count)), b"groups": groups})


def read_stream(session: Session, key: bytes) -> Stream:
    stream = session.db.lookup_read(key, STREAM)
    if stream is None:
        raise CommandError(errors.NO_SUCH_KEY)
    return stream


def read_full(args: list[bytes]) -> int | None:
    """``FULL [COUNT count]``: how many entries to show; None for all."""
    words = [word.upper() for word in args[3:]]
    if words[0] != b"FULL" or len(words) not in {1, 3} or words[1:2] not in ([], [b"COUNT"]):
        raise CommandError(errors.subcommand_or_arity(args[1], b"XINFO"))
    count = read_integer(args[5]) if len(words) > 1 else SHOWN_IN_FULL
    return (SHOWN_IN_FULL if count < 0 else count) or None


def figures(stream: Stream) -> dict[bytes, Reply]:
    return {
        b"length": len(stream),
        b"radix-tree-keys": len(stream.nodes),
        b"radix-tree-nodes": stream.tree_size(),
        b"last-generated-id": id_text(stream.last),
        b"max-deleted-entry-id": id_text(stream.max_deleted),
        b"entries-added": wrapped(stream.added),
        b"recorded-first-entry-id": id_text(stream.first),
    }


def in_full(stream: Stream, name: bytes, group: ConsumerGroup, count: int | None, version: Version) -> Map:
    pending = [
        [id_text(number), delivery.consumer.name, delivery.time, delivery.count]
        for number, delivery in islice(group.pending.walk(), count)
    ]
    consumers = [consumer_in_full(each, count, version) for _, each in sorted(group.consumers.items())]
    return Map(
        {
            b"name": name,
            b"last-delivered-id": id_text(group.last),
            b"entries-read": group.entries_read,
            b"lag": chosen(version, lag)(stream, group),
            b"pel-count": len(group.pending),
            b"pending": pending,
            b"consumers": consumers,
        }
    )


def consumer_in_full(consumer: Consumer, count: int | None, version: Version) -> Map:
    pending = [
        [id_text(number), delivery.time, delivery.count]
        for number, delivery in islice(consumer.pending.walk(), count)
    ]
    return Map(
        {
            b"name": consumer.name,
            b"seen-time": consumer.seen,
            **({b"active-time": consumer.active} if tells_activity(version) else {}),
            b"pel-count": len(consumer.pending),
            b"pending": pending,
        }
    )


SINCE_7_0: Final = {
    *(b"max-deleted-entry-id", b"entries-added", b"recorded-first-entry-id", b"entries-read", b"lag"),
}
"""Facts that 6.x did not keep."""


completed_in("6.0-6.2", "xinfo|groups xinfo|stream")(lambda _, __, told: known_to_6(told))


def known_to_6(told: Any) -> Reply:
    if isinstance(told, Map):
        return Map({name: known_to_6(value) for name, value in told.items() if name not in SINCE_7_0})
    shown: Reply = [known_to_6(each) for each in told] if isinstance(told, list) else told
    return shown


@command("XINFO HELP", 2, "loading stale", acl="stream", since="5.0.0")
def xinfo_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"xinfo"))
