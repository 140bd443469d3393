"""redis-py's pub/sub, sync and asyncio, over TCP and without sockets."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
import redis.asyncio

import miniredis
from conformance.targets import Address

from ...conftest import SERVERS
from ...waiting import PATIENCE, until

SHORT = 0.01

Make = Callable[..., Any]
MakeAsync = Callable[..., Any]
"""Clients of redis-py: its own types leave out much of pub/sub."""


BY_ITSELF = "server.client()"


def connecting(request: pytest.FixtureRequest) -> tuple[Make, MakeAsync]:
    """Ways to make clients of the server that a fixture is for."""
    if request.param == BY_ITSELF:
        handle: miniredis.Server = request.getfixturevalue("local_handle")
        return handle.client, handle.async_client
    address: Address = request.getfixturevalue(SERVERS.get(request.param, request.param))
    return (
        lambda **options: redis.Redis.from_url(address.url, **options),
        lambda **options: redis.asyncio.Redis.from_url(address.url, **options),
    )


@pytest.fixture(params=[*SERVERS, BY_ITSELF])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes clients of one server."""
    made: list[Any] = []
    connect, _ = connecting(request)

    def keep(**options: Any) -> Any:
        made.append(connect(decode_responses=True, **options))
        return made[-1]

    yield keep
    for client in made:
        client.close()


@pytest.fixture
def client(make: Make) -> Any:
    return make()


def wait_for(pubsub: Any, kind: str) -> Any:
    """The next message, which has to be of a kind."""
    message = pubsub.get_message(timeout=PATIENCE)
    assert message is not None
    assert message["type"] == kind
    return message


@pytest.mark.parametrize("protocol", [2, 3])
def test_subscribers_get_messages_by_channel_and_by_pattern(make: Make, protocol: int) -> None:
    client = make(protocol=protocol)
    with client.pubsub() as pubsub:
        pubsub.subscribe("news", "more")
        pubsub.psubscribe("n*")
        kinds = [("subscribe", 1), ("subscribe", 2), ("psubscribe", 3)]
        assert [wait_for(pubsub, kind)["data"] for kind, _ in kinds] == [count for _, count in kinds]
        assert client.publish("news", "hello") == 2
        assert wait_for(pubsub, "message")["data"] == "hello"
        heard = wait_for(pubsub, "pmessage")
        assert (heard["pattern"], heard["channel"], heard["data"]) == ("n*", "news", "hello")
        pubsub.unsubscribe()
        assert {wait_for(pubsub, "unsubscribe")["channel"] for _ in range(2)} == {"news", "more"}
        assert client.publish("news", "again") == 1


@pytest.mark.parametrize("protocol", [2, 3])
def test_get_message_returns_at_its_timeout(make: Make, protocol: int) -> None:
    with make(protocol=protocol).pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.subscribe("news")
        pubsub.get_message(timeout=PATIENCE)  # which says that it is subscribed, and is ignored
        began = time.monotonic()
        assert pubsub.get_message(timeout=SHORT) is None
        assert time.monotonic() - began >= SHORT
        assert pubsub.get_message() is None


def test_a_message_comes_while_another_thread_waits_for_it(client: Any) -> None:
    with client.pubsub(ignore_subscribe_messages=True) as pubsub, ThreadPoolExecutor(1) as pool:
        pubsub.subscribe("news")
        pubsub.get_message(timeout=PATIENCE)  # which says that it is subscribed, and is ignored
        assert client.pubsub_numsub("news") == [("news", 1)]
        heard = pool.submit(pubsub.get_message, timeout=PATIENCE)
        client.publish("news", "hello")
        message = heard.result(PATIENCE)
        assert message is not None
        assert message["data"] == "hello"


def test_ping_of_a_subscriber_is_answered_like_a_message(make: Make) -> None:
    with make(protocol=2).pubsub() as pubsub:
        pubsub.subscribe("news")
        wait_for(pubsub, "subscribe")
        pubsub.ping("are you there")
        assert wait_for(pubsub, "pong")["data"] == "are you there"


def test_each_subscribed_thread_gets_all_messages_in_order(client: Any) -> None:
    count, listeners = 50, 4
    ready = threading.Barrier(listeners + 1)

    def listen() -> list[str]:
        with client.pubsub(ignore_subscribe_messages=True) as pubsub:
            pubsub.subscribe("news")
            pubsub.get_message(timeout=PATIENCE)  # which says that it is subscribed, and is ignored
            ready.wait(PATIENCE)
            messages = [pubsub.get_message(timeout=PATIENCE) for _ in range(count)]
            return [message["data"] for message in messages if message]

    with ThreadPoolExecutor(listeners) as pool:
        heard = [pool.submit(listen) for _ in range(listeners)]
        ready.wait(PATIENCE)
        for number in range(count):
            assert client.publish("news", number) == listeners
        expected = [str(number) for number in range(count)]
        assert [each.result(PATIENCE) for each in heard] == [expected] * listeners


