"""Listpacks and the nodes of lists: what is packed or read at once is as if it were done one by one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import product

import pytest

from miniredis.engine.rdb.lists import BATCH, NODE, PLAIN, counts_of, nodes
from miniredis.engine.rdb.packed import listpack_elements, read_listpack
from miniredis.engine.rdb.reader import BadDataError, Reader
from miniredis.engine.values.listpack import pack, pack_element, pack_integer
from miniredis.engine.values.listpack_bulk import bulk_elements, pack_strings
from tests.cases import for_each

COUNT = 40

SAME_SIZE: dict[str, Callable[[int], bytes]] = {
    "digits": lambda number: b"%d" % (10 + number),
    "leading zeros": lambda number: b"%010d" % number,
    "negative numbers": lambda number: b"-%d" % (10 + number),
    "one digit": lambda number: b"%d" % (number % 10),
    "letters": lambda number: b"%c" % (97 + number % 26),
    "nothing": lambda _: b"",
    "a number among texts": lambda number: b"12345" if number == 30 else b"x%04d" % number,
    "20 bytes": lambda number: b"-%019d" % (10**18 + number),
    "21 bytes": lambda number: b"%021d" % (10**20 + number),
    "63 bytes": lambda number: b"%063x" % number,
    "64 bytes": lambda number: b"%064x" % number,
    "125 bytes": lambda number: b"%0125x" % number,
    "4095 bytes": lambda number: b"%04095x" % number,
    "4096 bytes": lambda number: b"%04096x" % number,
}

ALIKE: dict[str, Callable[[int], bytes]] = {
    **{
        f"{bits} bits, {'negative' if sign < 0 else 'positive'}": (
            lambda number, sign=sign, bits=bits: b"%d" % (sign * ((1 << bits - 1) - 1 - number))  # type: ignore[misc]
        )
        for bits in (8, 13, 16, 24, 32, 64)
        for sign in (1, -1)
    },
    "the least": lambda number: b"%d" % (number - (1 << 63)),
    "beyond 64 bits": lambda number: b"%d" % ((1 << 63) + number),
    "some beyond 64 bits": lambda number: b"%d" % ((1 << 63) - 20 + number),
}
"""Integers of one form, and what only looks like one."""

UNLIKE: dict[str, Callable[[int], bytes]] = {
    "integers of all sizes": lambda number: b"%d" % (1 << number),
    "around zero": lambda number: b"%d" % (number - COUNT // 2),
    "half of them negative": lambda number: b"%d" % (1_000_000 * (-1) ** number),
    "zeros": lambda number: (b"0", b"00", b"-0", b"01", b"-01")[number % 5],
    "a sign before one": lambda number: b"+%d" % number if number == 20 else b"%d" % number,
    "zero with a sign": lambda number: b"-0" if number == 20 else b"%d" % number,
    "nothing among integers": lambda number: b"" if number == 20 else b"%d" % number,
    "a zero before one": lambda number: b"0%d" % number if number == 20 else b"%d" % number,
    "what int() takes": lambda number: (b"1", b"1_0", b"+1", b" 1", b"1\n", b"", b",", b"1,2")[number % 8],
    "line ends": lambda number: (b"1", b"1\r\n:2", b"1\r\n", b"\r\n1", b"1\r\n$1\r\n2", b"1\r")[number % 6],
    "a line end in the last one": lambda number: b"1\r\n:2" if number == COUNT - 1 else b"1",
    "signs": lambda number: b"-" * number,
    "texts of several sizes": lambda number: b"x" * number,
    "texts of many sizes": lambda number: b"x" * (number * number),
    "integers among texts": lambda number: b"%d" % number if number % 3 else b"x" * number,
    "a text behind integers": lambda number: b"%d" % number if number < COUNT - 1 else b"x",
}
"""What is of several forms."""

TEXTS = SAME_SIZE | ALIKE | UNLIKE


@for_each("text", TEXTS.values(), ids=TEXTS)
def test_texts_are_packed_and_read_at_once_as_if_one_by_one(text: Callable[[int], bytes]) -> None:
    texts = [text(number) for number in range(COUNT)]
    packed = pack_strings(texts)
    assert packed == pack([*map(pack_element, texts)])
    assert read_listpack(packed) == texts


@for_each("size", [1, 10, 63, 64, 125, 4095])
def test_many_texts_of_one_size_are_read_at_once(size: int) -> None:
    texts = [b"%c" % (97 + number % 26) * size for number in range(COUNT)]
    assert [*bulk_elements(pack_strings(texts), COUNT)] == texts


@for_each("bits", [16, 24, 32, 64])
@for_each("sign", [1, -1])
def test_many_integers_of_one_form_are_read_at_once(sign: int, bits: int) -> None:
    texts = [b"%d" % (sign * ((1 << bits - 1) - 1 - number)) for number in range(COUNT)]
    assert bulk_elements(pack_strings(texts), COUNT) == texts


@pytest.mark.parametrize("sizes", [range(64), range(60, 160), range(4000, 4096)], ids=str)
def test_texts_of_several_sizes_are_read_at_once(sizes: range) -> None:
    texts = [b"x" * size for size in sizes]
    assert [*bulk_elements(pack_strings(texts), len(texts))] == texts


DAMAGED = {
    "letters": [b"x"] * 16,
    "10 bytes": [b"x" * 10] * 16,
    "64 bytes": [b"x" * 64] * 16,
    "several sizes": [b"x" * size for size in range(16)],
    "about 64 bytes": [b"x" * size for size in range(56, 72)],
    "16 bits": [b"%d" % number for number in range(10_000, 10_016)],
    "24 bits": [b"%d" % number for number in range(1_000_000, 1_000_016)],
    "64 bits": [b"%d" % number for number in range(10**12, 10**12 + 16)],
    "several forms": [b"%d" % (-5) ** number for number in range(16)],
}


@for_each("texts", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_found_alike_at_once_and_one_by_one(texts: list[bytes]) -> None:
    packed = pack_strings(texts)
    for at, byte in product(range(len(packed)), (0, 1, 0x40, 0xFF)):
        damaged = packed[:at] + bytes([packed[at] ^ byte]) + packed[at + 1 :]
        for data in (damaged, packed[:at]):
            assert outcome(data) == one_by_one(data)


def outcome(data: bytes) -> list[bytes] | str:
    try:
        return read_listpack(data)
    except BadDataError:
        return "bad"


def one_by_one(data: bytes) -> list[bytes] | str:
    """What it would be without ``bulk_elements``."""
    try:
        elements = listpack_elements(data)
    except (IndexError, struct.error, BadDataError):
        return "bad"
    size, count = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:6], "little")
    return elements if size == len(data) and count == len(elements) else "bad"


def test_an_integer_of_any_size_is_read_as_it_was_packed() -> None:
    numbers = [sign * (1 << bits) + more for bits in range(63) for more in (-1, 0, 1) for sign in (1, -1)]
    numbers += [(1 << 63) - 1, -(1 << 63)]
    assert read_listpack(pack([*map(pack_integer, numbers)])) == [b"%d" % number for number in numbers]


def sizes_of_nodes(sizes: list[int]) -> list[list[int]]:
    values = [b"x" * size for size in sizes]
    return [[*map(len, elements_of(Reader(node)))] for node in nodes(values, counts_of(values))]


def elements_of(node: Reader) -> list[bytes]:
    is_plain, content = node.length() == PLAIN, node.string()
    return [content] if is_plain else read_listpack(content)


def test_a_node_ends_before_the_element_that_does_not_fit() -> None:
    assert sizes_of_nodes([NODE // 2, NODE // 2, 1, 0]) == [[NODE // 2, NODE // 2], [1, 0]]
    assert sizes_of_nodes([NODE, 0, 0, 1]) == [[NODE, 0, 0], [1]]


def test_an_element_larger_than_a_node_has_one_of_its_own() -> None:
    assert sizes_of_nodes([1, NODE + 1, 0, 2, NODE + 1]) == [[1], [NODE + 1], [0, 2], [NODE + 1]]


@pytest.mark.parametrize("size", [0, 1, 10, 3000])
def test_nodes_are_the_same_wherever_the_batches_end(size: int) -> None:
    found = sizes_of_nodes([size] * 20_000)
    assert sum(map(len, found)) == 20_000
    assert {len(run) for run in found[:-1]} == {NODE // size if size else BATCH}


def test_elements_of_no_size_among_others_fill_nodes_too() -> None:
    found = sizes_of_nodes([0] * 20_000 + [1] + [0] * 20_000 + [NODE, 1])
    assert sum(map(len, found)) == 40_003
    assert max(map(len, found)) == BATCH
