"""A cluster of several nodes answers as one of redis-server processes, and clients of clusters work with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import hiredis
import pytest

from conformance.targets import Address
from tests.cases import check_each
from tests.waiting import until

from .conversations import CONVERSATIONS
from .several import Nodes, our_nodes, real_nodes
from .talk import ask


@pytest.fixture(scope="module")
def ours() -> Iterator[Nodes]:
    with our_nodes() as nodes:
        yield nodes


@pytest.fixture(scope="module")
def real(redis_7_0: Address) -> Iterator[Nodes]:
    with real_nodes() as nodes:
        yield nodes


def test_nodes_answer_as_real_ones(ours: Nodes, real: Nodes) -> None:
    def compare(conversation: str) -> None:
        for (line, mine), (_, theirs) in zip(ours.play(conversation), real.play(conversation), strict=True):
            assert mine == theirs, line

    check_each(CONVERSATIONS, compare)


def test_shards_are_told_as_by_real_nodes(ours: Nodes, real: Nodes) -> None:
    """Real nodes tell them in any order."""
    for number in range(6):
        mine, theirs = (sorted(map(str, shards(nodes, number))) for nodes in (ours, real))
        assert mine == theirs


def shards(nodes: Nodes, number: int) -> list[object]:
    reader = hiredis.Reader()
    reader.feed(nodes.ask(number, "CLUSTER SHARDS"))
    found = reader.gets()
    for shard in found:
        for node in shard[3]:
            node[:] = [nodes.comparable(b"%b" % word) if isinstance(word, bytes) else word for word in node]
            node[3] = nodes.comparable(b"%d" % node[3])
            node[node.index(b"replication-offset") + 1] = 0
    return list(found)


@pytest.fixture(params=["miniredis", "redis-server"])
def nodes(request: pytest.FixtureRequest) -> Nodes:
    """A cluster of each kind."""
    found: Nodes = request.getfixturevalue("ours" if request.param == "miniredis" else "real")
    return found


@contextmanager
def away(nodes: Nodes) -> Iterator[None]:
    """Slot 5061, that of {bar}, belongs to node 1 meanwhile, and not to node 0."""
    nodes.give(5061, 0, 1)
    yield
    nodes.give(5061, 1, 0)


def encoded(*words: str | int) -> bytes:
    """A message in RESP2."""
    texts = (f":{word}\r\n" if isinstance(word, int) else f"${len(word)}\r\n{word}\r\n" for word in words)
    return f"*{len(words)}\r\n{''.join(texts)}".encode()


def test_a_blocked_client_is_sent_after_the_slot_that_it_waits_for(nodes: Nodes) -> None:
    with nodes.client(0) as waiting, nodes.client(0) as reading:
        waiting.send(b"BLPOP {bar}list 0\r\n")
        reading.send(b"XREAD BLOCK 0 STREAMS {bar}stream $\r\n")
        until(lambda: b"blocked_clients:2" in nodes.ask(0, "INFO clients"))
        with away(nodes):
            for client in (waiting, reading):
                assert (
                    nodes.comparable(client.get(len(f"-MOVED 5061 127.0.0.1:{nodes.addresses[1][1]}\r\n")))
                    == b"-MOVED 5061 127.0.0.1:<port-1>\r\n"
                )


def test_subscribers_of_a_shard_channel_hear_that_it_is_elsewhere_now(nodes: Nodes) -> None:
    with nodes.client(0) as client:
        assert ask(client, nodes.words("SSUBSCRIBE {bar}")) == encoded("ssubscribe", "{bar}", 1)
        with away(nodes):
            assert client.get(len(encoded("sunsubscribe", "{bar}", 0))) == encoded("sunsubscribe", "{bar}", 0)
            assert nodes.ask(0, "PUBSUB SHARDNUMSUB {bar}") == b"*2\r\n$5\r\n{bar}\r\n:0\r\n"


def test_messages_reach_subscribers_of_all_nodes_and_shard_messages_those_of_the_shard(nodes: Nodes) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(nodes.client(number)) for number in (0, 1, 3)]
        for client in clients:
            ask(client, [b"SUBSCRIBE", b"news"])
        shard = [stack.enter_context(nodes.client(number)) for number in (0, 3)]
        for client in shard:
            ask(client, [b"SSUBSCRIBE", b"{bar}"])
        assert nodes.ask(0, "PUBLISH news hello") == b":1\r\n"
        assert nodes.ask(0, "SPUBLISH {bar} hello") == b":1\r\n"
        for message, listeners in ((["message", "news"], clients), (["smessage", "{bar}"], shard)):
            expected = encoded(*message, "hello")
            for client in listeners:
                assert client.get(len(expected)) == expected
                assert ask(client, [b"PING"]) == encoded("pong", "")  # and not twice
