"""Trimming streams: XTRIM, and the trimming options of XADD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, command
from ...keyspace.keyspace import STREAM
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from ...values.stream_ids import read_strict_id
from ...values.stream_nodes import Limits
from ...values.streams import Stream

MOST_NODES: Final = 100
"""How many nodes approximate trimming removes at a time by default."""

UNBOUNDED_LIMIT: Final = 10_000
"""How many entries it removes if nodes may have any number of entries."""

MOST_ENTRIES: Final = 1_000_000

TRIM: Final = (
    "trim{strategy(MAXLEN|MINID@6.2.0) [operator(=~equal|~~approximately)] threshold "
    "[LIMIT count:integer@6.2.0]}"
)


@dataclass(slots=True)
class Trimming:
    """The trimming options of XADD and XTRIM.

    Attributes:
        threshold: the length to keep or the lowest id to keep, depending on the strategy.
        strategy: MAXLEN or MINID; empty for none.
        approximately: whether to remove only whole nodes.
        limit: the most entries to remove; None if not given.
    """

    strategy: bytes = b""
    threshold: int = 0
    approximately: bool = False
    limit: int | None = None

    def check(self, session: Session, *, needed: bool) -> None:
        """Raises ``CommandError`` for options that contradict; only effects may limit exact trimming."""
        if self.limit and not self.strategy:
            raise CommandError(errors.STREAM_LIMIT_ALONE)
        if needed and not self.strategy:
            raise CommandError(errors.STREAM_NO_STRATEGY)
        if self.limit is not None and not (self.approximately or session.must_obey):
            raise CommandError(errors.STREAM_LIMIT_EXACT)

    def apply(self, stream: Stream, limits: Limits) -> int:
        """Trims a stream; returns the number of removed entries."""
        trim = stream.trim_to_length if self.strategy == b"MAXLEN" else stream.trim_to_id
        limit = self.most(limits) if self.approximately else None
        return trim(self.threshold, limit, exactly=not self.approximately)

    def most(self, limits: Limits) -> int | None:
        """The most entries that approximate trimming may remove; None for any number."""
        if self.limit is None:
            return min(MOST_NODES * limits.entries or UNBOUNDED_LIMIT, MOST_ENTRIES)
        return self.limit or None


def read_trimming(args: list[bytes], at: int, trimming: Trimming) -> int:
    """Parses ``MAXLEN|MINID [=|~] threshold`` or ``LIMIT count`` at an index; returns the index after it.

    If there is no such option, returns the same index.
    """
    word, left = args[at].upper(), len(args) - 1 - at
    if not left or word not in {b"MAXLEN", b"MINID", b"LIMIT"}:
        return at
    if word == b"LIMIT":
        trimming.limit = read_integer(args[at + 1])
        if trimming.limit < 0:
            raise CommandError(errors.STREAM_LIMIT)
        return at + 2
    if trimming.strategy:
        raise CommandError(errors.STREAM_TWO_STRATEGIES)
    trimming.approximately = left > 1 and args[at + 1] == b"~"
    at += 1 + (left > 1 and args[at + 1] in {b"~", b"="})
    trimming.threshold = read_length(args[at]) if word == b"MAXLEN" else read_strict_id(args[at])
    trimming.strategy = word
    return at + 1


def read_length(text: bytes) -> int:
    length = read_integer(text)
    if length < 0:
        raise CommandError(errors.STREAM_MAXLEN)
    return length


@command(
    "XTRIM",
    -4,
    "write",
    acl="stream",
    keys=Keys(1, "RW delete"),
    tips="nondeterministic_output",
    since="5.0.0",
    syntax=f"key#0 {TRIM}",
)
def xtrim(session: Session, args: list[bytes]) -> Reply:
    """Deletes the oldest entries of a stream, by a maximum length or a minimum id."""
    trimming = Trimming()
    at = 2
    while at < len(args):
        after = read_trimming(args, at, trimming)
        if after == at:
            raise CommandError(errors.SYNTAX)
        at = after
    trimming.check(session, needed=True)
    stream = session.db.lookup_write(args[1], STREAM)
    if stream is None:
        return 0
    deleted = trimming.apply(stream, session.engine.packing.stream_node)
    if deleted:
        session.db.signal_modified(args[1], "xtrim", deleted)
    return deleted
