"""Settings, connections, and what happens when the server goes away."""

from __future__ import annotations

import itertools
import re
import socket
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import redis

import miniredis
from conformance.clients.flavours import FLAVOURS
from miniredis.testing.real_servers import CLUSTER_NODE
from pressure import (
    ClusterError,
    ConnectionFailedError,
    OutcomeUnknownError,
    Queue,
    QueueDoesNotExistError,
    QueueEmptyError,
    ServerReplyError,
)
from pressure.connections.error_replies import AT_ONCE
from pressure.connections.identity import connection_in
from pressure.connections.pool import HOLDS
from pressure.connections.sockets import Opened
from pressure.sync.connection import CancelScope, Connection, _send
from tests.cases import for_each
from tests.servers import RealServer

from .conftest import (
    JOBS,
    StartTask,
    execute,
    invariant,
    roles_free,
    until,
    waiting,
)


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_queue_works_with_both_versions_of_the_wire_protocol(
    redis_url: str, raw: redis.Redis, protocol: int
) -> None:
    with Queue("jobs", url=f"{redis_url}?protocol={protocol}") as queue:
        queue.create(1)
        with pytest.raises(QueueEmptyError):
            queue.get(timeout=0.05)
        queue.put(b"v")
        assert queue.get() == b"v"
        assert str(queue.repair(force=True)) == "nothing to repair"
        invariant(raw)


def ours(raw: redis.Redis) -> list[dict[str, Any]]:
    """The connections of this process."""
    return [each for each in raw.client_list() if each["name"].startswith(HOLDS.process.decode() + "/")]


def test_each_connection_carries_a_name_of_its_own(make: Callable[..., Queue], raw: redis.Redis) -> None:
    first, second = make(), make()
    assert (first.exists(), second.exists()) == (False, False)
    until(lambda: len(ours(raw)) == 2, "the connections of tests before are gone")
    assert len({each["name"] for each in ours(raw)}) == 2


OPERATIONS: dict[str, Callable[[Queue], object]] = {
    "create": lambda q: q.create(),
    "exists": lambda q: q.exists(),
    "length": lambda q: q.length(),
    "closed": lambda q: q.closed(),
    "put": lambda q: q.put(b"v"),
    "get": lambda q: q.get(),
    "close": lambda q: q.shutdown(),
    "delete": lambda q: q.delete(),
    "wait_closed": lambda q: q.wait_closed(),
    "repair": lambda q: q.repair(),
}


@for_each("name", OPERATIONS)
def test_every_operation_reports_an_unreachable_server(name: str) -> None:
    with pytest.raises(ConnectionFailedError, match=r"127\.0\.0\.1:1") as caught:
        OPERATIONS[name](Queue("jobs", port=1))
    assert isinstance(caught.value, ConnectionError)


@pytest.mark.parametrize("name", ["get", "put", "wait_closed"])
def test_an_operation_whose_server_dies_while_it_waits_reports_an_unknown_outcome(
    start_server: Callable[[], RealServer], task: StartTask, name: str
) -> None:
    server = start_server()
    with Queue("jobs", url=server.url) as queue, redis.Redis(port=server.port) as look:
        queue.create(1)
        if name == "put":
            queue.put(b"v")
        operation = task(lambda: OPERATIONS[name](queue))
        waiting(look)
        server.stop()
        with pytest.raises(OutcomeUnknownError, match="may or may not"):
            operation.result()
        with pytest.raises(ConnectionFailedError):
            queue.exists()


