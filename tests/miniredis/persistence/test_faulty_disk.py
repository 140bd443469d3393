"""Both servers on a disk whose operations fail with EIO: they answer the same, and keep what they answered."""

from __future__ import annotations

import contextlib
import errno
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from conformance.wire import RawConnection
from miniredis.testing.real_servers import real_at_free_port
from tests.servers import find_redis_7_0

from ...cases import exhaustive
from ...waiting import PATIENCE, until
from ..replication.replicas import address_of
from .rdb_states import patient

SOURCE: Final = Path(__file__).with_name("faulty_disk.c")

OPERATIONS: Final = ("write", "sync", "rename", "close")

LAUNCHER: Final = """#!/bin/sh
export LD_PRELOAD={library} FAULTS={faults} FAULTY_FILES={data}
exec {command} "$@"
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a server preloads."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("library") / "faulty_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, SOURCE, "-ldl"], check=True)
    return made


@dataclass
class Machine:
    """A server that can be started again and again on a disk that can fail.

    Attributes:
        kind: of the server.
        launcher: its program.
        data: its folder.
        faults: has a file for each operation that fails now.
    """

    kind: str
    launcher: Path
    data: Path
    faults: Path

    @contextlib.contextmanager
    def server(self, *flags: str) -> Iterator[tuple[subprocess.Popen[bytes], redis.Redis]]:
        """One that runs, and a client that does not connect again."""
        with (
            real_at_free_port(self.launcher, self.data, "--enable-debug-command", "yes", *flags) as (
                process,
                port,
            ),
            patient(port, retry=Retry(NoBackoff(), 0)) as client,
        ):
            until(lambda: not client.info("persistence")["loading"])
            yield process, client

    @contextlib.contextmanager
    def failing(self, operation: str) -> Iterator[None]:
        """An operation fails."""
        fault = self.faults / operation
        fault.write_text(str(errno.EIO))
        yield
        fault.unlink()


@pytest.fixture(params=["miniredis", "redis-server"])
def machine(request: pytest.FixtureRequest, library: Path, redis_7_0: object, tmp_path: Path) -> Machine:
    is_ours = request.param == "miniredis"
    command = f"{sys.executable} -m miniredis" if is_ours else str(find_redis_7_0())
    data, faults, launcher = tmp_path / "data", tmp_path / "faults", tmp_path / "server"
    data.mkdir()
    faults.mkdir()
    launcher.write_text(LAUNCHER.format(library=library, faults=faults, data=data, command=command))
    launcher.chmod(0o700)
    return Machine(request.param, launcher, data, faults)


def told(client: redis.Redis, *names: str) -> list[Any]:
    """Fields of INFO persistence."""
    info: Any = client.info("persistence")
    return [info[name] for name in names]


def elements(client: redis.Redis) -> list[bytes]:
    found: Any = client.lrange("l", 0, -1)
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("operation", [exhaustive("write"), "sync"])
def test_with_always_a_server_ends_and_answers_nothing_more(operation: str, machine: Machine) -> None:
    flags = ("--appendonly", "yes", "--appendfsync", "always")
    with machine.server(*flags) as (process, client):
        client.rpush("l", "answered")
        with machine.failing(operation), pytest.raises(redis.ConnectionError):
            client.rpush("l", "not answered")
        assert process.wait(PATIENCE) == 1
    with machine.server(*flags) as (_, client):
        assert elements(client)[:1] == [b"answered"]


@pytest.mark.parametrize("operation", [exhaustive("write"), "sync"])
def test_with_everysec_writes_are_refused_until_the_disk_works_again(
    operation: str, machine: Machine
) -> None:
    """A real server whose disk could not sync refuses them for good: it never tries that again."""
    flags = ("--appendonly", "yes", "--appendfsync", "everysec")
    refused = b"-MISCONF Errors writing to the AOF file: Input/output error\r\n"
    answered: list[bytes] = []
    with machine.server(*flags) as (_, client):

        def is_refused() -> bool:
            reply = answer(client, "RPUSH", "l", str(len(answered)))
            if reply == refused:
                return True
            answered.append(b"%d" % len(answered))
            assert reply == b":%d\r\n" % len(answered)
            return False

        with machine.failing(operation):
            until(is_refused)
            assert is_refused()
            assert answer(client, "PING") == refused
            assert elements(client) == answered
        if (machine.kind, operation) != ("redis-server", "sync"):
            until(lambda: not is_refused())
            assert told(client, "aof_last_write_status") == ["ok"]
        until(lambda: told(client, "aof_buffer_length") == [0], "a kill takes nothing that waits")
    with machine.server(*flags) as (_, client):
        assert elements(client) == answered


REFUSED: Final = (
    b"-ERR Can't execute an AOF background rewriting. Please check the server logs for more information.\r\n"
)
STARTED: Final = b"+Background append only file rewriting started\r\n"

REWRITING: Final = {
    "write": (REFUSED, 0),
    "sync": (REFUSED, 0),
    "rename": (REFUSED, 0),
}
"""What BGREWRITEAOF answers where an operation fails, and how many rewritings have failed after they began."""

OF_CLOSE: Final = {"redis-server": (STARTED, 1), "miniredis": (REFUSED, 0)}
"""The same where no file can be closed: only miniredis minds that of the manifest."""


def test_a_rewriting_that_fails_loses_nothing_and_can_be_repeated(machine: Machine) -> None:
    flags = ("--appendonly", "yes", "--appendfsync", "always")
    with machine.server(*flags) as (_, client):
        rewriting = {**REWRITING, "close": OF_CLOSE[machine.kind]}
        for operation, (reply, failures) in rewriting.items():
            client.rpush("l", operation)
            with machine.failing(operation):
                assert answer(client, "BGREWRITEAOF") == reply
                until(lambda: told(client, "aof_rewrite_in_progress") == [0])
            names = ("aof_last_bgrewrite_status", "aof_rewrites_consecutive_failures")
            assert told(client, *names) == ["err", failures]
        client.rpush("l", "after")
        assert answer(client, "BGREWRITEAOF") == STARTED
        until(lambda: told(client, "aof_last_bgrewrite_status", "aof_rewrite_in_progress") == ["ok", 0])
        client.rpush("l", "last")
    with machine.server(*flags) as (_, client):
        assert elements(client) == [*(each.encode() for each in rewriting), b"after", b"last"]


def answer(client: redis.Redis, *words: str) -> bytes:
    """What is answered, be it an error."""
    with RawConnection(*address_of(client)) as raw:
        return raw.command(*words)


def test_a_save_that_fails_leaves_the_file_as_it_was_and_writes_are_refused(machine: Machine) -> None:
    flags = ("--save", "3600 100", "--dbfilename", "dump.rdb")
    refused = b"-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist"
    with machine.server(*flags) as (_, client):
        client.rpush("l", "saved")
        client.save()
        for operation in OPERATIONS:
            client.rpush("l", operation)
            with machine.failing(operation):
                with pytest.raises(redis.ResponseError):
                    client.save()
                client.bgsave()
                until(lambda: told(client, "rdb_bgsave_in_progress", "rdb_last_bgsave_status") == [0, "err"])
                assert answer(client, "RPUSH", "l", "refused").startswith(refused)
            assert answer(client, "RPUSH", "l", "refused").startswith(refused)
            assert [each.name for each in machine.data.iterdir()] == ["dump.rdb"]
            client.config_set("stop-writes-on-bgsave-error", "no")
            client.rpush("l", "accepted")
            client.config_set("stop-writes-on-bgsave-error", "yes")
            client.bgsave()
            until(lambda: told(client, "rdb_bgsave_in_progress", "rdb_last_bgsave_status") == [0, "ok"])
        client.rpush("l", "not saved")
        with machine.failing("rename"), pytest.raises(redis.ResponseError):
            client.save()
    with machine.server(*flags) as (_, client):
        kept = [each for operation in OPERATIONS for each in (operation.encode(), b"accepted")]
        assert elements(client) == [b"saved", *kept]
