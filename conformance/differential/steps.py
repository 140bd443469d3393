"""What a conversation is made of, and what can come out of it."""

from __future__ import annotations

import reprlib
import time
from dataclasses import dataclass
from typing import Final

from miniredis.engine import Instant

from .replies import LISTENING

__all__ = ["CLIENTS", "TELLING", "Difference", "EndedError", "Step", "now", "prelude"]

CLIENTS: Final = 4

TELLING: Final = LISTENING | {"client|tracking"}
"""Commands by which clients come to hear of what others do."""

EVENTS: Final = ("KEA", "EAmn", "", "KAmn", "EA", "E$lsx", "Kghztn")
"""Classes of keyspace events that conversations about them begin with."""

SHORT: Final = reprlib.Repr()
SHORT.maxtuple, SHORT.maxstring = 12, 60


@dataclass(frozen=True, slots=True)
class Step:
    """One request.

    Attributes:
        client: who sends it, by its place among those who are not blocked.
        words: the request; latin-1 stands for bytes.
        command: its name, as COMMAND INFO has it.
        cut: the request is sent in two pieces, the first of so many bytes; 0 sends it whole.
    """

    client: int
    words: tuple[str, ...]
    command: str
    cut: int = 0

    def __repr__(self) -> str:
        return f"Step({self.client}, {SHORT.repr(self.words)}, {self.command!r}, {self.cut})"


@dataclass(frozen=True, slots=True)
class Difference:
    """What was not the same.

    Attributes:
        client: who heard it, by a letter.
        ours: what the client of miniredis heard.
        theirs: what the client of the real server heard.
    """

    client: str
    ours: bytes
    theirs: bytes


class EndedError(BaseException):
    """The real server has ended; nothing can be played beside it any more.

    Attributes:
        sent: the conversation, up to the request that it did not survive.
    """

    def __init__(self, sent: list[tuple[str, Step]]) -> None:
        super().__init__("the real server has ended")
        self.sent = sent


def prelude(steps: list[Step]) -> list[Step]:
    """What lets clients hear more of each other, if the steps are about that: RESP3, and keyspace events."""
    if not any(step.command in TELLING for step in steps):
        return []
    letters = EVENTS[len(steps) % len(EVENTS)]
    speakers = range(len(steps) % (CLIENTS + 1))
    return [
        *(Step(client, ("HELLO", "3"), "hello") for client in speakers),
        Step(0, ("CONFIG", "SET", "notify-keyspace-events", letters), "config|set"),
    ]


def now() -> Instant:
    """By the clocks of this machine."""
    return Instant(time.time_ns() // 1000, time.monotonic_ns() // 1000)
