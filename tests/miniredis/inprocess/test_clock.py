"""A held clock: expiry, timeouts and TIME move together, and only when told."""

from __future__ import annotations

import datetime as dt
import errno
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import redis
import trio

import miniredis
from conformance.wire import RawConnection
from miniredis.engine import Instant
from miniredis.persistence.disk import File
from tests.waiting import until

BEGINNING = Instant(wall=1_700_000_000_000_000, monotonic=5_000_000)


@pytest.fixture
def server() -> Iterator[miniredis.EmbeddedServer]:
    with miniredis.start(clock=miniredis.HeldClock(BEGINNING)) as server:
        yield server


@pytest.fixture
def client(server: miniredis.EmbeddedServer) -> Iterator[RawConnection]:
    with RawConnection(server.host, server.port) as client:
        yield client


def blocked(server: miniredis.EmbeddedServer, count: int) -> None:
    """Until so many clients are blocked."""
    with redis.Redis(port=server.port) as control:
        until(lambda: control.info("clients")["blocked_clients"] == count, f"{count} clients are blocked")


def test_a_held_clock_stands_still(server: miniredis.EmbeddedServer, client: RawConnection) -> None:
    assert client.command("TIME") == client.command("TIME") == b"*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n"
    assert server.now == dt.datetime.fromtimestamp(1_700_000_000, dt.UTC)


def test_fast_forward_moves_time_ttl_age_and_idle_time(
    server: miniredis.EmbeddedServer, client: RawConnection
) -> None:
    client.command("SET", "k", "v", "EX", "100")
    server.fast_forward(1.5)
    assert client.command("TIME") == b"*2\r\n$10\r\n1700000001\r\n$6\r\n500000\r\n"
    assert client.command("PTTL", "k") == b":98500\r\n"
    assert b" age=1 " in client.command("CLIENT", "INFO")
    assert client.command("OBJECT", "IDLETIME", "k") == b":1\r\n"
    assert server.now.microsecond == 500_000


def test_a_clock_begins_at_a_date_and_is_set_to_others() -> None:
    leap_day = dt.datetime(2024, 2, 29, tzinfo=dt.UTC)
    with miniredis.start(clock=miniredis.HeldClock(leap_day)) as server, server.client() as client:
        assert server.now == leap_day
        client.set("offer", "50%", exat=leap_day + dt.timedelta(days=2))
        server.fast_forward(dt.timedelta(days=1, microseconds=1))
        assert server.now == leap_day + dt.timedelta(days=1, microseconds=1)
        server.set_time(dt.datetime(2024, 3, 2, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))))
        assert client.time() == (int(dt.datetime(2024, 3, 2, tzinfo=dt.UTC).timestamp()), 0)
        assert client.get("offer") == b"50%"
        server.set_time(server.now + dt.timedelta(milliseconds=1))
        assert client.get("offer") is None


def test_a_real_clock_runs_on_from_the_date_that_it_is_set_to() -> None:
    with miniredis.start() as server:
        far = server.now + dt.timedelta(days=400)
        server.set_time(far)
        reached = server.now
        assert far <= reached
        until(lambda: server.now > reached)


