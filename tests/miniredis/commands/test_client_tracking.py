"""Client-side caching and redirection between several clients, on both servers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import miniredis
from conformance.wire import RawConnection
from miniredis.engine.commands.connections.tracking import check_overlaps
from miniredis.engine.protocol import errors

from ...waiting import until

Three = tuple[RawConnection, RawConnection, RawConnection]


@pytest.fixture
def clients(empty_address: tuple[str, int]) -> Iterator[Three]:
    with ExitStack() as stack:
        a, b, c = (stack.enter_context(RawConnection(*empty_address)) for _ in range(3))
        yield a, b, c
        c.command("CONFIG", "SET", "tracking-table-max-keys", "1000000")


def number(client: RawConnection) -> bytes:
    return client.command("CLIENT", "ID")[1:-2]


def fields(control: RawConnection, client: bytes) -> dict[bytes, bytes]:
    """A client as another one sees it."""
    line = control.command("CLIENT", "LIST", "ID", client).splitlines()[1]
    return dict(field.split(b"=", 1) for field in line.split(b" "))


def told(control: RawConnection, section: str, names: str) -> dict[bytes, int]:
    info = control.command("INFO", section)
    return {
        name.encode(): int(re.findall(rb"\r\n%b:(\d+)" % name.encode(), info)[0]) for name in names.split()
    }


def await_gone(control: RawConnection, client: bytes) -> None:
    until(lambda: b"id=" not in control.command("CLIENT", "LIST", "ID", client), "the client is gone")


@pytest.mark.parametrize("resp", ["2", "3"])
def test_tracking_redirection_breaks_when_the_target_client_disconnects(clients: Three, resp: str) -> None:
    a, b, c = clients
    a.command("HELLO", resp)
    me, gone = number(a), number(b)
    assert a.command("CLIENT", "TRACKING", "ON", "REDIRECT", gone) == b"+OK\r\n"
    assert a.command("CLIENT", "GETREDIR") == b":%b\r\n" % gone
    assert (fields(c, me)[b"flags"], fields(c, me)[b"redir"]) == (b"t", gone)
    b.close()
    await_gone(c, gone)
    assert fields(c, me)[b"flags"] == b"t"
    a.command("GET", "k")
    c.command("SET", "k", "v")
    if resp == "3":
        assert a.reply() == b">2\r\n$21\r\ntracking-redir-broken\r\n:%b\r\n" % gone
    assert (fields(c, me)[b"flags"], fields(c, me)[b"redir"]) == (b"tR", gone)
    assert b"$15\r\nbroken_redirect\r\n" in a.command("CLIENT", "TRACKINGINFO")
    assert a.command("CLIENT", "TRACKING", "ON") == b"+OK\r\n"
    assert (fields(c, me)[b"flags"], fields(c, me)[b"redir"]) == (b"t", b"0")
    assert a.command("CLIENT", "TRACKING", "OFF") == b"+OK\r\n"
    assert (fields(c, me)[b"flags"], fields(c, me)[b"redir"]) == (b"N", b"-1")


def test_trackinginfo_shows_the_client_redirected_to(clients: Three) -> None:
    a, b, _ = clients
    a.command("CLIENT", "TRACKING", "ON", "REDIRECT", number(b), "NOLOOP")
    assert a.command("CLIENT", "TRACKINGINFO") == (
        b"*6\r\n$5\r\nflags\r\n*2\r\n$2\r\non\r\n$6\r\nnoloop\r\n$8\r\nredirect\r\n:%b\r\n$8\r\nprefixes\r\n*0\r\n"
        % number(b)
    )


def test_info_counts_tracking_clients_keys_and_prefixes(clients: Three) -> None:
    a, b, c = clients
    names = "tracking_total_keys tracking_total_items tracking_total_prefixes"

    def totals() -> tuple[list[int], int]:
        return list(told(c, "stats", names).values()), told(c, "clients", "tracking_clients")[
            b"tracking_clients"
        ]

    for client in (a, b):
        client.command("CLIENT", "TRACKING", "ON")
    a.command("MGET", "k", "l", "k")
    b.command("GET", "k")
    assert totals() == ([2, 3, 0], 2)
    c.command("SET", "k", "v")
    assert totals() == ([1, 1, 0], 2)
    a.command("CLIENT", "TRACKING", "OFF")
    b.command("RESET")
    assert totals() == ([1, 1, 0], 0)
    a.command("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "x", "PREFIX", "y")
    b.command("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "x")
    assert totals() == ([1, 1, 2], 2)
    c.command("FLUSHALL")
    me = number(b)
    b.close()
    await_gone(c, me)
    assert totals() == ([0, 0, 2], 1)
    a.command("CLIENT", "TRACKING", "OFF")
    assert totals() == ([0, 0, 0], 0)


@pytest.mark.usefixtures("as_redis_7_0")
def test_client_list_and_info_show_what_a_client_listens_to(clients: Three) -> None:
    a, b, c = clients
    names = "pubsub_channels pubsub_patterns pubsubshard_channels"
    me = number(a)
    a.command("HELLO", "3")
    a.command("CLIENT", "TRACKING", "ON", "BCAST")
    for words in (["SUBSCRIBE", "x"], ["SUBSCRIBE", "y"], ["PSUBSCRIBE", "x"], ["SSUBSCRIBE", "z"]):
        a.command(*words)
    b.command("SUBSCRIBE", "x")
    seen = fields(c, me)
    assert [seen[name] for name in (b"flags", b"sub", b"psub", b"ssub")] == [b"PtB", b"2", b"1", b"1"]
    assert list(told(c, "stats", names).values()) == [2, 1, 1]
    assert c.command("CLIENT", "LIST", "TYPE", "pubsub").count(b"id=") == 2
    assert c.command("CLIENT", "LIST", "TYPE", "normal").count(b"id=") >= 1
    assert c.command("CLIENT", "KILL", "TYPE", "pubsub") == b":2\r\n"
    assert list(told(c, "stats", names).values()) == [0, 0, 0]


def test_keys_beyond_tracking_table_max_keys_are_invalidated(clients: Three) -> None:
    a, _, c = clients
    a.command("HELLO", "3")
    a.command("CLIENT", "TRACKING", "ON")
    c.command("CONFIG", "SET", "tracking-table-max-keys", "1")
    a.command("MGET", "k", "l", "m")
    a.send("PING")
    heard = {a.reply(), a.reply()}
    assert heard < {b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\n%b\r\n" % key for key in (b"k", b"l", b"m")}
    assert len(heard) == 2
    assert a.reply() == b"+PONG\r\n"


def invalidated(client: RawConnection) -> bytes:
    """The key that a client of RESP3 is told to have changed, and that is what it hears next."""
    told = re.fullmatch(rb">2\r\n\$10\r\ninvalidate\r\n\*1\r\n\$1\r\n(.)\r\n", client.reply())
    assert told
    return told[1]


@pytest.mark.parametrize("limit", ["first", "later"])
@pytest.mark.parametrize("others", [[], ["GET", "other"], ["PING"]], ids=["silent", "GET", "PING"])
def test_readers_are_told_of_surplus_keys_whatever_other_clients_do(
    clients: Three, limit: str, others: list[str]
) -> None:
    a, b, c = clients
    a.command("HELLO", "3")
    a.command("CLIENT", "TRACKING", "ON")
    b.command("PING")
    if limit == "first":
        c.command("CONFIG", "SET", "tracking-table-max-keys", "1")
    a.command("MGET", "k", "l", "m")
    if limit == "later":
        c.command("CONFIG", "SET", "tracking-table-max-keys", "1")
    if others:
        b.command(*others)
    told = {invalidated(a), invalidated(a)}
    assert len(told) == 2
    assert told < {b"k", b"l", b"m"}
    assert a.command("PING") == b"+PONG\r\n"


def test_surplus_keys_stay_in_mind_while_no_client_tracks_keys(clients: Three) -> None:
    a, _, c = clients
    a.command("CLIENT", "TRACKING", "ON")
    a.command("MGET", "k", "l", "m")
    a.command("CLIENT", "TRACKING", "OFF")
    c.command("CONFIG", "SET", "tracking-table-max-keys", "1")
    a.command("PING")
    assert told(c, "stats", "tracking_total_keys") == {b"tracking_total_keys": 3}
    a.command("CLIENT", "TRACKING", "ON")
    a.command("PING")
    assert told(c, "stats", "tracking_total_keys") == {b"tracking_total_keys": 1}


# Time


def test_an_expired_key_is_invalidated(held: miniredis.EmbeddedServer) -> None:
    with RawConnection(held.host, held.port) as a, RawConnection(held.host, held.port) as b:
        b.command("CONFIG", "SET", "notify-keyspace-events", "Exm")
        a.command("HELLO", "3")
        a.command("CLIENT", "TRACKING", "ON")
        a.command("PSUBSCRIBE", "*")
        b.command("SET", "k", "v", "PX", "100")
        a.command("GET", "k")
        held.fast_forward(0.2)
        heard = [a.reply(), a.reply()]
        assert heard == [
            b">4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$22\r\n__keyevent@0__:expired\r\n$1\r\nk\r\n",
            b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n",
        ]
        a.send("GET", "k")
        assert a.reply().endswith(b"__keyevent@0__:keymiss\r\n$1\r\nk\r\n")
        assert a.reply() == b"_\r\n"


# Who does not read


def test_a_subscriber_that_does_not_read_is_disconnected(empty_address: tuple[str, int]) -> None:
    with RawConnection(*empty_address) as a, RawConnection(*empty_address) as b:
        default = "pubsub 33554432 8388608 60"
        b.command("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1000000 0 0")
        try:
            a.command("SUBSCRIBE", "x")
            sent = 0
            while b.command("PUBLISH", "x", "y" * 500_000) == b":1\r\n":
                sent += 1
                assert sent < 1000
        finally:
            b.command("CONFIG", "SET", "client-output-buffer-limit", default)


def test_a_client_whose_patterns_multiply_a_message_beyond_its_limit_is_disconnected(
    empty_address: tuple[str, int],
) -> None:
    with RawConnection(*empty_address) as a, RawConnection(*empty_address) as b:
        patterns = ["*" * count for count in range(1, 201)]
        a.send("PSUBSCRIBE", *patterns)
        for _ in patterns:
            a.reply()
        heard = b.command("PUBLISH", "x", "y" * 1_000_000)  # 200 MB for one client, who may have 32
        assert heard == b":200\r\n"
        assert b.command("PUBSUB", "NUMPAT") == b":0\r\n"


def first_overlap(existing: list[bytes], given: list[bytes]) -> bytes | None:
    """What Redis says of prefixes, comparing each with each."""
    for at, one in enumerate(given):
        for others, is_given in ((existing, False), (given[at + 1 :], True)):
            for other in others:
                if one.startswith(other) or other.startswith(one):
                    return errors.overlapping_prefixes(one, other, is_given=is_given)
    return None


def test_the_first_overlap_of_prefixes_is_in_the_error() -> None:
    rng = random.Random(7)  # noqa: S311
    for _ in range(3000):
        words = [bytes(rng.choices(b"ab", k=rng.randint(0, 5))) for _ in range(rng.randint(1, 8))]
        existing: list[bytes] = []
        while words and first_overlap([], [*existing, words[-1]]) is None and rng.random() < 0.7:
            existing.append(words.pop())
        expected = first_overlap(sorted(existing), words)
        try:
            check_overlaps(sorted(existing), words)
            told = None
        except errors.CommandError as error:
            told = error.args[0]
        assert told == expected, (existing, words)
