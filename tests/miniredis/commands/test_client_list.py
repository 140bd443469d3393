"""CLIENT LIST shows the same fields in the same order as a real server, and counts the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.targets import Address
from conformance.wire import RawConnection, encode

from ...waiting import until

INFO = encode("CLIENT", "INFO")
LONG = "x" * 5000


def fields(line: bytes) -> dict[str, str]:
    return dict(part.split("=", 1) for part in line.decode().split() if "=" in part)


def counts(reply: bytes, *names: str) -> tuple[int, ...]:
    """The numbers of some fields in the first line of a reply."""
    found = fields(reply[: reply.index(b" resp=")])
    return tuple(int(found[name]) for name in names)


def test_client_list_has_the_fields_of_a_real_server(embedded_server: Address, redis_7_0: Address) -> None:
    def names(server: Address) -> list[str]:
        with RawConnection(server.host, server.port) as client:
            return list(fields(client.command("CLIENT", "INFO")))

    assert len(names(embedded_server)) > 20
    assert names(embedded_server) == names(redis_7_0)


@pytest.fixture
def client(address: tuple[str, int], as_redis_7_0: None) -> Iterator[RawConnection]:
    with RawConnection(*address) as client:
        yield client


@pytest.fixture
def other(address: tuple[str, int]) -> Iterator[RawConnection]:
    with RawConnection(*address) as other:
        other.command("FLUSHALL")
        yield other


READ_TOGETHER = {
    "alone": ([], INFO, []),
    "inline": ([], b"client   info\r\n", []),
    "behind another": ([encode("SET", "k", "v")], INFO, []),
    "behind a long one": ([encode("SET", "k", LONG)], INFO, []),
    "before another": ([], INFO, [encode("SET", "k", LONG)]),
}


@pytest.mark.parametrize("name", READ_TOGETHER)
def test_a_client_sees_the_bytes_of_all_requests_that_were_read_with_its_own(
    client: RawConnection, name: str
) -> None:
    before, info, behind = READ_TOGETHER[name]
    client.socket.sendall(b"".join((*before, info, *behind)))
    replies = [client.reply() for _ in (*before, info, *behind)]
    size = sum(map(len, before)) + len(info) + sum(map(len, behind))
    assert counts(replies[len(before)], "qbuf", "argv-mem", "obl") == (size, 10, 5 * len(before))


@pytest.mark.parametrize("times", [1, 10, 300])
def test_the_words_of_client_list_count_as_arguments(client: RawConnection, times: int) -> None:
    words = ("CLIENT", "LIST", "ID", *[client.command("CLIENT", "ID").decode()[1:-2]] * times)
    reply = client.command(*words)
    assert counts(reply, "qbuf", "argv-mem") == (len(encode(*words)), sum(map(len, words)))


class Seen:
    """A client as another one sees it."""

    def __init__(self, client: RawConnection, other: RawConnection) -> None:
        self.number = client.command("CLIENT", "ID")[1:-2]
        self.other = other

    def counts(self, *names: str) -> tuple[int, ...]:
        return counts(self.other.command("CLIENT", "LIST", "ID", self.number), *names)


@pytest.mark.parametrize("value", ["v", LONG])
def test_queued_commands_count_with_a_pointer_for_each_argument(
    client: RawConnection, other: RawConnection, value: str
) -> None:
    seen = Seen(client, other)
    client.command("MULTI")
    assert seen.counts("multi", "multi-mem") == (0, 0)
    client.command("SET", "k", value)
    assert seen.counts("multi", "multi-mem") == (1, 4 + len(value) + 3 * 8)
    client.command("GET", "key")
    assert seen.counts("multi", "multi-mem", "argv-mem", "qbuf") == (2, 10 + len(value) + 5 * 8, 0, 0)
    client.command("DISCARD")
    assert seen.counts("multi", "multi-mem") == (-1, 0)


def test_a_blocked_client_holds_its_arguments_and_what_it_sent_behind_them(
    client: RawConnection, other: RawConnection
) -> None:
    seen = Seen(client, other)
    client.send("BLPOP", "key", "0")
    until(lambda: seen.counts("argv-mem", "qbuf") == (9, 0), "the client is blocked")
    client.send("PING", "hello")
    size = len(encode("PING", "hello"))
    until(lambda: seen.counts("argv-mem", "qbuf") == (9, size), "its next request has come")
    other.command("LPUSH", "key", "v")
    client.reply()
    client.reply()
    assert seen.counts("argv-mem", "qbuf") == (0, 0)


def test_a_client_held_up_by_a_pause_holds_its_arguments(client: RawConnection, other: RawConnection) -> None:
    seen = Seen(client, other)
    other.command("CLIENT", "PAUSE", "100000", "WRITE")
    client.send("SET", "k", "value")
    until(lambda: seen.counts("argv-mem", "qbuf") == (9, 0), "the client is held up")
    other.command("CLIENT", "UNPAUSE")
    assert client.reply() == b"+OK\r\n"


def test_arguments_of_a_request_that_has_not_wholly_come_count_as_such(
    client: RawConnection, other: RawConnection
) -> None:
    seen = Seen(client, other)
    client.socket.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk")
    until(lambda: seen.counts("argv-mem", "qbuf") == (3, 1), "the first argument has come")
    client.socket.sendall(b"\r\n$5\r\nab")
    until(lambda: seen.counts("argv-mem", "qbuf") == (4, 2), "the second argument has come")
    client.socket.sendall(b"cde\r\n")
    assert client.reply() == b"+OK\r\n"
    assert seen.counts("argv-mem", "qbuf") == (0, 0)
