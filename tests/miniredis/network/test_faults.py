"""Unexpected errors inside the server: they are logged, and only the client concerned is disconnected."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Any

import pytest

import miniredis
from conformance.documents.recorded.player import RawClient
from miniredis.engine.clients.waiting import Waiter
from miniredis.engine.declarations.registry import LOOKUP
from miniredis.ticks.outlets import Outlet

from ...waiting import until
from ..loops import started
from .test_server import until_blocked


class BugError(Exception):
    """A bug."""


def fail(*_: object) -> Any:
    raise BugError


def clients(server: miniredis.Server, count: int) -> list[RawClient]:
    return [RawClient((server.host, server.port)) for _ in range(count)]


def is_hung_up_on(client: RawClient) -> bool:
    with contextlib.suppress(ConnectionResetError):  # where something that it sent was not read
        return client.socket.recv(1) == b""
    return True


def test_an_error_in_a_command_disconnects_its_client_only(
    server: miniredis.Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(LOOKUP[b"llen"], "handler", fail)
    unlucky, other, waiter = clients(server, 3)
    unlucky.send(b"LLEN k\r\n")
    assert is_hung_up_on(unlucky)
    assert other.ask("PING") == b"+PONG\r\n"
    waiter.send(b"BLPOP k 0\r\nLLEN k\r\n")
    until_blocked(other, 1)
    assert other.ask("RPUSH k v") == b":1\r\n"
    assert waiter.get(18) == b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n"
    assert is_hung_up_on(waiter)
    assert other.ask("PING") == b"+PONG\r\n"
    for each in (unlucky, other, waiter):
        each.close()
    assert caplog.text.count("its connection was closed") == 2
    assert "test_faults.BugError" in caplog.text


@pytest.mark.parametrize("listens", [False, True])
def test_an_error_while_a_blocked_client_is_served_disconnects_that_client_only(
    server: miniredis.EmbeddedServer, caplog: pytest.LogCaptureFixture, listens: bool
) -> None:
    unlucky, lucky, pusher = clients(server, 3)
    if listens:
        assert unlucky.ask("HELLO 3").startswith(b"%")
        assert unlucky.ask("CLIENT TRACKING ON BCAST") == b"+OK\r\n"
    for count, client in enumerate((unlucky, lucky), start=1):
        client.send(b"BLPOP k 0\r\n")
        until_blocked(pusher, count)
    waiter = next(iter(waiters(server)))
    waiter.serve = fail
    assert pusher.ask("RPUSH k v") == b":1\r\n"
    assert lucky.get(18) == b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n"
    assert is_hung_up_on(unlucky)
    assert pusher.ask("LLEN k") == b":0\r\n"
    assert caplog.text.count("its connection was closed") == 1
    for client in (unlucky, lucky, pusher):
        client.close()


def waiters(server: miniredis.EmbeddedServer) -> list[Waiter]:
    """Those blocked on the server, the first one first."""
    sessions = server._runner.engine.sessions.values()
    return [session.waiter for session in sessions if session.waiter is not None]


def test_an_error_when_a_blocked_client_times_out_disconnects_that_client_only(
    loop: str, caplog: pytest.LogCaptureFixture
) -> None:
    with started(loop, clock="held") as server:
        unlucky, lucky, other = clients(server, 3)
        unlucky.send(b"BLPOP k 1\r\n")
        until_blocked(other, 1)
        lucky.send(b"BLPOP k 1\r\n")
        until_blocked(other, 2)
        waiters(server)[0].when_over = BugError  # type: ignore[assignment]  # no reply at all
        server.fast_forward(1)
        assert lucky.get(5) == b"*-1\r\n"
        assert is_hung_up_on(unlucky)
        assert other.ask("PING") == b"+PONG\r\n"
        for client in (unlucky, lucky, other):
            client.close()
    assert caplog.text.count("its connection was closed") == 1


def test_an_error_in_active_expiry_leaves_the_server_running(
    loop: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with started(loop, clock="held") as server:
        (client,) = clients(server, 1)
        monkeypatch.setattr(server._runner.engine.keyspace, "expire", fail)
        assert client.ask("SET k v PX 10") == b"+OK\r\n"
        assert client.ask("SET l v") == b"+OK\r\n"
        assert caplog.text.count("a step that no client asked for failed") == 1
        server.fast_forward(1)
        assert caplog.text.count("a step that no client asked for failed") == 2
        assert client.ask("GET k") == b"$-1\r\n"
        assert client.ask("GET l") == b"$1\r\nv\r\n"
        client.close()


def test_what_time_brings_is_tried_again_after_a_second(
    loop: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with started(loop, clock="held") as server:
        client, other = clients(server, 2)
        with monkeypatch.context() as patch:
            patch.setattr(server._runner.engine.waiting, "timed_out", fail)
            client.send(b"BLPOP k 1\r\n")
            until_blocked(other, 1)
            server.fast_forward(1)
        failed = caplog.text.count("a step that no client asked for failed")
        assert failed > 0
        assert other.ask("PING") == b"+PONG\r\n"
        server.fast_forward(1)
        assert client.get(5) == b"*-1\r\n"
        assert caplog.text.count("a step that no client asked for failed") == failed
        for each in (client, other):
            each.close()


def test_an_error_behind_work_in_the_background_leaves_the_server_running(
    loop: str, caplog: pytest.LogCaptureFixture
) -> None:
    with started(loop) as server:
        (client,) = clients(server, 1)
        server._runner._do_soon(fail)
        until(lambda: "a step that no client asked for failed" in caplog.text)
        assert client.ask("PING") == b"+PONG\r\n"
        client.close()


def test_an_error_while_replies_are_sent_disconnects_that_client_only(
    loop: str, caplog: pytest.LogCaptureFixture
) -> None:
    with started(loop) as server:
        unlucky, other = clients(server, 2)
        assert unlucky.ask("CLIENT SETNAME unlucky") == b"+OK\r\n"
        outlets = server._runner._outlets
        session = next(each for each in outlets if each.name == b"unlucky")
        outlets[session] = Unlucky(outlets[session])
        unlucky.send(b"PING\r\n")
        assert is_hung_up_on(unlucky)
        assert other.ask("PING") == b"+PONG\r\n"
        assert caplog.text.count("its connection was closed") == 1
        for each in (unlucky, other):
            each.close()


class Unlucky:
    """The outlet of a client to which nothing can be sent."""

    unsent = 0
    flush = staticmethod(fail)

    def __init__(self, outlet: Outlet) -> None:
        self.hang_up, self.leave_to_parent = outlet.hang_up, outlet.leave_to_parent


def test_an_error_at_the_end_of_a_tick_costs_no_client_its_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = miniredis.Engine()
    session = engine.connect(engine.now)
    engine.receive(session, b"CLIENT TRACKING ON BCAST\r\nSET k v\r\n", engine.now)
    monkeypatch.setattr(engine.notifier, "end_tick", fail)
    assert session in engine.settle(engine.now)
    assert session.take_output().endswith(b"+OK\r\n")
    assert [type(fault) for _, fault in engine.take_faults()] == [BugError]


IMPORT_FAILS_ONCE = """
import importlib.abc, sys
import miniredis
from miniredis.engine.declarations import registry

