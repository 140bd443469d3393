"""Keys that expire during CLIENT PAUSE: clients no longer see them, and they stay in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from conformance.targets import Address
from conformance.wire import RawConnection

from ...waiting import until

GONE = b"$-1\r\n"


class Paused:
    """A server whose writes are paused, and on which the key ``k`` expires meanwhile.

    Attributes:
        control: sees INFO, and ends the pause.
        client: any other.
        tracker: has read ``k`` by then, and is told of changes.
    """

    def __init__(self, address: tuple[str, int], stack: ExitStack) -> None:
        self.control, self.client, self.tracker = (
            stack.enter_context(RawConnection(*address)) for _ in range(3)
        )
        self.tracker.command("HELLO", "3")
        self.tracker.command("CLIENT", "TRACKING", "ON")

    def begin(self, *others: str) -> None:
        """Sets the key, and others, in the transaction that starts the pause."""
        self.control.command("CONFIG", "RESETSTAT")
        self.control.command("MULTI")
        for key in others:
            self.control.command("SET", key, "v")
        self.control.command("SET", "k", "v", "PX", "600")
        self.control.command("CLIENT", "PAUSE", "100000", "WRITE")
        self.control.command("EXEC")

    def await_expiry(self) -> None:
        until(lambda: self.client.command("GET", "k") == GONE, "the key has expired")

    def expired_keys(self) -> int:
        found = re.search(rb"\r\nexpired_keys:(\d+)", self.control.command("INFO", "stats"))
        assert found
        return int(found[1])


@pytest.fixture
def paused(empty_address: tuple[str, int]) -> Iterator[Paused]:
    with ExitStack() as stack:
        paused = Paused(empty_address, stack)
        yield paused
        paused.control.command("CLIENT", "UNPAUSE")


def test_a_key_that_expires_in_a_pause_is_missing_and_goes_only_after_it(paused: Paused) -> None:
    paused.begin("other")
    assert paused.tracker.command("GET", "k") == b"$1\r\nv\r\n"
    paused.await_expiry()
    ask = paused.client.command
    assert ask("EXISTS", "k") == b":0\r\n"
    assert ask("TTL", "k") == b":-2\r\n"
    assert ask("KEYS", "*") == b"*1\r\n$5\r\nother\r\n"
    assert ask("SCAN", "0") == b"*2\r\n$1\r\n0\r\n*1\r\n$5\r\nother\r\n"
    assert {ask("RANDOMKEY") for _ in range(20)} == {b"$5\r\nother\r\n"}
    assert ask("DBSIZE") == b":2\r\n"
    assert paused.expired_keys() == 0
    assert paused.tracker.command("PING") == b"+PONG\r\n"  # nothing before it
    paused.control.command("CLIENT", "UNPAUSE")
    assert paused.tracker.reply() == b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"
    until(lambda: paused.expired_keys() == 1, "the key has gone")
    assert ask("DBSIZE") == b":1\r\n"


def test_a_watched_key_that_expires_in_a_pause_has_changed(paused: Paused) -> None:
    paused.begin("other")
    watcher = paused.tracker
    watcher.command("WATCH", "k")
    watcher.command("MULTI")
    watcher.command("GET", "other")
    paused.await_expiry()
    assert watcher.command("EXEC") == b"_\r\n"
    assert paused.client.command("DBSIZE") == b":2\r\n"


def test_randomkey_finds_none_where_a_pause_keeps_nothing_but_expired_keys(embedded_server: Address) -> None:
    """A Redis 7.0.15 looks for one for ever."""
    with ExitStack() as stack:
        paused = Paused((embedded_server.host, embedded_server.port), stack)
        paused.control.command("FLUSHALL")
        paused.begin()
        paused.await_expiry()
        assert paused.client.command("RANDOMKEY") == GONE
        paused.control.command("CLIENT", "UNPAUSE")
