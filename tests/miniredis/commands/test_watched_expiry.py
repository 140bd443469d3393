"""Keys that have expired, and are there until somebody meets them: who watches them, and who waits for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import miniredis
from conformance.targets import Address
from conformance.wire import RawConnection, encode

from ...waiting import until

DONE, FAILED = b"*0\r\n", b"*-1\r\n"
EXPIRED = "SET k v EXAT 1"

CASES = {
    "nothing happens": ([EXPIRED], [], DONE),
    "it is read": ([EXPIRED], ["GET k"], DONE),
    "it is set": ([EXPIRED], ["SET k w"], FAILED),
    "it is deleted": ([EXPIRED], ["DEL k"], DONE),
    "it is read and set": ([EXPIRED], ["GET k", "SET k w"], FAILED),
    "it is to expire later": ([EXPIRED], ["EXPIRE k 100"], DONE),
    "another is renamed": ([EXPIRED, "SET other v"], ["RENAME other k"], FAILED),
    "another is renamed that has expired": (["SET k v", "SET other v EXAT 1"], ["RENAME other k"], DONE),
    "all goes": ([EXPIRED], ["FLUSHALL"], DONE),
    "all goes, and it is set": ([EXPIRED], ["FLUSHDB", "SET k w"], FAILED),
    "a living one goes": (["SET k v"], ["FLUSHALL"], FAILED),
    "an empty database comes": ([EXPIRED], ["SWAPDB 0 1"], DONE),
    "an empty database comes, and it is set": ([EXPIRED], ["SWAPDB 0 1", "SET k w"], FAILED),
    "a living one comes for it": ([EXPIRED, "SELECT 1", "SET k w", "SELECT 0"], ["SWAPDB 0 1"], FAILED),
    "another expired one comes": ([EXPIRED, "SELECT 1", EXPIRED, "SELECT 0"], ["SWAPDB 0 1", "GET k"], DONE),
    "an expired one comes": (["SELECT 1", EXPIRED, "SELECT 0"], ["SWAPDB 0 1"], DONE),
    "an expired one comes, and is read": (["SELECT 1", EXPIRED, "SELECT 0"], ["SWAPDB 0 1", "GET k"], DONE),
    "an expired one comes, and is set": (
        ["SELECT 1", EXPIRED, "SELECT 0"],
        ["SWAPDB 0 1", "SET k w"],
        FAILED,
    ),
    "an expired one comes for a living one": (
        ["SET k v", "SELECT 1", EXPIRED, "SELECT 0"],
        ["SWAPDB 1 0"],
        FAILED,
    ),
    "it begins to exist, expired": ([], [EXPIRED], FAILED),
}


@pytest.fixture(scope="module", params=["miniredis", "redis-server"])
def server(request: pytest.FixtureRequest) -> Iterator[Address]:
    """A server on which keys expire only when somebody meets them."""
    with ExitStack() as stack:
        if request.param == "miniredis":
            handle = stack.enter_context(miniredis.start(enable_debug_command="yes"))
            address = Address(handle.url, "miniredis")
        else:
            another = request.getfixturevalue("redis_7_0").another
            address = stack.enter_context(another("--enable-debug-command", "yes"))
        with RawConnection(address.host, address.port) as client:
            assert client.command("DEBUG", "SET-ACTIVE-EXPIRE", "0") == b"+OK\r\n"
        yield address


@pytest.fixture
def clients(server: Address) -> Iterator[tuple[RawConnection, RawConnection]]:
    """Two clients of the server, which is empty."""
    with RawConnection(server.host, server.port) as one, RawConnection(server.host, server.port) as other:
        answer(one, "FLUSHALL")
        yield one, other


def answer(client: RawConnection, *lines: str) -> bytes:
    """The last answer."""
    return [client.command(*line.split()) for line in lines][-1]


@pytest.mark.parametrize(("before", "meanwhile", "outcome"), CASES.values(), ids=CASES)
def test_an_expired_key_is_watched_as_missing(
    clients: tuple[RawConnection, RawConnection], before: list[str], meanwhile: list[str], outcome: bytes
) -> None:
    one, other = clients
    answer(one, *before, "WATCH k")
    answer(other, *meanwhile, "PING")
    assert answer(one, "MULTI", "EXEC") == outcome


def test_neither_watch_nor_exec_deletes_an_expired_key(clients: tuple[RawConnection, RawConnection]) -> None:
    one, _ = clients
    assert answer(one, EXPIRED, "WATCH k", "DBSIZE") == b":1\r\n"
    assert answer(one, "MULTI", "EXEC") == DONE
    assert answer(one, "DBSIZE") == b":1\r\n"


def test_a_key_that_expires_fails_exec_although_nobody_meets_it(
    clients: tuple[RawConnection, RawConnection],
) -> None:
    one, other = clients
    one.socket.sendall(
        encode(*"SET k v PX 50".split()) + encode("WATCH", "k")
    )  # so that no time passes in between
    assert [one.reply(), one.reply()] == [b"+OK\r\n"] * 2
    end = time.time() + 0.05
    until(lambda: time.time() > end + 0.002, "the key has expired")
    assert answer(one, "MULTI", "EXEC") == FAILED
    assert answer(other, "DBSIZE") == b":1\r\n"


def test_who_waits_for_an_expired_stream_hears_so_when_another_begins_to_wait_for_it(
    clients: tuple[RawConnection, RawConnection],
) -> None:
    one, other = clients
    answer(one, "XGROUP CREATE s g $ MKSTREAM")
    one.send(*"XREADGROUP GROUP g c BLOCK 0 STREAMS s >".split())
    until(lambda: b"blocked_clients:1\r" in answer(other, "INFO clients"), "a client waits")
    answer(other, "PEXPIRE s 1")
    end = time.time() + 0.003
    until(lambda: time.time() > end, "the stream has expired")
    other.send("BLPOP", "s", "0")
    assert one.reply() == b"-UNBLOCKED the stream key no longer exists\r\n"
