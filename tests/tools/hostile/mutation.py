"""Frames that are made up: requests with odd arguments, requests with damage, and bytes in no order."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Final

from conformance.wire import encode

from .cases import CASES

__all__ = ["Frames"]

KEYS: Final = (b"a", b"b", b"c", b"{x}1", b"{x}2", b"", b"\x00\xff", b"others")

NUMBERS: Final = (
    b"10", b"-0", b"+1", b"01", b"1.5", b"1e3", b"inf", b"nan", b"", b"0x1",
    *(
        b"%d" % number
        for power in (0, 3, 7, 8, 15, 16, 31, 32, 52, 53, 62, 63, 64)
        for number in (-(1 << power) - 1, -(1 << power), (1 << power) - 1, 1 << power)
    ),
)  # fmt: skip
SMALL: Final = (b"0", b"1", b"2", b"3", b"-1", b"-2", b"0.001")

WORDS: Final = tuple(
    b"""
    EX PX EXAT PXAT NX XX GT LT KEEPTTL PERSIST GET COUNT MATCH TYPE LEFT RIGHT BEFORE AFTER RANK MAXLEN LIMIT
    BY ASC DESC ALPHA STORE REPLACE DB ABSTTL IDLETIME FREQ BIT BYTE SET INCRBY OVERFLOW WRAP SAT FAIL u8 i64
    u63 #1 LEN IDX MINMATCHLEN WITHMATCHLEN AND OR XOR NOT ASYNC SYNC ID ADDR LADDR USER SKIPME yes no TIMEOUT
    ERROR ON OFF SKIP AUTH SETNAME default string list set normal pubsub ALL all * a*a*a*b [a-z]* [^ ?\\ junk
    """.split()
)
"""What options, types and patterns look like."""

PIECES: Final = (
    b"*", b"$", b"\r\n", b"\r", b"\n", b":", b"+", b"-", b"_", b"~", b"%", b">", b"=", b"(", b"#", b",", b"|",
    b"0", b"1", b"-1", b"2147483648", b"9223372036854775808", b"\x00", b"\xff", b"'", b'"', b"\\x", b" ",
    b"PING",
)  # fmt: skip
"""What the protocol is made of."""

MANY: Final = (
    *(b"9", b"a*") * 4, b"0", b"-", b".", b"1e", b" ", b"*", b"?", b"*?", b"[a", b"[^b]*", b"\\", b"x",
    b"\x00", b"\r\n", b"'", b'"', b"( ", b"$1\r\n",
)  # fmt: skip
"""What long arguments repeat: they look like numbers, patterns, and what the protocol is made of."""

ENDS: Final = (b"", b"x", b"1", b"b", b"]", b"\n")
"""What they end in."""

DEPTH: Final = 12
LONGEST_TAKEN: Final = 2000
LARGEST: Final = 1_000_000
"""Bytes; an argument may be as long."""

MOST_WORDS: Final = 100_000


class Frames:
    """An endless supply; the same seed and names make the same frames.

    Args:
        seed: where the randomness comes from.
        names: the commands to send, each as its words (a container, its subcommand) and its arity.
    """

    def __init__(self, seed: int, names: Sequence[tuple[tuple[bytes, ...], int]]) -> None:
        self._random = random.Random(seed)  # noqa: S311  (nothing here is secret)
        self._names = list(names)
        self._taken = [
            piece
            for case in CASES.values()
            for piece in case.pieces
            if len(piece) < LONGEST_TAKEN and b"CONFIG" not in piece
        ]
        self._kinds: list[Callable[[], bytes]] = [self.request, self.damaged, self.structure, self.junk]
        self._kinds += [self.line, self.taken]

    def next(self) -> bytes:
        """One frame."""
        return self._random.choices(self._kinds, (50, 20, 10, 5, 10, 5))[0]()

    def cut(self, frame: bytes) -> list[bytes]:
        """The frame in one to three pieces, cut anywhere."""
        if self._random.random() < 0.7:
            return [frame]
        first, second = sorted(self._random.choices(range(len(frame) + 1), k=2))
        return [piece for piece in (frame[:first], frame[first:second], frame[second:]) if piece]

    def argument(self) -> bytes:
        """A key, a number, a word of Redis's, or some bytes."""
        chosen = self._random.random()
        for bound, values in ((0.35, KEYS), (0.6, SMALL), (0.75, NUMBERS), (0.93, WORDS)):
            if chosen < bound:
                return self._random.choice(values)
        if chosen < 0.94:
            return self._random.choice(MANY) * self.size(MOST_WORDS, 1000) + self._random.choice(ENDS)
        return self._random.randbytes(self.size(LARGEST))

    def size(self, most: int, usual: int = 10) -> int:
        """Mostly below ``usual``; ten times as much is a tenth as probable, up to ``most``."""
        size = usual / (1 - self._random.random())
        return math.ceil(min(size, most) * self._random.random())

    def words(self) -> list[bytes]:
        """A command's name and arguments, mostly as many as it takes."""
        name, arity = self._random.choice(self._names)
        count = abs(arity) - len(name)
        if arity < 0:
            count += self._random.choice((0, 0, 0, 1, 1, 2, 2, 3, 4, 6))
        odd = self._random.random()
        if odd < 0.05:
            count = self.size(MOST_WORDS, 100) if odd < 0.005 else self._random.randrange(6)
        return [*name, *(self.argument() for _ in range(count))]

    def request(self) -> bytes:
        """A well-formed request, or a few."""
        few = self._random.choice((1, 1, 1, 1, 1, 2, 5))
        return b"".join([encode(*self.words()) for _ in range(few)])

    def line(self) -> bytes:
        """An inline command."""
        return b" ".join(self.words()) + self._random.choice((b"\r\n", b"\n", b"'\r\n", b""))

    def taken(self) -> bytes:
        """A piece of a case that somebody thought of."""
        return self._random.choice(self._taken)

    def damaged(self) -> bytes:
        """A request with one to four blows to it."""
        frame = bytearray(self.request())
        for _ in range(self._random.randint(1, 4)):
            self._strike(frame)
        return bytes(frame)

    def _strike(self, frame: bytearray) -> None:
        at = self._random.randrange(len(frame) + 1)
        end = min(len(frame), at + self._random.choice((1, 2, 8)))
        what = self._random.randrange(5)
        if what == 0:
            del frame[at:end]
        elif what == 1:
            frame[at:at] = self._random.choice(PIECES)
        elif what == 2:
            frame[at:end] = self._random.randbytes(end - at)
        elif what == 3:
            frame[at:at] = frame[at:end] * self.size(MOST_WORDS)
        else:
            del frame[at:]

    def structure(self) -> bytes:
        """A value of RESP, with values in it, where a request should be."""
        return self._value(DEPTH)

    def _value(self, depth: int) -> bytes:
        kind = self._random.choice(b"*$+-:_#,(=!~%>|")
        if kind in b"*~%>|" and depth:
            said = self._random.choice((0, 1, 2, 3, 1000))
            inside = [self._value(depth - 1) for _ in range(min(said, 2))]
            return b"%c%d\r\n" % (kind, said) + b"".join(inside)
        text = self.argument()
        if kind in b"$=!":
            return b"%c%d\r\n%b\r\n" % (kind, len(text), text)
        return b"%c%b\r\n" % (kind, text)

    def junk(self) -> bytes:
        """Bytes in no order, some of them of the protocol."""
        if self._random.random() < 0.5:
            return self._random.randbytes(self.size(LARGEST))
        return b"".join(self._random.choices(PIECES, k=self.size(MOST_WORDS)))
