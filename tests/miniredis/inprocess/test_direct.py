"""Clients in the server's process give what clients over TCP give, although their requests do not become bytes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio

import miniredis
from miniredis.engine import Instant
from miniredis.engine.declarations.registry import LOOKUP
from tests.cases import for_each

from ...waiting import until

CALLS: list[tuple[Any, ...]] = [
    ("set", "k", "value"), ("get", "k"), ("get", "no"), ("set", "k", b"\xff\x00", 100), ("ttl", "k"),
    ("set", "k", 1.5), ("get", b"k"), ("set", "k", "x", None, None, True), ("getset", "k", "é"), ("get", "k"),
    ("setnx", "k", 1), ("setnx", "m", 1), ("mset", {"a": 1, "b": b"2"}), ("mget", "a", "no", "b"),
    ("append", "a", "23"), ("get", "a"), ("strlen", "a"), ("incr", "n"), ("incrby", "n", 41), ("decr", "n"),
    ("incrbyfloat", "n", "0.5"), ("getrange", "a", 0, -1), ("setrange", "a", 1, "x"), ("get", "a"),
    ("exists", "a", "a", "no"), ("type", "a"), ("type", "no"), ("expire", "a", 100), ("persist", "a"),
    ("rename", "a", "c"), ("delete", "c", "no"), ("keys", "*"), ("dbsize",), ("touch", "b"),
    ("rpush", "l", "a", b"b", 3), ("lrange", "l", 0, -1), ("lrange", "no", 0, -1), ("lpop", "l"),
    ("lpop", "l", 5), ("rpop", "no"), ("lpop", "no", 2), ("lpush", "l", "x", "y", "x"), ("llen", "l"),
    ("lpos", "l", "x"), ("lpos", "l", "x", None, 0), ("lpos", "l", "no"), ("lindex", "l", 0), ("lrem", "l", 1, "x"),
    ("linsert", "l", "before", "x", "w"), ("lset", "l", 0, "z"), ("ltrim", "l", 0, 1), ("blpop", ["l"], 1),
    ("brpop", "l", 1), ("lmove", "l", "l"), ("rpush", "l", "1"), ("blmove", "l", "l2", 1), ("lmpop", 1, "l2"),
    ("hset", "h", "f", "v"), ("hset", "h", None, None, {"g": 1, "i": "2"}), ("hget", "h", "f"), ("hget", "h", "no"),
    ("hgetall", "h"), ("hgetall", "no"), ("hmget", "h", "f", "no"), ("hkeys", "h"), ("hvals", "h"),
    ("hincrbyfloat", "h", "g", 0.25), ("hdel", "h", "f"), ("hexists", "h", "g"), ("hlen", "h"), ("hscan", "h"),
    ("sadd", "s", "one"), ("smembers", "s"), ("sismember", "s", "one"), ("smismember", "s", "one", "no"),
    ("spop", "s"), ("spop", "s"), ("sadd", "t", 1, 2), ("sinter", "t", "s"), ("sunion", "t"), ("scard", "t"),
    ("zadd", "z", {"a": 1, "b": 2.5}), ("zscore", "z", "b"), ("zscore", "z", "no"), ("zincrby", "z", 1, "a"),
    ("zrange", "z", 0, -1), ("zrange", "z", 0, -1, False, True), ("zrank", "z", "a"), ("zrank", "z", "no"),
    ("zpopmin", "z"), ("zmscore", "z", ["b", "no"]), ("zcard", "z"), ("bzpopmin", "z", 1),
    ("xadd", "x", {"f": "v"}, "1-1"), ("xrange", "x"), ("xlen", "x"), ("xread", {"x": 0}), ("pfadd", "p", 1),
    ("pfcount", "p"), ("setbit", "bits", 3, 1), ("getbit", "bits", 3), ("bitcount", "bits"), ("dump", "bits"),
    ("object", "encoding", "bits"), ("scan",), ("echo", "é"), ("ping",), ("ping",),
    ("geoadd", "g", [1.0, 2.0, "m"]), ("geopos", "g", "m"), ("geodist", "g", "m", "m"), ("copy", "k", "k2"),
    ("eval", "return {1, 'a', false}", 0), ("config_get", "maxclients"), ("publish", "c", "m"), ("select", 0),
    ("getdel", "k"), ("getex", "k2", 5), ("execute_command", "lpush", "low", "x"), ("execute_command", "LPoP", "low"),
    ("execute_command", b"GET", "k2"),
    ("hget", "l3", "f"), ("lpush", "h", 1), ("incr", "h"), ("set", "k"), ("get", "k", "x"), ("get", True),
    ("get", None), ("set", "k", [1]), ("lpush", "l"), ("lset", "no", 0, "v"), ("setex", "k", 0, "v"),
    ("execute_command", "NOSUCH", "x"), ("execute_command", "GET"), ("execute_command", "GET", "a b"),
    ("flushdb",), ("dbsize",),
]  # fmt: skip
"""Methods of redis-py's client and their arguments; wrong ones are at the end."""

