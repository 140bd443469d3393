"""SAVE, BGSAVE, LASTSAVE, SHUTDOWN and the directive save, as redis-server has them; and the file at the start."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import redis

import miniredis
from conformance.targets import Address
from conformance.wire import Hangup, RawConnection
from miniredis import Config, ConfigurationError
from miniredis.clock import ClockChoice
from miniredis.engine.rdb import snapshot
from miniredis.persistence import child, rdb_file, rewriting, saving, snapshots
from miniredis.persistence.damage import DamagedFileError

from ...waiting import PATIENCE, until
from .rdb_states import FAR, LIBRARY, fill, loaded, new_engine, patient, portrait, real_in

pytestmark = pytest.mark.usefixtures("forked")

SAVING: Final = b"-ERR Background save already in progress\r\n"
MISCONF: Final = b"-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist"


@dataclass
class Kept:
    """A server with a file, and a client of it.

    Attributes:
        port: where it listens.
        path: of the file.
        raw: the client.
    """

    port: int
    path: Path
    raw: RawConnection

    def ask(self, *words: str) -> bytes:
        return self.raw.command(*words)

    def told(self) -> dict[str, Any]:
        """INFO persistence."""
        with patient(self.port) as client:
            info: dict[str, Any] = client.info("persistence")
        return info

    def await_save(self) -> dict[str, Any]:
        """Waits until nothing is saved beside other work."""
        until(lambda: not self.told()["rdb_bgsave_in_progress"])
        return self.told()

    def saved(self) -> dict[bytes, object]:
        """The keys of database 0 in the file."""
        engine = new_engine()
        loaded(self.path.read_bytes(), engine)
        return dict(engine.keyspace.databases[0].values)

    def files(self) -> list[str]:
        return sorted(each.name for each in self.path.parent.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def started(folder: Path, clock: ClockChoice = None, **directives: str) -> miniredis.EmbeddedServer:
    given: dict[str, Any] = {"enable_protected_configs": "yes", "enable_debug_command": "yes", **directives}
    return miniredis.start(dir=folder, dbfilename="dump.rdb", clock=clock, **given)


@pytest.fixture
def ours(folder: Path) -> Iterator[Kept]:
    with started(folder) as server, RawConnection("127.0.0.1", server.port) as raw:
        yield Kept(server.port, folder / "dump.rdb", raw)


@pytest.fixture
def theirs(folder: Path, redis_7_0: Address) -> Iterator[Kept]:
    with (
        real_in(folder, "--enable-protected-configs", "yes") as port,
        RawConnection("127.0.0.1", port) as raw,
    ):
        yield Kept(port, folder / "dump.rdb", raw)


@pytest.fixture(params=["ours", "theirs"])
def kept(request: pytest.FixtureRequest) -> Kept:
    """A server of either kind that may write its file, but only does so if told."""
    server: Kept = request.getfixturevalue(request.param)
    return server


# On both servers


def test_save_writes_the_file(kept: Kept) -> None:
    assert kept.ask("SET", "k", "v") == b"+OK\r\n"
    assert kept.told()["rdb_changes_since_last_save"] == 1
    assert kept.files() == []
    assert kept.ask("SAVE") == b"+OK\r\n"
    assert kept.files() == ["dump.rdb"]
    assert kept.saved() == {b"k": b"v"}
    told = kept.told()
    assert (told["rdb_changes_since_last_save"], told["rdb_saves"]) == (0, 1)
    assert abs(told["rdb_last_save_time"] - time.time()) < PATIENCE
    assert kept.ask("LASTSAVE") == b":%d\r\n" % told["rdb_last_save_time"]
    assert kept.ask("CONFIG", "RESETSTAT") == b"+OK\r\n"
    assert kept.told()["rdb_saves"] == 0


def test_bgsave_writes_the_file_beside_other_work(kept: Kept) -> None:
    kept.ask("SET", "k", "v")
    assert kept.ask("BGSAVE") == b"+Background saving started\r\n"
    told = kept.await_save()
    assert kept.files() == ["dump.rdb"]
    assert kept.saved() == {b"k": b"v"}
    assert (told["rdb_changes_since_last_save"], told["rdb_saves"]) == (0, 1)
    assert told["rdb_last_bgsave_status"] == "ok"
    assert told["rdb_last_bgsave_time_sec"] >= 0
    assert told["rdb_current_bgsave_time_sec"] == -1
    with patient(kept.port) as client:
        assert client.info("stats")["total_forks"] == 1


def test_bgsave_in_a_transaction_begins_behind_it(kept: Kept) -> None:
    assert kept.ask("MULTI") == b"+OK\r\n"
    assert kept.ask("BGSAVE") == b"+QUEUED\r\n"
    assert kept.ask("BGSAVE", "schedule") == b"+QUEUED\r\n"
    assert kept.ask("SET", "k", "v") == b"+QUEUED\r\n"
    assert kept.ask("EXEC") == b"*3\r\n" + b"+Background saving scheduled\r\n" * 2 + b"+OK\r\n"
    until(kept.path.exists)
    assert kept.saved() == {b"k": b"v"}
    assert kept.await_save()["rdb_saves"] == 1


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        (["SAVE", "x"], b"-ERR wrong number of arguments for 'save' command\r\n"),
        (["BGSAVE", "x"], b"-ERR syntax error\r\n"),
        (["BGSAVE", "SCHEDULE", "x"], b"-ERR syntax error\r\n"),
        (["LASTSAVE", "x"], b"-ERR wrong number of arguments for 'lastsave' command\r\n"),
        (["SHUTDOWN", "SAVE", "NOSAVE"], b"-ERR syntax error\r\n"),
        (["CONFIG", "SET", "dir", "no/such"],
         b"-ERR CONFIG SET failed (possibly related to argument 'dir') - No such file or directory\r\n"),
        (["CONFIG", "SET", "save", "1"],
         b"-ERR CONFIG SET failed (possibly related to argument 'save') - Invalid save parameters\r\n"),
    ],
)  # fmt: skip
def test_wrong_requests_get_the_same_errors(words: list[str], reply: bytes, kept: Kept) -> None:
    assert kept.ask(*words) == reply
    assert kept.files() == []


def test_save_cannot_be_queued_in_a_transaction(kept: Kept) -> None:
    kept.ask("MULTI")
    assert kept.ask("SAVE") == b"-ERR Command not allowed inside a transaction\r\n"


def test_a_save_that_failed_stops_writes_where_there_are_save_points(kept: Kept) -> None:
    kept.ask("SET", "k", "v")
    shutil.rmtree(kept.path.parent)
    assert kept.ask("SAVE") == b"-ERR\r\n"
    assert kept.told()["rdb_last_bgsave_status"] == "ok"
    kept.ask("BGSAVE")
    told = kept.await_save()
    assert (told["rdb_last_bgsave_status"], told["rdb_changes_since_last_save"]) == ("err", 1)
    assert kept.ask("SET", "k", "v") == b"+OK\r\n"
    kept.ask("CONFIG", "SET", "save", "3600 100")
    for words in (["SET", "k", "w"], ["PING"], ["XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">"]):
        assert kept.ask(*words).startswith(MISCONF)
    assert kept.ask("EVAL", "return redis.call('set', 'k', 'w')", "0").startswith(MISCONF)
    assert kept.ask("EVAL", "#!lua\nreturn 1", "0").startswith(MISCONF)
    assert kept.ask("EVAL", "#!lua flags=no-writes\nreturn 1", "0") == b":1\r\n"
    assert kept.ask("EVAL", "return redis.call('get', 'k')", "0") == b"$1\r\nv\r\n"
    assert kept.ask("GET", "k") == b"$1\r\nv\r\n"
    kept.ask("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
    assert kept.ask("SET", "k", "w") == b"+OK\r\n"
    kept.ask("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes")
    assert kept.ask("PING").startswith(MISCONF)
    kept.path.parent.mkdir()
    kept.ask("CONFIG", "SET", "dir", str(kept.path.parent))
    assert kept.ask("SAVE") == b"+OK\r\n"
    assert kept.ask("PING") == b"+PONG\r\n"


def test_a_transaction_that_writes_is_aborted_where_a_save_failed_meanwhile(kept: Kept) -> None:
    kept.ask("CONFIG", "SET", "save", "3600 100")
    kept.ask("MULTI")
    kept.ask("SET", "k", "v")
    shutil.rmtree(kept.path.parent)
    with RawConnection("127.0.0.1", kept.port) as other:
        other.command("BGSAVE")
        kept.await_save()
    assert kept.ask("EXEC").startswith(b"-EXECABORT Transaction discarded because of: " + MISCONF[1:])


def test_flushall_empties_the_file_where_there_are_save_points(kept: Kept) -> None:
    kept.ask("SET", "k", "v")
    kept.ask("SAVE")
    kept.ask("FLUSHALL")
    assert kept.saved() == {b"k": b"v"}
    kept.ask("CONFIG", "SET", "save", "3600 100")
    kept.ask("FLUSHALL")
    assert kept.saved() == {}
    assert kept.told()["rdb_saves"] == 1


def test_a_save_point_saves_once_there_are_changes_and_time_has_passed(kept: Kept) -> None:
    kept.ask("SET", "k", "v")
    kept.ask("CONFIG", "SET", "save", "1 2 3600 1000")
    kept.ask("SET", "l", "v")
    until(kept.path.exists)
    assert kept.saved() == {b"k": b"v", b"l": b"v"}
    assert kept.await_save()["rdb_changes_since_last_save"] == 0


def test_config_set_moves_the_file(kept: Kept, tmp_path: Path) -> None:
    kept.ask("CONFIG", "SET", "dir", str(tmp_path), "dbfilename", "other.rdb")
    kept.ask("SAVE")
    assert (tmp_path / "other.rdb").exists()
    assert kept.files() == []


@pytest.mark.parametrize("value", ["", "x" * 5000, "/dev/null/x"])
def test_config_set_refuses_a_folder_that_cannot_be(value: str, kept: Kept) -> None:
    assert kept.ask("CONFIG", "SET", "dir", value).startswith(b"-ERR CONFIG SET failed")
    assert kept.ask("SAVE") == b"+OK\r\n"
    assert kept.path.exists()


def is_gone(kept: Kept) -> bool:
    try:
        RawConnection("127.0.0.1", kept.port).close()
    except OSError:
        return True
    return False


@pytest.mark.parametrize(
    ("points", "words", "is_saved"),
    [
        ("", ["SHUTDOWN"], False),
        ("", ["SHUTDOWN", "SAVE"], True),
        ("3600 100", ["SHUTDOWN"], True),
        ("3600 100", ["SHUTDOWN", "NOSAVE"], False),
    ],
)
def test_shutdown_saves_as_it_is_told(points: str, words: list[str], is_saved: bool, kept: Kept) -> None:
    kept.ask("SET", "k", "v")
    kept.ask("CONFIG", "SET", "save", points)
    with pytest.raises(Hangup):
        kept.ask(*words)
    until(lambda: is_gone(kept))
    assert kept.path.exists() == is_saved


def test_shutdown_that_cannot_save_is_refused_unless_forced(kept: Kept) -> None:
    kept.ask("SET", "k", "v")
    shutil.rmtree(kept.path.parent)
    assert kept.ask("SHUTDOWN", "SAVE") == b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
    assert kept.ask("GET", "k") == b"$1\r\nv\r\n"
    with pytest.raises(Hangup):
        kept.ask("SHUTDOWN", "SAVE", "FORCE")
    until(lambda: is_gone(kept))


def test_each_server_loads_the_file_of_the_other_when_it_starts(redis_7_0: Address, folder: Path) -> None:
    with started(folder) as server, server.client() as client:
        fill(client)
        first = portrait(server.port)
        client.save()
    with real_in(folder) as port, patient(port) as client:
        assert portrait(port) == first
        client.select(3)
        client.set("another", "v")
        second = portrait(port)
        client.save()
    with started(folder) as server:
        assert portrait(server.port) == second
        keyspace = server.client().info("keyspace")
        told = server.client().info("persistence")
        assert told["rdb_last_load_keys_loaded"] == sum(each["keys"] for each in keyspace.values())


# A save under way


class Gate:
    """Holds the child that saves, until it is let go."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._stay, self._go = os.pipe()
        real = rdb_file.save_file

        def save_file(*args: Any) -> None:
            self.wait()
            real(*args)

        self._parent = os.getpid()
        patch.setattr(saving, "save_file", save_file)

    def wait(self) -> None:
        """Waits, if this is the child."""
        if os.getpid() != self._parent:
            os.close(self._go)
            os.read(self._stay, 1)

    def open(self) -> None:
        os.write(self._go, b".")

    def close(self) -> None:
        os.close(self._go)
        os.close(self._stay)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.close()


