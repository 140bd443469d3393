"""Listpacks and the nodes of lists: what is packed or read at once is as if it were done one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from miniredis.engine.listpack import pack, pack_element, pack_integer, pack_strings
from miniredis.engine.rdb.lists import BATCH, NODE, PLAIN, nodes
from miniredis.engine.rdb.packed import even_texts, listpack_elements, read_listpack
from miniredis.engine.rdb.reader import BadDataError, Reader

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


@pytest.mark.parametrize("text", SAME_SIZE.values(), ids=SAME_SIZE)
def test_texts_of_one_size_are_packed_and_read_as_if_one_by_one(text: Callable[[int], bytes]) -> None:
    texts = [text(number) for number in range(COUNT)]
    packed = pack_strings(texts)
    assert packed == pack([*map(pack_element, texts)])
    assert read_listpack(packed) == texts


@pytest.mark.parametrize("size", [1, 10, 63, 64, 125, 4095])
def test_many_texts_of_one_size_are_read_at_once(size: int) -> None:
    texts = [b"%c" % (97 + number % 26) * size for number in range(COUNT)]
    assert [*even_texts(pack_strings(texts), COUNT)] == texts


@pytest.mark.parametrize("size", [1, 10, 64])
def test_damage_is_found_alike_at_once_and_one_by_one(size: int) -> None:
    packed = pack_strings([b"x" * size] * 16)
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
    """What it would be without ``even_texts``."""
    try:
        elements = listpack_elements(data)
    except (IndexError, BadDataError):
        return "bad"
    size, count = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:6], "little")
    return elements if size == len(data) and count == len(elements) else "bad"


def test_an_integer_of_any_size_is_read_as_it_was_packed() -> None:
    numbers = [sign * (1 << bits) + more for bits in range(63) for more in (-1, 0, 1) for sign in (1, -1)]
    numbers += [(1 << 63) - 1, -(1 << 63)]
    assert read_listpack(pack([*map(pack_integer, numbers)])) == [b"%d" % number for number in numbers]


def sizes_of_nodes(sizes: list[int]) -> list[list[int]]:
    return [[*map(len, elements_of(Reader(node)))] for node in nodes([b"x" * size for size in sizes])]


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