SCRIPT = "return redis.call('set', KEYS[1], ARGV[1])"
SHA = hashlib.sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()

PLAIN_CALLS: list[tuple[Any, ...]] = [
    ("set", "k", "v"), ("get", "k"), ("incr", "n"), ("rpush", "l", "a", b"b", 3), ("lrange", "l", 0, -1), ("lpop", "l"),
    ("hset", "h", "f", "v"), ("hget", "h", "f"), ("exists", "k"), ("lmove", "l", "l2"), ("blpop", "l2", 1), ("delete", "k"),
    ("echo", "a"), ("eval", SCRIPT, 1, "k", "v"), ("evalsha", SHA, 1, "k", "v"),
]  # fmt: skip

OPTIONS: list[dict[str, Any]] = [
    {"protocol": 2},
    {"protocol": 3},
    {"protocol": 2, "decode_responses": True},
    {"protocol": 3, "decode_responses": True, "encoding": "latin-1"},
]


@pytest.fixture
def server() -> Iterator[miniredis.Server]:
    with miniredis.start() as server:
        yield server


def outcome(client: Any, name: str, *arguments: Any) -> tuple[Any, ...]:
    """What a call returns or raises, its type included."""
    try:
        found = getattr(client, name)(*arguments)
    except Exception as error:
        return type(error), str(error)
    return type(found), found, [*map(type, found)] if isinstance(found, list) else None


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_client_gives_what_one_over_tcp_gives(options: dict[str, Any]) -> None:
    with (
        miniredis.start() as one,
        miniredis.start() as other,
        one.client(**options) as direct,
        redis.Redis.from_url(other.url, **options) as over_tcp,
    ):
        for call in CALLS:
            assert outcome(direct, *call) == outcome(over_tcp, *call), call
        assert counted(direct) == counted(over_tcp)


def counted(client: Any) -> dict[str, list[int]]:
    """How often each command ran, was refused, and failed, as INFO says."""
    of = ("calls", "rejected_calls", "failed_calls")
    commands: dict[str, Any] = client.info("commandstats")
    return {
        name: [numbers[each] for each in of]
        for name, numbers in commands.items()
        if "client" not in name and "info" not in name
    }


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_client_of_asyncio_gives_what_one_over_tcp_gives(options: dict[str, Any]) -> None:
    async def outcome_of(client: Any, name: str, *arguments: Any) -> tuple[Any, ...]:
        try:
            found = await getattr(client, name)(*arguments)
        except Exception as error:
            return type(error), str(error)
        return type(found), found, [*map(type, found)] if isinstance(found, list) else None

    async def main(one: miniredis.Server, other: miniredis.Server) -> None:
        async with (
            one.async_client(**options) as direct,
            redis.asyncio.Redis.from_url(other.url, **options) as over_tcp,
        ):
            for call in CALLS:
                assert await outcome_of(direct, *call) == await outcome_of(over_tcp, *call), call

    with miniredis.start() as one, miniredis.start() as other:
        asyncio.run(main(one, other))


