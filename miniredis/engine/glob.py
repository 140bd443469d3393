r"""Redis's glob patterns: ``*``, ``?``, ``[a-z]``, ``[^a]``, and ``\`` to escape a character.

The rules are Redis's, not those of a shell. The empty text matches only the empty pattern, not even ``*``.
Ranges compare bytes as signed. Case-insensitive matching does not apply to escaped bytes in a class. A
pattern whose 1001st star is followed by more matches nothing.

A pattern is parsed into the segments between its stars. The first segment must match at the start of the
text, the last at its end. Each other one is searched for after the one before, and its first match is taken:
so matching takes time proportional to pattern times text at worst. A long pattern is parsed for each text,
but only as far as the text is long, and its first long classes are cached.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

__all__ = ["compile_glob", "compile_match"]

LONG: Final = 256
"""Patterns of at least this many bytes are parsed when needed: their segments would take too much memory."""

SHORT: Final = 256
"""Classes up to this many bytes are cached by their text; up to so many stars are read each time."""

MOST_STARS: Final = 1000
MOST_LONG_RUNS: Final = 64
"""How many longer classes, and runs of more stars, are cached for each long pattern."""

HEAD: Final = 64
"""How many pieces of a segment are searched for with one regular expression."""

Piece: TypeAlias = "bytes | int | frozenset[int]"
"""Literal bytes, a number of arbitrary bytes, or the set of bytes that match one byte."""

LongRuns: TypeAlias = "dict[int, tuple[frozenset[int] | None, int]]"

TOKEN: Final = re.compile(
    rb"(\*++)|(\?{1,4096}+)|\[(\^?)((?:\\.|[^\]]-.|[^\]])*+)\]?|((?:\\.){1,4096}+)|([^*?\[\\]{1,4096}+|\\)",
    re.DOTALL,
).match
PLAIN: Final = re.compile(rb"(\*?)([^*?\[\\]++)(\*?)").fullmatch
"""Plain text with a star before or behind it, as most patterns are: no need to parse it."""

MEMBERS: Final = re.compile(rb"\\.|[^\]]-.|.", re.DOTALL).findall
SOME_MEMBERS: Final = re.compile(rb"(?:\\.|[^\]]-.|.){1,4096}+", re.DOTALL).finditer
ANY: Final = frozenset(range(256))


def compile_glob(pattern: bytes, *, ignore_case: bool = False) -> Callable[[bytes], bool]:
    """A function that returns whether a whole text matches the pattern."""
    long_runs: LongRuns = {}
    if len(pattern) >= LONG:
        return lambda text: match(segments(pattern, ignore_case, len(text), long_runs), text)
    if not ignore_case and (plain := PLAIN(pattern)):
        return compile_plain(*plain.groups())
    parts = tuple(segments(pattern, ignore_case, LONG, long_runs))
    beginning = parts[0].beginning  # decides for most texts
    return lambda text: text.startswith(beginning) and match(parts, text)


def compile_plain(before: bytes, plain: bytes, behind: bytes) -> Callable[[bytes], bool]:
    """The same for plain text that may have a star before it, and one behind."""
    if before:
        return lambda text: plain in text if behind else text.endswith(plain)
    return lambda text: text.startswith(plain) if behind else text == plain


def compile_match(pattern: bytes) -> Callable[[bytes], bool]:
    """The same for KEYS and SCAN, where ``*`` alone matches everything."""
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
    """The part of a pattern between two stars, or at one of its ends."""

    __slots__ = ("_head", "_pieces", "is_last", "size")

    def __init__(self, pieces: list[Piece], size: int, *, is_last: bool) -> None:
        self._pieces = pieces
        self._head: re.Pattern[bytes] | None = None
        self.size = size
        self.is_last = is_last

    @property
    def beginning(self) -> bytes:
        """The literal bytes at its start, if any."""
        return self._pieces[0] if self._pieces and isinstance(self._pieces[0], bytes) else b""

    def fits(self, text: bytes, at: int, skipped: int = 0) -> bool:
        """Whether its pieces from ``skipped`` on match at a position of a text that is long enough."""
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
        """The first position from ``at`` on where it matches; -1 if there is none."""
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


# Parsing patterns


def segments(pattern: bytes, ignore_case: bool, most: int, long_runs: LongRuns) -> Iterator[Segment]:
    """Yields the segments of a pattern, up to one that is longer than ``most`` bytes.

    ``long_runs`` caches, by position in the pattern, the bytes of a long class, or None for many stars, and
    where it ends.
    """
    pieces: list[Piece] = []
    at = size = 0
    while at < len(pattern) and size <= most:
        if at in long_runs:
            known, at = long_runs[at]
            if known is None:
                yield Segment(pieces, size, is_last=False)
                pieces, size = [], 0
            else:
                pieces.append(known)
                size += 1
            continue
        begin = at
        token = TOKEN(pattern, at)
        assert token is not None
        at = token.end()
        stars, anything, negated, members, escaped, plain = token.groups()
        if stars:
            if len(stars) > SHORT and len(long_runs) < MOST_LONG_RUNS:
                long_runs[begin] = None, at
            yield Segment(pieces, size, is_last=False)
            pieces, size = [], 0
        elif anything:
            pieces.append(len(anything))
            size += len(anything)
        elif members is not None:
            found = one_of(members, negated=bool(negated), ignore_case=ignore_case)
            if len(members) > SHORT and len(long_runs) < MOST_LONG_RUNS:
                long_runs[begin] = found, at
            pieces.append(found)
            size += 1
        else:
            text = (escaped[1::2] if escaped else plain)[: most + 1]  # enough to exceed ``most``
            pieces += either_case(text) if ignore_case else [text]
            size += len(text)
    yield Segment(pieces, size, is_last=True)


def either_case(text: bytes) -> Iterator[Piece]:
    for byte in text:
        yield one_of(bytes((byte,)), negated=False, ignore_case=True)


def one_of(members: bytes, *, negated: bool, ignore_case: bool) -> frozenset[int]:
    """The bytes that a class matches."""
    find = kept_members if len(members) <= SHORT else found_members
    found = find(members, ignore_case)
    return ANY - found if negated else found


def found_members(members: bytes, ignore_case: bool) -> frozenset[int]:
    """The bytes that a class lists."""
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
    """The bytes of a range. They compare as C's ``char``, or as C's ``tolower`` returns them."""
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
"""All bytes in the order in which ranges compare them, and the numbers that are compared."""
