"""A cluster of several nodes answers as one of redis-server processes, and clients of clusters work with it."""

from __future__ import annotations

import time
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
    check_each(CONVERSATIONS, lambda conversation: compare(conversation, ours, real))


def compare(conversation: str, ours: Nodes, real: Nodes) -> None:
    for (line, mine), (_, theirs) in zip(ours.play(conversation), real.play(conversation), strict=True):
        assert mine == theirs, line


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


def test_links_are_told_as_by_real_nodes(ours: Nodes, real: Nodes) -> None:
    """Two to each other node; real nodes tell them in any order."""
    mine, theirs = (sorted(map(str, links(nodes))) for nodes in (ours, real))
    assert mine == theirs


def links(nodes: Nodes) -> Iterator[list[object]]:
    reader = hiredis.Reader()
    reader.feed(nodes.ask(0, "CLUSTER LINKS"))
    for link in reader.gets():
        told = dict(zip(link[::2], link[1::2], strict=True))
        assert 0 <= time.time() * 1000 - told.pop(b"create-time") < 600_000
        told.pop(b"send-buffer-allocated")
        told.pop(b"send-buffer-used")
        assert told.pop(b"events") in {b"r", b"rw"}
        yield [[*link[::2]], nodes.comparable(told.pop(b"node")), told]


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


ALONE = """
    0: CLUSTER NODES
    0: CLUSTER FORGET $5
    0: CLUSTER REPLICAS $2
    5: CLUSTER FORGET $2
    5: CLUSTER RESET HARD
"""

RESET = """
    5: CLUSTER NODES
    5: CLUSTER INFO
    5: CLUSTER SLOTS
    5: GET {foo}
    5: DBSIZE
    5: CLUSTER FORGET $0
    5: CLUSTER SET-CONFIG-EPOCH 9
    5: CLUSTER SET-CONFIG-EPOCH 9
"""


@pytest.mark.exhaustive  # real nodes take seconds to hear of each other
def test_a_node_leaves_the_others_and_comes_back(ours: Nodes, real: Nodes) -> None:
    for nodes in (ours, real):
        assert nodes.ask(2, "SET {foo} v") == b"+OK\r\n"
        assert [nodes.ask(number, "CLUSTER FORGET $5") for number in range(5)] == [b"+OK\r\n"] * 5
    compare(ALONE, ours, real)
    for nodes in (ours, real):
        nodes.names[5] = nodes.ask(5, "CLUSTER MYID").decode().split("\r\n")[1]
    compare(RESET, ours, real)
    for reset in ("", "CLUSTER RESET SOFT"):
        for nodes in (ours, real):
            if reset:
                assert nodes.ask(5, reset) == b"+OK\r\n"
                until(lambda nodes=nodes: b"<node-5> master" in told_by(nodes, 0), "seen by the others")  # type: ignore[misc]
            assert nodes.meet(5, 0) == b"+OK\r\n"
            until(lambda nodes=nodes: all(knows_six(nodes, number) for number in range(6)), "do all know all")  # type: ignore[misc]
            until(lambda nodes=nodes: nodes.ask(5, "CLUSTER REPLICATE $2") == b"+OK\r\n")  # type: ignore[misc]
            until(lambda nodes=nodes: b"<node-5> slave" in told_by(nodes, 0), "do they know whose replica")  # type: ignore[misc]
            until(lambda nodes=nodes: told_by(nodes, 5).count(b"slave <node-") == 3, "all replicas known")  # type: ignore[misc]
            until(lambda nodes=nodes: b"link_status:up" in nodes.ask(5, "INFO replication"))  # type: ignore[misc]
            until(lambda nodes=nodes: nodes.ask(5, "DBSIZE") == b":1\r\n")  # type: ignore[misc]
        compare("0: CLUSTER NODES\n5: CLUSTER NODES\n5: GET {foo}\n", ours, real)
    for nodes in (ours, real):
        nodes.ask(2, "DEL {foo}")


def told_by(nodes: Nodes, number: int) -> bytes:
    return nodes.comparable(nodes.ask(number, "CLUSTER NODES"))


def knows_six(nodes: Nodes, number: int) -> bool:
    told = told_by(nodes, number)
    return all(b"<node-%d> " % each in told for each in range(6)) and b"handshake" not in told


