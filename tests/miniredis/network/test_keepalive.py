"""``tcp-keepalive``: when the system probes a silent client, as Linux shows it, on both servers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.wire import RawConnection
from miniredis.network.listeners import keep_alive

from ...waiting import until

TABLE = Path("/proc/net/tcp")
KEEPALIVE = "02"
TICKS = 100
"""Of a second, in which the table counts."""

pytestmark = pytest.mark.skipif(
    not TABLE.exists(), reason="only Linux shows the timers of other processes' sockets"
)


def seconds_until_probe(server: int, client: int) -> int | None:
    """When the server's end of a connection sends its first probe; None if it never will."""

    def timer() -> list[str]:
        rows = (line.split() for line in TABLE.read_text().splitlines())
        ends = f":{server:04X}", f":{client:04X}"
        found = [row[5].split(":") for row in rows if (row[1][-5:], row[2][-5:]) == ends]
        return found[0] if found and found[0][0] in {KEEPALIVE, "00"} else []  # others are over soon

    kind, when = until(timer)
    return round(int(when, 16) / TICKS) if kind == KEEPALIVE else None


@pytest.fixture
def address(request: pytest.FixtureRequest) -> tuple[str, int]:
    server = request.getfixturevalue(request.param)
    return server.host, server.port


@pytest.fixture
def control(address: tuple[str, int]) -> Iterator[RawConnection]:
    with RawConnection(*address) as control:
        yield control
        assert control.command("CONFIG", "SET", "tcp-keepalive", "300") == b"+OK\r\n"


SYSTEMS = 7200
"""Linux's own number of seconds, which Redis leaves where the system refuses a larger one."""


@pytest.mark.parametrize("address", ["embedded_server", "streams_server", "real_server"], indirect=True)
@pytest.mark.parametrize(
    ("value", "seconds"), [("300", 300), ("2000", 2000), ("0", None), ("2147483647", SYSTEMS)]
)
def test_a_new_connection_is_probed_after_as_many_seconds_as_the_directive_says(
    control: RawConnection, address: tuple[str, int], value: str, seconds: int | None
) -> None:
    assert control.command("CONFIG", "SET", "tcp-keepalive", value) == b"+OK\r\n"
    with socket.create_connection(address) as client:
        client.sendall(b"PING\r\n")
        assert client.recv(10) == b"+PONG\r\n"
        found = seconds_until_probe(address[1], client.getsockname()[1])
    if seconds is None:
        assert found is None
    else:
        assert found is not None
        assert seconds - 100 < found <= seconds


@pytest.mark.parametrize(("seconds", "interval"), [(300, 100), (2, 1)])
def test_three_more_probes_follow_after_a_third_of_the_time_each(seconds: int, interval: int) -> None:
    with socket.socket() as client:
        keep_alive(client, seconds)
        names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
        found = [client.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names]
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert found == [seconds, interval, 3]
