"""The manifest: which files an append-only file consists of, as Redis 7.0 writes it.

A line for each file: ``file NAME seq NUMBER type TYPE``. Type ``b`` is the base, all data at one moment;
``i`` an increment, the effects since then; ``h`` what a rewriting has replaced, and is to be removed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Final

from ..engine.protocol.requests import split_arguments

__all__ = ["FileEntry", "Manifest", "ManifestError"]

BASE: Final = "b"
INCREMENT: Final = "i"
HISTORY: Final = "h"
LONGEST_LINE: Final = 1024


class ManifestError(ValueError):
    """Redis would not accept this manifest either; the text says why, in Redis's words, and in which line."""


@dataclass(frozen=True)
class FileEntry:
    """One file.

    Attributes:
        name: of the file, without its folder.
        number: counts the bases, and the increments, from 1.
    """

    name: str
    number: int

    def line(self, kind: str) -> str:
        """As it stands in a manifest."""
        quoted = f'"{self.name}"' if " " in self.name else self.name
        return f"file {quoted} seq {self.number} type {kind}\n"


@dataclass(frozen=True)
class Manifest:
    """The files of one append-only file.

    Attributes:
        base: all data at one moment; None if there is none.
        increments: the effects since then, oldest first.
        history: files that are replaced, and not removed yet.
    """

    base: FileEntry | None = None
    increments: tuple[FileEntry, ...] = ()
    history: tuple[FileEntry, ...] = field(default=())

    def __str__(self) -> str:
        lines = [self.base.line(BASE)] if self.base else []
        lines += [part.line(HISTORY) for part in self.history]
        lines += [part.line(INCREMENT) for part in self.increments]
        return "".join(lines)

    @classmethod
    def parse(cls, text: str) -> Manifest:
        """The manifest of a text.

        Raises:
            ManifestError: it is none.
        """
        if not text:
            raise ManifestError("Empty AOF manifest")
        parts: dict[str, list[FileEntry]] = {BASE: [], INCREMENT: [], HISTORY: []}
        for number, line in enumerate(StringIO(text, newline="\n"), 1):
            try:
                if not line.startswith("#"):
                    kind, part = part_of(line)
                    parts[kind].append(part)
                check_order(parts)
            except ManifestError as error:
                raise ManifestError(f"line {number}: {error}") from None
        if parts[HISTORY] and not parts[BASE]:  # what is history was replaced by a base
            raise ManifestError("Found history files, and no base file")
        return cls(next(iter(parts[BASE]), None), tuple(parts[INCREMENT]), tuple(parts[HISTORY]))

    @classmethod
    def of_old_file(cls, name: str) -> Manifest:
        """The manifest of what was one file, as up to Redis 6: it is the base."""
        return cls(FileEntry(name, 1))

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """What is to be read at the start, in this order."""
        return (*((self.base,) if self.base else ()), *self.increments)

    def with_increment(self, name: str, *, skipped: int = 0) -> Manifest:
        """With one more increment, of an append-only file of some name; so many numbers are left out."""
        number = skipped + (self.increments[-1].number + 1 if self.increments else 1)
        return replace(self, increments=(*self.increments, FileEntry(f"{name}.{number}.incr.aof", number)))

    def with_base(self, name: str, *, ending: str, skipped: int = 0, is_all: bool = False) -> Manifest:
        """With a new base; the old one and all increments but the last become history.

        Args:
            name: of the append-only file.
            ending: of the name of the base.
            skipped: so many numbers are left out.
            is_all: the base has all data, so that the last increment becomes history, too.
        """
        number = skipped + (self.base.number + 1 if self.base else 1)
        last = () if is_all else self.increments[-1:]
        old = (*((self.base,) if self.base else ()), *self.increments[: len(self.increments) - len(last)])
        return Manifest(FileEntry(f"{name}.{number}.base.{ending}", number), last, (*self.history, *old))

    def without_history(self) -> Manifest:
        """Once these files are removed."""
        return replace(self, history=())


def part_of(line: str) -> tuple[str, FileEntry]:
    """What a line says: the type, and the file."""
    if not line.endswith("\n") or len(line) > LONGEST_LINE or "\0" in line:  # which would end it for Redis
        raise ManifestError("The AOF manifest file contains too long line")
    words = [
        word.decode("utf-8", "surrogateescape")
        for word in split_arguments(line.strip().encode("utf-8", "surrogateescape")) or ()
    ]
    if not words or len(words) < 6 or len(words) % 2:
        raise ManifestError("Invalid AOF manifest file format")
    told = {key.lower(): value for key, value in zip(words[::2], words[1::2], strict=True)}
    name, number, kind = told.get("file", ""), told.get("seq", ""), told.get("type", "")
    if "/" in name or "\\" in name:
        raise ManifestError("File can't be a path, just a filename")
    is_number = number.isascii() and number.isdigit() and int(number)
    if not name or not is_number or kind not in {BASE, INCREMENT, HISTORY}:
        raise ManifestError("Invalid AOF manifest file format")
    return kind, FileEntry(name, int(number))


def check_order(parts: dict[str, list[FileEntry]]) -> None:
    if len(parts[BASE]) > 1:
        raise ManifestError("Found duplicate base file information")
    increments = parts[INCREMENT]
    if len(increments) > 1 and increments[-1].number <= increments[-2].number:
        raise ManifestError("Found a non-monotonic sequence number")
