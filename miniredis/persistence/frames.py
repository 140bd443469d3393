"""Commands in an append-only file, each with the byte behind it. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..engine.protocol.requests import FAST_LIMIT, FastParser
from ..engine.rdb.reader import BadDataError, FileReader

__all__ = ["BadFrameError", "TornFrameError", "batches", "size_of"]

WINDOW: Final = FAST_LIMIT
"""How many bytes the fast parser is shown at once: some hundreds of commands, or about a millisecond."""

LONGEST_LINE: Final = 128
"""Bytes of a line that announces something; Redis reads no longer one."""

LONGEST_ANNOTATION: Final = 64 * 1024
"""Bytes of a line that means nothing."""

MOST_ARGUMENTS: Final = (1 << 31) - 1

FORMAT: Final = "Bad file format reading the append only file"


class BadFrameError(ValueError):
    """What stands in the file is no command.

    Attributes:
        at: the byte where it does.
    """

    def __init__(self, at: int) -> None:
        super().__init__(f"{FORMAT}, at byte {at}")
        self.at = at


class TornFrameError(EOFError):
    """The file ends in the middle of a command."""


def batches(reader: FileReader) -> Iterator[list[list[bytes]]]:
    """The commands of a file, a few at a time; none for an annotation.

    The reader has read just these. Where there are several, each is written as Redis writes it, so that
    ``size_of`` tells where each one begins.

    Raises:
        BadFrameError: something else stands there.
        TornFrameError: the end is missing.
    """
    parser = FastParser()
    while not reader.is_over:
        if reader.peek(1) == b"#":
            read_line(reader, LONGEST_ANNOTATION)
            yield []
            continue
        window = reader.peek(WINDOW)
        if len(window) == WINDOW:  # it ends in the middle of a command, most likely of the last one
            window = window[: window.rfind(b"\r\n*") + 2] or window
        commands, used = parser.read(window)
        if not used:
            commands = [read_frame(reader)]
        else:
            reader.take(used)
        yield commands


def size_of(commands: Iterable[list[bytes]]) -> int:
    """How many bytes commands take in the file."""
    return sum(
        len(b"*%d\r\n" % len(command)) + sum(len(b"$%d\r\n" % len(each)) + len(each) + 2 for each in command)
        for command in commands
    )


def read_frame(reader: FileReader) -> list[bytes]:
    """One command, exactly as Redis reads it."""
    count = announced(reader, b"*")
    if not 0 < count <= MOST_ARGUMENTS:
        raise BadFrameError(reader.at)
    command = []
    for _ in range(count):
        length = announced(reader, b"$")
        try:
            command.append(reader.take(length))
            reader.take(2)
        except BadDataError:
            raise TornFrameError from None
    return command


def announced(reader: FileReader, mark: bytes) -> int:
    """The number in a line that begins with a mark."""
    at = reader.at
    if reader.peek(1) not in (mark, b""):
        raise BadFrameError(at)
    digits = read_line(reader, LONGEST_LINE)[1:].rstrip(b"\r\n")
    if not digits.isdigit():
        raise BadFrameError(at)
    return int(digits)


def read_line(reader: FileReader, longest: int) -> bytes:
    """A line with its end."""
    window = reader.peek(LONGEST_LINE)  # most are shorter
    end = window.find(b"\n") + 1
    if not end and longest > LONGEST_LINE:
        window = reader.peek(longest)
        end = window.find(b"\n") + 1
    if end:
        return reader.take(end)
    if len(window) == longest:
        raise BadFrameError(reader.at)
    raise TornFrameError