def test_a_second_save_is_refused_while_one_is_under_way(gate: Gate, ours: Kept) -> None:
    ours.ask("SET", "k", "v")
    assert ours.ask("BGSAVE") == b"+Background saving started\r\n"
    assert ours.ask("BGSAVE") == ours.ask("BGSAVE", "SCHEDULE") == ours.ask("SAVE") == SAVING
    ours.ask("MULTI")
    ours.ask("BGSAVE")
    assert ours.ask("EXEC") == b"*1\r\n" + SAVING
    told = ours.told()
    assert (told["rdb_bgsave_in_progress"], told["rdb_saves"]) == (1, 1)
    assert told["rdb_current_bgsave_time_sec"] >= 0
    gate.open()
    ours.await_save()
    assert ours.ask("SAVE") == b"+OK\r\n"


FIELDS: Final = """
    loading async_loading current_cow_peak current_cow_size current_cow_size_age current_fork_perc
    current_save_keys_processed current_save_keys_total rdb_changes_since_last_save rdb_bgsave_in_progress
    rdb_last_save_time rdb_last_bgsave_status rdb_last_bgsave_time_sec rdb_current_bgsave_time_sec rdb_saves
    rdb_last_cow_size rdb_last_load_keys_expired rdb_last_load_keys_loaded aof_enabled aof_rewrite_in_progress
    aof_rewrite_scheduled aof_last_rewrite_time_sec aof_current_rewrite_time_sec aof_last_bgrewrite_status
    aof_rewrites aof_rewrites_consecutive_failures aof_last_write_status aof_last_cow_size
    module_fork_in_progress module_fork_last_cow_size
"""