class NoFileLeft(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            raise OSError(24, "Too many open files")

def fails_once(declared, register=registry.register):
    if declared.name == b"hget":
        registry.register = register
        raise MemoryError
    register(declared)

if sys.argv[1] == "in the middle of a module":
    registry.register = fails_once
else:
    sys.meta_path.insert(0, NoFileLeft())

def ask(request):
    session = engine.connect(engine.now)
    engine.receive(session, request, engine.now)
    engine.settle(engine.now)
    return session.take_output(), session.closing

engine = miniredis.Engine()
print(ask(b"SADD s x\\r\\n"), [type(fault).__name__ for _, fault in engine.take_faults()])
print(ask(b"SADD s x\\r\\n"), ask(b"HGET h f\\r\\n"), ask(b"ZCARD z\\r\\n"), engine.take_faults())
"""


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("miniredis.engine.commands.strings.bitfields", "OSError"),
        ("miniredis.engine.commands.hashes.hashes", "OSError"),
        ("in the middle of a module", "MemoryError"),
    ],
)
def test_commands_whose_import_failed_once_are_there_the_next_time(place: str, fault: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_FAILS_ONCE, place], check=True, capture_output=True, text=True
    )
    replies: list[Any] = [(b":1\r\n", False), (b"$-1\r\n", False), (b":0\r\n", False), []]
    assert done.stdout.splitlines() == [f"{(b'', True)} {[fault]}", " ".join(map(repr, replies))]
