"""Commands on bitmaps longer than one chunk of work answer alike on both servers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from conformance.targets import Address
from conformance.wire import RawConnection
from miniredis.engine.commands.strings.bitmaps import CHUNK
from tests.cases import exhaustive

SIZES = [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 3]


@pytest.fixture
def both(embedded_server: Address, real_server: Address) -> Iterator[list[RawConnection]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(RawConnection(each.host, each.port))
            for each in (embedded_server, real_server)
        ]


def ask(both: list[RawConnection], *words: str | bytes) -> None:
    ours, theirs = (each.command(*words) for each in both)
    assert ours == theirs, words


@pytest.mark.usefixtures("redis_7_0")
@pytest.mark.parametrize(
    ("size", "fill"),
    [
        exhaustive(size, fill, when=(at + of) % 2 > 0)
        for at, size in enumerate(SIZES)
        for of, fill in enumerate([b"\0", b"\xff"])
    ],
)
def test_bitpos_and_bitcount_work_across_chunk_borders(
    size: int, fill: bytes, both: list[RawConnection]
) -> None:
    rng = random.Random(size)  # noqa: S311
    ask(both, "SET", "b", fill * size)
    for _ in range(12):
        at = rng.choice([0, 8 * CHUNK - 1, 8 * CHUNK, 8 * CHUNK + 9, 8 * size - 1, rng.randrange(8 * size)])
        place = min(at, 8 * size - 1)
        ask(both, "SETBIT", "b", str(place), "1" if fill == b"\0" else "0")
        for bit in "01":
            ask(both, "BITPOS", "b", bit)
            for start in (0, place // 8, place // 8 + 1, CHUNK - 1, CHUNK, rng.randrange(size)):
                end = rng.choice([-1, start, size, rng.randrange(size)])
                ask(both, "BITPOS", "b", bit, str(start))
                ask(both, "BITPOS", "b", bit, str(start), str(end))
                ask(both, "BITPOS", "b", bit, str(start * 8 + 3), str(end * 8 + 5), "BIT")
                ask(both, "BITCOUNT", "b", str(start * 8 + 3), str(end * 8 + 5), "BIT")
                ask(both, "BITCOUNT", "b", str(start), str(end))
        ask(both, "SETBIT", "b", str(place), "0" if fill == b"\0" else "1")


@pytest.mark.parametrize("size", SIZES)
def test_bitop_combines_strings_of_different_lengths(size: int, both: list[RawConnection]) -> None:
    rng = random.Random(size)  # noqa: S311
    for key, length in (("a", size), ("b", size // 2), ("c", CHUNK + 5), ("d", 0)):
        ask(both, "SET", key, rng.randbytes(length))
    for words in (
        ("AND", "a", "b"),
        ("OR", "b", "a", "c"),
        ("XOR", "a", "c", "d"),
        ("NOT", "a"),
        ("AND", "c", "none"),
    ):
        ask(both, "BITOP", words[0], "to", *words[1:])
        ask(both, "GET", "to")