def test_what_info_tells_of_the_child_that_saved(kept: Kept) -> None:
    kept.ask("SET", "k", "v")
    kept.ask("BGSAVE")
    told = kept.await_save()
    assert list(told) == FIELDS.split()
    assert told["rdb_last_cow_size"] > 0
    assert [value for name, value in told.items() if name.startswith("current_") and "peak" not in name] == [
        0
    ] * 5
    assert (told["aof_last_cow_size"], told["module_fork_last_cow_size"]) == (0, 0)
    kept.ask("BGREWRITEAOF")
    until(lambda: kept.told()["aof_last_cow_size"] > 0)


def test_how_far_the_child_is_that_saves(gate: Gate, ours: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def hold_at_the_fourth_key(keys: int) -> None:
        note_keys(keys)
        if keys == 4:
            gate.wait()

    monkeypatch.setattr(child, "EVERY", 0.0)
    monkeypatch.setattr(snapshot, "BLOCK", 1)
    note_keys = child.note_keys
    monkeypatch.setattr(rdb_file, "note_keys", hold_at_the_fourth_key)
    for number in range(10):
        ours.ask("SELECT", str(number % 2))
        ours.ask("SET", f"k{number}", "v")
    ours.ask("BGSAVE")
    assert (told := ours.told())["current_save_keys_total"] == 10
    assert (told["current_save_keys_processed"], told["current_cow_size"], told["current_fork_perc"]) == (
        0,
        0,
        0,
    )
    gate.open()
    until(lambda: ours.told()["current_save_keys_processed"] == 4)
    told = ours.told()
    assert told["current_fork_perc"] == 40
    assert 0 < told["current_cow_size"] <= told["current_cow_peak"]
    assert told["current_cow_size_age"] >= 0
    gate.open()
    assert ours.await_save()["current_save_keys_total"] == 0


def test_a_save_waits_for_the_rewriting_of_the_append_only_file(gate: Gate, folder: Path) -> None:
    refused = (
        b"-ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order"
    )
    with (
        started(folder, appendonly="yes") as server,
        RawConnection("127.0.0.1", server.port) as raw,
        hold_rewriting(gate),
    ):
        kept = Kept(server.port, folder / "dump.rdb", raw)
        assert kept.ask("BGREWRITEAOF") == b"+Background append only file rewriting started\r\n"
        assert kept.ask("BGSAVE").startswith(refused)
        assert kept.ask("BGSAVE", "SCHEDULE") == b"+Background saving scheduled\r\n"
        assert kept.told()["rdb_saves"] == 0
        gate.open()
        gate.open()
        until(kept.path.exists)
        assert kept.await_save()["rdb_saves"] == 1


@pytest.mark.parametrize("appendonly", ["yes", "no"])
def test_a_rewriting_that_is_asked_for_during_a_save_is_scheduled(
    appendonly: str, gate: Gate, folder: Path
) -> None:
    with started(folder, appendonly=appendonly) as server, RawConnection("127.0.0.1", server.port) as raw:
        assert raw.command("BGSAVE") == b"+Background saving started\r\n"
        assert raw.command("BGREWRITEAOF") == b"+Background append only file rewriting scheduled\r\n"
        with server.client() as client:
            told = client.info("persistence")
        assert (told["aof_rewrite_in_progress"], told["aof_rewrite_scheduled"]) == (0, 1)
        gate.open()
        until(lambda: server.client().info("persistence")["aof_rewrites"] == 1)


@contextmanager
def hold_rewriting(gate: Gate) -> Iterator[None]:
    """The child that rewrites waits at the gate, too."""
    real = snapshots.base_of

    def base_of(engine: Any) -> Any:
        gate.wait()
        return real(engine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewriting, "base_of", base_of)
        yield


def test_turning_the_append_only_file_on_ends_the_base_that_is_written_while_it_is_off(
    gate: Gate, folder: Path
) -> None:
    with (
        started(folder, appendonly="no") as server,
        RawConnection("127.0.0.1", server.port) as raw,
        hold_rewriting(gate),
    ):
        assert raw.command("BGREWRITEAOF") == b"+Background append only file rewriting started\r\n"
        assert raw.command("BGREWRITEAOF").startswith(b"-ERR Background append only file rewriting already")
        assert raw.command("CONFIG", "SET", "appendonly", "yes") == b"+OK\r\n"
        gate.open()
        until(lambda: not server.client().info("persistence")["aof_rewrite_in_progress"])
        assert server.client().info("persistence")["aof_base_size"] > 0
    manifest = folder / "appendonlydir" / "appendonly.aof.manifest"
    assert manifest.read_text().split() == [
        *("file", "appendonly.aof.1.base.rdb", "seq", "1", "type", "b"),
        *("file", "appendonly.aof.1.incr.aof", "seq", "1", "type", "i"),
    ]


def test_a_snapshot_is_of_the_moment_when_it_was_asked_for(gate: Gate, ours: Kept) -> None:
    ours.ask("RPUSH", "k", "before")
    ours.ask("BGSAVE")
    ours.ask("RPUSH", "k", "after")
    ours.ask("SET", "new", "v")
    gate.open()
    told = ours.await_save()
    assert {key: list(value) for key, value in ours.saved().items()} == {b"k": [b"before"]}  # type: ignore[call-overload]
    assert told["rdb_changes_since_last_save"] == 2
    assert ours.ask("LRANGE", "k", "0", "-1") == b"*2\r\n$6\r\nbefore\r\n$5\r\nafter\r\n"


def child_of(server: miniredis.Server) -> int:
    file = server._runner.engine.environment.snapshots
    assert isinstance(file, saving.SnapshotFile)
    assert file._child is not None
    return file._child.pid


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("way", ["stop", "SHUTDOWN NOSAVE", "FLUSHALL"])
def test_what_makes_a_save_pointless_ends_it(way: str, gate: Gate, folder: Path) -> None:
    with started(folder) as server, RawConnection("127.0.0.1", server.port) as raw:
        raw.command("BGSAVE")
        process = child_of(server)
        (folder / f"temp-{process}.rdb").touch()
        if way == "stop":
            server.stop()
        elif way == "FLUSHALL":
            assert raw.command(way) == b"+OK\r\n"
            assert server.client().info("persistence")["rdb_last_bgsave_status"] == "ok"
        else:
            raw.send("SHUTDOWN", "NOSAVE")
        until(lambda: not is_alive(process))
        until(lambda: not list(folder.iterdir()))


def test_a_program_that_ignores_the_end_of_children_can_save(ours: Kept) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # then the system keeps no exit status
    try:
        ours.ask("BGSAVE")
        assert ours.await_save()["rdb_last_bgsave_status"] == "ok"
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_child_that_was_killed_is_a_failed_save(gate: Gate, folder: Path) -> None:
    with started(folder) as server, server.client() as client:
        client.bgsave()
        process = child_of(server)
        (folder / f"temp-{process}.rdb").touch()
        os.kill(process, signal.SIGKILL)
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
        assert client.info("persistence")["rdb_bgsave_in_progress"] == 0
        assert not list(folder.iterdir())


def test_a_child_is_over_at_its_end_although_another_process_has_a_copy_of_its_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe = os.pipe
    copies: list[int] = []
    told: list[str] = []

    def copied() -> tuple[int, int]:
        read, write = pipe()
        copies.append(os.dup(write))
        return read, write

    with monkeypatch.context() as patch:
        patch.setattr(os, "pipe", copied)
        begun = child.Child(signal.pause, told.append)
    killing = threading.Thread(target=begun.kill, daemon=True)
    killing.start()
    killing.join(PATIENCE)
    for each in copies:
        os.close(each)
    assert not killing.is_alive()
    assert told == ["its process was killed"]


def test_a_child_that_no_thread_can_wait_for_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    fork, processes = child.fork, list[int]()

    def noted() -> int:
        processes.append(fork())
        return processes[-1]

    before, told = set(Path("/proc/self/fd").iterdir()), list[str]()
    monkeypatch.setattr(child, "fork", noted)
    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(OSError, match="can't start new thread"):
        child.Child(signal.pause, told.append)
    assert {*Path("/proc/self/fd").iterdir()} == before
    assert not is_alive(*processes)
    assert told == []


def test_a_save_that_failed_is_tried_again_after_some_seconds(folder: Path) -> None:
    with started(folder, save="10 1", clock="held") as server, server.client() as client:
        client.set("k", "v")
        shutil.rmtree(folder)
        server.fast_forward(11)
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
        folder.mkdir()
        server.fast_forward(5)
        assert client.info("persistence")["rdb_saves"] == 1
        server.fast_forward(1)
        until((folder / "dump.rdb").exists)
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "ok")


