"""``start(engine=...)`` with an engine that another server had before: the data is there, and nothing else."""

from __future__ import annotations

import threading

import pytest
import redis

import miniredis
from conformance.documents.recorded.player import RawClient
from miniredis.inprocess.local import LocalSocket
from miniredis.server import LoopChoice

from ...waiting import PATIENCE, until

LONG = "local n = 0 for i = 1, 2000000 do n = n + 1 end return n"
FOR_EVER = "while true do end"


@pytest.fixture(params=["poll", "streams"])
def choice(request: pytest.FixtureRequest) -> LoopChoice:
    chosen: LoopChoice = request.param
    return chosen


def test_a_client_blocked_on_the_first_server_takes_nothing_on_the_second(choice: LoopChoice) -> None:
    engine = miniredis.Engine(miniredis.Config({"port": "0"}))
    with miniredis.start(engine=engine, loop=choice) as server:
        by_socket, local = RawClient((server.host, server.port)), LocalSocket(server._runner)
        for each in (by_socket, local):
            (each.send if isinstance(each, RawClient) else each.sendall)(b"BLPOP k 0\r\n")
        until(lambda: len(engine.waiting) == 2)
    assert not engine.sessions
    with miniredis.start(engine=engine, loop=choice) as server, server.client() as client:
        client.rpush("k", "first", "second")
        assert client.lrange("k", 0, -1) == [b"first", b"second"]
    by_socket.close()
    local.close()


def test_nothing_that_clients_of_the_first_server_asked_for_holds_on_the_second(choice: LoopChoice) -> None:
    engine = miniredis.Engine(miniredis.Config({"port": "0"}))
    with miniredis.start(engine=engine, loop=choice) as server:
        watcher, listener, monitor = (RawClient((server.host, server.port)) for _ in range(3))
        assert watcher.ask("WATCH k") == watcher.ask("MULTI") == b"+OK\r\n"
        assert listener.ask("SUBSCRIBE news").startswith(b"*3")
        assert monitor.ask("MONITOR") == b"+OK\r\n"
    with miniredis.start(engine=engine, loop=choice) as server, server.client() as client:
        assert client.publish("news", "x") == 0
        assert not engine.conditions.monitors
        assert client.set("k", "v")
        assert [info["id"] for info in client.client_list()] == [str(client.client_id())]
    for each in (watcher, listener, monitor):
        each.close()


def test_a_long_script_on_the_second_server_is_not_killed() -> None:
    pytest.importorskip("lupa")
    engine = miniredis.Engine(miniredis.Config({"port": "0"}))
    with miniredis.start(engine=engine) as first:
        pass
    with miniredis.start(engine=engine) as second, redis.Redis(port=second.port) as client:
        first.stop()
        assert client.eval(LONG, 0) == 2_000_000


def test_a_server_can_have_an_engine_that_was_shut_down() -> None:
    engine = miniredis.Engine(miniredis.Config({"port": "0"}))
    with miniredis.start(engine=engine) as server, server.client() as client:
        with pytest.raises(redis.ConnectionError):
            client.execute_command("SHUTDOWN")
        server._thread.join(PATIENCE)
    with miniredis.start(engine=engine) as server, redis.Redis(port=server.port) as client:
        assert client.ping()
        server.fast_forward(0)  # the server's own thread has had a turn
        assert client.ping()


def test_stop_ends_a_script_on_another_thread_before_the_engine_is_free() -> None:
    pytest.importorskip("lupa")
    engine = miniredis.Engine(miniredis.Config({"port": "0"}))
    with miniredis.start(engine=engine) as server:
        server.client().config_set("busy-reply-threshold", 20)
        local = LocalSocket(server._runner)
        request = f'EVAL "{FOR_EVER}" 0\r\n'.encode()
        thread = threading.Thread(target=local.sendall, args=(request,))
        thread.start()
        until(lambda: engine.conditions.busy, "the server is busy")
    assert engine.scripts.running is None
    assert not engine.sessions
    thread.join(PATIENCE)
    local.close()
    with miniredis.start(engine=engine) as server, server.client() as client:
        assert client.ping()


def test_the_first_handle_does_not_empty_the_second_server() -> None:
    engine = miniredis.Engine(miniredis.Config({"port": "0"}))
    with miniredis.start(engine=engine) as first:
        pass
    with miniredis.start(engine=engine) as second, second.client() as client:
        client.set("k", "v")
        first.reset()
        assert client.get("k") == b"v"