PIPELINES: dict[str, list[tuple[Any, ...]]] = {
    "values": [("set", "k", "é"), ("get", "k"), ("get", "no"), ("incr", "n"), ("rpush", "l", "a", b"b"), ("lpop", "l", 5)],
    "shapes": [
        ("hset", "h", None, None, {"f": "v", "g": 2}), ("hgetall", "h"), ("sadd", "s", "x"), ("smembers", "s"),
        ("zadd", "z", {"a": 1.5}), ("zrange", "z", 0, -1, False, True), ("zscore", "z", "a"), ("lpop", "no", 2),
        ("xadd", "x", {"f": "v"}, "1-1"), ("xrange", "x"), ("geoadd", "g", [1.0, 2.0, "m"]), ("geopos", "g", "m", "no"),
        ("dump", "s"), ("ttl", "h"), ("scan",), ("set", "k", "v", 100), ("object", "encoding", "h"),
    ],
    "a value that the next command changes": [
        ("setbit", "bits", 1, 1), ("get", "bits"), ("setbit", "bits", 2, 1), ("get", "bits"), ("append", "bits", "x"),
        ("rpush", "l", "a"), ("lrange", "l", 0, -1), ("lset", "l", 0, "b"), ("lrange", "l", 0, -1),
    ],
    "errors": [("set", "k", "v"), ("lpush", "k", 1), ("incr", "k"), ("lpush", "l", 1), ("lset", "no", 0, 1)],
    "errors before": [("set", "k", "v"), ("execute_command", "GET"), ("get", "k")],
    "unknown": [("set", "k", "v"), ("execute_command", "NOSUCH", "x"), ("get", "k")],
    "others between": [("set", "k", "v"), ("config_get", "maxclients"), ("eval", "return {1}", 0), ("get", "k")],
    "blocking": [("rpush", "l", "a", "b"), ("blpop", "l", 1), ("rpush", "l", "c"), ("lrange", "l", 0, -1)],
    "what redis-py refuses": [("set", "k", "v"), ("execute_command", "SET", "k", None)],
    "floats": [("set", "k", 1.5), ("get", "k")],
    "none": [],
}  # fmt: skip
"""The commands of pipelines and transactions."""


@for_each("is_transaction", [False, True], ids=["pipeline", "transaction"])
@for_each("options", OPTIONS, ids=str)
@for_each("name", PIPELINES)
def test_a_pipeline_gives_what_one_over_tcp_gives(
    name: str, options: dict[str, Any], is_transaction: bool
) -> None:
    def outcomes(client: Any) -> Any:
        found = []
        for raises in (False, True):
            pipeline = staged(client.pipeline(is_transaction), PIPELINES[name])
            try:
                replies = pipeline.execute(raises)
                found.append(
                    [
                        (type(reply), reply if not isinstance(reply, Exception) else str(reply))
                        for reply in replies
                    ]
                )
            except Exception as error:
                found.append([(type(error), str(error))])
        return found, counted(client)

    with (
        miniredis.start() as one,
        miniredis.start() as other,
        one.client(**options) as direct,
        redis.Redis.from_url(other.url, **options) as over_tcp,
    ):
        assert outcomes(direct) == outcomes(over_tcp)


@for_each("is_transaction", [False, True], ids=["pipeline", "transaction"])
@for_each("name", PIPELINES)
def test_a_pipeline_of_asyncio_gives_what_one_over_tcp_gives(name: str, is_transaction: bool) -> None:
    async def outcomes(client: Any) -> Any:
        try:
            replies = await staged(client.pipeline(is_transaction), PIPELINES[name]).execute(False)
        except Exception as error:
            return type(error), str(error)
        return [(type(reply), reply if not isinstance(reply, Exception) else str(reply)) for reply in replies]

    async def main(one: miniredis.Server, other: miniredis.Server) -> None:
        async with one.async_client() as direct, redis.asyncio.Redis.from_url(other.url) as over_tcp:
            assert await outcomes(direct) == await outcomes(over_tcp)

    with miniredis.start() as one, miniredis.start() as other:
        asyncio.run(main(one, other))


def staged(pipeline: Any, commands: list[tuple[Any, ...]]) -> Any:
    for name, *arguments in commands:
        getattr(pipeline, name)(*arguments)
    return pipeline


@pytest.mark.parametrize("is_transaction", [False, True], ids=["pipeline", "transaction"])
def test_pipelines_do_not_become_bytes_unless_they_have_to(
    server: miniredis.Server, is_transaction: bool
) -> None:
    with server.client() as client:
        client.get("k")
        for name in ("values", "shapes", "errors"):
            before = received(server)
            staged(client.pipeline(is_transaction), PIPELINES[name]).execute(False)
            assert (received(server) == before) == (name != "shapes"), name  # scores are floats
        before = received(server)
        replies = staged(client.pipeline(False), [("incr", "n")] * 2500 + [("config_get", "port")]).execute()
        assert replies[:2500] == [*range(2, 2502)]
        assert received(server) - before < 32 * 501  # bytes of a request


