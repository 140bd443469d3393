"""Keys that are written and read without a client, as Python values and as JSON."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from conformance.targets import Address
from miniredis.testing.pytest_real import RealServer
from tests.miniredis.engine.effects import commands_in

from ...waiting import until
from .test_inspection import fill


@pytest.fixture
def server(held: miniredis.EmbeddedServer) -> miniredis.EmbeddedServer:
    return held


@pytest.fixture(params=["miniredis", "redis-server"])
def either(request: pytest.FixtureRequest, server: miniredis.EmbeddedServer) -> Iterator[Any]:
    """The handle of a miniredis, and of a real server."""
    if request.param == "miniredis":
        yield server
        return
    address: Address = request.getfixturevalue("redis_7_0")
    with RealServer(address) as real:
        real.reset()
        yield real
        real.reset()


CONTENTS = {
    b"string": b"\xff\x00",
    b"list": [b"a", b"a", b"b"],
    b"set": {b"a", b"b"},
    b"hash": {b"f": b"v", b"g": b"\xff"},
    b"zset": {b"a": 1.5, b"b": math.inf},
    b"stream": [(b"1-2", [b"f", b"v"]), (b"3-0", [b"g", b"w", b"g", b"x"])],
}


def test_a_key_holds_what_is_written(either: Any) -> None:
    for key, content in CONTENTS.items():
        either.set_content(key, content)
    assert either.dump() == CONTENTS
    either.set_content("list", ["c"], database=1)
    either.set_content("list", {"m": 2})
    assert (either.content("list"), either.content("list", database=1)) == ({b"m": 2.0}, [b"c"])


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("héllo", "héllo".encode()), (7, b"7"), (b"", b""), (("a", 2, 1.5), [b"a", b"2", b"1.5"]),
        (frozenset(["a"]), {b"a"}), ({"f": "v", "g": 1}, {b"f": b"v", b"g": b"1"}), ({"m": 1}, {b"m": 1.0}),
        ([("1-1", ["f", "v"])], [(b"1-1", [b"f", b"v"])]), (None, None), ([], None), ({}, None), (set(), None),
    ],
)  # fmt: skip
def test_words_and_numbers_stand_for_bytes_and_nothing_deletes_the_key(
    server: Any, content: Any, kept: Any
) -> None:
    server.set_content("k", "before")
    server.set_content("k", content)
    assert server.content("k") == kept


@pytest.mark.parametrize(
    ("content", "error", "text"),
    [
        (object(), TypeError, "a key cannot hold object"),
        ([None], TypeError, "Redis keeps bytes, and not None; give a str, bytes or a number"),
        ({"f": ["v"]}, TypeError, "Redis keeps bytes, and not list"),
        (True, TypeError, "Redis keeps bytes, and not bool"),
        ([["a"]], TypeError, r"an entry of a stream is \(id, \[field, value, \.\.\.\]\), and not \['a'\]"),
        ([("1-1", "fv")], TypeError, "give several elements, such as a list, and not str"),
        ([("2-0", ["f", "v"]), ("1-0", ["f", "v"])], ValueError, "equal or smaller than the target stream"),
    ],
)
def test_what_no_key_can_hold_is_refused(
    either: Any, content: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        either.set_content("k", content)


def test_a_client_that_waits_for_a_key_is_served(server: Any) -> None:
    got: list[Any] = []
    with server.client() as waiter:
        thread = threading.Thread(target=lambda: got.append(waiter.blpop(["jobs"])), daemon=True)
        thread.start()
        server.wait_until(lambda: server.blocked_clients("jobs"))
        server.set_content("jobs", ["a", "b"])
        until(lambda: got)
        thread.join()
    assert got == [(b"jobs", b"a")]
    assert server.content("jobs") == [b"b"]


def test_a_transaction_that_watches_a_written_key_fails(server: Any) -> None:
    with server.client() as client, client.pipeline() as pipe:
        pipe.watch("k")
        server.set_content("k", "v")
        pipe.multi()
        pipe.set("other", "v")
        with pytest.raises(redis.WatchError):
            pipe.execute()


def test_writes_reach_the_disk_and_meet_no_rule_and_no_pause(server: Any, tmp_path: Path) -> None:
    with miniredis.start(dir=tmp_path) as keeper, keeper.client() as client:
        client.client_pause(60_000)
        keeper.faults.add(then="ERR no")
        keeper.set_content("jobs", ["a"])
    with miniredis.start(dir=tmp_path) as keeper:
        assert keeper.dump() == {b"jobs": [b"a"]}
    engine = server._runner.engine
    engine.recording.start()
    server.set_content("k", "v", database=3)
    assert commands_in(engine.recording.take()) == [[b"SELECT", b"3"], [b"SET", b"k", b"v"]]


def test_json_brings_all_keys_to_another_server(server: Any) -> None:
    with server.client() as client:
        expected = fill(client)
        client.expire("string", 100)
        server.set_content("binary", CONTENTS[b"zset"])
        text = server.dump_json()
    assert json.loads(text)["list"] == {"type": "list", "content": ["a", "b"]}
    with miniredis.start(clock="held") as other:
        other.set_content("more", "v")
        other.load_json(text)
        assert other.dump() == {**expected, b"binary": CONTENTS[b"zset"], b"more": b"v"}
        other.fast_forward(101)
        assert other.content("string") is None


def test_json_is_the_same_on_a_real_server(server: Any, redis_7_0: Address) -> None:
    for key, content in CONTENTS.items():
        server.set_content(key, content)
    with RealServer(redis_7_0) as real:
        real.reset()
        real.load_json(server.dump_json())
        assert real.dump_json() == server.dump_json()
        assert real.dump() == CONTENTS
        real.reset()


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[]",
        '{"k": {}}',
        '{"k": {"type": "tree", "content": []}}',
        '{"k": {"type": "hash", "content": 7}}',
    ],
)
def test_other_json_is_refused_and_changes_nothing(server: Any, text: str) -> None:
    server.set_content("k", "v")
    with pytest.raises(ValueError, match=r"Expecting value|does not have the form"):
        server.load_json(text)
    assert server.dump() == {b"k": b"v"}


def test_a_database_that_is_not_there_is_refused(server: Any) -> None:
    with pytest.raises(ValueError, match="databases 0 to 15, and not 16"):
        server.set_content("k", "v", database=16)