def test_operations_work_again_when_the_server_is_back(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    for kind in ("normal", "normal"):
        execute(raw, "CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
        queue.put(b"v")
    assert queue.length() == 2
    invariant(raw)


def test_a_connection_killed_during_a_wait_is_reported_and_not_retried(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create()
    get = task(queue.get)
    waiting(raw)
    execute(raw, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    with pytest.raises(OutcomeUnknownError):
        get.result()
    queue.repair(force=True)
    invariant(raw)


def test_each_hold_has_an_id_of_its_own_and_names_its_connection(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    found: list[Any] = []
    for _ in range(3):
        queue.put(b"v")
        with queue.receive():
            found.append(raw.get(f"{JOBS}:consumer"))
    assert len(set(found)) == 3
    names = [each["name"] for each in ours(raw)]
    for hold_id in found:
        assert (connection_in(hold_id) or b"").decode() in names


def test_disconnect_leaves_queue_and_object_usable(redis_url: str, raw: redis.Redis) -> None:
    with Queue("jobs", url=redis_url) as queue:
        queue.create()
    until(lambda: not ours(raw))
    assert queue.exists()
    assert not queue.closed()
    queue.disconnect()


@pytest.mark.parametrize("protocol", [2, 3])
def test_operations_over_an_in_process_client_share_a_connection(
    local_handle: miniredis.Server, protocol: int
) -> None:
    local_handle.reset()
    client = local_handle.client(protocol=protocol)
    with Queue("jobs", client=client) as queue:
        queue.create(1)
        opened = client.info("stats")["total_connections_received"]
        for _ in range(3):
            queue.put(b"v")
            assert queue.get() == b"v"
        assert client.info("stats")["total_connections_received"] == opened


def test_a_cluster_requires_a_hash_tag_in_the_name(start_server: Callable[..., RealServer]) -> None:
    server = start_server(*CLUSTER_NODE)
    with redis.Redis(port=server.port) as admin:
        execute(admin, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        until(lambda: re.search(r"cluster_state\W+ok", repr(execute(admin, "CLUSTER", "INFO"))))
    wanted = r"needs a hash tag, such as '\{jobs\}'"
    with Queue("jobs", url=server.url) as queue, pytest.raises(ClusterError, match=wanted):
        queue.create()
    with Queue("{jobs}", url=server.url) as queue:
        queue.create(1)
        queue.put(b"v")
        assert queue.get() == b"v"
        queue.delete()
        with pytest.raises(QueueDoesNotExistError):
            queue.get()


@pytest.mark.usefixtures("with_maxmemory")
def test_the_error_for_a_server_out_of_memory_says_that_the_role_is_still_held(raw: redis.Redis) -> None:
    queue = Queue("jobs", client=raw, scripts=False)
    queue.create()
    queue.put(b"v")
    raw.config_set("maxmemory", 1)
    try:
        with pytest.raises(Exception, match="OOM") as caught:
            queue.put(b"w")
        assert any("repair frees it" in note for note in caught.value.__notes__)
        with pytest.raises(ServerReplyError, match="OOM"):
            queue.get()
    finally:
        raw.config_set("maxmemory", 0)
        queue.disconnect()
    queue.repair(force=True)
    assert roles_free(raw)
    assert queue.get() == b"v"
    queue.disconnect()


@pytest.mark.usefixtures("with_maxmemory")
def test_a_script_on_a_server_out_of_memory_leaves_no_role_held(redis_url: str, raw: redis.Redis) -> None:
    with Queue("jobs", url=redis_url) as queue:
        queue.create(2)
        queue.put(b"v")
        raw.config_set("maxmemory", 1)
        try:
            with pytest.raises(Exception, match="OOM"):
                queue.put(b"w")
            invariant(raw)
            assert queue.get() == b"v"
            invariant(raw)
        finally:
            raw.config_set("maxmemory", 0)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_connection_on_which_a_command_was_refused_is_not_reused(
    redis_url: str, raw: redis.Redis, flavour: str
) -> None:
    """It may still watch keys, which would make the next transaction fail."""
    make: Any = FLAVOURS[flavour]
    queue = make("jobs", url=redis_url)
    others = {client["id"] for client in raw.client_list()}
    queue.create()
    kept = {client["id"] for client in ours(raw)} - others
    raw.delete(f"{JOBS}:bound")
    raw.lpush(f"{JOBS}:bound", 0)
    with pytest.raises(ServerReplyError, match="WRONGTYPE"):
        queue.length()
    until(lambda: not {client["id"] for client in raw.client_list()} & kept, "was it closed")
    queue.disconnect()


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis+cluster://127.0.0.1:1", "at 127.0.0.1:1: Connection refused"),
        ("redis+cluster://127.0.0.1:1,127.0.0.1:2", "at 127.0.0.1:1, 127.0.0.1:2: 127.0.0.1:1: Connection"),
        ("redis+sentinel://127.0.0.1:1/main", "at 'main' (sentinels: 127.0.0.1:1): 127.0.0.1:1: Connection"),
    ],
)
def test_an_error_about_several_servers_names_each_once(url: str, text: str) -> None:
    with Queue("{jobs}", url=url) as queue, pytest.raises(ConnectionFailedError) as caught:
        queue.length()
    assert str(caught.value).startswith(f"cannot use the Redis server {text}")
    assert str(caught.value).count("cannot use") == 1


def test_only_a_connection_without_input_is_quiet() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection, scope = Connection(Opened(ours, ours.close)), CancelScope(None)
        seen = [connection.is_quiet()]
        theirs.sendall(b"+one\r\n+a reply that nobody asked for\r\n")
        assert connection.exchange(b"PING\r\n", 1, scope) == [b"one"]
        seen.append(connection.is_quiet())
        assert connection.exchange(b"PING\r\n", 1, scope) == [b"a reply that nobody asked for"]
        seen.append(connection.is_quiet())
        theirs.send(b"+another")
        seen.append(connection.is_quiet())
        ours.recv(100)
        seen.append(connection.is_quiet())
        theirs.close()
        assert [*seen, connection.is_quiet()] == [True, False, True, False, True, False]


def test_a_reply_that_comes_in_small_pieces_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, told = itertools.count(), []
    monkeypatch.setattr("pressure.sync.connection.time", SimpleNamespace(monotonic=lambda: next(seconds)))

    class Slow:
        """A socket on which a byte comes now and then: no read times out, and no reply is ever complete."""

        def settimeout(self, _seconds: float) -> None: ...
        def sendall(self, _data: bytes) -> None: ...

        def recv_into(self, buffer: bytearray) -> int:
            buffer[0:1] = b"+"
            return 1

    def stop(*, is_silent: bool) -> None:
        told.append(is_silent)
        if len(told) == 3:
            raise KeyboardInterrupt

    scope: Any = SimpleNamespace(tick=stop)
    with pytest.raises(KeyboardInterrupt):
        Connection(Opened(Slow(), bool)).exchange(b"PING\r\n", 1, scope)
    assert told == [False, False, False]


def test_a_slow_send_that_never_times_out_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr("pressure.sync.connection.time", SimpleNamespace(monotonic=lambda: next(seconds)))

    def stop(*, is_silent: bool) -> None:
        assert not is_silent
        raise KeyboardInterrupt

    slow = SimpleNamespace(send=lambda _: 1)
    scope: Any = SimpleNamespace(tick=stop)
    with pytest.raises(KeyboardInterrupt):
        _send(slow, bytes(AT_ONCE + 1), scope)
