"""Hostile requests on both servers: the same replies and disconnections, and other clients are served."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import miniredis.network.listeners
from conformance.targets import Address, real_redis
from conformance.wire import RawConnection, encode
from miniredis import start
from miniredis.engine import Config
from miniredis.network.listeners import Listener, open_listeners
from tests.cases import check_each, exhaustive
from tests.tools.hostile.case import Case
from tests.tools.hostile.cases import CASES, STRANGERS
from tests.tools.hostile.cases.strangers import PASSWORD
from tests.tools.hostile.floods import read_all
from tests.tools.hostile.play import Stage


def play_alike(case: Case, stages: list[Stage]) -> None:
    """On a machine whose network is behind, bytes of one connection may be late for another's; not each time."""
    for _ in range(3):
        ours, real = [stage.play(case) for stage in stages]
        if ours.same_as(real, case):
            return
    pytest.fail(f"miniredis: {ours}\nredis-server: {real}")


def by_group(cases: dict[str, Case]) -> dict[str, dict[str, Case]]:
    """The cases by the part of their names before the colon."""
    groups: dict[str, dict[str, Case]] = {}
    for name, case in cases.items():
        groups.setdefault(name.partition(": ")[0], {})[name] = case
    return groups


MANY = 10
"""Of a group of more than so many, one in four is played in the default run..."""

LONG = {"hoards", "never reads"}
"""...and of these, which take long."""

GROUPS = by_group(CASES)
FULL = {name for name, group in GROUPS.items() if len(group) > MANY or name in LONG}
SOME = {name: dict([*group.items()][:: 4 if name in FULL else 1]) for name, group in GROUPS.items()}
ALL = {name: group for name, group in GROUPS.items() if name in FULL or name.startswith("query buffer")}


@pytest.fixture(scope="module")
def stages(embedded_server: Address, redis_7_0: Address) -> Iterator[list[Stage]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Stage(each.host, each.port)) for each in (embedded_server, redis_7_0)]


@pytest.mark.parametrize(
    "cases",
    [
        *(pytest.param(each, id=name) for name, each in SOME.items() if not name.startswith("query buffer")),
        *(exhaustive(each, id=f"{name}, all") for name, each in ALL.items()),
    ],
)
def test_hostile_requests_get_the_same_replies_on_both_servers(
    cases: dict[str, Case], stages: list[Stage]
) -> None:
    check_each(cases, lambda case: play_alike(case, stages))


@pytest.fixture(scope="module")
def guarded(redis_7_0: Address) -> Iterator[list[Stage]]:
    """A server of each kind that has a password."""
    real = real_redis("--requirepass", PASSWORD)
    with start(requirepass=PASSWORD) as ours, real as theirs, ExitStack() as stack:
        yield [stack.enter_context(Stage(each.host, each.port, PASSWORD)) for each in (ours, theirs)]


@pytest.mark.parametrize("step", [4, exhaustive(1)])
def test_hostile_requests_before_authentication_get_the_same_replies(step: int, guarded: list[Stage]) -> None:
    check_each(dict([*STRANGERS.items()][::step]), lambda case: play_alike(case, guarded))


def test_a_client_that_kills_itself_in_a_transaction_gets_the_replies_until_then(
    empty_address: tuple[str, int],
) -> None:
    with RawConnection(*empty_address) as client, RawConnection(*empty_address) as other:
        number = client.command("CLIENT", "ID").strip(b":\r\n")
        for words in (
            ["MULTI"],
            ["CLIENT", "KILL", "ID", number, "SKIPME", "no"],
            ["SET", "k", "v"],
            ["EXEC"],
            ["PING"],
        ):
            with contextlib.suppress(BrokenPipeError):
                client.send(*words)
        heard = b""
        with contextlib.suppress(ConnectionResetError):
            while data := client.socket.recv(4096):
                heard += data
        assert heard == b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n"
        assert other.command("GET", "k") == b"$1\r\nv\r\n"


def test_there_are_at_least_a_thousand_different_hostile_cases() -> None:
    assert len(CASES) >= 1000
    assert len({(case.pieces, case.ending, case.before) for case in CASES.values()}) > len(CASES) - 10


def test_the_player_waits_for_a_server_with_a_small_receive_buffer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its receive buffer is small here: the system holds back most of what the client sent."""

    def with_small_buffers(config: Config) -> list[Listener]:
        listeners = open_listeners(config)
        for listener in listeners:
            listener.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return listeners

    monkeypatch.setattr(miniredis.network.listeners, "open_listeners", with_small_buffers)
    case = Case("much at once", (encode("MGET", *["key"] * 20_000),))
    with start() as server, Stage(server.host, server.port) as stage:
        assert stage.play(case).reply == b"*20000\r\n" + b"$-1\r\n" * 20_000


def test_reading_replies_of_a_flood_fails_when_the_server_hangs_up(embedded_server: Address) -> None:
    with pytest.raises(ConnectionResetError, match="hung up, 95 bytes before the end"):
        read_all((embedded_server.host, embedded_server.port), encode("QUIT"), 100)