def test_a_message_handler_runs_in_its_own_thread(client: Any) -> None:
    heard: list[str] = []
    has_heard = threading.Event()

    def handle(message: dict[str, Any]) -> None:
        heard.append(message["data"])
        has_heard.set()

    with client.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.psubscribe(**{"ne*": handle})
        thread = pubsub.run_in_thread(sleep_time=SHORT)
        while not client.publish("news", "hello"):
            pass
        assert has_heard.wait(PATIENCE)
        thread.stop()
        thread.join(PATIENCE)
    assert heard == ["hello"]


@pytest.mark.parametrize(
    "make", ["miniredis", "streams", "in-process", "redis_7_0", BY_ITSELF], indirect=True
)
def test_a_shard_channel_delivers_messages(client: Any) -> None:
    with client.pubsub() as pubsub:
        pubsub.ssubscribe("news")
        assert pubsub.get_message(timeout=PATIENCE)["data"] == 1
        assert client.spublish("news", "hello") == 1
        assert pubsub.get_message(timeout=PATIENCE)["data"] == "hello"


def test_a_push_publishes_keyspace_and_keyevent_messages(client: Any) -> None:
    client.config_set("notify-keyspace-events", "KEA")
    try:
        with client.pubsub(ignore_subscribe_messages=True) as pubsub:
            pubsub.psubscribe("__key*__:*")
            pubsub.get_message(timeout=PATIENCE)
            client.rpush("l", "x")
            heard = [wait_for(pubsub, "pmessage") for _ in range(2)]
    finally:
        client.config_set("notify-keyspace-events", "")
    assert [(each["channel"], each["data"]) for each in heard] == [
        ("__keyspace@0__:l", "rpush"),
        ("__keyevent@0__:rpush", "l"),
    ]


def test_a_closed_subscriber_gets_no_messages(client: Any) -> None:
    pubsub = client.pubsub()
    pubsub.subscribe("news")
    wait_for(pubsub, "subscribe")
    pubsub.close()
    until(lambda: not client.publish("news", "hello"), "nobody listens any more")
    assert client.pubsub_channels() == []


# asyncio


@pytest.fixture(params=[name for name in [*SERVERS, BY_ITSELF] if name != "in-process"])
def play(request: pytest.FixtureRequest) -> Callable[[Callable[[MakeAsync], Awaitable[None]]], None]:
    """Runs a coroutine function with a way to make clients of one server."""
    _, connect = connecting(request)

    def run(main: Callable[[MakeAsync], Awaitable[None]]) -> None:
        async def limited() -> None:
            await asyncio.wait_for(main(connect), PATIENCE)

        asyncio.run(limited())

    return run


@pytest.mark.parametrize("protocol", [2, 3])
def test_asyncio_subscribers_get_messages(play: Any, protocol: int) -> None:
    async def main(make: MakeAsync) -> None:
        async with make(decode_responses=True, protocol=protocol) as client, client.pubsub() as pubsub:
            await pubsub.subscribe("news")
            assert (await pubsub.get_message(timeout=PATIENCE))["data"] == 1
            assert await pubsub.get_message(timeout=SHORT) is None
            assert await client.publish("news", "hello") == 1
            assert (await pubsub.get_message(timeout=PATIENCE))["data"] == "hello"
            waiting = asyncio.create_task(pubsub.get_message(timeout=PATIENCE))
            await asyncio.sleep(0)
            await client.publish("news", "again")
            message = await waiting
            assert message is not None
            assert message["data"] == "again"
            await pubsub.unsubscribe()
            assert (await pubsub.get_message(timeout=PATIENCE))["type"] == "unsubscribe"

    play(main)


def test_an_asyncio_subscriber_gets_the_messages_that_a_thread_publishes(
    local_handle: miniredis.Server,
) -> None:
    count = 20

    def publish() -> None:
        with local_handle.client() as client:
            for number in range(count):
                client.publish("news", number)

    async def main() -> None:
        async with local_handle.async_client(decode_responses=True) as client, client.pubsub() as pubsub:
            await pubsub.psubscribe("n*")
            await pubsub.get_message(timeout=PATIENCE)
            publishing = asyncio.get_running_loop().run_in_executor(None, publish)
            heard = []
            async for message in pubsub.listen():
                heard.append(message["data"])
                if len(heard) == count:
                    break
            await publishing
            assert heard == [str(number) for number in range(count)]

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