def test_save_points_follow_the_clock_of_the_server(folder: Path) -> None:
    with started(folder, save="60 2", clock="held") as server, server.client() as client:
        client.set("k", "v")
        server.fast_forward(100)
        assert client.info("persistence")["rdb_saves"] == 0
        client.set("k", "w")
        until((folder / "dump.rdb").exists)
        until(lambda: not client.info("persistence")["rdb_bgsave_in_progress"])
        client.mset({"k": 1, "l": 1})
        server.fast_forward(60)
        assert client.info("persistence")["rdb_saves"] == 1
        server.fast_forward(1)
        assert client.info("persistence")["rdb_saves"] == 2


# The start and the end


def test_data_functions_and_expiry_survive_a_restart(folder: Path) -> None:
    clock = miniredis.HeldClock()
    with started(folder, clock, save="3600 1") as server, server.client() as client:
        client.function_load(LIBRARY)
        client.set("k", "v", pxat=FAR)
        client.set("expires", "v", px=10)
    clock.advance(20_000)  # while no server runs
    with started(folder, clock) as server, server.client() as client:
        assert client.keys() == [b"k"]
        assert client.pexpiretime("k") == FAR
        assert client.fcall("f", 0) == 7
        told = client.info("persistence")
        assert (told["rdb_last_load_keys_loaded"], told["rdb_last_load_keys_expired"]) == (1, 1)
        assert (told["rdb_changes_since_last_save"], told["rdb_saves"]) == (0, 0)


