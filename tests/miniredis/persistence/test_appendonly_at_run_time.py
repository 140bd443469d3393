"""CONFIG SET appendonly on a server that runs and has data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import miniredis
from conformance.targets import Address
from conformance.wire import RawConnection, encode
from miniredis import Config, Engine
from miniredis.logs import ServerLog
from miniredis.persistence.child import Child
from miniredis.persistence.disk import Disk
from miniredis.persistence.journal import Journal

from ...cases import exhaustive
from ...servers import flags_of, start_redis
from ...waiting import until
from .memory_disk import Killed, MemoryDisk, Plan, failing_once, killing, works
from .test_journal import NOW, InThisProcess, Server

OLD = [-1, -2]
"""What an earlier server had in the folder."""


class TurnedOn(Server):
    """A server that has ten elements, and was told to keep them on a disk where others are."""

    def __init__(self, disk: Disk, start_child: type[Child] = InThisProcess) -> None:
        self.now = NOW
        self.engine = Engine(Config({"appendfsync": "always"}), NOW)
        self.session = self.engine.connect(NOW)
        self.later: list[Callable[[], object]] = []
        self.over: list[Callable[[], object]] = []
        self.pushed = 0
        self.engine.receive(self.session, encode("SELECT", "1"), self.now)
        for _ in range(10):
            self.push(is_kept=False)
        self.journal = Journal(
            self.engine, ServerLog(self.engine.config), self.later.append, disk, start_child=start_child
        )
        self.journal.begin()
        self.engine.environment = self.engine.environment._replace(journal=self.journal)

    def ask(self, *words: str | int) -> bytes:
        """The end of a child is known two commands later than it began."""
        over, self.over = self.over, self.later[:]
        self.later.clear()
        for each in over:
            each()
        self.engine.receive(self.session, encode(*map(str, words)), self.now)
        self.engine.settle(self.now)
        self.journal.write(self.engine.recording.take())
        return self.session.take_output()

    def push(self, *, is_kept: bool = True) -> None:
        """Pushes the next number."""
        words = ("RPUSH", "l", self.pushed)
        if is_kept:
            self.ask(*words)
        else:
            self.engine.receive(self.session, encode(*map(str, words)), self.now)
        self.pushed += 1

    @property
    def has_base(self) -> bool:
        """Whether all is on the disk that was answered."""
        return self.journal.base_size > 0


def old_disk() -> MemoryDisk:
    disk = MemoryDisk()
    server = Server(disk)
    for number in OLD:
        server.ask("RPUSH", "l", number)
    server.journal.close()
    return disk


def found_in(disk: Disk) -> list[int]:
    """What is there after a start: in database 0 what was old, in database 1 what was kept."""
    server = Server(disk)
    old, new = (db.values.get(b"l", ()) for db in server.engine.keyspace.databases[:2])
    assert not (old and new)
    return [int(each) for each in old or new]  # type: ignore[arg-type,union-attr]


def work(disk: Disk, kept: list[int]) -> None:
    """Turns it on, pushes and rewrites; ``kept`` gets what must be there."""
    server = TurnedOn(disk)
    for number in range(6):
        server.push()
        if server.has_base:
            kept[:] = range(server.pushed)
        if number == 3:
            server.ask("BGREWRITEAOF")
    server.journal.close()


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power loss"])
def test_a_kill_at_any_operation_leaves_what_was_there_or_all_that_was_answered(power: bool) -> None:
    disk = old_disk()
    before = len(disk.steps)
    work(disk, [])
    for at in range(before + 1, len(disk.steps) + 1):
        disk, kept = old_disk(), list[int]()
        disk.plan = killing(at)
        with pytest.raises(Killed):
            work(disk, kept)
        if power:
            disk.lose_power(at)
        disk.plan = works
        found = found_in(disk)
        assert found == (OLD if found == OLD else list(range(len(found)))), at
        assert not kept or found[: len(kept)] == kept, at
        assert found == found_in(disk), at


def both(one: Plan, other: Plan) -> Plan:
    def plan(number: int, name: str) -> None:
        one(number, name)
        other(number, name)

    return plan


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename", "sync folder", "close", "remove"])
@pytest.mark.parametrize("place", [1, exhaustive(2), exhaustive(3), 4])
def test_a_first_base_that_fails_anywhere_is_written_again_and_a_kill_doubles_nothing(
    operation: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miniredis.persistence.rewriting.PAUSE", 0)
    for at in range(1, 40):
        disk = old_disk()
        disk.plan = failing_once(operation, place)
        with suppress(Killed, OSError):
            server = TurnedOn(disk)
            plan, begun = disk.plan, len(disk.steps)
            disk.plan = both(plan, killing(begun + at))
            for _ in range(8):
                server.push()
            assert server.has_base
            server.journal.close()
        disk.plan = works
        found = found_in(disk)
        assert found == (OLD if found == OLD else list(range(len(found)))), (operation, place, at)


def test_without_a_child_it_is_refused_and_nothing_has_changed() -> None:
    class NoChild(Child):
        def __init__(self, *_: object, **__: object) -> None:
            raise OSError("no more processes")

    disk = old_disk()
    with pytest.raises(OSError, match="no more processes"):
        TurnedOn(disk, NoChild)
    assert found_in(disk) == OLD


class Slow(InThisProcess):
    """It has not ended yet when the server stops."""

    def __init__(self, work: Callable[[], None], when_over: Callable[[str], None]) -> None:
        super().__init__(work, lambda _: None)


def test_a_server_that_stops_before_the_first_base_is_there_writes_it_itself() -> None:
    disk = old_disk()
    server = TurnedOn(disk, Slow)
    server.push()
    assert not server.has_base
    server.journal.close()
    assert found_in(disk) == list(range(11))


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename", "sync folder", "close"])
def test_a_server_that_cannot_write_the_first_base_when_it_stops_closes_all_and_ends_its_thread(
    operation: str,
) -> None:
    disk, threads = old_disk(), set(threading.enumerate())
    server = TurnedOn(disk, Slow)
    server.ask("CONFIG", "SET", "appendfsync", "everysec")
    server.push()
    assert set(threading.enumerate()) - threads
    disk.plan = failing_once(operation, 1)
    with pytest.raises(OSError, match="No space left"):
        server.journal.close()
    assert not disk.open_files
    assert set(threading.enumerate()) <= threads


# On both servers


@dataclass
class Kept:
    """A server that keeps nothing until it is told to.

    Attributes:
        folder: where it would.
        raw: a client.
    """

    folder: Path
    raw: RawConnection

    def ask(self, *words: str) -> bytes:
        return self.raw.command(*words)

    def told(self) -> dict[str, str]:
        """INFO persistence."""
        lines = self.ask("INFO", "persistence").decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def await_base(self) -> None:
        def is_idle() -> bool:
            told = self.told()
            return (told["aof_rewrite_in_progress"], told["aof_rewrite_scheduled"]) == ("0", "0")

        until(is_idle)

    @property
    def manifest(self) -> str:
        path = self.folder / "appendonlydir" / "appendonly.aof.manifest"
        return path.read_text() if path.exists() else ""

    def files(self) -> list[str]:
        return sorted(each.name for each in (self.folder / "appendonlydir").iterdir())


@contextmanager
def server_in(kind: str, folder: Path, **directives: Any) -> Iterator[int]:
    """A server of either kind; gives its port."""
    if kind == "ours":
        with miniredis.start(dir=folder, **{"appendonly": "no", **directives}) as server:
            yield server.port
        return
    with start_redis(folder, *flags_of(directives)) as server:
        yield server.port


@pytest.fixture(params=["ours", "theirs"])
def kind(request: pytest.FixtureRequest, redis_7_0: Address) -> str:
    return str(request.param)


@pytest.fixture
def kept(kind: str, tmp_path: Path) -> Iterator[Kept]:
    with server_in(kind, tmp_path) as port, RawConnection("127.0.0.1", port) as raw:
        yield Kept(tmp_path, raw)


BASE = "file appendonly.aof.{0}.base.rdb seq {0} type b\n"
INCREMENT = "file appendonly.aof.{0}.incr.aof seq {0} type i\n"


def test_info_counts_rewritings_whether_the_file_is_on_or_off(kept: Kept) -> None:
    def counted() -> tuple[str, str]:
        kept.await_base()
        told = kept.told()
        return told["aof_rewrites"], told["aof_rewrites_consecutive_failures"]

    kept.ask("BGREWRITEAOF")
    assert counted() == ("1", "0")
    kept.ask("CONFIG", "SET", "appendonly", "yes")
    assert counted() == ("2", "0")
    kept.ask("CONFIG", "SET", "appendonly", "no")
    assert counted() == ("2", "0")
    kept.ask("CONFIG", "RESETSTAT")
    assert counted() == ("0", "0")


def test_data_from_before_and_after_are_there_at_the_next_start(
    kept: Kept, kind: str, tmp_path: Path
) -> None:
    assert kept.ask("RPUSH", "l", "before") == b":1\r\n"
    assert kept.told()["aof_enabled"] == "0"
    assert kept.ask("CONFIG", "SET", "appendonly", "yes", "appendfsync", "always") == b"+OK\r\n"
    assert kept.told()["aof_enabled"] == "1"
    assert kept.ask("RPUSH", "l", "meanwhile") == b":2\r\n"
    kept.await_base()
    assert kept.ask("RPUSH", "l", "after") == b":3\r\n"
    assert kept.manifest == BASE.format(1) + INCREMENT.format(1)
    other = tmp_path / "other"
    other.mkdir()
    copied = other / "appendonlydir"
    copied.mkdir()
    for name in kept.files():
        (copied / name).write_bytes((kept.folder / "appendonlydir" / name).read_bytes())
    with server_in(kind, other, appendonly="yes") as port, RawConnection("127.0.0.1", port) as again:
        until(lambda: again.command("LLEN", "l") == b":3\r\n")


def test_the_numbers_of_files_go_on_where_it_is_turned_on_again(kept: Kept) -> None:
    for number in (1, 2, 3):
        kept.ask("RPUSH", "l", str(number))
        assert kept.ask("CONFIG", "SET", "appendonly", "yes") == b"+OK\r\n"
        kept.await_base()
        assert kept.manifest == BASE.format(number) + INCREMENT.format(number)
        assert kept.ask("CONFIG", "SET", "appendonly", "no") == b"+OK\r\n"
        assert kept.told()["aof_enabled"] == "0"
        kept.ask("RPUSH", "l", "not kept")
    until(lambda: len(kept.files()) == 3)


def test_in_a_transaction_it_begins_behind_it(kept: Kept) -> None:
    for words in (("MULTI",), ("SET", "a", "1"), ("CONFIG", "SET", "appendonly", "yes"), ("SET", "b", "2")):
        kept.ask(*words)
    assert kept.ask("EXEC") == b"*3\r\n+OK\r\n+OK\r\n+OK\r\n"
    kept.await_base()
    assert kept.manifest == BASE.format(1) + INCREMENT.format(1)


def test_a_folder_that_cannot_be_made_refuses_it_and_all_is_as_before(kept: Kept) -> None:
    (kept.folder / "appendonlydir").write_text("a file")
    refused = (
        b"-ERR CONFIG SET failed (possibly related to argument 'appendonly') - "
        b"Unable to turn on AOF. Check server logs.\r\n"
    )
    assert kept.ask("CONFIG", "SET", "appendonly", "yes") == refused
    assert kept.ask("CONFIG", "GET", "appendonly") == b"*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"
    assert kept.told()["aof_enabled"] == "0"
    assert kept.ask("SET", "k", "v") == b"+OK\r\n"


def test_what_is_done_while_it_is_off_is_not_in_the_file(kept: Kept, kind: str) -> None:
    kept.ask("SET", "k", "v")
    kept.ask("CONFIG", "SET", "appendonly", "yes")
    kept.await_base()
    kept.ask("CONFIG", "SET", "appendonly", "no")
    kept.ask("SET", "k", "w")
    increment = kept.folder / "appendonlydir" / "appendonly.aof.1.incr.aof"
    assert b"w" not in increment.read_bytes().replace(b"wal", b"")
