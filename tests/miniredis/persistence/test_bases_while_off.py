"""BGREWRITEAOF and DEBUG LOADAOF while ``appendonly no``."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import miniredis
from conformance.targets import Address
from conformance.wire import RawConnection, encode
from miniredis import Config, Engine
from miniredis.engine.saves import RewriteStatistics
from miniredis.logs import ServerLog
from miniredis.persistence.base_writer import BaseWriter
from miniredis.persistence.disk import Disk

from ...waiting import until
from .memory_disk import Killed, failing, killing, works
from .test_appendonly_at_run_time import BASE, INCREMENT, OLD, Kept, found_in, old_disk, server_in
from .test_journal import NOW, InThisProcess

STARTED = b"+Background append only file rewriting started\r\n"
SCHEDULED = b"+Background append only file rewriting scheduled\r\n"
REFUSED = (
    b"-ERR Can't execute an AOF background rewriting. Please check the server logs for more information.\r\n"
)


@pytest.fixture(params=["ours", "theirs"])
def kind(request: pytest.FixtureRequest, redis_7_0: Address) -> str:
    return str(request.param)


@pytest.fixture
def kept(kind: str, tmp_path: Path) -> Iterator[Kept]:
    directives = {"enable-debug-command": "yes"}
    with server_in(kind, tmp_path, **directives) as port, RawConnection("127.0.0.1", port) as raw:
        yield Kept(tmp_path, raw)


# On both servers


def test_a_manifest_names_one_base_with_all_data_and_the_numbers_go_on(kept: Kept) -> None:
    for number in (1, 2):
        kept.ask("RPUSH", "l", str(number))
        assert kept.ask("BGREWRITEAOF") == STARTED
        kept.await_base()
        assert kept.manifest == BASE.format(number)
        until(lambda: kept.files() == [f"appendonly.aof.{number}.base.rdb", "appendonly.aof.manifest"])  # noqa: B023
        told = kept.told()
        assert (told["aof_enabled"], told["aof_rewrites"]) == ("0", str(number))
        assert told["aof_last_bgrewrite_status"] == "ok"
        assert "aof_current_size" not in told


def test_a_start_with_an_append_only_file_loads_that_base(kept: Kept, kind: str, tmp_path: Path) -> None:
    kept.ask("RPUSH", "l", "in the base")
    kept.ask("BGREWRITEAOF")
    kept.await_base()
    kept.ask("RPUSH", "l", "behind it")
    other = tmp_path / "other"
    shutil.copytree(kept.folder / "appendonlydir", other / "appendonlydir")
    with server_in(kind, other, appendonly="yes") as port, RawConnection("127.0.0.1", port) as raw:
        until(lambda: raw.command("LRANGE", "l", "0", "-1") == b"*1\r\n$11\r\nin the base\r\n")
        assert Kept(other, raw).manifest == BASE.format(1) + INCREMENT.format(1)


def test_in_a_transaction_it_is_scheduled(kept: Kept) -> None:
    for words in (("MULTI",), ("BGREWRITEAOF",), ("BGREWRITEAOF",), ("SET", "k", "v")):
        kept.ask(*words)
    assert kept.ask("EXEC") == b"*3\r\n" + SCHEDULED * 2 + b"+OK\r\n"
    kept.await_base()
    assert kept.manifest == BASE.format(1)


def test_it_replaces_the_increments_of_an_append_only_file_that_was_turned_off(kept: Kept) -> None:
    assert kept.ask("BGREWRITEAOF") == STARTED
    kept.await_base()
    kept.ask("CONFIG", "SET", "appendonly", "yes")
    kept.await_base()
    assert kept.manifest == BASE.format(2) + INCREMENT.format(1)
    kept.ask("CONFIG", "SET", "appendonly", "no")
    kept.ask("SET", "k", "v")
    assert kept.ask("BGREWRITEAOF") == STARTED
    kept.await_base()
    assert kept.manifest == BASE.format(3)
    until(lambda: kept.files() == ["appendonly.aof.3.base.rdb", "appendonly.aof.manifest"])


def test_debug_loadaof_loads_the_base(kept: Kept) -> None:
    kept.ask("RPUSH", "l", "in the base")
    kept.ask("BGREWRITEAOF")
    kept.await_base()
    kept.ask("DEL", "l")
    kept.ask("SET", "k", "v")
    assert kept.ask("DEBUG", "LOADAOF") == b"+OK\r\n"
    assert kept.ask("LRANGE", "l", "0", "-1") == b"*1\r\n$11\r\nin the base\r\n"
    assert kept.ask("DBSIZE") == b":1\r\n"


def test_a_folder_that_cannot_be_made_refuses_it(kept: Kept) -> None:
    (kept.folder / "appendonlydir").write_text("a file")
    assert kept.ask("BGREWRITEAOF") == REFUSED
    told = kept.told()
    assert (told["aof_last_bgrewrite_status"], told["aof_rewrite_scheduled"]) == ("err", "0")
    (kept.folder / "appendonlydir").unlink()
    assert kept.ask("BGREWRITEAOF") == STARTED
    kept.await_base()
    assert kept.told()["aof_last_bgrewrite_status"] == "ok"


# On miniredis


def test_a_folder_of_another_server_refuses_it_and_its_own_is_free_once_the_base_is_written(
    tmp_path: Path,
) -> None:
    with server_in("ours", tmp_path) as port, RawConnection("127.0.0.1", port) as raw:
        with miniredis.start(dir=tmp_path, appendonly="yes"):
            assert raw.command("BGREWRITEAOF") == REFUSED
        assert raw.command("BGREWRITEAOF") == STARTED
        Kept(tmp_path, raw).await_base()
        with miniredis.start(dir=tmp_path, appendonly="yes"):
            pass


def test_without_files_debug_loadaof_changes_nothing(tmp_path: Path) -> None:
    directives = {"enable-debug-command": "yes"}
    with server_in("ours", tmp_path, **directives) as port, RawConnection("127.0.0.1", port) as raw:
        raw.command("SET", "k", "v")
        assert raw.command("DEBUG", "LOADAOF") == b"+OK\r\n"
        assert raw.command("DBSIZE") == b":1\r\n"


class Off:
    """A server without an append-only file that has ten elements, on a disk where other data are."""

    def __init__(self, disk: Disk) -> None:
        self.engine = Engine(Config(), NOW)
        self.later: list[Callable[[], object]] = []
        session = self.engine.connect(NOW)
        self.engine.receive(session, encode("SELECT", "1"), NOW)
        self.engine.receive(session, encode("RPUSH", "l", *map(str, range(10))), NOW)
        self.writer = BaseWriter(
            self.engine, ServerLog(self.engine.config), self.later.append, disk, start_child=InThisProcess
        )

    def rewrite(self) -> None:
        self.writer.rewrite()
        while self.later:
            self.later.pop(0)()


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power loss"])
def test_a_kill_at_any_operation_leaves_the_data_of_before_or_the_base(power: bool) -> None:
    disk = old_disk()
    before = len(disk.steps)
    Off(disk).rewrite()
    everything = len(disk.steps)
    outcomes = []
    for at in range(before + 1, everything + 1):
        disk = old_disk()
        disk.plan = killing(at)
        with pytest.raises(Killed):
            Off(disk).rewrite()
        if power:
            disk.lose_power(at)
        disk.plan = works
        outcomes.append(found_in(disk))
        assert outcomes[-1] in (OLD, list(range(10))), at
    assert outcomes[0] == OLD
    assert outcomes[-1] == list(range(10))


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename", "sync folder"])
def test_a_disk_that_fails_leaves_the_data_of_before_and_the_folder_unlocked(operation: str) -> None:
    disk = old_disk()
    disk.plan = failing(operation)
    off = Off(disk)
    off.rewrite()
    assert off.engine.saves.rewrites == RewriteStatistics(count=1, failures=1, seconds=0, has_failed=True)
    disk.plan = works
    assert found_in(disk) == OLD
    off = Off(disk)
    disk.plan = failing(operation)
    off.rewrite()
    disk.plan = works
    off.rewrite()
    assert off.engine.saves.rewrites == RewriteStatistics(count=2, seconds=0)