@pytest.mark.parametrize(("points", "is_saved"), [("3600 100", True), ("", False)])
def test_a_server_that_is_stopped_saves_where_there_are_save_points(
    points: str, is_saved: bool, folder: Path
) -> None:
    with started(folder, save=points) as server, server.client() as client:
        client.set("k", "v")
    assert (folder / "dump.rdb").exists() == is_saved


def test_save_points_alone_give_a_server_its_file(folder: Path) -> None:
    with miniredis.start(save="3600 100", dir=folder) as server, server.client() as client:
        client.set("k", "v")
    assert [each.name for each in folder.iterdir()] == ["dump.rdb"]
    with miniredis.start(save="3600 100", dir=folder) as server, server.client() as client:
        assert client.get("k") == b"v"


def test_reset_empties_the_file_where_there_are_save_points(folder: Path) -> None:
    with started(folder, save="3600 100") as server, server.client() as client:
        client.set("k", "v")
        client.save()
        server.reset()
        assert loaded((folder / "dump.rdb").read_bytes(), new_engine()).keys == 0


def test_a_server_without_save_and_dbfilename_touches_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "dump.rdb").write_bytes(b"no snapshot")
    for given in ({}, {"dir": folder, "appendonly": "no"}, {"save": ""}):
        with miniredis.start(**given) as server, RawConnection("127.0.0.1", server.port) as raw:
            raw.command("SET", "k", "v")
            refusal = (
                b"-ERR this server has no file to save to; start it with the directive save or dbfilename\r\n"
            )
            assert raw.command("SAVE") == raw.command("BGSAVE") == refusal
            raw.command("MULTI")
            raw.command("BGSAVE")
            assert raw.command("EXEC") == b"*1\r\n+Background saving scheduled\r\n"
            refused = raw.command("CONFIG", "SET", "save", "1 1")
            assert refused.endswith(b"start it with the directive save or dbfilename\r\n")
            assert raw.command("SHUTDOWN", "SAVE") == b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
    assert [each.name for each in folder.iterdir()] == ["dump.rdb"]
    assert (folder / "dump.rdb").read_bytes() == b"no snapshot"


