"""Walks of SCAN, SSCAN, HSCAN and ZSCAN through both servers, a step after each request of a conversation.

In which order elements come, and with which cursor, is each server's own. What they promise is not: each
element that is there all the time is given, and miniredis gives none twice while no other comes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

import hiredis

from miniredis.engine.keyspace.keyspace import Database
from miniredis.engine.values.hashes import HashValue
from miniredis.engine.values.sets import SetValue
from miniredis.engine.values.sorted_sets import SortedSet

__all__ = ["Ask", "Walk", "Walks"]

Ask = Callable[[tuple[bytes, ...]], bytes]

MEMBERS: Final = {SetValue: b"SSCAN", HashValue: b"HSCAN", SortedSet: b"ZSCAN"}
PAIRED: Final = {b"HSCAN", b"ZSCAN"}
UNSEEN: Final = {"exec", "eval", "evalsha", "fcall", "flushall", "flushdb", "swapdb", "spop"}
"""After these commands the elements that are there may have gone and come again, or be in a smaller table."""


@dataclass
class Walk:
    """One walk.

    Attributes:
        database: of the engine.
        key: of the set, hash or sorted set; None for all keys.
        holder: what has the elements, as an object of the engine: another one is another's walk.
        words: of a step, before its cursor.
        stay: the elements that were there all the time.
        there: those of the last look.
        grew: others have come.
        cursors: of both servers, ours first; None before the first step.
        given: what both have given.
    """

    database: Database
    key: bytes | None
    holder: object
    words: tuple[bytes, ...]
    stay: set[bytes]
    there: set[bytes]
    grew: bool = False
    cursors: list[bytes | None] = field(default_factory=lambda: [None, None])
    given: tuple[list[bytes], list[bytes]] = field(default_factory=lambda: ([], []))

    @property
    def is_over(self) -> bool:
        """Both servers have come to the end."""
        return self.cursors == [b"0", b"0"]

    def step(self, side: int, ask: Ask) -> None:
        """Takes a step on one of the servers, unless it is at the end."""
        if self.cursors[side] == b"0":
            return
        reader = hiredis.Reader()
        reader.feed(ask((*self.words, self.cursors[side] or b"0", b"COUNT", b"1")))
        self.cursors[side], found = reader.gets()
        self.given[side].extend(found[::2] if self.words[0] in PAIRED else found)

    def fault(self) -> tuple[bytes, bytes] | None:
        """What is wrong, as what each of the servers has given; None if nothing is."""
        ours, theirs = self.given
        missed = self.stay - set(ours)
        twice = not self.grew and len(ours) > len(set(ours))
        if not missed and not twice:
            return None
        told = b"%b gave " % b" ".join(self.words)
        return told + b" ".join(sorted(ours)), told + b" ".join(sorted(theirs))


class Walks:
    """The walks of one conversation."""

    def __init__(self) -> None:
        self._walks: list[Walk] = []

    def begin(self, database: Database, key: bytes | None) -> None:
        """Begins a walk, if there is something to walk through."""
        holder = holder_of(database, key)
        if type(holder) is dict or type(holder) in MEMBERS:
            words = (b"SCAN",) if key is None else (MEMBERS[type(holder)], key)
            there = elements(database, holder)
            self._walks.append(Walk(database, key, holder, words, set(there), set(there)))

    def after(
        self, command: str, ours: Callable[[Database], Ask], theirs: Callable[[Database], Ask]
    ) -> tuple[bytes, bytes] | None:
        """Takes a step of each walk after a command; what ``fault`` tells of one that is over."""
        for walk in tuple(self._walks):
            if holder_of(walk.database, walk.key) is not walk.holder:
                self._walks.remove(walk)
                continue
            there = set(elements(walk.database, walk.holder))
            walk.grew |= not there <= walk.there or command in UNSEEN
            walk.stay = walk.stay & there if command not in UNSEEN else set()
            walk.there = there
            walk.step(0, ours(walk.database))
            walk.step(1, theirs(walk.database))
            if walk.is_over:
                self._walks.remove(walk)
                if fault := walk.fault():
                    return fault
        return None


def holder_of(database: Database, key: bytes | None) -> object:
    return database.values if key is None else database.values.get(key)


def elements(database: Database, holder: object) -> Collection[bytes]:
    return database.live_keys() if holder is database.values else list(holder_members(holder))


def holder_members(holder: object) -> Collection[bytes]:
    if isinstance(holder, HashValue):
        return holder.fields
    if isinstance(holder, SetValue):
        return holder.members
    assert isinstance(holder, SortedSet)
    return holder.scores
