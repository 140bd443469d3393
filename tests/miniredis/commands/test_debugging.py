"""Subcommands of DEBUG answer as redis-server does."""

from __future__ import annotations

from collections.abc import Iterator

import hiredis
import pytest

import miniredis
from conformance.targets import Address
from conformance.wire import RawConnection

from ...cases import check_each

DATA = {
    "string": ["SET k value"],
    "number": ["SET k 12345"],
    "appended": ["APPEND k value", "SETRANGE k 3 x"],
    "list": ["RPUSH k a b 3 a"],
    "set": ["SADD k b a 3"],
    "numbers": ["SADD k 3 1 2"],
    "hash": ["HSET k f v g 2"],
    "sorted set": ["ZADD k 1 a 0.1 b -inf c 1e20 d 3.0000000000000004 e"],
    "large sorted set": ["ZADD k " + " ".join(f"{place / 3} m{place}" for place in range(200))],
    "stream": ["XADD k 1-1 f v g w", "XADD k 5-2 f x", "XADD k 7 h y", "XDEL k 5-2", "XGROUP CREATE k g 0"],
    "key that expires": ["SET k value PX 1000000"],
    "no key": ["SET j value"],
}
"""Requests that make the key k."""


@pytest.fixture(scope="module")
def both(redis_7_0: Address) -> Iterator[list[RawConnection]]:
    """A client of miniredis, and one of a real Redis; both allow DEBUG."""
    assert redis_7_0.another is not None
    with (
        miniredis.start(enable_debug_command="yes") as ours,
        redis_7_0.another("--enable-debug-command", "yes") as theirs,
        RawConnection(ours.host, ours.port) as first,
        RawConnection(theirs.host, theirs.port) as second,
    ):
        yield [first, second]


def alike(both: list[RawConnection], *words: str) -> bytes:
    ours, theirs = (client.command(*words) for client in both)
    assert ours == theirs
    return ours


def test_digests_of_every_type_are_those_of_redis(both: list[RawConnection]) -> None:
    def check(requests: list[str]) -> None:
        alike(both, "FLUSHALL")
        for request in requests:
            alike(both, *request.split())
        alike(both, "DEBUG", "DIGEST-VALUE", "k", "nosuch", "k")
        alike(both, "DEBUG", "DIGEST")

    check_each(DATA, check)


def test_a_digest_depends_on_the_database_and_on_every_key(both: list[RawConnection]) -> None:
    digests = [alike(both, "FLUSHALL") and alike(both, "DEBUG", "DIGEST")]
    for request in ("SET a 1", "SET b 1", "SELECT 3", "SADD a 1", "SWAPDB 0 3", "DEL a", "SELECT 0"):
        alike(both, *request.split())
        digests.append(alike(both, "DEBUG", "DIGEST"))
    assert digests[0] == b"+" + b"0" * 40 + b"\r\n"
    assert len(set(digests)) == len(digests) - 2, "SELECT changes no digest, and every other request does"
    assert alike(both, "DEBUG", "DIGEST-VALUE") == b"*0\r\n"


@pytest.mark.parametrize("version", ["2", "3"])
def test_samples_of_the_protocol_are_those_of_redis(version: str, both: list[RawConnection]) -> None:
    def check(name: str) -> None:
        assert answer(both[0], name) == answer(both[1], name)

    def answer(client: RawConnection, name: str) -> list[bytes]:
        """All replies to the request: behind an attribute or a push message there is another one."""
        client.send("DEBUG", "PROTOCOL", name)
        client.send("PING")
        replies = [client.reply()]
        while replies[-1] != b"+PONG\r\n":
            replies.append(client.reply())
        return replies

    names = "string integer double bignum null array set map attrib push verbatim true FALSE nosuch"
    try:
        for client in both:
            client.command("HELLO", version)
        check_each({name: name for name in names.split()}, check)
    finally:
        for client in both:
            client.command("HELLO", "2")


def test_the_threshold_of_quicklists_takes_what_redis_takes(both: list[RawConnection]) -> None:
    sizes = ["0", "1b", "100", "2GB", "4293918720", "4293918721", "4gb", "-1", "x", "", "1x"]
    check_each(
        {size: size for size in sizes}, lambda size: alike(both, "DEBUG", "QUICKLIST-PACKED-THRESHOLD", size)
    )


def test_an_error_on_demand_is_sent_as_it_is_and_not_counted(both: list[RawConnection]) -> None:
    alike(both, "CONFIG", "RESETSTAT")
    texts = ["ERR a", "LOADING a b", "", "-x", "\n a\r\n", "a\0b", "\xff"]
    check_each({repr(text): text for text in texts}, lambda text: alike(both, "DEBUG", "ERROR", text))
    for request in ("DEBUG ERROR", "DEBUG ERROR a b", "MULTI", "DEBUG ERROR X", "EXEC", "INFO errorstats"):
        alike(both, *request.split())


def test_a_sleep_counts_as_the_time_of_its_command(both: list[RawConnection]) -> None:
    for client in both:
        assert client.command("CONFIG", "SET", "slowlog-log-slower-than", "20000") == b"+OK\r\n"
        assert client.command("SLOWLOG", "RESET") == client.command("DEBUG", "SLEEP", "0.02") == b"+OK\r\n"
        assert client.command("PING") == b"+PONG\r\n"
        reader = hiredis.Reader()
        reader.feed(client.command("SLOWLOG", "GET"))
        slept = [entry[2] for entry in reader.gets() if entry[3] == [b"DEBUG", b"SLEEP", b"0.02"]]
        assert len(slept) == 1, "beside others that a busy machine has made slow"
        assert slept[0] >= 20_000