def test_a_transaction_is_whole_and_serves_who_waits_after_it(server: miniredis.Server) -> None:
    with server.client() as client, server.client() as other:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(other.blpop("l", 10)))
        thread.start()
        until(server.blocked_clients, "the client waits")
        assert client.pipeline().rpush("l", "a").lpop("l").rpush("l", "b").execute() == [1, b"a", 1]
        thread.join()
        assert found == [(b"l", b"b")]


def test_a_watched_key_that_changes_ends_a_transaction(server: miniredis.Server) -> None:
    with server.client() as client, client.pipeline() as pipeline:
        pipeline.watch("k")
        client.set("k", "other")
        pipeline.multi()
        pipeline.set("k", "mine")
        before = received(server)
        with pytest.raises(redis.WatchError):
            pipeline.execute()
        assert received(server) == before
        assert client.get("k") == b"other"


def test_the_file_has_what_it_has_of_a_client_over_tcp(tmp_path: Path) -> None:
    def written(folder: Path, connect: Callable[[miniredis.Server], redis.Redis]) -> bytes:
        clock = miniredis.HeldClock(Instant(wall=1_700_000_000_000_000, monotonic=0))
        with miniredis.start(dir=folder, clock=clock) as server, connect(server) as client:
            for call in CALLS:
                outcome(client, *call)
            for commands in PIPELINES.values():
                for is_transaction in (False, True):
                    with contextlib.suppress(redis.RedisError):
                        staged(client.pipeline(is_transaction), commands).execute(False)
            (file,) = (folder / "appendonlydir").glob("*.incr.aof")
            return file.read_bytes()

    direct = written(tmp_path / "one", lambda server: server.client())
    assert direct == written(tmp_path / "other", lambda server: redis.Redis.from_url(server.url))
    assert direct.count(b"MULTI") >= 4


