"""Reliable queues: their metadata, and how they work through scripts and every event loop."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any

import hiredis
import pytest
import redis

import miniredis
from conformance.wire import encode
from miniredis.engine.commands import FOLDER, GROUPS
from miniredis.engine.declarations.registry import commands

from ...waiting import PATIENCE, until
from ..engine.test_engine import World

NAMES = [b"mq.push", b"mq.pop", b"mq.ack", b"mq.recover", b"mq.inspect", b"mq.qinfo"]


@pytest.fixture
def world() -> World:
    return World()


def ask(world: World, *words: str | bytes, resp: str = "2") -> Any:
    client = world.client()
    if resp == "3":
        world.ask(client, "HELLO 3")
    world.engine.receive(client, encode(*words), world.now)
    reader = hiredis.Reader()
    reader.feed(world.settle()[client.id])
    return reader.gets()


def mq(client: redis.Redis, *words: Any) -> Any:
    return client.execute_command(*words)  # type: ignore[no-untyped-call]


def await_blocked(client: redis.Redis) -> None:
    until(lambda: client.info("clients")["blocked_clients"], "a client is blocked")


# COMMAND

TOLD = {
    "mq.push": (-3, {b"write", b"denyoom", b"module"}, (1, 1, 1), {b"@write", b"@slow"}),
    "mq.pop": (
        -3,
        {b"write", b"module", b"blocking", b"movablekeys"},
        (2, 2, 1),
        {b"@write", b"@slow", b"@blocking"},
    ),
    "mq.ack": (-3, {b"write", b"module"}, (1, 1, 1), {b"@write", b"@slow"}),
    "mq.recover": (4, {b"write", b"module"}, (1, 1, 1), {b"@write", b"@slow"}),
    "mq.inspect": (-4, {b"readonly", b"module"}, (1, 1, 1), {b"@read", b"@slow"}),
    "mq.qinfo": (2, {b"readonly", b"module"}, (1, 1, 1), {b"@read", b"@slow"}),
}


@pytest.mark.parametrize("name", TOLD)
def test_command_info_tells_arity_flags_keys_and_categories(world: World, name: str) -> None:
    """As a real Redis tells of a module's commands: by flags, and by the categories that follow from them."""
    (told,) = ask(world, "COMMAND", "INFO", name.upper())
    arity, flags, keys, categories = TOLD[name]
    assert (told[0], told[1], set(told[2]), tuple(told[3:6])) == (name.encode(), arity, flags, keys)
    assert set(told[6]) == categories
    assert all(each[1] for each in told[8])


def test_command_info_of_mq_pop_finds_the_keys_after_the_keyword_keys(world: World) -> None:
    (told,) = ask(world, "COMMAND", "INFO", "mq.pop")
    search = [b"type", b"keyword", b"spec", [b"keyword", b"KEYS", b"startfrom", 3]]
    found = [b"type", b"keynum", b"spec", [b"keynumidx", 0, b"firstkey", 1, b"keystep", 1]]
    assert told[8][1][2:] == [b"begin_search", search, b"find_keys", found]


@pytest.mark.parametrize(
    ("request_", "keys"),
    [
        ("MQ.PUSH q x y", [b"q"]),
        ("MQ.POP 1 q", [b"q"]),
        ("MQ.POP 1 q BLOCK 5", [b"q"]),
        ("MQ.POP 1 KEYS BLOCK 5", [b"KEYS"]),
        ("MQ.POP 1 q KEYS 2 r s BLOCK 5", [b"q", b"r", b"s"]),
        ("MQ.POP 1 q BLOCK 5 keys 1 r", [b"q", b"r"]),
        ("MQ.ACK q 1-1 2-2", [b"q"]),
        ("MQ.RECOVER q 1 0", [b"q"]),
        ("MQ.INSPECT q PENDING 0 1", [b"q"]),
        ("MQ.QINFO q", [b"q"]),
    ],
)
def test_command_getkeys_returns_the_keys_of_a_request(
    world: World, request_: str, keys: list[bytes]
) -> None:
    assert ask(world, "COMMAND", "GETKEYS", *request_.split()) == keys


def test_command_getkeys_refuses_a_count_larger_than_the_number_of_keys(world: World) -> None:
    reply = ask(world, "COMMAND", "GETKEYS", "MQ.POP", "1", "q", "KEYS", "3", "r")
    assert str(reply) == "ERR Invalid arguments specified for command"


@pytest.mark.parametrize("name", TOLD)
def test_command_docs_have_module_summary_and_arguments(world: World, name: str) -> None:
    told = ask(world, "COMMAND", "DOCS", name, resp="3")[name.encode()]
    assert (told[b"group"], told[b"module"]) == (b"module", b"mq")
    assert told[b"summary"]
    assert b"since" not in told
    assert [each[b"name"] for each in told[b"arguments"]][:1] in ([b"key"], [b"count"])


def test_command_list_filters_the_commands_of_the_module(world: World) -> None:
    assert set(ask(world, "COMMAND", "LIST", "FILTERBY", "MODULE", "mq")) == set(NAMES)
    assert ask(world, "COMMAND", "LIST", "FILTERBY", "MODULE", "MQ") == []
    in_group = [
        each for each in commands() if GROUPS[each.docs.module.removeprefix(f"{FOLDER}.")] == "module"
    ]
    assert (
        {each.name for each in in_group}
        == {each.name for each in commands() if "module" in each.flags}
        == set(NAMES)
    )


