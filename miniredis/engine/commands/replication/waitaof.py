"""WAITAOF: waits until the files of this server and of its replicas are on their disks; WAIT since 7.2.

For WAITAOF, each effect that the file gets has an offset, also where there are no replicas, and replicas also
acknowledge what they have on their disks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...clients.client_flags import REPLICA
from ...clients.session import Session
from ...declarations.registry import command, completed_in, instead_of, prepared_in
from ...effects.effects import Effect, EffectReader
from ...effects.recording import counters
from ...numbers.numbers import MAX, parse_integer, read_integer, read_milliseconds, read_range
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from ...replication import replication_errors
from ...replication.acks import NOTHING
from ...replication.master_session import acknowledged
from .replicas import replica_of

if TYPE_CHECKING:
    from ...replication.history import History

LOCAL: Final = errors.outside(0, 1)


def read_timeout(session: Session, text: bytes) -> int | None:
    """A timeout in milliseconds that does not end too late; None means for ever."""
    timeout = read_milliseconds(text)
    if (timeout or 0) > MAX - session.engine.now.milliseconds:
        raise CommandError(errors.TIMEOUT_OUT_OF_RANGE)
    return timeout


@prepared_in("7.2+", "wait")
def in_time(session: Session, args: list[bytes]) -> None:
    """WAIT looks at its timeout at once."""
    if session.engine.replication.upstream.address is None:
        read_integer(args[1])
        read_timeout(session, args[2])


@command(
    "WAITAOF",
    4,
    "blocking",
    acl="connection",
    tips="request_policy:all_shards response_policy:agg_min",
    since="7.2.0",
    syntax="numlocal:integer numreplicas:integer timeout:integer",
)
def waitaof(session: Session, args: list[bytes]) -> Reply:
    """Waits until the writes of this client are on the disk, here and of some replicas; returns how many."""
    engine, offset = session.engine, session.reached
    local = read_integer(args[1])
    if local not in {0, 1}:
        raise CommandError(LOCAL)
    replicas = read_range(args[2], 0, MAX, errors.NOT_POSITIVE)
    timeout = read_timeout(session, args[3])
    if engine.replication.upstream.address is not None:
        raise CommandError(replication_errors.WAITAOF_ON_REPLICA)
    acks = engine.replication.replicas.acks

    def reached() -> list[int]:
        return [int(acks.synced_here >= offset), acks.synced(offset)]

    def suffices(counts: list[int]) -> bool:
        if local and engine.config["appendonly"] != "yes":
            raise CommandError(replication_errors.WAITAOF_WITHOUT_FILE)
        return counts[0] >= local and counts[1] >= replicas

    return acks.wait_for(session, reached, suffices, timeout)


@completed_in("7.2+", "wait waitaof")
def count_getack(session: Session, _: list[bytes], reply: Reply) -> Reply:
    """Adds the REPLCONF GETACK that a waiting command sends to the replication offset.

    As in redis-server, the offset rises by one for each effect where no backlog is kept.
    """
    history = session.engine.replication.history
    if session.waiter is not None and not history.is_kept:
        history.offset += 1
    return reply


# Offsets of effects


class EffectCounter(EffectReader):
    """Counts effects in a history while nobody counts its bytes, so that each has an offset.

    Args:
        history: whose offset rises.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        super().__init__(self._count)

    def _count(self, _: Effect) -> None:
        self._history.offset += not self._history.is_kept

    def select(self, database: int) -> None:
        """The database of an effect is no effect of its own."""
        self.selected = database


instead_of(counters, "7.2+")(lambda engine: (EffectCounter(engine.replication.history),))

# What replicas acknowledge


@instead_of(acknowledged, "7.2+")
def acknowledged_with_disk(offset: int, synced: int) -> tuple[bytes, ...]:
    """The same, and up to where the replica has the stream on its disk if it keeps a file."""
    return b"ACK", b"%d" % offset, *((b"FACK", b"%d" % synced) if synced != NOTHING else ())


@prepared_in("7.2+", "replconf")
def notes_disk(session: Session, args: list[bytes]) -> None:
    """REPLCONF ACK also tells what the replica has on its disk."""
    if [word.lower() for word in args[1:4:2]] == [b"ack", b"fack"] and session.flags & REPLICA:
        replica, synced = replica_of(session), parse_integer(args[4]) if len(args) > 4 else None
        replica.synced = max(replica.synced, synced or 0)
