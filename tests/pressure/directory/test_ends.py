"""The process that runs the server of a directory ends: another one runs it, and operations go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
import pressure
import pressure.aio.connection
import pressure.sync.connection
import pressure.trio.connection
from conformance.clients.flavours import FLAVOURS
from miniredis.processes.shared import SERVERS, SOCKET
from pressure import Queue

from .conftest import Other, blocked, owner

pytestmark = pytest.mark.usefixtures("forked")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_who_waits_goes_on_when_the_process_with_the_server_ends_by_itself(
    flavour: str, other: Callable[..., Other], url: str, folder: Path
) -> None:
    first = other("jobs.create()")
    line = f"jobs = FLAVOURS[{flavour!r}]('jobs', url={url!r})"
    getter, waits_for_its_role = (
        other("from conformance.clients.flavours import FLAVOURS", line) for _ in range(2)
    )
    getter.tell("value = jobs.get()")
    blocked(folder, 1)
    waits_for_its_role.tell("other_value = jobs.get()")
    blocked(folder, 2)
    first.end()
    blocked(folder, 2)
    with Queue("jobs", url=url) as jobs:
        assert is_connected(folder, jobs.holder("consumer")), "nobody takes its holder for dead"
        jobs.put_many(["one", "two"])
    getter.wait()
    waits_for_its_role.wait()
    getter.do("assert value == b'one'")
    waits_for_its_role.do("assert other_value == b'two'")
    assert owner(folder) != first.process.pid


def is_connected(folder: Path, holder: bytes | None) -> bool:
    """Whether a connection has the name on which this hold lives."""
    assert holder is not None
    with redis.Redis(unix_socket_path=miniredis.join(folder)) as client:
        return holder.rpartition(b"/")[0].decode() in {each["name"] for each in client.client_list()}


def test_a_put_that_waits_for_room_goes_on_too(other: Callable[..., Other], url: str, folder: Path) -> None:
    first = other("jobs.create(1); jobs.put('one')")
    second = other()
    second.tell("jobs.put('two')")
    blocked(folder, 1)
    first.end()
    with Queue("jobs", url=url) as jobs:
        assert [jobs.get(), jobs.get()] == [b"one", b"two"]
    second.wait()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_could_not_be_sent_any_more_is_sent_to_the_next_server(
    flavour: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pressure.sync.connection.Connection, "is_quiet", lambda _: True)
    for connections in (pressure.aio.connection.Connections, pressure.trio.connection.Connections):
        monkeypatch.setattr(connections, "_is_quiet", lambda *_: True)
    jobs: Any = FLAVOURS[flavour]("jobs", url=url, prefix="__pressure__")
    jobs.create()
    jobs.put(b"one")
    SERVERS.stop()
    jobs.put(b"two")
    assert jobs.get_many(2) == [b"one", b"two"]
    jobs.disconnect()


def test_a_block_that_receives_acknowledges_on_the_next_server(
    other: Callable[..., Other], url: str, folder: Path
) -> None:
    first = other("jobs.create(); jobs.put_many(['one', 'two'])")
    with Queue("jobs", url=url) as jobs:
        with jobs.receive() as message:
            first.end()
            assert message.data == b"one"
        assert jobs.get_many(2) == [b"two"]
    assert owner(folder) == os.getpid()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_next_operation_takes_over_from_a_process_that_was_killed(
    flavour: str, other: Callable[..., Other], url: str, folder: Path
) -> None:
    first = other("jobs.create()")
    jobs: Any = FLAVOURS[flavour]("jobs", url=url, prefix="__pressure__")
    jobs.put(b"one")
    assert owner(folder) == first.process.pid
    first.kill()
    jobs.put(b"two")
    assert owner(folder) == os.getpid()
    assert jobs.get_many(3) == [b"one", b"two"]
    jobs.disconnect()


def test_a_program_that_ends_keeps_what_it_put(other: Callable[..., Other], url: str, folder: Path) -> None:
    other("jobs.create(); jobs.put('v')").end()
    assert not (folder / SOCKET).exists()
    with Queue("jobs", url=url) as jobs:
        assert jobs.get() == b"v"


def test_a_program_may_end_inside_an_event_loop(url: str, folder: Path) -> None:
    program = f"""
import asyncio, sys
import pressure.aio

async def main():
    jobs = pressure.aio.Queue("jobs", url={url!r})
    await jobs.create()
    await jobs.put("v")
    sys.exit(3)

asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 3
    assert not (folder / SOCKET).exists()
    with Queue("jobs", url=url) as jobs:
        assert jobs.get() == b"v"


def test_a_fork_of_the_owner_neither_serves_nor_closes(
    other: Callable[..., Other], url: str, folder: Path
) -> None:
    first = other("jobs.create(); jobs.put('v'); import os")
    first.do("pid = os.fork() or sys.exit()", "assert os.waitpid(pid, 0) == (pid, 0)")
    with Queue("jobs", url=url) as jobs:
        assert jobs.get() == b"v"
    assert owner(folder) == first.process.pid


def test_a_fork_that_outlives_the_owner_does_not_keep_the_directory(
    other: Callable[..., Other], url: str, folder: Path
) -> None:
    first = other("jobs.create(); jobs.put('v'); import os, signal")
    first.do("pid = os.fork() or signal.pause()", f"open({str(folder / 'child')!r}, 'w').write(str(pid))")
    first.kill()
    try:
        with Queue("jobs", url=url) as jobs:
            assert jobs.get() == b"v"
        assert owner(folder) == os.getpid()
    finally:
        os.kill(int((folder / "child").read_text()), signal.SIGKILL)


def test_two_queues_of_a_process_share_one_server(url: str, folder: Path) -> None:
    with Queue("one", url=url) as one, Queue("two", url=url) as two:
        one.create()
        two.create()
        one.put("v")
        two.put("v")
    with redis.Redis(unix_socket_path=str(folder / SOCKET)) as client:
        assert client.info("server")["process_id"] == os.getpid()
    assert len(pressure.queues(url=url)) == 2
