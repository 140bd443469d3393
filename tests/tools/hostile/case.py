"""A hostile case: what is sent, and how the client that sent it takes its leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from conformance.wire import encode

__all__ = ["Case", "commands", "from_bytes", "from_text"]

Ending: TypeAlias = Literal["closes", "half-closes", "resets", "never reads"]

BETWEEN: Final = " | "
"""What parts the commands of a case that is written as text."""


@dataclass(frozen=True, slots=True)
class Case:
    """One hostile client.

    Attributes:
        name: what is hostile about it.
        pieces: what it sends; each is sent when the server is done with the one before.
        ending: how it goes when it has sent all. Who never reads goes with its replies unread.
        before: commands another client sends first, such as a CONFIG SET.
        after: commands another client sends at the end, to undo them.
        may_differ: why the servers need not say the same here; empty where they must.
        in_order: the lines of the replies come in one order; without it, in each server's own.
    """

    name: str
    pieces: tuple[bytes, ...]
    ending: Ending = "closes"
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    may_differ: str = ""
    in_order: bool = True


def commands(text: str) -> bytes:
    """Commands written as text, parted by `` | ``; their words are parted by spaces."""
    return b"".join(encode(*line.split(" ")) for line in text.split(BETWEEN))


def from_text(group: str, table: Mapping[str, str]) -> list[Case]:
    """Cases that send commands, from names and texts."""
    return [Case(f"{group}: {name}", (commands(text),)) for name, text in table.items()]


def from_bytes(group: str, table: Mapping[str, bytes | tuple[bytes, ...]]) -> list[Case]:
    """Cases that send bytes, from names and bytes."""
    return [
        Case(f"{group}: {name}", data if isinstance(data, tuple) else (data,)) for name, data in table.items()
    ]
