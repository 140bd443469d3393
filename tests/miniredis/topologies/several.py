"""Clusters of several nodes, ours and real ones, and conversations with their nodes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial

import miniredis
from conformance.documents.recorded.player import RawClient
from conformance.targets import real_redis
from miniredis.testing.real_servers import CLUSTER_NODE
from tests.waiting import until

from .talk import ask

__all__ = ["Nodes", "our_nodes", "real_nodes"]

PRIMARIES = 3

VARYING = re.compile(
    rb"cluster_stats_messages_\w+:\d+\r\n|total_cluster_links_\w+:\d+\r\n|(?<=replication-offset\r\n):\d+\r\n"
    rb"|(?<=_epoch:)\d+|(?<=\bid\r\n):\d+"
)
"""What depends on gossip, or on how long a cluster has run."""

LINE = re.compile(rb"(<node-\d>) \S+ (\S+) (\S+) \d+ \d+ \d+ (\w+)(.*)")
"""A line of CLUSTER NODES whose names are replaced already."""


@dataclass
class Nodes:
    """The nodes of a cluster: first the primaries, by the order of their slots, then a replica of each.

    Attributes:
        addresses: where they listen.
        names: their ids.
        cluster: ours; None for a real one.
    """

    addresses: list[tuple[str, int]]
    cluster: miniredis.Cluster | None = None
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for number in range(len(self.addresses)):
            self.names.append(self.ask(number, "CLUSTER MYID").decode().split("\r\n")[1])

    def ask(self, number: int, request: str) -> bytes:
        """The bytes of a node's reply to a request of a client of its own."""
        with self.client(number) as client:
            return ask(client, self.words(request))

    def client(self, number: int) -> closing[RawClient]:
        """A client of a node, to be closed by ``with``."""
        return closing(RawClient(self.addresses[number]))

    def give(self, slot: int, source: int, target: int) -> None:
        """Gives a slot without keys to another node, and tells all, as redis-cli does."""
        self.ask(target, f"CLUSTER SETSLOT {slot} IMPORTING ${source}")
        self.ask(source, f"CLUSTER SETSLOT {slot} MIGRATING ${target}")
        for number in (target, *(each for each in range(PRIMARIES) if each != target)):
            assert self.ask(number, f"CLUSTER SETSLOT {slot} NODE ${target}") == b"+OK\r\n"

    def meet(self, number: int, other: int) -> bytes:
        """Lets a node meet another one, and returns its reply."""
        *_, bus, _ = self.ask(other, "CONFIG GET cluster-port").split(b"\r\n")
        port = self.addresses[other][1]
        return self.ask(number, f"CLUSTER MEET 127.0.0.1 {port} {int(bus) or port + 10000}")

    def words(self, request: str) -> list[bytes]:
        """A request; ``$2`` stands for the name of node 2, and ``%2`` for its port."""
        named = re.sub(r"\$(\d)", lambda found: self.names[int(found[1])], request)
        named = re.sub(r"%(\d)", lambda found: str(self.addresses[int(found[1])][1]), named)
        return [word.replace("\\n", "\n").encode() for word in shlex.split(named)]

    def play(self, conversation: str) -> Iterator[tuple[str, bytes]]:
        """Each line (``1: GET a`` for node 1) with its reply; a conversation has one client for each node."""
        with ExitStack() as stack:
            clients: dict[int, RawClient] = {}
            for line in conversation.strip().splitlines():
                number, request = int(line.strip()[0]), line.strip()[2:]
                if number not in clients:
                    clients[number] = RawClient(self.addresses[number])
                    stack.callback(clients[number].close)
                yield line, self.comparable(ask(clients[number], self.words(request)))

    def comparable(self, reply: bytes) -> bytes:
        """A reply without names, ports and what varies; the lines of CLUSTER NODES are sorted."""
        for number, (name, (_, port)) in enumerate(zip(self.names, self.addresses, strict=True)):
            reply = reply.replace(name.encode(), b"<node-%d>" % number)
            reply = re.sub(rb"\b%d\b" % port, b"<port-%d>" % number, reply)
        reply = VARYING.sub(b"", reply)
        if lines := LINE.findall(reply):
            return b"\n".join(b" ".join(steady(*line)) for line in sorted(lines))
        return re.sub(rb"^[$=]\d+", b"$", reply)


def steady(name: bytes, flags: bytes, primary: bytes, link: bytes, slots: bytes) -> tuple[bytes, ...]:
    """A line of CLUSTER NODES without the link to a dead node: each attempt to connect is one for a moment."""
    return name, flags, primary, b"any" if b"fail" in flags else link, slots


@contextmanager
def our_nodes(**directives: str) -> Iterator[Nodes]:
    """A cluster in this process."""
    with miniredis.cluster(
        PRIMARIES, replicas=1, clock=None, loop=None, version=None, **directives
    ) as cluster:
        yield Nodes([(node.host, node.port) for node in cluster.nodes], cluster)


@contextmanager
def real_nodes(*options: str) -> Iterator[Nodes]:
    """A cluster of redis-server processes, shared out as ``redis-cli --cluster create`` does it."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                real_redis(
                    *CLUSTER_NODE, "--cluster-node-timeout", "60000",
                    "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", *options,
                )
            )
            for _ in range(2 * PRIMARIES)
        ]  # fmt: skip
        nodes = Nodes([(server.host, server.port) for server in servers])
        for number, (start, end) in enumerate([(0, 5460), (5461, 10922), (10923, 16383)]):
            nodes.ask(number, f"CLUSTER ADDSLOTSRANGE {start} {end}")
        for number in range(2 * PRIMARIES):
            nodes.ask(number, f"CLUSTER SET-CONFIG-EPOCH {number + 1}")
            if number:
                nodes.meet(0, number)
        until(lambda: all_say(nodes, "CLUSTER INFO", lambda told: b"known_nodes:6" in told), "have they met")
        for number in range(PRIMARIES):
            until(partial(replicates, nodes, number), "does the replica know its primary")
        until(lambda: all_say(nodes, "CLUSTER NODES", knows_all), "do all know all")
        until(lambda: all_say(nodes, "CLUSTER INFO", lambda told: b"state:ok" in told), "is it up")
        until(lambda: all_say(nodes, "CLUSTER SLOTS", shows_replicas), "can the replicas be read")
        yield nodes


def replicates(nodes: Nodes, number: int) -> bool:
    """Tells a node to be the replica of another, which it may not know yet."""
    return nodes.ask(number + PRIMARIES, f"CLUSTER REPLICATE ${number}") == b"+OK\r\n"


def all_say(nodes: Nodes, request: str, is_so: Callable[[bytes], bool]) -> bool:
    return all(is_so(nodes.ask(number, request)) for number in range(len(nodes.addresses)))


def shows_replicas(told: bytes) -> bool:
    """Only those that have data are shown; the first PING of their primary counts as such."""
    return told.count(b"127.0.0.1") == 2 * PRIMARIES


def knows_all(told: bytes) -> bool:
    return told.count(b"slave") == PRIMARIES and b"handshake" not in told