@pytest.mark.parametrize(
    ("moment", "error", "told"),
    [
        (dt.datetime(2001, 1, 1, tzinfo=dt.UTC), ValueError, r"back from 2023-11-14 .*to begin at a date"),
        (dt.datetime(2030, 1, 1), ValueError, r"a date with a time zone \(tzinfo=datetime.UTC\)"),
        (1_700_000_001, TypeError, "takes a datetime, not int"),
    ],
)
def test_a_clock_is_not_set_to_what_is_over_or_unclear(
    server: miniredis.EmbeddedServer, moment: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        server.set_time(moment)
    assert server.now == dt.datetime.fromtimestamp(1_700_000_000, dt.UTC)


def test_a_held_clock_begins_at_no_date_without_a_time_zone() -> None:
    with pytest.raises(ValueError, match=r"HeldClock\(\) takes a date with a time zone"):
        miniredis.HeldClock(dt.datetime(2024, 2, 29))


def test_a_key_expires_when_the_clock_passes_its_ttl(
    server: miniredis.EmbeddedServer, client: RawConnection
) -> None:
    client.command("SET", "k", "v", "PX", "1000")
    server.fast_forward(1)
    assert client.command("GET", "k") == b"$1\r\nv\r\n"
    server.fast_forward(0.001)
    assert client.command("DBSIZE") == b":0\r\n"


def test_a_waiter_times_out_when_the_clock_is_moved(
    server: miniredis.EmbeddedServer, client: RawConnection
) -> None:
    client.send("BLPOP", "k", "3600")
    blocked(server, 1)
    server.fast_forward(3599.999)
    assert client.is_silent()
    server.fast_forward(0.001)
    assert client.reply() == b"*-1\r\n"


def test_events_within_one_fast_forward_happen_in_order(
    server: miniredis.EmbeddedServer, client: RawConnection
) -> None:
    """The waiter of 2 s gives up before the key of 4 s goes, and what it had sent is run at that moment."""
    with RawConnection(server.host, server.port) as waiter:
        client.command("SET", "k", "v", "PX", "3999")
        waiter.socket.sendall(b"BLPOP nokey 2\r\nPTTL k\r\nBLPOP nokey 3\r\nEXISTS k\r\nTIME\r\n")
        blocked(server, 1)
        server.fast_forward(100)
        replies = [waiter.reply() for _ in range(5)]
    assert replies[:2] == [b"*-1\r\n", b":1999\r\n"]
    assert replies[2:4] == [b"*-1\r\n", b":0\r\n"]
    assert replies[4] == b"*2\r\n$10\r\n1700000005\r\n$1\r\n0\r\n"
    assert client.command("TIME") == b"*2\r\n$10\r\n1700000100\r\n$1\r\n0\r\n"


def test_many_waiters_time_out_in_the_order_of_their_deadlines(server: miniredis.EmbeddedServer) -> None:
    clients = [RawConnection(server.host, server.port) for _ in range(50)]
    for number, each in enumerate(clients):
        each.send("BLPOP", "k", str(50 - number))
        each.send("RPUSH", "order", str(number))
    blocked(server, 50)
    server.fast_forward(60)
    assert all(each.reply() == b"*-1\r\n" for each in clients)
    with redis.Redis(port=server.port) as control:
        assert control.lrange("order", 0, -1) == [b"%d" % number for number in reversed(range(50))]
    for each in clients:
        each.close()


def test_a_pause_and_a_sleep_end_when_the_clock_is_moved(
    server: miniredis.EmbeddedServer, client: RawConnection
) -> None:
    client.command("CLIENT", "PAUSE", "5000")
    client.send("PING")
    assert client.is_silent()
    server.fast_forward(4.999)
    assert client.is_silent()
    server.fast_forward(0.001)
    assert client.reply() == b"+PONG\r\n"


def test_a_pause_of_no_time_holds_nothing_up_though_the_clock_stands_still(client: RawConnection) -> None:
    client.command("MULTI")
    client.command("CLIENT", "PAUSE", "0")
    assert client.command("EXEC") == b"*1\r\n+OK\r\n"
    assert client.command("PING") == b"+PONG\r\n"


def test_fast_forward_can_jump_a_century(server: miniredis.EmbeddedServer, client: RawConnection) -> None:
    client.command("SET", "k", "v", "PXAT", "9223372036854775807")
    client.command("SET", "j", "v", "EX", "3000000000")
    server.fast_forward(100 * 365 * 86400)
    assert client.command("EXISTS", "k", "j") == b":1\r\n"


@pytest.mark.parametrize(
    "seconds", [-1, -0.001, float("nan"), float("inf"), 1e11, Decimal("NaN"), Decimal(-1)]
)
def test_fast_forward_refuses_negative_infinite_and_huge_values(
    server: miniredis.EmbeddedServer, seconds: float | Decimal
) -> None:
    with pytest.raises(ValueError, match="takes 0 to"):
        server.fast_forward(seconds)


def test_fast_forward_takes_a_decimal(server: miniredis.EmbeddedServer, client: RawConnection) -> None:
    client.command("SET", "k", "v", "PX", "1500")
    server.fast_forward(Decimal("1.4"))
    assert client.command("EXISTS", "k") == b":1\r\n"
    server.fast_forward(Decimal("0.2"))
    assert client.command("EXISTS", "k") == b":0\r\n"


def test_another_thread_can_fast_forward(server: miniredis.EmbeddedServer, client: RawConnection) -> None:
    client.command("SET", "k", "v", "EX", "10")
    thread = threading.Thread(target=server.fast_forward, args=(11,))
    thread.start()
    thread.join()
    assert client.command("EXISTS", "k") == b":0\r\n"


def test_fast_forward_on_a_stopped_server_is_refused() -> None:
    with miniredis.start(clock="held") as server:
        pass
    with pytest.raises(RuntimeError, match="stopped"):
        server.fast_forward(1)


@pytest.mark.parametrize("loop", ["poll", "streams"])
def test_fast_forward_on_a_stopped_server_is_refused_while_its_trio_program_goes_on(loop: Any) -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(lambda **given: miniredis.serve(clock="held", loop=loop, **given))
            server.set_content("k", "v")
            server.stop()
        with pytest.raises(RuntimeError, match="stopped"):
            server.fast_forward(1)

    trio.run(main)


def test_fast_forward_ends_where_the_disk_fails_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(miniredis.HeldClock):
        moves = 0

        def advance(self, microseconds: int) -> None:
            self.moves += 1
            assert self.moves < 10
            super().advance(microseconds)

    def fail(_: File) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with miniredis.start(clock=Clock(BEGINNING), dir=tmp_path) as server, server.client() as client:
        client.set("first", "v", ex=1)
        client.set("second", "v", ex=2)
        monkeypatch.setattr(File, "sync", fail)
        server.fast_forward(10)
    assert server.failure is not None


def test_an_unknown_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="not 'stopped'"):
        miniredis.start(clock="stopped")  # type: ignore[arg-type]


