"""A row: what was taken from a queue, whatever its kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

__all__ = ["Row", "peeked_of", "rows_of"]

_CLAIMED: Final = re.compile(rb"([^ ]+) (\d+) (.*)", re.DOTALL)
_ENVELOPE: Final = re.compile(rb"([0-9a-f]{32}) (.*)", re.DOTALL)
_TIMED: Final = re.compile(r"(\d{1,15})-\d+")


@dataclass(frozen=True, slots=True)
class Row:
    """One value and what its queue knows of it.

    Attributes:
        value: Its bytes.
        id: What the queue knows it by; None if it has no ids.
        deliveries: How often the queue had delivered it, with this time; 0 if it was only looked at.
    """

    value: bytes
    id: str | None = None
    deliveries: int = 1

    @property
    def enqueued(self) -> int | None:
        """When it was put, in milliseconds since 1970 by the server's clock, where its id tells."""
        found = _TIMED.fullmatch(self.id) if self.id else None
        return int(found[1]) if found else None


def _plain(data: bytes) -> Row:
    return Row(data)


def _enveloped(data: bytes) -> Row:
    found = _ENVELOPE.fullmatch(data)
    return Row(found[2], found[1].decode()) if found else Row(data)


def _message(data: bytes) -> Row:
    found = _CLAIMED.fullmatch(data)
    assert found is not None, data
    return Row(found[3], found[1].decode(), int(found[2]))


def rows_of(kind: str, envelope: bool, data: Sequence[bytes]) -> list[Row]:
    """The rows that claimed elements of a queue of this kind stand for."""
    read: Callable[[bytes], Row] = _enveloped if envelope else _plain
    return [(_message if kind == "reliable" else read)(each) for each in data]


def peeked_of(envelope: bool, data: Sequence[bytes]) -> list[Row]:
    """The rows that elements stand for that are still in a list."""
    return [replace(row, deliveries=0) for row in rows_of("list", envelope, data)]