WITHOUT_A_NODE = """
    1: CLUSTER INFO
    1: CLUSTER NODES
    3: CLUSTER NODES
    1: CLUSTER SLOTS
    1: GET {bar}
    1: GET {foo}
    2: GET {foo}
    2: SPUBLISH {foo} x
    2: EVAL "return redis.call('get', '{foo}')" 0
    2: EVAL "return 1" 0
    2: PING
    2: MULTI
    2: SET {foo} v
    2: EXEC
    3: READONLY
    3: GET {bar}
    3: CLUSTER FAILOVER
    4: CLUSTER REPLICAS $0
    2: CONFIG SET cluster-allow-reads-when-down yes
    2: GET {foo}
    2: SET {foo} v
    2: EVAL "return redis.call('set', '{foo}', 'v')" 0
    2: EVAL "return redis.call('get', '{foo}')" 0
    2: CONFIG SET cluster-allow-pubsubshard-when-down no
    2: SPUBLISH {foo} x
"""

WITH_ANOTHER_IN_ITS_PLACE = """
    1: CLUSTER INFO
    1: CLUSTER NODES
    3: CLUSTER NODES
    1: CLUSTER SLOTS
    1: GET {bar}
    3: GET {bar}
    3: SET {bar} v
    3: CLUSTER FAILOVER
"""


@pytest.mark.exhaustive  # real nodes take a busy machine for dead nodes
def test_nodes_answer_as_real_ones_when_one_has_died_and_when_its_replica_takes_over(
    redis_7_0: Address,
) -> None:
    quick = "--cluster-node-timeout", "5000", "--cluster-replica-no-failover", "yes"
    with our_nodes(cluster_replica_no_failover="yes") as ours, real_nodes(*quick) as real:
        for nodes in (ours, real):
            with nodes.client(0) as client:
                client.send(b"SHUTDOWN NOSAVE\r\n")
                assert client.get(1) == b""
        until(lambda: all(seen_dead(nodes) for nodes in (ours, real)), "have all nodes noticed")
        compare(WITHOUT_A_NODE, ours, real)
        for nodes in (ours, real):
            assert nodes.ask(3, "CLUSTER FAILOVER TAKEOVER") == b"+OK\r\n"
        until(lambda: all(seen_replaced(nodes) for nodes in (ours, real)), "have all nodes noticed")
        compare(WITH_ANOTHER_IN_ITS_PLACE, ours, real)


def seen_dead(nodes: Nodes) -> bool:
    return all(
        are_told(nodes, number, b"state:fail", b"master,fail,", b" disconnected") for number in range(1, 6)
    )


def seen_replaced(nodes: Nodes) -> bool:
    return all(are_told(nodes, number, b"state:ok", b" disconnected\n") for number in range(1, 6))


def are_told(nodes: Nodes, number: int, *words: bytes) -> bool:
    """Whether a node tells all this of its cluster and its nodes."""
    told = nodes.ask(number, "CLUSTER INFO") + nodes.ask(number, "CLUSTER NODES")
    return all(word in told for word in words)


AFTER_A_FAILOVER = """
    0: CLUSTER NODES
    1: CLUSTER NODES
    1: CLUSTER SLOTS
    0: GET {bar}
    1: GET {bar}
    3: SET {bar} v
    3: WAIT 1 0
    0: READONLY
    0: GET {bar}
    0: SET {bar} w
    0: CLUSTER SETSLOT 5061 STABLE
    3: DEL {bar}
    0: CLUSTER FAILOVER FORCE TAKEOVER
"""


@pytest.mark.exhaustive  # real nodes give up after five seconds, which a busy machine may take
def test_a_primary_and_its_replica_change_places_as_real_ones(ours: Nodes, real: Nodes) -> None:
    """A client that is blocked on the former primary is told, and hung up on."""
    for nodes in (ours, real):
        with nodes.client(0) as blocked:
            blocked.send(b"BLPOP {bar}list 0\r\n")
            until(lambda nodes=nodes: b"blocked_clients:1" in nodes.ask(0, "INFO clients"))  # type: ignore[misc]
            change_places(nodes, 0, 3)
            assert blocked.get(1 << 16) == (
                b"-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)\r\n"
            )
    compare(AFTER_A_FAILOVER, ours, real)
    for nodes in (ours, real):
        change_places(nodes, 3, 0)


def change_places(nodes: Nodes, primary: int, replica: int) -> None:
    assert nodes.ask(replica, "CLUSTER FAILOVER") == b"+OK\r\n"
    seen = b"<node-%d> %b <node-%d>"

    def is_known(number: int) -> bool:
        told = nodes.comparable(nodes.ask(number, "CLUSTER NODES"))
        return any(seen % (primary, flags, replica) in told for flags in (b"slave", b"myself,slave"))

    until(lambda: all(map(is_known, range(6))), "do all nodes know")
    until(lambda: b"status:up" in nodes.ask(primary, "INFO replication"), "does the former primary follow")
