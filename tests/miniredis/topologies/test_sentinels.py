"""Sentinels in this process answer as real ones, and clients find the primary by them."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import hiredis
import pytest
import redis
import redis.asyncio.sentinel
import redis.sentinel

import miniredis
from conformance.clients.flavours import FLAVOURS
from conformance.documents.recorded.player import RawClient
from conformance.targets import Address
from pressure import ConnectionFailedError, ServerReplyError
from tests.miniredis.topologies.talk import ask
from tests.pressure.sentinels_and_clusters import SERVICE, Watched, watched
from tests.waiting import until

SETTINGS = {b"quorum": b"1", b"down-after-milliseconds": b"60000", b"failover-timeout": b"5000"}
"""What the real sentinels of these tests are told, and ours cannot be."""


@pytest.fixture
def ours() -> Iterator[miniredis.Sentinels]:
    with miniredis.sentinel(replicas=1, sentinels=2, name=SERVICE) as servers:
        yield servers


@pytest.fixture
def real(redis_7_0: Address, tmp_path: Path) -> Iterator[Watched]:
    with watched(tmp_path) as servers:
        yield servers


FLAVOURS_OF_QUEUES: dict[str, Any] = {**FLAVOURS}

Group = miniredis.Sentinels | Watched


def comparable(group: Group, text: bytes) -> bytes:
    """Without ports and ids."""
    both: list[tuple[str, Any]] = [("server", group.servers), ("sentinel", group.sentinels)]
    for kind, servers in both:
        for number, server in enumerate(servers):
            text = re.sub(rb"\b%d\b" % server.port, f"<{kind}-{number}>".encode(), text)
    text = re.sub(rb"\b[0-9a-f]{40}\b", b"<id>", text)
    return re.sub(rb"(?<=slave-repl-offset\r\n)\$\d+\r\n\d+", b"<offset>", text)


def facts(group: Group, request: str) -> list[dict[bytes, bytes]]:
    """What a sentinel tells of some servers; times are of no account."""
    reader = hiredis.Reader()
    with closing(RawClient(("127.0.0.1", group.sentinels[0].port))) as client:
        reader.feed(ask(client, request.encode().split()))
    told = []
    for flat in reader.gets():
        each = dict(zip(flat[::2], flat[1::2], strict=True))
        for name, value in each.items():
            if name in SETTINGS:
                each[name] = SETTINGS[name]
            elif name.startswith((b"last-", b"info-", b"link-pending-")) or name.endswith(
                (b"-time", b"-offset")
            ):
                each[name] = b"some"
            else:
                each[name] = comparable(group, value)
        assert list(each) == flat[::2]
        told.append(each)
    return told


@pytest.mark.parametrize(
    "request_", ["SENTINEL MASTERS", f"SENTINEL REPLICAS {SERVICE}", f"SENTINEL SENTINELS {SERVICE}"]
)
def test_servers_are_described_as_by_real_sentinels(
    ours: miniredis.Sentinels, real: Watched, request_: str
) -> None:
    until(lambda: facts(real, f"SENTINEL REPLICAS {SERVICE}")[0][b"master-link-status"] == b"ok")
    until(lambda: all(b"disconnected" not in each[b"flags"] for each in facts(real, request_)))
    mine, theirs = facts(ours, request_), facts(real, request_)
    assert mine == theirs
    assert list(map(list, mine)) == list(map(list, theirs))


REPLIES = f"""
    PING
    ROLE
    SENTINEL
    SENTINEL foo
    SENTINEL MASTERS x
    SENTINEL MASTER x
    SENTINEL REPLICAS x
    SENTINEL SLAVES x
    SENTINEL SENTINELS x
    SENTINEL CKQUORUM x
    SENTINEL CKQUORUM {SERVICE}
    SENTINEL FAILOVER x
    SENTINEL GET-MASTER-ADDR-BY-NAME x
    SENTINEL GET-MASTER-ADDR-BY-NAME {SERVICE}
    SENTINEL MYID
    PUBLISH x y
    GET a
    SELECT 0
    MULTI
    CONFIG GET port
    SUBSCRIBE +switch-master
    PING
    UNSUBSCRIBE
"""


def test_replies_are_those_of_real_sentinels(ours: miniredis.Sentinels, real: Watched) -> None:
    replies = []
    for group in (ours, real):
        with closing(RawClient(("127.0.0.1", group.sentinels[0].port))) as client:
            lines = REPLIES.strip().splitlines()
            replies.append([(line, comparable(group, ask(client, line.encode().split()))) for line in lines])
    assert replies[0] == replies[1]


def test_a_failover_is_told_as_by_real_sentinels(ours: miniredis.Sentinels, real: Watched) -> None:
    """Real sentinels go on to tell of roles, when they have looked again."""
    told = []
    for group in (ours, real):
        with ExitStack() as stack:
            clients = [redis.Redis(port=each.port, protocol=2) for each in group.sentinels]
            listening = []
            for client in clients:
                stack.callback(client.close)
                pubsub = stack.enter_context(client.pubsub())  # type: ignore[no-untyped-call]
                pubsub.psubscribe("*")
                until(partial(pubsub.get_message, timeout=1), "it is subscribed")
                listening.append(pubsub)
            clients[0].execute_command("SENTINEL FAILOVER", SERVICE)  # type: ignore[no-untyped-call]
            told.append([events(group, pubsub) for pubsub in listening])
    assert told[0] == told[1]


def events(group: Group, pubsub: Any) -> list[bytes]:
    """What a sentinel's subscriber hears up to the first +slave."""
    heard: list[bytes] = []
    while not heard or not heard[-1].startswith(b"+slave "):
        message = pubsub.get_message(timeout=30)
        assert message is not None, heard
        heard.append(comparable(group, message["channel"] + b" " + message["data"]))
    return heard


