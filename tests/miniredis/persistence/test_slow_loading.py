"""What a server answers while it loads its data; miniredis and a real server get the same requests."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import trio

import miniredis
from conformance.wire import Hangup, RawConnection, encode
from miniredis import DamagedFileError, HeldClock
from miniredis.persistence.disk import Disk
from miniredis.persistence.loading import load
from miniredis.persistence.manifest import Manifest
from miniredis.persistence.server_files import ServerFiles
from miniredis.testing.real_servers import end, free_port
from tests.cases import exhaustive_but

from ...servers import is_loading, start_redis
from ...waiting import PATIENCE, until
from .rdb_states import new_engine, of_engine, patient

pytestmark = pytest.mark.usefixtures("forked")

LOADING: Final = b"-LOADING Redis is loading the dataset in memory\r\n"

KEYS: Final = 5000

SLOWLY: Final = (
    "--key-load-delay", "2000",
    "--loading-process-events-interval-bytes", "1024",
    "--enable-debug-command", "yes",
    "--enable-protected-configs", "yes",
)  # fmt: skip
"""Two milliseconds for each key: ten seconds, of which a test needs the first."""


class Gate:
    """Holds a server in this process up in the middle of its loading.

    Args:
        steps: after so many.

    Attributes:
        is_reached: it is there.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, steps: int = 3) -> None:
        self.is_reached, self._is_open = threading.Event(), threading.Event()
        load = ServerFiles.load

        def held(files: ServerFiles) -> Generator[None, None, None]:
            for number, _ in enumerate(load(files), 1):
                yield
                if number == steps:
                    self.is_reached.set()
                while number == steps and not self._is_open.is_set():
                    yield

        monkeypatch.setattr(ServerFiles, "load", held)

    def open(self) -> None:
        """Lets the server load the rest."""
        self._is_open.set()

    def close(self) -> None:
        """No server is held up for ever."""
        self.open()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.close()


class Start:
    """A call of ``miniredis.start`` on a thread of its own.

    Attributes:
        server: what it returns or raises.
        port: of the server.
    """

    def __init__(self, folder: Path, **directives: Any) -> None:
        self.server: Future[miniredis.EmbeddedServer] = Future()
        self.port = free_port()
        options = {"dir": folder, "port": self.port, "enable_debug_command": "yes", **directives}
        options["enable_protected_configs"] = "yes"
        self._thread = threading.Thread(target=self._run, args=(options,))
        self._thread.start()

    def _run(self, options: dict[str, Any]) -> None:
        try:
            self.server.set_result(miniredis.start(**options))
        except BaseException as error:
            self.server.set_exception(error)

    def close(self) -> None:
        self._thread.join()
        if self.server.exception() is None:
            self.server.result().stop()


@contextmanager
def loading(gate: Gate, folder: Path, **directives: Any) -> Iterator[Start]:
    """A server of ours that stands still in the middle of its loading."""
    start = Start(folder, **directives)
    try:
        assert gate.is_reached.wait(PATIENCE)
        yield start
    finally:
        gate.open()
        start.close()


def client_of(start: Start) -> RawConnection:
    return RawConnection("127.0.0.1", start.port)


# Files


def save_snapshot(folder: Path) -> None:
    engine = new_engine()
    for number in range(KEYS):
        engine.keyspace.databases[0].create(b"key:%d" % number, b"v", None)
    (folder / "dump.rdb").write_bytes(of_engine(engine))


def save_effects(folder: Path, *commands: bytes) -> Path:
    """Writes an append-only file with some commands in its only increment."""
    files = folder / "appendonlydir"
    files.mkdir()
    manifest = Manifest().with_increment("appendonly.aof")
    (files / "appendonly.aof.manifest").write_text(str(manifest))
    increment = files / manifest.increments[0].name
    increment.write_bytes(b"".join(commands))
    return increment


def pushes(count: int) -> list[bytes]:
    return [encode("SELECT", "0"), *(encode("RPUSH", "l", str(number)) for number in range(count))]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# On both servers


