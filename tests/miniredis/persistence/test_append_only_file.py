"""The append-only file on a real disk: killed servers, real Redis's files, and damage."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

import miniredis
from conformance.targets import Address
from conformance.targets.programs import find_real_redis
from miniredis.persistence.disk import File
from miniredis.testing.real_servers import at_free_port

from ...cases import exhaustive
from ...forks import open_in
from ...servers import start_redis
from ...waiting import until
from .rdb_states import fill, fill_at_random, patient, portrait

pytestmark = pytest.mark.usefixtures("forked")

AT_ONCE: Final = Retry(NoBackoff(), 0)
"""A client that does not connect again."""

DURABLE: Final = ("--appendonly", "yes", "--appendfsync", "always")


@contextmanager
def process_in(folder: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A miniredis in a process of its own."""

    def command(port: int) -> list[str]:
        words = ["-m", "miniredis", "--port", str(port), "--dir", str(folder), *DURABLE, *flags]
        return [sys.executable, *words]

    with at_free_port("miniredis", command) as (process, port), patient(port) as client:
        until(lambda: is_loaded(client))
        yield process, port


def is_loaded(client: redis.Redis) -> bool:
    try:
        return client.ping()
    except redis.BusyLoadingError:
        return False


@contextmanager
def real_durable(folder: Path, *flags: str) -> Iterator[int]:
    with start_redis(folder, "--enable-debug-command", "yes", *DURABLE, *flags) as server:
        yield server.port


def ours(folder: Path, **directives: Any) -> miniredis.EmbeddedServer:
    return miniredis.start(
        appendonly="yes", appendfsync="always", dir=folder, enable_debug_command="yes", **directives
    )


def test_a_stopped_server_has_written_all_with_every_policy(tmp_path: Path) -> None:
    for policy in ("always", "everysec", "no"):
        folder = tmp_path / policy
        folder.mkdir()
        with process_in(folder, "--appendfsync", policy) as (process, port):
            with patient(port) as client:
                client.set("k", policy)
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0
        with ours(folder) as server, server.client() as client:
            assert client.get("k") == policy.encode()


# Between miniredis and a real server


