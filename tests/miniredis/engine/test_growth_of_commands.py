"""Commands whose cost grew faster than the request: the cost is counted or compared with the request's size."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.wire import encode
from miniredis.engine.commands.server import introspection

from .test_engine import World

MEGABYTE = 1 << 20


def ask(world: World, *words: str | bytes | int) -> bytes:
    client = world.client()
    args = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    world.engine.receive(client, encode(*args), world.now)
    return world.settle()[client.id]


@contextmanager
def most_memory(most: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("operation", ["AND", "OR", "XOR"])
def test_bitop_of_many_keys_does_not_copy_each_value(operation: str) -> None:
    world = World()
    ask(world, "SET", "k", b"x" * MEGABYTE)
    with most_memory(20 * MEGABYTE):
        assert ask(world, "BITOP", operation, "d", *["k"] * 101) == b":%d\r\n" % MEGABYTE
    assert ask(world, "GET", "d") == ask(world, "GET", "k")


@pytest.mark.parametrize(("operation", "result"), [("AND", b"\0"), ("OR", b"x"), ("XOR", b"x")])
def test_bitop_of_20000_missing_keys_succeeds(operation: str, result: bytes) -> None:
    world = World()
    ask(world, "SET", "k", b"x" * 10 * MEGABYTE)
    assert ask(world, "BITOP", operation, "d", "k", *["none"] * 20_000) == b":%d\r\n" % (10 * MEGABYTE)
    assert ask(world, "GETRANGE", "d", 5, 5) == b"$1\r\n%b\r\n" % result


@pytest.mark.parametrize(("name", "words"), [("INFO", ["get"]), ("GETKEYSANDFLAGS", ["MSET", "k", "v"])])
def test_command_describes_each_command_once(
    name: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    described, exactly = 0, introspection.words

    def counted(names: list[str]) -> object:
        nonlocal described
        described += 1
        return exactly(names)

    monkeypatch.setattr(introspection, "words", counted)
    world = World()
    once = ask(world, "COMMAND", name, *words)
    described = 0
    again = words * 100 if name == "INFO" else ["MSET", *words[1:] * 100]
    many = ask(world, "COMMAND", name, *again)
    assert many == b"*100" + once[2:4] + once[4:] * 100
    assert not described
