"""What becomes of the data when the machine fails a server in a process of its own."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
import trio
from redis.backoff import NoBackoff
from redis.retry import Retry

import miniredis
from conformance.wire import encode
from miniredis.engine import Instant
from miniredis.inprocess.local import LocalSocket
from miniredis.persistence.disk import Disk
from miniredis.testing.real_servers import end, free_port

from ...waiting import PATIENCE, until
from .rdb_states import patient

pytestmark = pytest.mark.usefixtures("forked")


class Process:
    """A miniredis in a process of its own, with a client.

    Attributes:
        process: it.
        client: does not connect again by itself.
    """

    def __init__(self, folder: Path, *flags: str) -> None:
        port = free_port()
        words = ["-m", "miniredis", "--port", str(port), "--dir", str(folder), "--appendonly", "yes", *flags]
        self._log = folder.parent / "log"
        words += ["--logfile", str(self._log)]
        self.process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
        self.client = patient(port, retry=Retry(NoBackoff(), 0))
        until(self.is_ready)

    def is_ready(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            assert self.process.poll() is None, self.log()
            return False

    def log(self) -> str:
        """What it has said, once it has ended."""
        self.process.wait(PATIENCE)
        return self._log.read_text()

    def told(self, name: str) -> Any:
        """A field of INFO persistence."""
        return self.client.info("persistence")[name]


@contextmanager
def process_in(folder: Path, *flags: str) -> Iterator[Process]:
    server = Process(folder, *flags)
    try:
        yield server
    finally:
        server.client.close()
        end(server.process)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


ALWAYS = ("--appendfsync", "always")


def length_in(folder: Path) -> int:
    """How many elements a server finds that starts with a folder."""
    with miniredis.start(appendonly="yes", dir=folder) as server, server.client() as client:
        return int(client.llen("l"))


@pytest.mark.parametrize("operation", ["File.write", "File.sync", "File.close", "Disk.rename"])
def test_a_file_that_cannot_be_replaced_stays_as_it_is_and_nothing_is_left_beside_it(
    operation: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, temporary = folder / "users.acl", folder / "temporary"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"miniredis.persistence.disk.{operation}", fail)
    with pytest.raises(OSError, match="No space left"):
        Disk().replace(path, [b"new"], temporary)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == {"users.acl": b"old"}


# The folder


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "read-only"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user cannot mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_server_does_not_start_where_it_cannot_write(read_only: Path) -> None:
    command = [sys.executable, "-m", "miniredis", "--port", "0", "--dir", str(read_only)]
    done = subprocess.run([*command, "--appendonly", "yes"], capture_output=True, text=True, check=False)
    assert (done.returncode, "Read-only file system" in done.stderr) == (1, True)


def test_a_server_that_runs_says_that_it_cannot_write(read_only: Path) -> None:
    with miniredis.start(dir=read_only, dbfilename="dump.rdb") as server, server.client() as client:
        client.set("k", "v")
        with pytest.raises(redis.ResponseError):
            client.save()
        with pytest.raises(redis.ResponseError, match="Unable to turn on AOF"):
            client.config_set("appendonly", "yes")
        assert client.get("k") == b"v"


def test_with_always_nothing_is_answered_once_the_folder_is_gone(folder: Path) -> None:
    with process_in(folder, *ALWAYS) as server:
        server.client.rpush("l", 1)
        shutil.rmtree(folder)
        with pytest.raises(redis.ConnectionError):
            server.client.rpush("l", 2)
        assert "the file was removed" in server.log()
        assert server.process.returncode == 1


def test_otherwise_writes_are_refused_and_saving_fails_once_the_folder_is_gone(folder: Path) -> None:
    with process_in(folder, "--dbfilename", "dump.rdb") as server:
        server.client.rpush("l", 1)
        shutil.rmtree(folder)
        with pytest.raises(redis.ResponseError, match="MISCONF Errors writing to the AOF file"):
            until(lambda: server.client.rpush("l", 2) < 0)
        server.client.bgsave()
        until(lambda: server.told("rdb_last_bgsave_status") == "err")
        with pytest.raises(redis.ResponseError, match="Can't execute an AOF background rewriting"):
            server.client.bgrewriteaof()
        assert server.told("aof_last_bgrewrite_status") == "err"
        server.process.terminate()
        log = server.log()
    assert "cannot save the data to" in log
    assert "No such file or directory" in log
    assert "cannot rewrite the append-only file" in log


# Descriptors


def test_without_descriptors_a_rewriting_fails_and_nothing_is_lost(folder: Path) -> None:
    with process_in(folder, *ALWAYS) as server:
        pid, client = server.process.pid, server.client
        client.rpush("l", 1)
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = max(int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir()) + 1
        for room in range(4):  # for the manifest, the increment and the pipe to the child
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + room, limits[1]))
            with suppress(redis.ResponseError):  # "Can't execute an AOF background rewriting"
                client.bgrewriteaof()
            until(lambda: not server.told("aof_rewrite_in_progress"))
            client.rpush("l", room)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        done = server.told("aof_rewrites")
        client.bgrewriteaof()
        until(lambda: server.told("aof_rewrites") > done and not server.told("aof_rewrite_in_progress"))
        assert server.told("aof_last_bgrewrite_status") == "ok"
        client.rpush("l", 5)
        server.process.kill()
        assert "cannot rewrite the append-only file: [Errno 24] Too many open files" in server.log()
    assert length_in(folder) == 6


# The end, in the middle of a rewriting


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_in_the_middle_of_a_rewriting_keeps_all(
    number: signal.Signals, folder: Path
) -> None:
    with process_in(folder, *ALWAYS) as server:
        child = 0
        while not child:
            for _ in range(10):
                server.client.rpush("l", *range(5000))
            server.client.bgrewriteaof()
            until(lambda: writers(folder) or not server.told("aof_rewrite_in_progress"))
            with suppress(ProcessLookupError, IndexError):
                os.kill(writers(folder)[0], signal.SIGSTOP)
                child = writers(folder)[0]  # it has not ended before
        count = server.client.rpush("l", "meanwhile")
        server.process.send_signal(number)
        server.process.wait(PATIENCE)
        assert length_in(folder) == count
        with suppress(ProcessLookupError):  # SIGTERM has ended it
            os.kill(child, signal.SIGCONT)
        until(lambda: not Path(f"/proc/{child}").exists() or is_zombie(child))
        assert length_in(folder) == count
        assert not list(folder.rglob("temp-*"))


def writers(folder: Path) -> list[int]:
    """The children that write a new base."""
    return [int(path.stem.rpartition("-")[2]) for path in folder.rglob("temp-rewriteaof-bg-*.aof")]


def is_zombie(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@pytest.mark.parametrize("is_alive", [True, False])
def test_a_child_whose_server_is_gone_leaves_the_snapshot_to_the_next_server(
    is_alive: bool, tmp_path: Path
) -> None:
    from miniredis.persistence.child import check_server_lives
    from miniredis.persistence.disk import Disk
    from miniredis.persistence.rdb_file import save_file

    from .rdb_states import new_engine

    path = tmp_path / "dump.rdb"
    parent = os.getppid() if is_alive else 1 << 30
    with suppress(ProcessLookupError):
        save_file(Disk(), path, new_engine(), lambda: check_server_lives(parent))
    assert path.exists() == is_alive
    assert not list(tmp_path.glob("temp-*"))


def test_a_child_keeps_the_descriptors_that_a_server_before_has_closed(folder: Path) -> None:
    with miniredis.start(appendonly="yes", dir=folder) as before:
        pass
    pipes = [os.pipe() for _ in range(10)]  # some have the numbers that the server had
    pid = os.fork()
    if not pid:
        try:
            for descriptor in sum(pipes, ()):
                os.fstat(descriptor)
        except OSError:
            os._exit(1)
        os._exit(0)
    for descriptor in sum(pipes, ()):
        os.close(descriptor)
    assert os.waitpid(pid, 0)[1] == 0
    assert before.failure is None


# The clock


class Jumping:
    """A clock whose wall time a test sets."""

    stands_still = True

    def __init__(self) -> None:
        self.wall, self.monotonic = 1_700_000_000_000_000, 0

    def now(self) -> Instant:
        return Instant(self.wall, self.monotonic)

    def advance(self, microseconds: int) -> None:
        self.wall += microseconds
        self.monotonic += microseconds


def test_a_clock_that_is_set_back_delays_no_save(folder: Path) -> None:
    clock = Jumping()
    options: Any = {"clock": clock, "dbfilename": "dump.rdb", "save": "60 1", "dir": folder}
    with miniredis.start(**options) as server, server.client() as client:
        client.set("k", "v")
        clock.wall -= 3_600_000_000
        server.fast_forward(62)
        until(lambda: not client.info("persistence")["rdb_bgsave_in_progress"])
        told = client.info("persistence")
        assert (told["rdb_last_bgsave_status"], told["rdb_saves"]) == ("ok", 1)
        assert told["rdb_changes_since_last_save"] == 0
        assert told["rdb_last_bgsave_time_sec"] >= 0
        assert client.info("stats")["total_forks"] == 1
        assert client.info("stats")["latest_fork_usec"] > 0
        assert told["rdb_last_save_time"] == clock.wall // 1_000_000
        client.set("k", "w")
        clock.wall -= 3_600_000_000
        client.bgsave()
        assert client.info("persistence")["rdb_current_bgsave_time_sec"] in (-1, 0)


# A disk that works again


def test_what_a_disk_may_have_lost_is_written_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from miniredis.persistence import append_only
    from miniredis.persistence.disk import File

    monkeypatch.setattr(append_only, "EVERY", 0.0)
    sync, failures = File.sync, iter([OSError(5, "Input/output error")])

    def fail_once(file: File) -> None:
        if (error := next(failures, None)) is not None:
            raise error
        sync(file)

    with miniredis.start(appendonly="yes", dir=folder) as server, server.client() as client:
        monkeypatch.setattr(File, "sync", fail_once)
        client.rpush("l", 1)
        until(lambda: client.info("persistence")["aof_rewrites"] == 1)
    assert length_in(folder) == 1


def test_a_disk_that_fails_beside_a_busy_script_ends_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_data: bytes) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    server = miniredis.start(dir=tmp_path, busy_reply_threshold=50)
    where = server.host, server.port
    with socket.create_connection(where) as busy, socket.create_connection(where, timeout=20) as other:
        other.sendall(encode(b"PING"))
        assert other.recv(100) == b"+PONG\r\n"
        monkeypatch.setattr(server._runner.files.journal, "write", fail)
        busy.sendall(encode(b"SET", b"k", b"v") + encode(b"EVAL", b"while true do end", b"0"))
        with suppress(ConnectionResetError):
            assert other.recv(100) == b""
    server.stop()
    assert caplog.text.count("cannot write the append-only file") == 1
    with miniredis.start(dir=tmp_path) as again:
        assert again.content("k") is None


def test_no_client_in_this_process_is_answered_between_such_a_failure_and_the_end_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script on the server's own thread does not let it end; nor does the task that goes on there."""

    def fail(_data: bytes) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(partial(miniredis.serve, dir=tmp_path, busy_reply_threshold=1))
            with server.client() as client, server.client() as other:
                assert (client.set("k", "kept"), other.ping()) == (True, True)
                busy = LocalSocket(server._runner)
                monkeypatch.setattr(server._runner.files.journal, "write", fail)
                busy.sendall(encode(b"SET", b"k", b"v") + encode(b"EVAL", b"while true do end", b"0"))
                for each in (client, other):
                    for push in (each, each.pipeline(), each.pipeline(transaction=False)):
                        with pytest.raises(redis.ConnectionError):
                            getattr(push.rpush("l", 1), "execute", int)()
                with pytest.raises(RuntimeError, match="the server has stopped"):
                    server.reset()

    with pytest.raises(ExceptionGroup) as told:
        trio.run(main)
    assert "no space left" in str(told.value.exceptions)
    with miniredis.start(dir=tmp_path) as again:
        assert (again.content("k"), again.content("l")) == (b"kept", None)