def test_a_damaged_file_stops_the_start_and_stays_as_it_is(folder: Path) -> None:
    path = folder / "dump.rdb"
    path.write_bytes(b"REDIS0010\x00\x01k\x20v")
    with pytest.raises(DamagedFileError, match=rf"{path}: at byte 13: a key of type 0 is damaged"):
        started(folder)
    assert path.read_bytes() == b"REDIS0010\x00\x01k\x20v"
    flags = ["--port", "0", "--dbfilename", "dump.rdb", "--dir", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "miniredis", *flags], capture_output=True, text=True, timeout=PATIENCE, check=False
    )  # fmt: skip
    assert done.returncode == 1
    assert "a key of type 0 is damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_with_an_empty_file_name_starts_and_cannot_save(folder: Path) -> None:
    with miniredis.start(dbfilename="", dir=folder) as server, server.client() as client:
        with pytest.raises(redis.ResponseError):
            client.save()
        assert not list(folder.iterdir())


def test_beside_an_append_only_file_the_snapshot_is_not_loaded(redis_7_0: Address, folder: Path) -> None:
    with started(folder) as server, server.client() as client:
        client.set("k", "v")
        client.save()
    with real_in(folder, "--appendonly", "yes") as port, patient(port) as client:
        assert client.dbsize() == 0
    shutil.rmtree(folder / "appendonlydir")
    with started(folder, appendonly="yes") as server, server.client() as client:
        assert client.dbsize() == 0
        client.save()
    assert loaded((folder / "dump.rdb").read_bytes(), new_engine()).keys == 0


