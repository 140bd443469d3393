"""``server.reset()`` does what FLUSHALL does: clients that it concerns get their messages at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import miniredis
from conformance.documents.recorded.player import RawClient
from conformance.wire import RawConnection

from ..loops import LOOPS, started
from ..scripts.test_scripts_busy import KILLED, OK, Bench

INVALIDATE_ALL = b">2\r\n$10\r\ninvalidate\r\n_\r\n"
UNBLOCKED = b"-UNBLOCKED the stream key no longer exists\r\n"


def flush_all(address: tuple[str, int]) -> None:
    with RawConnection(*address) as client:
        assert client.command("FLUSHALL") == OK


Emptied = tuple[tuple[str, int], Callable[[], None]]
"""Where a server is, and what empties it."""


@pytest.fixture(params=[*LOOPS, "FLUSHALL", "FLUSHALL of redis-server"])
def emptied(request: pytest.FixtureRequest) -> Iterator[Emptied]:
    if request.param in LOOPS:
        with started(request.param) as server:
            yield (server.host, server.port), server.reset
    else:
        fixture = "redis_7_0_address" if "redis" in request.param else "embedded_address"
        address = request.getfixturevalue(fixture)
        yield address, lambda: flush_all(address)


def test_a_client_that_tracks_keys_is_told_at_once(emptied: Emptied) -> None:
    address, empty = emptied
    client = RawClient(address)
    assert client.ask("HELLO 3").startswith(b"%")
    assert client.ask("CLIENT TRACKING ON") == client.ask("SET k v") == OK
    assert client.ask("GET k") == b"$1\r\nv\r\n"
    empty()
    assert client.get(len(INVALIDATE_ALL)) == INVALIDATE_ALL
    client.close()


def test_a_client_that_waits_in_a_group_of_a_stream_is_told_at_once(emptied: Emptied) -> None:
    address, empty = emptied
    client, control = RawClient(address), RawClient(address)
    assert client.ask("XGROUP CREATE s group $ MKSTREAM") == OK
    client.send(b"XREADGROUP GROUP group me BLOCK 0 STREAMS s >\r\n")
    while b"blocked_clients:1" not in control.ask("INFO clients"):
        pass
    empty()
    assert client.get(len(UNBLOCKED)) == UNBLOCKED
    for each in (client, control):
        each.close()


def test_reset_is_refused_while_a_script_runs_for_too_long(server: miniredis.EmbeddedServer) -> None:
    pytest.importorskip("lupa")
    bench = Bench((server.host, server.port))
    assert bench.control.command("SET", "k", "v") == OK
    bench.run("EVAL", "while redis.call('get', 'k') do end return 'its key vanished'", "0")
    with pytest.raises(RuntimeError, match="a script is running"):
        server.reset()
    assert bench.control.command("SCRIPT", "KILL") == OK
    assert bench.ended().startswith(KILLED)
    assert bench.control.command("GET", "k") == b"$1\r\nv\r\n"
    server.reset()
    assert bench.control.command("GET", "k") == b"$-1\r\n"
    bench.close()


def test_reset_in_the_middle_of_a_command_of_its_own_thread_is_refused(
    server: miniredis.EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from miniredis.engine.declarations.registry import LOOKUP

    met: list[str] = []

    def interrupted(*_: object) -> int:
        try:
            server.reset()
        except RuntimeError as error:
            met.append(str(error))
        return 0

    monkeypatch.setattr(LOOKUP[b"llen"], "handler", interrupted)
    with server.client() as client:
        assert client.llen("k") == 0
    assert "in the middle of a command" in met[0]
