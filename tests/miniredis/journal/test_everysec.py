"""The thread of ``appendfsync everysec``, on a disk that is slow or fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from miniredis.journal import append_only
from miniredis.journal.append_only import AppendOnlyFile

from ...waiting import until
from .memory_disk import MemoryDisk, MemoryFile, failing, works
from .test_journal import Server, elements


class Written:
    """A file that is synced all the time, instead of once in a second."""

    def __init__(self) -> None:
        self.disk = MemoryDisk()
        file = self.disk.append(Path("/f"))
        assert isinstance(file, MemoryFile)
        self.inode = file.inode
        self.synced = threading.Event()
        self.file = AppendOnlyFile(file, lambda: "everysec", self.synced.set)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    monkeypatch.setattr(append_only, "EVERY", 0.0)
    written = Written()
    yield written
    written.disk.plan = works
    written.file.close()


def test_what_was_written_reaches_the_disk_by_itself(written: Written) -> None:
    written.file.write(b"a")
    until(lambda: written.inode.durable == b"a", "is it on the disk")
    assert written.synced.wait(60)


def test_a_disk_that_works_again_is_found_though_nothing_more_is_written(written: Written) -> None:
    written.disk.plan = failing("sync")
    written.file.write(b"a")
    until(lambda: written.file.error is not None, "has it failed")
    written.disk.plan = works
    until(lambda: written.file.error is None, "is it known that the disk works")
    assert written.file.may_lack_something


def test_a_slow_disk_delays_a_write_for_as_long_as_there_is_patience(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    written.disk.plan = lambda _number, name: (over.wait(60), None)[1] if name == "sync" else None
    written.file.write(b"a")
    until(lambda: written.file.is_syncing, "is it being synced")
    written.file.write(b"b")
    assert (written.file.pending, written.inode.data) == (b"b", b"a")
    monkeypatch.setattr(append_only, "LONGEST_DELAY", 0.0)
    written.file.write(b"c")
    assert (written.file.pending, written.inode.data, written.file.delays) == (b"", b"abc", 1)
    over.set()


def test_what_a_failed_sync_has_lost_is_there_after_the_disk_works_again_and_power_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(append_only, "EVERY", 0.0)
    disk = MemoryDisk()
    server = Server(disk, appendfsync="everysec")
    acknowledged: list[int] = []

    def push(number: int) -> None:
        reply = server.ask("RPUSH", "l", number)
        if reply.startswith(b":"):
            acknowledged.append(number)
        else:
            assert reply.startswith(b"-MISCONF")

    push(1)
    until(lambda: disk.is_durable, "is it on the disk")
    disk.plan = failing("sync")
    push(2)
    until(lambda: server.journal._increments.file.error is not None, "has the disk failed")
    push(3)  # the end of this tick tells the engine
    push(4)
    disk.plan = works
    until(lambda: server.journal._increments.file.error is None, "is it known that the disk works")
    push(5)  # the end of this tick writes all anew
    push(6)
    until(lambda: disk.is_durable, "is it on the disk")
    disk.lose_power(1)
    assert elements(disk) == acknowledged == [1, 2, 3, 6]
    server.journal.close()
