"""What others suffer from hostile clients, measured by an honest one."""

from __future__ import annotations

import math

import miniredis
from conformance.hostile.honest import Honest
from conformance.targets import Address
from conformance.wire import RawConnection

PAUSE = 150
"""Milliseconds."""


def test_the_honest_client_tells_how_long_it_waited(server_address: Address) -> None:
    with (
        Honest(server_address.host, server_address.port) as honest,
        RawConnection(server_address.host, server_address.port) as other,
    ):
        assert other.command("CLIENT", "PAUSE", str(PAUSE)) == b"+OK\r\n"
        other.command("PING")  # is held up as well
    assert PAUSE / 1000 * 0.8 < honest.worst < 30
    assert honest.count > 1


def test_an_honest_client_that_is_hung_up_on_waited_for_ever() -> None:
    with (
        miniredis.start() as server,
        Honest(server.host, server.port) as honest,
        RawConnection(server.host, server.port) as other,
    ):
        assert other.command("CLIENT", "KILL", "TYPE", "normal") == b":1\r\n"
    assert honest.worst == math.inf
    assert honest.trouble