def test_an_idle_server_with_a_held_clock_runs_no_ticks(
    server: miniredis.EmbeddedServer, client: RawConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.command("SET", "k", "v", "PX", "1")
    ticks: list[object] = []
    end_tick = server._runner.end_tick

    def counted(now: Instant) -> None:
        ticks.append(now)
        end_tick(now)

    monkeypatch.setattr(server._runner, "end_tick", counted)
    assert client.command("PING") == b"+PONG\r\n"
    assert len(ticks) == 1
    assert client.command("EXISTS", "k") == b":1\r\n"


def test_a_real_clock_can_be_moved_ahead() -> None:
    with miniredis.start() as server, RawConnection(server.host, server.port) as client:
        client.command("SET", "k", "v", "EX", "1000")
        client.send("BLPOP", "q", "500")
        blocked(server, 1)
        before = server.now
        server.fast_forward(600)
        assert client.reply() == b"*-1\r\n"
        assert dt.timedelta(seconds=600) <= server.now - before < dt.timedelta(seconds=660)
        assert int(client.command("TTL", "k")[1:]) in range(340, 401)
        client.send("BLPOP", "q", "0.01")  # and time goes on by itself
        assert client.reply() == b"*-1\r\n"


def test_a_held_clock_can_be_moved_in_a_trio_program() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(lambda **given: miniredis.serve(clock="held", **given))
            stream = await trio.open_tcp_stream(server.host, server.port)
            await stream.send_all(b"SET k v EX 10\r\n")
            assert await stream.receive_some() == b"+OK\r\n"
            server.fast_forward(11)
            await stream.send_all(b"EXISTS k\r\n")
            assert await stream.receive_some() == b":0\r\n"
            await stream.aclose()
            server.stop()

    trio.run(main)