@pytest.fixture(params=["ours", "ours, append-only", "theirs"])
def port(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    """Of a server that loads its data."""
    save_snapshot(tmp_path)
    if request.param == "theirs":
        request.getfixturevalue("redis_7_0")
        with start_redis(tmp_path, *SLOWLY) as server:
            yield server.port
        return
    files = {"dbfilename": "dump.rdb"}
    if request.param != "ours":
        save_effects(tmp_path, *pushes(KEYS))
        files["appendonly"] = "yes"
    with loading(request.getfixturevalue("gate"), tmp_path, **files) as start:
        yield start.port


CONVERSATION: Final[list[tuple[str, bytes]]] = [
    ("PING", LOADING),
    ("GET a", LOADING),
    ("GET", b"-ERR wrong number of arguments for 'get' command\r\n"),
    ("ECHO x", b"$1\r\nx\r\n"),
    ("SELECT 1", b"+OK\r\n"),
    ("DBSIZE", LOADING),
    ("EVAL return 0", LOADING),
    ("SCRIPT KILL", LOADING),
    ("SCRIPT LOAD return", LOADING),
    ("FUNCTION STATS", LOADING),
    ("FLUSHALL", LOADING),
    ("SAVE", LOADING),
    ("BGSAVE", LOADING),
    ("BGREWRITEAOF", LOADING),
    ("MULTI", b"+OK\r\n"),
    ("GET a", LOADING),
    ("EXEC", b"-EXECABORT Transaction discarded because of previous errors.\r\n"),
    ("MULTI", b"+OK\r\n"),
    ("ECHO x", b"+QUEUED\r\n"),
    ("EXEC", b"*1\r\n$1\r\nx\r\n"),
    ("WATCH a", b"+OK\r\n"),
    ("UNWATCH", b"+OK\r\n"),
    ("PUBLISH c m", b":0\r\n"),
    ("CONFIG SET maxclients 300", b"+OK\r\n"),
    ("CONFIG SET appendonly no", LOADING),
    ("CONFIG SET dir /tmp", LOADING),
    ("DEBUG SET-ACTIVE-EXPIRE 1", b"+OK\r\n"),
    ("SHUTDOWN ABORT", b"-ERR No shutdown in progress.\r\n"),
    ("SUBSCRIBE c", b"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"),
    ("RESET", b"+RESET\r\n"),
    ("PING", LOADING),
]


def test_only_commands_with_the_flag_loading_run(port: int) -> None:
    with RawConnection("127.0.0.1", port) as client:
        client.socket.sendall(b"".join(encode(*line.split()) for line, _ in CONVERSATION))
        assert [(line, client.reply()) for line, _ in CONVERSATION] == CONVERSATION


def test_info_tells_how_far_it_is(port: int) -> None:
    def told() -> dict[str, Any]:
        with patient(port) as client:
            return dict(client.info("persistence"))

    until(lambda: told()["loading_loaded_bytes"] > 0)
    info = told()
    assert (info["loading"], info["async_loading"], info["aof_enabled"]) == (1, 0, 0)
    assert [name for name in info if name.startswith("loading_")] == [
        "loading_start_time",
        "loading_total_bytes",
        "loading_rdb_used_mem",
        "loading_loaded_bytes",
        "loading_loaded_perc",
        "loading_eta_seconds",
    ]
    assert 0 < info["loading_loaded_bytes"] < info["loading_total_bytes"]
    assert 0 < info["loading_loaded_perc"] < 100


def test_shutdown_ends_it_at_once_and_changes_no_file(port: int, tmp_path: Path) -> None:
    before = contents(tmp_path)
    with RawConnection("127.0.0.1", port) as client:
        assert client.command("CONFIG", "SET", "save", "1 1") == b"+OK\r\n"
        client.send("SHUTDOWN", "SAVE")
        with pytest.raises((Hangup, ConnectionResetError)):
            client.reply()
    assert contents(tmp_path) == before


# On ours


@pytest.mark.parametrize("loop", exhaustive_but(["poll"], ["poll", "streams"]))
def test_start_returns_when_the_data_are_there(gate: Gate, loop: str, tmp_path: Path) -> None:
    save_effects(tmp_path, *pushes(KEYS))
    with loading(gate, tmp_path, appendonly="yes", loop=loop) as start, client_of(start) as other:
        assert other.command("LLEN", "l") == LOADING
        assert not start.server.done()
        gate.open()
        with start.server.result(PATIENCE).client() as client:
            assert client.llen("l") == KEYS
        assert other.command("LLEN", "l") == b":%d\r\n" % KEYS
        assert b"loading:0\r\n" in other.command("INFO", "persistence")


def test_start_tells_that_a_client_stopped_the_server(gate: Gate, tmp_path: Path) -> None:
    save_effects(tmp_path, *pushes(KEYS))
    with loading(gate, tmp_path, appendonly="yes") as start, client_of(start) as other:
        other.send("SHUTDOWN")
        with pytest.raises(RuntimeError, match="was stopped while it loaded its data"):
            start.server.result(PATIENCE)


def test_damage_that_is_met_late_stops_the_start_with_the_engine_empty(tmp_path: Path) -> None:
    increment = save_effects(tmp_path, *pushes(KEYS), b"?", *pushes(3))
    engine = new_engine(appendonly="yes", dir=str(tmp_path))
    place = increment.read_bytes().index(b"?")
    with pytest.raises(DamagedFileError, match=f"no append-only file at byte {place}"):
        miniredis.start(engine=engine)
    assert not engine.keyspace.databases[0].values


def test_a_server_that_is_cancelled_leaves_the_engine_empty_and_the_folder_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_effects(tmp_path, *pushes(KEYS))
    engine = new_engine(appendonly="yes", dir=str(tmp_path))
    before = contents(tmp_path)

    async def start_and_cancel() -> None:
        async with trio.open_nursery() as nursery:
            gate = Gate(monkeypatch)
            nursery.start_soon(partial(miniredis.serve, engine=engine))
            while not gate.is_reached.is_set():
                await trio.lowlevel.checkpoint()
            assert engine.keyspace.databases[0].values
            nursery.cancel_scope.cancel()

    trio.run(start_and_cancel)
    monkeypatch.undo()
    assert not engine.keyspace.databases[0].values
    assert contents(tmp_path) == before
    with miniredis.start(appendonly="yes", dir=tmp_path) as server, server.client() as client:
        assert client.llen("l") == KEYS


def test_a_key_whose_time_has_come_stays_while_an_append_only_file_is_loaded(
    gate: Gate, tmp_path: Path
) -> None:
    """A later effect may make it permanent; time goes on for clients in between."""
    commands = [encode("SET", "k", "v", "PXAT", "1000"), *pushes(KEYS), encode("PERSIST", "k")]
    save_effects(tmp_path, *commands)
    with loading(gate, tmp_path, appendonly="yes") as start, client_of(start) as other:
        assert not other.command("TIME").startswith(b"-")
        gate.open()
        with start.server.result(PATIENCE).client() as client:
            assert client.ttl("k") == -1


def test_nothing_is_saved_by_itself_while_the_server_loads(gate: Gate, tmp_path: Path) -> None:
    save_effects(tmp_path, *pushes(KEYS))
    clock, before = HeldClock(), contents(tmp_path)
    with loading(gate, tmp_path, appendonly="yes", save="1 1", clock=clock) as start:
        clock.advance(10_000_000)
        with client_of(start) as other:
            told = other.command("INFO", "persistence")
        assert b"rdb_saves:0\r\n" in told
        assert b"rdb_changes_since_last_save:0\r\n" not in told
        assert contents(tmp_path) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_program_that_loads_and_changes_no_file(
    number: signal.Signals, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    save_effects(folder, *pushes(1000), *([b"".join(pushes(10_000))] * 100))
    before, port = contents(folder), free_port()
    command = [sys.executable, "-m", "miniredis", "--port", str(port), "--dir", str(folder)]
    flags = ["--appendonly", "yes", "--save", "1 1"]
    process = subprocess.Popen([*command, *flags], stderr=subprocess.PIPE)
    try:
        until(lambda: is_loading(port))
        process.send_signal(number)
        _, told = process.communicate(timeout=PATIENCE)
    finally:
        end(process)
    assert process.returncode == 0
    assert b"received " + number.name.encode() in told
    assert contents(folder) == before


@pytest.mark.parametrize("kind", ["commands", "snapshot"])
def test_loading_takes_no_memory_for_the_file(kind: str, tmp_path: Path) -> None:
    """The file is many times as large as the data in it."""
    large = "x" * 100_000
    commands = [encode("SET", "k", large) for _ in range(200)]
    if kind == "commands":
        increment = save_effects(tmp_path, *commands)
    else:
        increment = save_effects(tmp_path, b"REDIS0010\xff" + bytes(8), *commands)
    manifest = Manifest().with_increment("appendonly.aof")
    engine = new_engine(appendonly="yes")
    tracemalloc.start()
    try:
        for _ in load(Disk(), increment.parent, manifest, engine):
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert engine.keyspace.databases[0].values == {b"k": large.encode()}
    assert peak < increment.stat().st_size / 10