@pytest.mark.parametrize(
    "write",
    [
        lambda client: client.rpush("l", "x"),
        lambda client: client.pipeline(False).rpush("l", "x").llen("l").execute(),
        lambda client: client.pipeline().rpush("l", "x").llen("l").execute(),
    ],
    ids=["alone", "pipeline", "transaction"],
)
def test_what_could_not_be_kept_is_not_answered(
    write: Callable[[redis.Redis], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_data: bytes) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with miniredis.start(dir=tmp_path) as server, server.client() as client:
        write(client)
        with server._runner.lock:  # or another thread might do it, for which it becomes bytes
            before = received(server)
            write(client)
            assert received(server) == before
        monkeypatch.setattr(server._runner.files.journal, "write", fail)
        with pytest.raises(redis.ConnectionError):
            write(client)
    with miniredis.start(dir=tmp_path) as server, server.client() as client:
        assert client.llen("l") == 2


def test_requests_do_not_become_bytes_unless_they_have_to(server: miniredis.Server) -> None:
    """This is what the other tests here are about: without it they would compare a way with itself."""
    with server.client() as client, server._runner.lock:  # no other thread runs them
        client.eval(SCRIPT, 1, "k", "v")
        before = received(server)
        for name, *arguments in PLAIN_CALLS:
            getattr(client, name)(*arguments)
        assert received(server) == before
        client.config_get("port")
        assert received(server) > before


def received(server: miniredis.Server) -> int:
    return server._runner.engine.statistics.input_bytes


def test_a_list_that_is_changed_by_its_receiver_is_not_the_servers(
    server: miniredis.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    elements = [b"a", b"b"]
    with server.client() as client:
        client.get("k")
        monkeypatch.setattr(LOOKUP[b"lrange"], "handler", lambda *_: elements)
        client.lrange("l", 0, -1).clear()
        assert elements == [b"a", b"b"]
        monkeypatch.undo()


def test_a_client_checks_its_connection_as_often_as_it_is_told(server: miniredis.Server) -> None:
    async def ask_asynchronously() -> None:
        async with server.async_client(health_check_interval=60) as client:
            await client.get("k")
            pool: Any = client.connection_pool
            connection = await pool.get_connection()
            connection.next_health_check = 0
            await pool.release(connection)
            await client.get("k")
            await client.get("k")

    with server.record() as recorded:
        with server.client(health_check_interval=60) as client:
            client.get("k")
            pool: Any = client.connection_pool
            connection = pool.get_connection()
            connection.next_health_check = 0
            pool.release(connection)
            client.get("k")
            client.get("k")
        asyncio.run(ask_asynchronously())
    assert [call.text for call in recorded] == 2 * [
        "PING", "HELLO 3", "GET k", "PING", "GET k", "GET k"
    ]  # fmt: skip


def test_what_hears_or_bends_every_request_hears_and_bends_these(server: miniredis.Server) -> None:
    with server.client() as client:
        client.set("k", 1)
        with server.record() as recorded:
            client.get("k")
        assert [call.text for call in recorded] == ["GET k"]
        with server.faults.add(command="get", then="LOADING soon"), pytest.raises(redis.BusyLoadingError):
            client.get("k")
        with client.monitor() as monitor:
            client.get("heard")
            until(lambda: monitor.next_command()["command"] == "GET heard")
        assert client.get("k") == b"1"


@pytest.mark.parametrize(
    "rule",
    [{"key": "k"}, {"key": "k*"}, {"command": "get"}, {"command": "GET", "key": "k"}, {"client": "me"}, {}],
    ids=str,
)
@pytest.mark.parametrize("is_pipeline", [False, True], ids=["alone", "pipeline"])
def test_a_rule_is_met_by_the_requests_that_it_fits(
    server: miniredis.Server, rule: dict[str, Any], is_pipeline: bool
) -> None:
    with server.client(client_name="me") as client:
        client.set("k", 1)
        with server.faults.add(then="LOADING soon", **rule), pytest.raises(redis.BusyLoadingError):
            client.pipeline(False).get("k").execute() if is_pipeline else client.get("k")
        assert client.get("k") == b"1"


def test_a_password_is_asked_for(server: miniredis.Server) -> None:
    with server.client() as client:
        client.config_set("requirepass", "secret")
    with server.client(password=None, username=None) as client, pytest.raises(redis.AuthenticationError):
        client.get("k")


def test_commands_that_belong_to_a_connection_stay_together(server: miniredis.Server) -> None:
    with server.client() as client:
        client.set("k", "zero")
        client.select(1)
        assert client.get("k") is None
        client.execute_command("MULTI")
        assert client.execute_command("GET", "k") == b"QUEUED"
        assert client.execute_command("EXEC") == [None]
        with client.client() as single:
            single.select(0)
            assert single.get("k") == b"zero"
            assert single.client_id() == single.client_id()
        with client.pipeline() as pipeline:
            pipeline.watch("k")
            assert pipeline.get("k") == b"zero"
            client.select(0)
            client.set("k", "one")
            pipeline.multi()
            pipeline.get("k")
            with pytest.raises(redis.WatchError):
                pipeline.execute()


def test_a_client_waits_for_what_another_brings(server: miniredis.Server) -> None:
    with server.client() as client, server.client() as other:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(client.blpop("l", 10)))
        thread.start()
        until(server.blocked_clients, "the client waits")
        other.rpush("l", "x")
        thread.join()
        assert found == [(b"l", b"x")]
        assert client.blpop("l", 0.01) is None


def test_a_task_that_only_asks_lets_others_run(server: miniredis.Server) -> None:
    async def main() -> None:
        async with server.async_client() as client:
            await client.set("n", 0)

            async def add() -> None:
                for _ in range(5):
                    await client.incr("n")

            task = asyncio.create_task(add())
            asked = 0
            while await client.get("n") != b"5" and asked < 1000:
                asked += 1
            assert asked < 1000
            await task

    asyncio.run(main())


def test_a_command_that_is_cancelled_is_not_done_later(server: miniredis.Server) -> None:
    async def main() -> None:
        async with server.async_client() as client:
            task = asyncio.ensure_future(client.blpop("l", 0))
            while not server.blocked_clients():
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await client.rpush("l", "x")
            assert await client.lrange("l", 0, -1) == [b"x"]
            assert await client.lpop("l") == b"x"

    asyncio.run(main())


def test_a_client_is_used_in_one_event_loop_after_another(server: miniredis.Server) -> None:
    client = server.async_client()

    async def count() -> int:
        return await client.incr("n")

    assert [asyncio.run(count()) for _ in range(3)] == [1, 2, 3]
    asyncio.run(client.aclose())


def test_a_server_that_stops_ends_its_clients() -> None:
    with miniredis.start() as server:
        client = server.client()
        client.set("k", 1)
    with pytest.raises(redis.ConnectionError):
        client.get("k")
