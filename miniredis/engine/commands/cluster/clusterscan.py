"""CLUSTERSCAN of Valkey 9.1: the keys of a whole cluster in steps, slot by slot.

A cursor is ``fingerprint-{tag}-position``: its tag says which node to ask next. The position is only good for
nodes that tell the same fingerprint; others begin the slot again. A position is the CRC of the next key,
times ``SLOTS``, and the slot, so it is good for every node here, and whatever is added or removed meanwhile.
"""

from __future__ import annotations

import re
from binascii import crc32
from dataclasses import dataclass
from heapq import nsmallest
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import Membership, of_cluster
from ...cluster.slots import SLOTS, key_slot, slot_tag
from ...declarations.registry import Keys, command
from ...declarations.rewording import only_in, reworded
from ...glob import compile_match
from ...keyspace.keyspace import TYPE_NAMES
from ...protocol.errors import SYNTAX, CommandError, unknown_type
from ...protocol.replies import Reply
from ..keys.scanning import LARGEST, Options, is_shown, read_options
from .changes import read_slot

if TYPE_CHECKING:
    from ...keyspace.keyspace import Database

__all__: list[str] = []

FINGERPRINT: Final = b"crc32"
"""Tells in what order a slot is walked: the same on each node."""

POSITION: Final = re.compile(rb"[ \t\n\v\f\r]*+\+?+([0-9]++)").fullmatch
"""A number as C's ``strtoul`` parses it, but not negative."""

OVER: Final[list[Reply]] = [b"0", []]


@dataclass(slots=True)
class Walk:
    """What is asked for, and where it goes on.

    Attributes:
        options: those of SCAN.
        slot: the one that SLOT names, if any.
        of_pattern: the slot of all keys that fit the pattern, if there is one.
    """

    options: Options
    slot: int | None
    of_pattern: int | None

    @property
    def only(self) -> int | None:
        """The only slot to look at, if there is one."""
        return self.of_pattern if self.slot is None else self.slot

    @property
    def is_empty(self) -> bool:
        """Whether no key fits because its slot is another one."""
        return None not in {self.slot, self.of_pattern} and self.slot != self.of_pattern


@command(
    "CLUSTERSCAN", -2, "readonly", acl="keyspace", keys=Keys(1, "not_key"),
    tips="nondeterministic_output request_policy:special response_policy:special", since="valkey-9.1.0",
    syntax=(
        "cursor [MATCH match-pattern:pattern] [COUNT count:integer] [TYPE type] [SLOT slot:integer]"
    ),
)  # fmt: skip
def clusterscan(session: Session, args: list[bytes]) -> Reply:
    """Returns some keys of the cluster, and the cursor for the next call."""
    cluster = of_cluster(session.engine)
    walk = read_walk(args)
    if args[1] == b"0":
        return OVER if walk.is_empty else [begin_of(walk.only or 0), []]
    slot, crc = read_position(args[1])
    if walk.slot is not None and walk.slot != slot:
        raise CommandError(cluster_errors.CURSOR_OF_OTHER_SLOT)
    if walk.is_empty:
        return OVER
    if walk.only is not None and walk.only != slot:
        return [begin_of(walk.only), []] if slot < walk.only else OVER
    slots = range(slot, slot + 1) if walk.only is not None else served(cluster, slot)
    following, keys = walk_on(session.db, slots, crc, walk.options.count)
    if walk.only is not None and following.startswith(b"0-"):
        following = b"0"
    fits, type_name = compile_match(walk.options.pattern), walk.options.type_name
    return [following, [key for key in keys if fits(key) and is_shown(session.db, key, type_name)]]


def begin_of(slot: int) -> bytes:
    """The cursor at the begin of a slot, whoever has it."""
    return b"0-{%b}-0" % slot_tag(slot)


def read_walk(args: list[bytes]) -> Walk:
    slot: int | None = None
    words: list[bytes] = []
    for at in range(2, len(args), 2):
        pair = args[at : at + 2]
        if len(pair) == 2 and pair[0].upper() == b"SLOT":
            if slot is not None:
                raise CommandError(cluster_errors.SLOT_TWICE)
            slot = read_slot(pair[1])
            continue
        if read_options(pair).type_name not in {None, *TYPE_NAMES.values()}:
            raise CommandError(unknown_type(pair[1]))
        words += pair
    options = read_options(words)
    return Walk(options, slot, slot_of_pattern(options.pattern))


def slot_of_pattern(pattern: bytes) -> int | None:
    """The slot of all keys that fit a pattern, as far as it says so before its first special character."""
    plain = bytes(takewhile(lambda each: each not in b"*?[\\", pattern))
    start = plain.find(b"{") + 1
    has_tag = start > 0 and plain.find(b"}", start) > start
    return key_slot(plain) if has_tag or plain == pattern else None


def read_position(cursor: bytes) -> tuple[int, int]:
    """The slot of a cursor, and the CRC of the next key there."""
    parts = cursor.split(b"-", 2)
    number = POSITION(parts[2]) if len(parts) == 3 else None
    digits = number[1].lstrip(b"0") if number is not None else b""
    if number is None or len(digits) > len(str(LARGEST)) or int(digits or b"0") > LARGEST:
        raise CommandError(cluster_errors.INVALID_CURSOR)
    slot = key_slot(parts[1])
    crc, of_slot = divmod(int(digits or b"0"), SLOTS)
    return slot, crc if parts[0] == FINGERPRINT and of_slot == slot else 0


def served(cluster: Membership, slot: int) -> range:
    """The slots from one on, as long as the shard of this node has them."""
    node = cluster.node.primary or cluster.node
    end = slot
    while end < SLOTS and cluster.owner_of(end) is node:
        end += 1
    return range(slot, max(end, slot + 1))


def walk_on(db: Database, slots: range, crc: int, count: int) -> tuple[bytes, list[bytes]]:
    """The cursor for the next call, and so many keys, or a few more with the same CRC."""
    waiting = [
        ((slot, key_crc), key)
        for key in db.values
        if (slot := key_slot(key)) in slots and ((key_crc := crc32(key)) >= crc or slot > slots[0])
    ]
    last = max((place for place, _ in nsmallest(count, waiting)), default=(0, 0))
    found = sorted(each for each in waiting if each[0] <= last)
    rest = min((place for place, _ in waiting if place > last), default=None)
    return cursor_at(rest, last[0], slots), [key for _, key in found]


def cursor_at(place: tuple[int, int] | None, slot: int, slots: range) -> bytes:
    """The cursor of what is next behind a slot; of a slot begun, the CRC of the key to go on with."""
    if place is not None:
        position = place[1] * SLOTS if place[0] == slot else 0
        return b"%b-{%b}-%d" % (FINGERPRINT, slot_tag(place[0]), position + place[0])
    return begin_of(slots.stop) if slots.stop < SLOTS else b"0"


for option, name in ((b"NOVALUES", b"HSCAN"), (b"NOSCORES", b"ZSCAN")):
    reworded("valkey-9.1+", "clusterscan", {SYNTAX: only_in(option, name)})
