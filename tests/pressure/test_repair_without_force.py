"""Repair without force frees the roles of dead clients only, also where a live client looks dead."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import redis

from pressure import Queue
from pressure.connections.identity import connection_in, released
from tests.servers import RealServer

from .conftest import DEAD, JOBS, ROOT, execute, invariant, take, until


class MishapError(Exception):
    """What ends a repair."""


pytestmark = pytest.mark.usefixtures("forked")

ROLES = ["producer", "consumer"]


def left_alone(queue: Queue, why: str) -> None:
    report = queue.repair()
    assert report.done == ()
    assert why in report.left[0]


@pytest.mark.parametrize("role", ROLES)
def test_the_role_of_a_dead_client_is_freed(queue: Queue, raw: redis.Redis, role: str) -> None:
    queue.create(2)
    queue.put_many([b"1", b"2"])
    take(raw, role)
    if role == "consumer":
        raw.lmove(JOBS, f"{JOBS}:unacked", "RIGHT", "LEFT")
    report = queue.repair()
    assert report.left == ()
    assert f"freed the {role} role, held by {DEAD.decode()}" in report.done
    invariant(raw)
    assert queue.get_many(5) == [b"1", b"2"]


def test_a_repair_that_is_interrupted_between_its_two_probes_frees_nothing(
    queue: Queue, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pressure.protocol.liveness.PROBE_INTERVAL", 60.0)
    queue.create()
    take(raw, "consumer")
    stops = iter([None])
    queue.interrupt = lambda: next(stops, MishapError())
    with pytest.raises(MishapError):
        queue.repair()
    assert raw.llen(f"{JOBS}:consumer_free") == 0


@pytest.mark.parametrize("role", ROLES)
def test_a_holder_whose_id_has_another_form_keeps_its_role(queue: Queue, raw: redis.Redis, role: str) -> None:
    queue.create()
    take(raw, role, b"worker 7")
    left_alone(queue, "not of this package's form")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("before", [None, released(DEAD)])
def test_the_role_of_a_client_that_popped_it_and_never_said_so_is_freed(
    queue: Queue, raw: redis.Redis, role: str, before: bytes | None
) -> None:
    queue.create()
    raw.rpop(f"{JOBS}:{role}_free")
    if before is not None:
        raw.set(f"{JOBS}:{role}", before)
    assert queue.repair().done == (f"freed the {role} role, held by a client that has not written its id",)
    invariant(raw)


def test_a_holder_whose_connection_is_open_keeps_its_role(
    queue: Queue, raw: redis.Redis, redis_url: str
) -> None:
    queue.create()
    take(raw, "producer")
    name = connection_in(DEAD)
    assert name is not None
    with redis.Redis.from_url(redis_url, client_name=name.decode()) as other:
        other.ping()
        left_alone(queue, "its connection is open")
    with redis.Redis.from_url(redis_url, client_name=name.decode() + "0") as other:
        other.ping()
        assert queue.repair().left == ()


def test_a_role_that_passes_to_another_holder_during_the_repair_is_not_freed(
    queue: Queue, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.create()
    take(raw, "producer")
    monkeypatch.setattr(
        "pressure.sync.driver._Execution._pause", lambda *_: raw.set(f"{JOBS}:producer", DEAD + b"0")
    )
    left_alone(queue, "its holder changed")


def test_a_role_that_was_free_during_the_repair_needs_no_repair(
    queue: Queue, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.create()
    take(raw, "producer")
    monkeypatch.setattr(
        "pressure.sync.driver._Execution._pause", lambda *_: raw.lpush(f"{JOBS}:producer_free", 0)
    )
    assert str(queue.repair()) == "nothing to repair"


def test_the_role_of_a_dead_client_is_freed_on_a_server_that_was_a_replica(
    start_server: Callable[..., RealServer],
) -> None:
    master, replica = start_server(), start_server()
    with Queue("jobs", port=replica.port) as queue, redis.Redis(port=replica.port) as raw:
        execute(raw, "REPLICAOF", "127.0.0.1", str(master.port))
        until(lambda: raw.info("replication")["master_link_status"] == "up")
        execute(raw, "REPLICAOF", "NO", "ONE")
        queue.create()
        take(raw, "producer")
        assert queue.repair().done == (f"freed the producer role, held by {DEAD.decode()}",)


#: A process that receives a message and dies, and whose child lives on.
PARENT = """
import os, sys, time
import pressure

queue = pressure.Queue("jobs", url=sys.argv[1], scripts=sys.argv[2] == "1")
block = queue.receive()  # kept, since a block that is collected puts its message back
block.__enter__()
if os.fork() == 0:
    print(os.getppid(), os.getpid(), flush=True)
    time.sleep(60)
os._exit(1)
"""


@pytest.fixture
def orphan(redis_url: str, scripts: bool) -> Iterator[Callable[[], tuple[int, int]]]:
    """Starts such a process; the numbers of parent and child."""
    children: list[int] = []

    def start() -> tuple[int, int]:
        with subprocess.Popen(
            [sys.executable, "-c", PARENT, redis_url, str(int(scripts))],
            stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as process:  # fmt: skip
            assert process.stdout is not None
            parent, child = map(int, process.stdout.readline().split())
            children.append(child)
            process.stdout.close()
            process.wait()
        return process.pid if parent == 1 else parent, child

    yield start
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def test_a_forked_child_does_not_make_its_dead_parent_look_alive(
    queue: Queue, raw: redis.Redis, orphan: Callable[[], tuple[int, int]]
) -> None:
    queue.create()
    queue.put(b"v")
    parent, child = orphan()
    os.kill(child, 0)
    until(lambda: not any(f":{parent}:" in client["name"] for client in raw.client_list()))
    assert "put 1 unacknowledged message back into the queue" in queue.repair().done
    assert queue.get() == b"v"
    invariant(raw)