@pytest.mark.parametrize("keep", [{"dbfilename": "dump.rdb"}, {"save": "60 1"}, {"appendonly": "yes"}])
def test_a_folder_that_is_not_there_stops_the_start(tmp_path: Path, keep: dict[str, Any]) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^dir='.*nowhere': No such file or directory; make it first$"
    ):
        miniredis.start(dir=tmp_path / "nowhere", **keep)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_place_of_the_folder_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    for start in (miniredis.join, lambda folder: miniredis.start(dir=folder)):
        with pytest.raises(NotADirectoryError, match=r"Not a directory: '.*notes'$"):
            start(tmp_path / "notes")


def test_an_engine_that_has_data_loads_none(folder: Path) -> None:
    engine = miniredis.Engine(Config({"dir": str(folder), "dbfilename": "dump.rdb", "port": "0"}))
    with miniredis.start(engine=engine) as server, server.client() as client:
        client.set("k", "v")
        client.save()
        client.delete("k")
    with miniredis.start(engine=engine) as server, server.client() as client:
        assert client.dbsize() == 0


def test_the_fork_warns_of_nothing(
    ours: Kept, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    real = os.fork

    def fork() -> int:
        text = "This process (pid=1) is multi-threaded, use of fork() may lead to deadlocks in the child."
        warnings.warn(text, DeprecationWarning, stacklevel=2)  # as Python 3.12 does
        return real()

    if sys.version_info < (3, 12):  # later ones warn by themselves
        monkeypatch.setattr(os, "fork", fork)
    ours.ask("BGSAVE")
    assert ours.await_save()["rdb_last_bgsave_status"] == "ok"
    assert not [each for each in recwarn if "fork" in str(each.message)]
