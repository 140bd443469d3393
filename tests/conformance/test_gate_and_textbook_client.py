"""The gate that delays or drops a client's messages, and the client written from the documents."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator

import pytest
import redis

from conformance.clients.textbook import Gone, Shut, Textbook
from conformance.judging.environment import expect
from conformance.targets import Address
from conformance.wire import Hangup, RawConnection
from conformance.wire.gate import Act, Gate


def number(reply: bytes) -> int:
    return int(reply[1:])


@pytest.fixture
def key(embedded_server: Address) -> Iterator[str]:
    made = f"other-sides:{uuid.uuid4().hex}"
    yield made
    with redis.Redis.from_url(embedded_server.url) as client:
        client.delete(*[made, *client.keys(f"{made}*")])


def through(gate: Gate) -> RawConnection:
    to = Address(gate.url, "")
    return RawConnection(to.host, to.port)


def test_a_gate_runs_its_action_before_the_chosen_message(embedded_server: Address, key: str) -> None:
    with Gate(embedded_server) as gate, through(gate) as client, through(gate) as other:
        assert number(client.command("INCR", key)) == 1
        with RawConnection(embedded_server.host, embedded_server.port) as direct:
            gate.arm(2, lambda: expect(direct.command("INCRBY", key, "10"), b":12\r\n", "INCRBY"))
            assert number(client.command("INCR", key)) == 2
            assert number(other.command("INCR", key)) == 13
            assert number(client.command("INCR", key)) == 14
        assert gate.messages == 3


def test_an_exception_raised_by_a_gates_action_reaches_the_test(embedded_server: Address) -> None:
    def act() -> None:
        raise KeyError("found out by an act")

    def talk() -> None:
        with Gate(embedded_server) as gate, through(gate) as client:
            gate.arm(1, act)
            with pytest.raises(Hangup):
                client.command("PING")

    with pytest.raises(KeyError, match="found out"):
        talk()


@pytest.mark.parametrize(
    ("act", "value"), [("lose-message", 1), ("cut-message", 1), ("lose-reply", 2), ("cut-reply", 2)]
)
def test_a_gate_loses_a_message_or_its_reply(
    act: Act, value: int, embedded_server: Address, key: str
) -> None:
    with Gate(embedded_server) as gate, through(gate) as client:
        gate.arm(2, act)
        client.command("INCR", key)
        with pytest.raises(Hangup):
            client.command("INCR", key)
        with through(gate) as again:
            assert number(again.command("INCRBY", key, "0")) == value


def test_a_gate_counts_a_large_request_as_one_message(embedded_server: Address, key: str) -> None:
    value = "x" * 5_000_000
    with Gate(embedded_server) as gate, through(gate) as client:
        gate.arm(3, "cut-message")
        assert client.command("SET", key, value) == b"+OK\r\n"
        assert client.command("GET", key) == b"$5000000\r\n%b\r\n" % value.encode()
        with pytest.raises((Hangup, ConnectionError)):
            client.command("SET", key, value + "more")
        assert gate.messages == 3
    with RawConnection(embedded_server.host, embedded_server.port) as direct:
        assert direct.command("STRLEN", key) == b":5000000\r\n"


def test_a_closed_gate_leaves_no_thread_and_no_client(embedded_server: Address) -> None:
    before = set(threading.enumerate())
    with Gate(embedded_server) as gate, through(gate) as client:
        assert client.command("PING") == b"+PONG\r\n"
        gate.__exit__()
        with pytest.raises(Hangup):
            client.reply()
    assert {each for each in set(threading.enumerate()) - before if each.name == "gate"} == set()


def test_a_gate_keeps_the_rest_of_the_url() -> None:
    address = Address("redis://me:secret@somewhere:1/7?protocol=2", "")
    assert address.at("127.0.0.1", 9).url == "redis://me:secret@127.0.0.1:9/7?protocol=2"


def operations(client: Textbook) -> list[Callable[[], object]]:
    return [lambda: client.put(b"v"), client.get, client.shutdown, client.delete]


def test_the_textbook_client_puts_gets_closes_and_deletes_as_documented(
    embedded_server: Address, key: str
) -> None:
    url = embedded_server.url
    with Textbook(url, key) as client, redis.Redis.from_url(url) as direct:
        for operate in operations(client):
            with pytest.raises(Gone):
                operate()
        direct.set(f"{key}:bound", 2)
        for suffix in (":producer_free", ":consumer_free", ":not_full"):
            direct.lpush(key + suffix, "1")
        client.put(b"a")
        client.put(b"b")
        assert direct.llen(f"{key}:not_full") == 0
        client.shutdown()
        with pytest.raises(Shut):
            client.put(b"v")
        with pytest.raises(Shut):
            client.shutdown()
        assert [client.get(), client.get()] == [b"a", b"b"]
        with pytest.raises(Shut):
            client.get()
        assert direct.get(f"{key}:stats:consumed_bytes") == b"2"
        client.delete()
        assert direct.keys(f"{key}*") == []
