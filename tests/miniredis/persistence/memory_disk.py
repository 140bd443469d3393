"""A disk in memory that loses what was not made durable, and fails at whichever operation a test says."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Container
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

from miniredis.persistence.disk import Disk, File, InputFile

__all__ = ["Killed", "MemoryDisk", "failing", "failing_at", "failing_once", "killing", "works"]


class Killed(BaseException):
    """The process ends here."""


Plan: TypeAlias = Callable[[int, str], None]


def works(_number: int, _name: str) -> None:
    """The plan of a disk that does not fail."""


def failing(*operations: str, code: int = errno.ENOSPC) -> Plan:
    """The plan of a disk on which some operations fail; it is full if no other error is given."""

    def plan(_: int, name: str) -> None:
        if name in operations:
            raise OSError(code, os.strerror(code))

    return plan


def failing_once(operation: str, place: int) -> Plan:
    """The plan of a disk that is full for one operation, when it is done for the so manieth time."""
    left = [place]

    def plan(number: int, name: str) -> None:
        if name == operation:
            left[0] -= 1
            if left[0] == 0:
                failing(operation)(number, name)

    return plan


def failing_at(numbers: Container[int], code: int) -> Plan:
    """The plan of a disk on which the operations with some numbers fail."""

    def plan(number: int, _: str) -> None:
        if number in numbers:
            raise OSError(code, os.strerror(code))

    return plan


def killing(at: int) -> Plan:
    """The plan of a process that ends at an operation."""

    def plan(number: int, _: str) -> None:
        if number >= at:
            raise Killed

    return plan


class Inode:
    """What a file holds, and what of it would be there after a power loss.

    What a disk was asked to keep and failed to, the system forgets: it never tries again, as Linux does not, so
    that zeros are in its place after a power loss, though the file can be read until then.
    """

    def __init__(self) -> None:
        self.data = self.durable = b""
        self.forgotten: list[range] = []

    def sync(self) -> None:
        """The disk keeps all but what was forgotten."""
        kept = bytearray(self.data)
        for each in self.forgotten:
            kept[each.start : each.stop] = bytes(len(each))
        self.durable = bytes(kept)

    def forget(self) -> None:
        """The disk failed to keep what is new."""
        self.forgotten.append(range(len(self.durable), len(self.data)))


class MemoryFile(File):
    """One that is open."""

    def __init__(self, inode: Inode, disk: MemoryDisk) -> None:
        self.inode, self._disk = inode, disk
        self.size = len(inode.data)
        disk.open_files.append(self)

    def write(self, data: bytes | memoryview) -> None:
        def half() -> None:
            self._add(data[: len(data) // 2])

        self._disk.step("write", half)
        self._add(data)

    def _add(self, data: bytes | memoryview) -> None:
        self.inode.data += data
        self.size = len(self.inode.data)

    def sync(self) -> None:
        self._disk.step("sync", self.inode.forget)
        self.inode.sync()

    def truncate(self, size: int) -> None:
        self._disk.step("truncate")
        self.inode.data = self.inode.data[:size]
        self.size = size

    def close(self) -> None:
        self._disk.open_files.remove(self)  # also where it fails, as on Linux
        self._disk.step("close")


class MemoryInputFile(InputFile):
    """One that is read."""

    def __init__(self, inode: Inode) -> None:
        self._rest = BytesIO(inode.data)
        self.size = len(inode.data)

    def read(self, most: int) -> bytes:
        return self._rest.read(most)

    def close(self) -> None:
        self._rest.close()


class MemoryDisk(Disk):
    """The files of one server, and of those that come after it.

    Attributes:
        steps: the operations so far, by name.
        plan: called before each operation with its number and name; raises what it is to fail with.
        open_files: those that are written.
    """

    def __init__(self) -> None:
        self.open_files: list[MemoryFile] = []
        self._entries: dict[Path, Inode] = {}
        self._durable: dict[Path, Inode] = {}
        self._changes: list[
            dict[Path, Inode | None]
        ] = []  # of the entries, that are not durable, oldest first
        self.steps: list[str] = []
        self.plan: Plan = works

    def step(self, name: str, half: Callable[[], None] = lambda: None) -> None:
        """An operation is about to be done; one that fails may be done halfway."""
        self.steps.append(name)
        try:
            self.plan(len(self.steps), name)
        except BaseException:
            half()
            raise

    @property
    def is_durable(self) -> bool:
        """Whether a power loss would take nothing of what files hold."""
        return all(inode.data == inode.durable for inode in self._entries.values())

    def _change(self, *changes: tuple[Path, Inode | None]) -> None:
        """Adds, replaces and removes entries, as one step that a power loss leaves done or undone."""
        self._changes.append(dict(changes))
        apply(self._entries, dict(changes))

    def lose_power(self, seed: int) -> None:
        """Only what was made durable is left, and some of what was not.

        That is the beginning of files; and any of the creations, renamings and removals, whatever their order.
        """
        chance = random.Random(seed)  # noqa: S311  (nothing here is secret)
        for change in self._changes:
            if chance.random() < 0.5:
                apply(self._durable, change)  # it reached the disk by itself
        self._changes = []
        self._entries = dict(self._durable)
        for inode in self._entries.values():
            rest = inode.data[len(inode.durable) :] if inode.data.startswith(inode.durable) else b""
            inode.data = inode.durable = inode.durable + rest[: chance.randint(0, len(rest))]

    def append(self, path: Path) -> File:
        self.step("open")
        if path not in self._entries:
            self._change((path, Inode()))
        return MemoryFile(self._entries[path], self)

    def create(self, path: Path) -> File:
        self.step("create")
        self._change((path, Inode()))
        return MemoryFile(self._entries[path], self)

    def open(self, path: Path) -> InputFile:
        self.step("read")
        return MemoryInputFile(self._found(path))

    def read(self, path: Path) -> bytes:
        self.step("read")
        return self._found(path).data

    def size(self, path: Path) -> int:
        return len(self._found(path).data)

    def _found(self, path: Path) -> Inode:
        if path not in self._entries:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return self._entries[path]

    def exists(self, path: Path) -> bool:
        return path in self._entries

    def list(self, folder: Path) -> list[Path]:
        return sorted(path for path in self._entries if path.parent == folder)

    def make_folder(self, path: Path) -> None:
        self.step("mkdir")

    def rename(self, path: Path, new: Path) -> None:
        self.step("rename")
        self._change((new, self._found(path)), (path, None))

    def remove(self, path: Path) -> None:
        self.step("remove")
        self._found(path)
        self._change((path, None))

    def sync_folder(self, path: Path) -> None:
        self.step("sync folder")
        kept = {name: inode for name, inode in self._durable.items() if name.parent != path}
        self._durable = kept | {name: inode for name, inode in self._entries.items() if name.parent == path}
        rest = ({name: each[name] for name in each if name.parent != path} for each in self._changes)
        self._changes = [each for each in rest if each]

    def lock(self, folder: Path) -> int:
        return 0

    def unlock(self, descriptor: int, *, is_copy: bool = False) -> None:
        pass


def apply(entries: dict[Path, Inode], change: dict[Path, Inode | None]) -> None:
    for path, inode in change.items():
        if inode is None:
            entries.pop(path, None)
        else:
            entries[path] = inode
