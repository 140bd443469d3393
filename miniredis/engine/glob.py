r"""Redis's glob patterns: ``*``, ``?``, ``[a-z]``, ``[^a]``, and ``\`` before what is meant as it is.

Redis's own rules, which are not those of a shell: the empty text fits the empty pattern only, not even ``*``.
The ends of a range are compared as signed bytes. Where case is ignored, that of an escaped byte in a class is
not. And a pattern that gets to its 1001st star with more behind it fits nothing.

A pattern is read into the segments between its stars. The first of them must begin the text, the last must
end it. Each other one is looked for behind the one before, and the first place where it stands will do: so
matching takes time in proportion to pattern times text at worst. A long pattern is read anew for each text,
but only as far as the text goes, and its first long classes are kept.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

__all__ = ["compile_glob", "compile_match"]

LONG: Final = 256
"""Bytes of a pattern from which on it is read when needed: its pieces would take more room than it does."""

SHORT: Final = 256
"""Bytes of a class up to which what it stands for is kept: a longer one would keep its text, too."""

MOST_STARS: Final = 1000
MOST_LONG_CLASSES: Final = 64
"""How many classes longer than that a long pattern keeps, each as what it stands for."""

HEAD: Final = 64
"""How many pieces of a segment are looked for together."""

Piece: TypeAlias = "bytes | int | frozenset[int]"
"""Bytes as they are, a number of bytes of any kind, or the bytes that one may be."""

TOKEN: Final = re.compile(
    rb"(\*++)|(\?{1,4096}+)|\[(\^?)((?:\\.|[^\]]-.|[^\]])*+)\]?|((?:\\.){1,4096}+)|([^*?\[\\]{1,4096}+|\\)",
    re.DOTALL,
).match
MEMBERS: Final = re.compile(rb"\\.|[^\]]-.|.", re.DOTALL).findall
SOME_MEMBERS: Final = re.compile(rb"(?:\\.|[^\]]-.|.){1,4096}+", re.DOTALL).finditer
ANY: Final = frozenset(range(256))


def compile_glob(pattern: bytes, *, ignore_case: bool = False) -> Callable[[bytes], bool]:
    """A function that tells whether the whole of a text fits the pattern."""
    long_classes: dict[int, tuple[frozenset[int], int]] = {}
    if len(pattern) >= LONG:
        return lambda text: match(segments(pattern, ignore_case, len(text), long_classes), text)
    parts = tuple(segments(pattern, ignore_case, LONG, long_classes))
    beginning = parts[0].beginning  # most texts are told by it
    return lambda text: text.startswith(beginning) and match(parts, text)


def compile_match(pattern: bytes) -> Callable[[bytes], bool]:
    """The same for KEYS and SCAN, for which ``*`` alone fits everything."""
    return fits_all if pattern == b"*" else compile_glob(pattern)


def fits_all(_: bytes) -> bool:
    return True


def match(parts: Iterable[Segment], text: bytes) -> bool:
    at = 0
    for stars, part in enumerate(parts):
        room = len(text) - part.size
        if room < at or (stars > MOST_STARS and part.size) or (stars and not text):
            return False
        if part.is_last:
            return part.fits(text, room) and (stars > 0 or room == 0)
        at = part.find(text, at) if stars else 0 if part.fits(text, 0) else -1
        if at < 0:
            return False
        at += part.size
    return False


class Segment:
    """What stands between two stars of a pattern, or at one of its ends."""

    __slots__ = ("_head", "_pieces", "is_last", "size")

    def __init__(self, pieces: list[Piece], size: int, *, is_last: bool) -> None:
        self._pieces = pieces
        self._head: re.Pattern[bytes] | None = None
        self.size = size
        self.is_last = is_last

    @property
    def beginning(self) -> bytes:
        """The bytes as they are that it begins with, if it does."""
        return self._pieces[0] if self._pieces and isinstance(self._pieces[0], bytes) else b""

    def fits(self, text: bytes, at: int, skipped: int = 0) -> bool:
        """Whether its pieces, but for the first few, stand at some place of a text that is long enough."""
        for piece in self._pieces[skipped:] if skipped else self._pieces:
            if isinstance(piece, bytes):
                if not text.startswith(piece, at):
                    return False
                at += len(piece)
            elif isinstance(piece, int):
                at += piece
            elif text[at] in piece:
                at += 1
            else:
                return False
        return True

    def find(self, text: bytes, at: int) -> int:
        """The first place from ``at`` on where it stands; -1 if there is none."""
        pieces = self._pieces
        if len(pieces) == 1 and not isinstance(pieces[0], frozenset):
            return text.find(pieces[0], at) if isinstance(pieces[0], bytes) else at
        if self._head is None:
            self._head = re.compile(b"".join(map(expression, pieces[:HEAD])), re.DOTALL)
        end = len(text) - self.size
        while (found := self._head.search(text, at)) is not None and found.start() <= end:
            if len(pieces) <= HEAD or self.fits(text, found.end(), HEAD):
                return found.start()
            at = found.start() + 1
        return -1


def expression(piece: Piece) -> bytes:
    """A piece as a regular expression."""
    if isinstance(piece, bytes):
        return re.escape(piece)
    if isinstance(piece, int):
        return b".{%d}" % piece
    return b"[%b]" % b"".join(b"\\x%02x" % byte for byte in piece) if piece else b"(?!)"


# Reading patterns


def segments(
    pattern: bytes, ignore_case: bool, most: int, long_classes: dict[int, tuple[frozenset[int], int]]
) -> Iterator[Segment]:
    """The segments of a pattern; the last one to matter is one of more than ``most`` bytes.

    ``long_classes`` has what was found at a place of the pattern before: the bytes of a class, and its end.
    """
    pieces: list[Piece] = []
    at = size = 0
    while at < len(pattern) and size <= most:
        if at in long_classes:
            known, at = long_classes[at]
            pieces.append(known)
            size += 1
            continue
        begin = at
        token = TOKEN(pattern, at)
        assert token is not None
        at = token.end()
        stars, anything, negated, members, escaped, plain = token.groups()
        if stars:
            yield Segment(pieces, size, is_last=False)
            pieces, size = [], 0
        elif anything:
            pieces.append(len(anything))
            size += len(anything)
        elif members is not None:
            found = one_of(members, negated=bool(negated), ignore_case=ignore_case)
            if len(members) > SHORT and len(long_classes) < MOST_LONG_CLASSES:
                long_classes[begin] = found, at
            pieces.append(found)
            size += 1
        else:
            text = (escaped[1::2] if escaped else plain)[: most + 1]  # one more is too long already
            pieces += either_case(text) if ignore_case else [text]
            size += len(text)
    yield Segment(pieces, size, is_last=True)


def either_case(text: bytes) -> Iterator[Piece]:
    for byte in text:
        yield one_of(bytes((byte,)), negated=False, ignore_case=True)


def one_of(members: bytes, *, negated: bool, ignore_case: bool) -> frozenset[int]:
    """The bytes that a class stands for."""
    find = kept_members if len(members) <= SHORT else found_members
    found = find(members, ignore_case)
    return ANY - found if negated else found


def found_members(members: bytes, ignore_case: bool) -> frozenset[int]:
    """The bytes that a class names."""
    if b"\\" not in members and b"-" not in members:
        return either_case_of(members) if ignore_case else frozenset(members)
    distinct: set[bytes] = set()
    for some in SOME_MEMBERS(members):
        distinct.update(MEMBERS(some[0]))
    found: set[int] = set()
    for member in distinct:
        if len(member) == 2:  # escaped
            found.add(member[1])
        elif len(member) == 3:
            found.update(between(member[:1], member[2:], ignore_case))
        else:
            found.update(either_case_of(member) if ignore_case else member)
    return frozenset(found)


kept_members: Final = lru_cache(512)(found_members)


def either_case_of(members: bytes) -> frozenset[int]:
    few = bytes(frozenset(members))
    return frozenset(few.lower() + few.upper())


def between(one: bytes, other: bytes, ignore_case: bool) -> bytes:
    """The bytes of a range. They are compared as C's ``char``, or as C's ``tolower`` returns one."""
    low, high = sorted((one, other), key=signed)
    number = lowered if ignore_case else signed
    every, numbers = ORDERS[ignore_case]
    return every[bisect_left(numbers, number(low)) : bisect_right(numbers, number(high))]


def signed(byte: bytes) -> int:
    return int.from_bytes(byte, signed=True)


def lowered(byte: bytes) -> int:
    return byte.lower()[0] if byte != b"\xff" else -1


def in_order(number: Callable[[bytes], int]) -> tuple[bytes, list[int]]:
    every = sorted((bytes((byte,)) for byte in range(256)), key=number)
    return b"".join(every), [*map(number, every)]


ORDERS: Final = {False: in_order(signed), True: in_order(lowered)}
"""All bytes in the order in which a range compares them, and the numbers that it compares."""