def test_clients_find_the_new_primary() -> None:
    with miniredis.sentinel(replicas=2) as servers, servers.client() as client:
        first = servers.primary
        client.set("k", "v")
        servers.wait_for_replicas()
        second = servers.failover()
        assert (second.primary, first.primary) == (None, second)
        client.set("k", "w")
        servers.wait_for_replicas()
        assert [each.content("k") for each in servers.servers] == [b"w"] * 3
        servers.kill(second)
        third = servers.failover()
        assert client.get("k") == b"w"
        found: Any = redis.sentinel.Sentinel(servers.hosts)  # type: ignore[no-untyped-call]
        assert found.discover_master("mymaster") == (third.host, third.port)
        assert (second.host, second.port) not in found.discover_slaves("mymaster")
        servers.restart(second)
        assert second.content("k") == b"w"
        assert second.primary is third

        assert asyncio.run(ask_asyncio(servers)) == b"w"


async def ask_asyncio(servers: miniredis.Sentinels) -> Any:
    """What redis-py's client for asyncio gets from the primary."""
    found = redis.asyncio.sentinel.Sentinel(servers.hosts)  # type: ignore[no-untyped-call]
    try:
        async with found.master_for("mymaster") as client:
            return await client.get("k")
    finally:
        for sentinel in found.sentinels:
            await sentinel.aclose()


def test_a_failover_needs_a_replica_that_is_up() -> None:
    with miniredis.sentinel() as servers:
        servers.kill(servers.replicas[0])
        with pytest.raises(ValueError, match="no replica that is up"):
            servers.failover()
        with (
            redis.Redis(port=servers.sentinels[0].port) as client,
            pytest.raises(redis.ResponseError, match="NOGOODSLAVE No suitable replica to promote"),
        ):
            client.execute_command("SENTINEL FAILOVER", "mymaster")
        with pytest.raises(ValueError, match="is up; kill it first"):
            servers.restart(servers.sentinels[0])


@pytest.mark.parametrize("flavour", FLAVOURS_OF_QUEUES)
def test_queues_go_on_after_failovers(flavour: str) -> None:
    with miniredis.sentinel() as servers:
        queue = FLAVOURS_OF_QUEUES[flavour]("jobs", url=servers.url)
        try:
            queue.create()
            for number in range(3):
                queue.put(b"%d" % number)
                servers.wait_for_replicas()
                servers.failover()
                assert after_failover(queue.get) == b"%d" % number
        finally:
            queue.disconnect()


def after_failover(work: Any) -> Any:
    """At most one error, of a connection to the former primary."""
    try:
        return work()
    except (ServerReplyError, ConnectionFailedError):
        return work()


def test_sentinels_have_one_clock_with_what_they_watch() -> None:
    with miniredis.sentinel(clock="held") as servers, servers.client() as client:
        client.set("k", "v", ex=60)
        servers.fast_forward(61)
        assert client.get("k") is None
        assert not servers.replicas[0].dump()


@pytest.mark.parametrize("loop", [None, "streams"])
def test_who_has_the_reply_to_a_write_finds_it_at_a_replica(loop: Any) -> None:
    def clients(server: miniredis.Server) -> tuple[redis.Redis, redis.Redis]:
        return redis.Redis(port=server.port), server.client()

    with miniredis.sentinel(loop=loop) as servers:
        replica = servers.replicas[0]
        for writer, reader in itertools.product(clients(servers.primary), clients(replica)):
            with writer, reader:
                for number in range(10):
                    writer.set("k", number)
                    assert int(reader.get("k") or -1) == number
                    writer.set("k", -number)
                    assert replica.dump() == {b"k": b"%d" % -number}


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="sentinels must be from 1"):
        miniredis.sentinel(sentinels=0)
    with pytest.raises(ValueError, match="port is different for each server"):
        miniredis.sentinel(port=6379)


def test_the_fixture_has_a_primary_a_replica_and_three_sentinels(
    miniredis_sentinel: miniredis.Sentinels,
) -> None:
    assert (len(miniredis_sentinel.servers), len(miniredis_sentinel.sentinels)) == (2, 3)
    client = miniredis_sentinel.client()
    client.set("k", "v")
    miniredis_sentinel.wait_for_replicas()
    former = miniredis_sentinel.primary
    miniredis_sentinel.kill(former)
    assert miniredis_sentinel.failover() is not former
    assert client.get("k") == b"v"


def test_sentinels_have_faults_recordings_and_the_clock_of_all() -> None:
    with (
        miniredis.sentinel(clock="held") as servers,
        servers.sentinels[0].client() as client,
        servers.sentinels[0].record() as calls,
    ):
        sentinel, begin = servers.sentinels[0], servers.now
        with sentinel.faults.add(command="sentinel get-master-addr-by-name", then="ERR no") as rule:
            with pytest.raises(redis.ResponseError, match="no"):
                client.sentinel_get_master_addr_by_name("mymaster")
            assert client.sentinel_masters()
            assert rule.met == 1
        assert [call.text for call in calls][-2:] == [
            "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster",
            "SENTINEL MASTERS",
        ]
        servers.fast_forward(60)
        assert {each.now - begin for each in servers.sentinels} == {dt.timedelta(seconds=60)}
        for wrong in ("sentinel failure", "sentinels"):
            with pytest.raises(ValueError, match=f"there is no command '{wrong}'"):
                sentinel.faults.add(command=wrong, then="ERR no")