@pytest.fixture(params=[1, *(pytest.param(number, marks=pytest.mark.slow) for number in range(2, 101))])
def seed(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.mark.parametrize("preamble", ["yes", pytest.param("no", marks=pytest.mark.slow)])
def test_a_real_server_starts_with_our_files(
    redis_7_0: Address, seed: int, preamble: str, tmp_path: Path
) -> None:
    with ours(tmp_path, aof_use_rdb_preamble=preamble) as server:
        with patient(server.port) as client:
            fill(client)
            client.bgrewriteaof()
            until(lambda: rewrites(client) == 1, "is it rewritten")
        fill_at_random((server.host, server.port), (redis_7_0.host, redis_7_0.port), seed)
        seen = portrait(server.port)
    with real_durable(tmp_path) as port:
        assert portrait(port) == seen


def test_miniredis_starts_with_the_files_of_a_real_server(
    redis_7_0: Address, seed: int, tmp_path: Path
) -> None:
    with real_durable(tmp_path) as port, patient(port) as client:
        fill(client)
        client.bgrewriteaof()
        until(lambda: rewrites(client) == 1, "is it rewritten")
        fill_at_random(("127.0.0.1", port), (redis_7_0.host, redis_7_0.port), seed)
        seen = portrait(port)
    with ours(tmp_path) as server:
        assert portrait(server.port) == seen


@pytest.mark.parametrize("preamble", [exhaustive("yes"), "no"])
def test_the_tool_of_redis_finds_our_files_good(redis_7_0: Address, preamble: str, tmp_path: Path) -> None:
    with ours(tmp_path, aof_use_rdb_preamble=preamble) as server, patient(server.port) as client:
        fill(client)
        client.bgrewriteaof()
        until(lambda: rewrites(client) == 1, "is it rewritten")
        fill_at_random((server.host, server.port), (redis_7_0.host, redis_7_0.port), 1)
    folder = tmp_path / "appendonlydir"
    (increment,) = folder.glob("*.incr.aof")
    assert "All AOF files and manifest are valid" in checked(folder / "appendonly.aof.manifest")
    with increment.open("ab") as file:
        file.write(b"*1\r\n$4\r\nPI")
    assert "is not valid" in checked(folder / "appendonly.aof.manifest")


def checked(path: Path) -> str:
    """What ``redis-check-aof`` says of a file."""
    words = ["redis-check-aof", str(path)]
    done = subprocess.run(words, executable=find_real_redis(), capture_output=True, text=True, check=False)
    return done.stdout


def rewrites(client: redis.Redis) -> int:
    told: Any = client.info("persistence")
    return int(told["aof_rewrites"]) if not told["aof_rewrite_in_progress"] else -1


def test_rewriting_is_answered_as_a_real_server_does(redis_7_0: Address, tmp_path: Path) -> None:
    assert redis_7_0.url
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    with ours(tmp_path / "ours") as server, real_durable(tmp_path / "theirs") as port:
        replies = []
        for each in (server.port, port):
            with patient(each) as client, client.pipeline() as pipeline:
                raw: Any = pipeline
                raw.execute_command("BGREWRITEAOF")
                raw.ping()
                replies.append([str(reply) for reply in pipeline.execute()])
            with patient(each) as client:
                until(lambda: rewrites(client) == 1, "is it rewritten")
        assert replies[0] == replies[1]


def test_a_start_counts_what_the_file_had_grown_by_before(redis_7_0: Address, tmp_path: Path) -> None:
    """Else a server that is started often would never rewrite its file."""
    for name, start in (("ours", lambda folder: port_of(ours(folder))), ("theirs", real_durable)):
        folder = tmp_path / name
        folder.mkdir()
        for life in range(2):
            with start(folder) as port, patient(port) as client:
                client.rpush("l", "element")
                told: Any = client.info("persistence")
                base, increment = (file_size(folder, kind) for kind in ("base.rdb", "incr.aof"))
                assert told["aof_base_size"] == base * life, name
                assert told["aof_current_size"] == base * life + increment, name


@contextmanager
def port_of(server: miniredis.EmbeddedServer) -> Iterator[int]:
    with server:
        yield server.port


def file_size(folder: Path, ending: str) -> int:
    (path,) = folder.glob(f"appendonlydir/*.{ending}")
    return path.stat().st_size


# What is refused


def test_two_servers_cannot_use_one_folder(tmp_path: Path) -> None:
    with ours(tmp_path), pytest.raises(BlockingIOError, match="another server keeps its data in"):
        ours(tmp_path)
    ours(tmp_path).stop()


def test_a_folder_is_free_at_once_and_stays_locked_where_a_child_leaves_its_copy_to_its_parent(
    tmp_path: Path,
) -> None:
    with ours(tmp_path):
        copies = [
            os.dup(each) for each in open_in(tmp_path)
        ]  # as a program has them that is just being started
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        with pytest.raises(BlockingIOError):
            ours(tmp_path)
    ours(tmp_path).stop()
    for each in copies:
        os.close(each)


def test_the_command_names_what_it_cannot_use(tmp_path: Path) -> None:
    with ours(tmp_path) as server, server.client() as client:
        client.set("a", "1")
        assert "another server keeps its data" in refused(tmp_path)
    (file,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
    file.write_bytes(file.read_bytes() + b"what?")
    assert f"{file}: it is no append-only file at byte" in refused(tmp_path)
    assert "No such file or directory" in refused(tmp_path / "none", status=2)


def refused(folder: Path, status: int = 1) -> str:
    """What a server that does not start says."""
    done = subprocess.run(
        [sys.executable, "-m", "miniredis", "--port", "0", "--dir", str(folder), *DURABLE],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == status
    return done.stderr


# The disk


def test_a_full_disk_ends_a_server_that_promised_to_keep_all(tmp_path: Path) -> None:
    """Its clients are hung up on, and nothing that was not kept was answered."""
    script = "ulimit -f 8; trap '' XFSZ; exec \"$@\""
    with at_free_port(
        "miniredis",
        lambda port: [
            "bash", "-c", script, "-", sys.executable, "-B", "-m", "miniredis",
            "--port", str(port), "--dir", str(tmp_path), *DURABLE,
        ],
    ) as (process, port), patient(port, retry=AT_ONCE) as client:  # fmt: skip
        answered = push_until_it_hangs_up(client)
        assert process.wait() == 1
    with ours(tmp_path) as server, server.client() as client:
        assert client.llen("l") == answered > 20


def push_until_it_hangs_up(client: redis.Redis) -> int:
    """How many elements were answered."""
    answered = 0
    try:
        while True:
            client.rpush("l", "x" * 100)
            answered += 1
    except redis.ConnectionError:
        return answered


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "no space left"), KeyboardInterrupt()])
def test_what_follows_a_write_that_ended_in_its_middle_can_be_loaded(
    failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def write_half(descriptor: int, data: bytes) -> int:
        monkeypatch.undo()
        write(descriptor, data[: len(data) // 2])
        raise failure

    with miniredis.start(dir=tmp_path, appendfsync="no") as server, server.client() as client:
        client.incr("n")
        with (
            server._runner.lock,
            suppress(KeyboardInterrupt),
        ):  # signals interrupt this thread, not the server's
            monkeypatch.setattr(os, "write", write_half)
            client.incr("n")
        until(lambda: client.info("persistence")["aof_last_write_status"] == "ok")
        assert client.incr("n") == 3
    with miniredis.start(dir=tmp_path) as server:
        assert server.content("n") == b"3"


def test_a_server_in_this_process_tells_why_it_has_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: File) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with ours(tmp_path) as server, patient(server.port, retry=AT_ONCE) as client:
        client.set("k", "kept")
        assert server.failure is None
        monkeypatch.setattr(File, "sync", fail)
        with pytest.raises(redis.ConnectionError):
            client.set("k", "not kept")
        until(lambda: server.failure is not None, "is it told")
        assert "Input/output error" in str(server.failure)
