"""Commands in an append-only file, each with the byte behind it. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..engine.requests import FastLane

__all__ = ["BadFrameError", "TornFrameError", "frames"]

WINDOW: Final = 16 * 1024
"""How many bytes the fast lane is shown at once."""

LONGEST_LINE: Final = 128
"""Bytes of a line that announces something; Redis reads no longer one."""

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


def frames(data: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The commands of a file, each with the offset behind it; annotations are skipped.

    Raises:
        BadFrameError: something else stands there.
        TornFrameError: the end is missing.
    """
    lane = FastLane()
    at = 0
    while at < len(data):
        commands, used = lane.read(data[at : at + WINDOW])
        for command in commands if used else ():
            at += frame_size(command)
            yield at, command
        if not used:
            at, found = read_frame(data, at)
            if found:
                yield at, found


def frame_size(command: list[bytes]) -> int:
    """How many bytes a command takes in the file."""
    return len(b"*%d\r\n" % len(command)) + sum(
        len(b"$%d\r\n" % len(each)) + len(each) + 2 for each in command
    )


def read_frame(data: bytes, at: int) -> tuple[int, list[bytes]]:
    """One command, exactly as Redis reads it, and the offset behind it; none for an annotation."""
    if data.startswith(b"#", at):
        return line_end(data, at), []
    count, at = announced(data, at, b"*")
    if not 0 < count <= MOST_ARGUMENTS:
        raise BadFrameError(at)
    command = []
    for _ in range(count):
        length, at = announced(data, at, b"$")
        if length < 0:
            raise BadFrameError(at)
        command.append(data[at : at + length])
        at += length + 2
        if at > len(data):
            raise TornFrameError
    return at, command


def announced(data: bytes, at: int, mark: bytes) -> tuple[int, int]:
    """The number in a line that begins with a mark, and the offset behind the line."""
    if data[at : at + 1] not in (mark, b""):
        raise BadFrameError(at)
    end = line_end(data, at)
    digits = data[at + 1 : end].rstrip(b"\r\n")
    if not digits.isdigit() or end - at > LONGEST_LINE:
        raise BadFrameError(at)
    return int(digits), end


def line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    if end < 0:
        raise TornFrameError
    return end + 1
