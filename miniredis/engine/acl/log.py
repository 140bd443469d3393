"""The log of what users were refused, which ACL LOG shows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import Final

__all__ = ["AccessLog", "LogEntry"]

TOGETHER: Final = 60_000
"""For so many milliseconds the same refusal is counted instead of being logged again."""

COMPARED: Final = 10
"""How many of the newest entries are looked at for that."""


@dataclass(slots=True)
class LogEntry:
    """What a user was refused.

    Attributes:
        reason: ``command``, ``key``, ``channel`` or ``auth``.
        context: ``toplevel``, ``multi`` or ``lua``.
        about: the command, key or channel.
        user: the name.
        when: the last time, in milliseconds.
        client: that client's line of CLIENT LIST.
        created: the first time.
        count: how often.
        number: of the entry, counted from 0.
    """

    reason: bytes
    context: bytes
    about: bytes
    user: bytes
    when: int
    client: bytes
    created: int
    count: int = 1
    number: int = -1

    def is_same(self, other: LogEntry) -> bool:
        """Whether both tell of the same, at about the same time."""
        mine = self.reason, self.context, self.about, self.user
        return (
            mine == (other.reason, other.context, other.about, other.user)
            and self.when - other.when <= TOGETHER
        )


class AccessLog:
    """The latest refusals.

    Attributes:
        entries: newest first.
    """

    def __init__(self) -> None:
        self._next_number = 0
        self.entries: deque[LogEntry] = deque()

    def add(self, entry: LogEntry, most: int) -> None:
        """Adds an entry, together with an older one that is the same; keeps only ``most`` of them."""
        for older in islice(self.entries, COMPARED):
            if entry.is_same(older):
                entry.count, entry.number, entry.created = older.count + 1, older.number, older.created
                self.entries.remove(older)
                break
        else:
            entry.number = self._next_number
            self._next_number += 1
        self.entries.appendleft(entry)
        while len(self.entries) > most:
            self.entries.pop()
