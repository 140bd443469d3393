"""HyperLogLogs have the same bytes as a real server's, and estimates within the expected error."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from conformance.targets import Address
from miniredis.engine.protocol.errors import CommandError
from miniredis.engine.values import hyperloglog

Both = Callable[..., Any]


@pytest.fixture
def both(embedded_server: Address, real_server: Address) -> Iterator[Both]:
    """Asks both servers, and sees that they answer alike."""
    clients = [redis.Redis.from_url(each.url) for each in (embedded_server, real_server)]

    def ask(*words: object) -> Any:
        answers = []
        for client in clients:
            try:
                answers.append(client.execute_command(*words))  # type: ignore[no-untyped-call]
            except redis.ResponseError as error:
                answers.append(str(error))
        assert answers[0] == answers[1], words[:3]
        return answers[0]

    ask("FLUSHALL")
    yield ask
    ask("CONFIG", "SET", "hll-sparse-max-bytes", 3000)
    for client in clients:
        client.close()


def element(rng: random.Random) -> str:
    return str(rng.randrange(10 ** rng.choice([1, 3, 6])))


@pytest.mark.parametrize(
    "most", [0, 17, 600, *(pytest.param(most, marks=pytest.mark.slow) for most in (100, 3000))]
)
def test_pfadd_and_pfmerge_store_the_bytes_that_redis_stores(both: Both, most: int) -> None:
    rng = random.Random(most)  # noqa: S311
    both("CONFIG", "SET", "hll-sparse-max-bytes", most)
    for _ in range(150):
        keys = [rng.choice("abc") for _ in range(rng.randint(1, 3))]
        both("PFADD", keys[0], *[element(rng) for _ in range(rng.choice([1, 1, 5, 50]))])
        both("GET", keys[0])
        if rng.random() < 0.2:
            both("PFMERGE", *keys)
            both("GET", keys[0])
        if rng.random() < 0.2:
            both("PFCOUNT", *keys)
            both("GET", keys[0])
        if rng.random() < 0.03:
            both("DEL", keys[0])


def test_damaged_hyperloglogs_get_the_same_replies_on_both_servers(both: Both) -> None:
    rng = random.Random(1)  # noqa: S311
    both("PFADD", "good", *range(20))
    good = both("GET", "good")
    for _ in range(200):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 2)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        both("SET", "bad", bytes(bad))
        for request in (
            ("PFCOUNT", "bad"), ("PFCOUNT", "bad", "good"), ("PFDEBUG", "DECODE", "bad"),
            ("PFADD", "bad", *range(20, 25)), ("PFMERGE", "bad", "good"), ("PFDEBUG", "TODENSE", "bad"),
        ):  # fmt: skip
            both(*request)


@pytest.mark.parametrize("length", range(20))
def test_elements_of_every_length_are_hashed_as_on_redis(both: Both, length: int) -> None:
    both("PFADD", "k", bytes(range(100, 100 + length)))
    both("GET", "k")


def test_dense_registers_of_every_value_are_counted_as_on_redis(both: Both) -> None:
    rng = random.Random(1)  # noqa: S311
    for highest in (0, 1, 32, 50, 51, 63):
        packed = sum(rng.randint(0, highest) << 6 * place for place in range(1 << 14))
        both("SET", "k", b"HYLL" + bytes(11) + b"\x80" + packed.to_bytes(12288, "little"))
        both("PFCOUNT", "k")
        both("GET", "k")
        both("PFDEBUG", "GETREG", "k")


def test_estimates_are_within_three_percent() -> None:
    text = hyperloglog.empty()
    for number in range(1, 30_001):
        hyperloglog.add(text, b"element %d" % number, 3000)
        if number in {1, 10, 100, 1000, 10_000, 30_000}:
            assert hyperloglog.count(hyperloglog.registers(text)) == pytest.approx(number, rel=0.03)


def test_a_sparse_hyperloglog_with_too_many_registers_is_refused() -> None:
    text = hyperloglog.empty() + b"\x7f\xff"
    with pytest.raises(CommandError):
        hyperloglog.to_dense(text)