def test_info_names_the_module(world: World) -> None:
    info = ask(world, "INFO", "modules")
    assert info == b"# Modules\r\nmodule:name=mq,ver=1,api=1,filters=0,usedby=[],using=[],options=[]\r\n"
    with miniredis.start() as server, server.client() as client:
        assert client.info("modules")["modules"][0]["name"] == "mq"


def test_info_commandstats_counts_the_commands_of_the_module(world: World) -> None:
    ask(world, "MQ.PUSH", "q", "x")
    ask(world, "MQ.POP", "0", "q")
    info = ask(world, "INFO", "commandstats").decode()
    assert "cmdstat_mq.push:calls=1," in info
    assert "cmdstat_mq.pop:calls=1," in info


# Any bytes


def test_payloads_and_keys_can_be_any_bytes(world: World) -> None:
    payloads = [b"", b"\0\r\n", bytes(range(256)), b"x" * (1 << 20)]
    ids = ask(world, "MQ.PUSH", b"\0\xff", *payloads)
    assert ask(world, "MQ.POP", "9", b"\0\xff") == [list(pair) for pair in zip(ids, payloads, strict=True)]


@pytest.mark.parametrize(
    "words",
    [["MQ.ACK", "q", b"1-1\0"], ["MQ.ACK", "q", b"1-1\n"], ["MQ.ACK", "q", b""], ["MQ.ACK", "q", "\u0661-1"]],
)
def test_message_ids_with_other_characters_are_refused(world: World, words: list[str | bytes]) -> None:
    assert str(ask(world, *words)).startswith("ERR Invalid message ID")


def test_commands_take_ten_thousand_payloads_keys_and_ids(world: World) -> None:
    many = 10_000
    keys = [f"k{number}" for number in range(many)]
    ids = ask(world, "MQ.PUSH", "q", *["x"] * many)
    assert ask(world, "MQ.POP", str(many), "none", "KEYS", str(many), *keys[1:], "q") == [
        [b"q", each, b"x"] for each in ids
    ]
    assert ask(world, "MQ.ACK", "q", *ids, *ids) == ids


# Scripts


@pytest.fixture
def client() -> Iterator[redis.Redis]:
    with miniredis.start(clock="held") as server, server.client(decode_responses=True) as client:
        yield client


def test_scripts_can_push_pop_and_acknowledge(client: redis.Redis) -> None:
    script = (
        "local ids = redis.call('MQ.PUSH', KEYS[1], 'x', 'y') "
        "local popped = redis.call('mq.pop', 1, KEYS[1]) "
        "return {ids, popped, redis.call('MQ.POP', 1, 'none'), redis.call('MQ.ACK', KEYS[1], popped[1][1])}"
    )
    ids, popped, nothing, acknowledged = client.eval(script, 1, "q")
    assert (popped, nothing, acknowledged) == ([[ids[0], "x"]], None, [ids[0]])


def test_mq_pop_with_block_is_refused_in_scripts(client: redis.Redis) -> None:
    with pytest.raises(
        redis.ResponseError, match=r"mq\.pop command is not allowed with BLOCK option from scripts"
    ):
        client.eval("return redis.call('mq.pop', 1, KEYS[1], 'BLOCK', 0)", 1, "q")


def test_a_read_only_script_can_inspect_but_not_pop(client: redis.Redis) -> None:
    mq(client, "MQ.PUSH", "q", "x")
    assert client.eval_ro("return redis.call('MQ.INSPECT', KEYS[1], 0, 1)", 1, "q")[0][1] == "x"
    with pytest.raises(redis.ResponseError, match="Write commands are not allowed from read-only scripts"):
        client.eval_ro("return redis.call('MQ.POP', 1, KEYS[1])", 1, "q")


def test_a_blocked_mq_pop_is_served_when_the_script_that_pushes_ends() -> None:
    with miniredis.start() as server, server.client() as client, server.client() as other:
        got: list[Any] = []
        waiting = Thread(target=lambda: got.append(mq(other, "MQ.POP", 9, "q", "BLOCK", 0)))
        waiting.start()
        await_blocked(client)
        client.eval("redis.call('MQ.PUSH', 'q', 'x') return redis.call('MQ.PUSH', 'q', 'y')", 0)
        waiting.join(PATIENCE)
        assert [payload for _, payload in got[0]] == [b"x", b"y"]


# Every loop


def test_push_pop_and_blocking_pop_work_on_every_event_loop(server: miniredis.EmbeddedServer) -> None:
    with redis.Redis.from_url(server.url) as client, redis.Redis.from_url(server.url) as other:
        ids = mq(client, "MQ.PUSH", "q", "x", "y")
        assert mq(client, "MQ.POP", 1, "q") == [[ids[0], b"x"]]
        assert mq(client, "MQ.POP", 1, "q", "BLOCK", 0) == [[ids[1], b"y"]]
        assert mq(client, "MQ.POP", 1, "q", "BLOCK", 1) is None
        got: list[Any] = []
        waiting = Thread(
            target=lambda: got.append(mq(other, "MQ.POP", 1, "p", "KEYS", 1, "q", "BLOCK", (1 << 63) - 1))
        )
        waiting.start()
        await_blocked(client)
        ids += mq(client, "MQ.PUSH", "q", "z")
        waiting.join(PATIENCE)
        assert got == [[[b"q", ids[2], b"z"]]]
        assert mq(client, "MQ.ACK", "q", *ids) == ids
