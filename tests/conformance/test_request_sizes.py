"""The differential's requests grow by orders of magnitude, within what a real server can handle."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from conformance.differential.grammar import Argument, Form
from conformance.differential.requests import request
from conformance.differential.sizes import LARGEST, LONGEST_PATTERN, MOST_WORDS, UNGROWN, size_of, work_of
from tests.tools.hostile.fuzz import command_names
from tests.tools.hostile.mutation import Frames

KEY = Argument("key", "key")
PUSH = Form(("RPUSH",), (KEY, Argument("element", "string", multiple=True)), "list")
UNION = Form(("SINTERCARD",), (Argument("numkeys", "integer"), Argument("key", "key", multiple=True)), "set")
SCORE = Form(("ZADD",), (KEY, Argument("score", "double"), Argument("member", "string")), "sorted-set")
NAMES = Form(("KEYS",), (Argument("pattern", "pattern"),), "generic")
SLEEP = Form(("DEBUG",), (), "server")
KILL = Form(("CLIENT", "KILL"), (), "connection")


@pytest.fixture
def chance() -> random.Random:
    return random.Random(1)  # noqa: S311


def many(chance: random.Random, form: Form, size: int, times: int = 200) -> list[list[str]]:
    return [request(form, chance.choice, size) for _ in range(times)]


def test_most_requests_stay_small_and_some_reach_each_order_of_magnitude(chance: random.Random) -> None:
    sizes = [size_of(chance.choice) for _ in range(100_000)]
    orders = Counter(len(str(size)) for size in sizes if size)
    assert 0.8 < sizes.count(0) / len(sizes) < 0.97
    assert set(orders) >= {3, 4, 5, 6, 7}
    assert orders[3] > orders[5] > orders[7]
    assert max(sizes) < 10 * LARGEST


def test_the_largest_size_can_be_chosen(chance: random.Random) -> None:
    assert max(size_of(chance.choice, 1000) for _ in range(20_000)) < 10_000
    assert not any(size_of(chance.choice, 0) for _ in range(1000))


def longest(requests: Sequence[Sequence[str]]) -> int:
    return max(len(word) for words in requests for word in words)


def test_arguments_grow_in_length_and_in_number(chance: random.Random) -> None:
    found = many(chance, PUSH, 50_000)
    assert 49_000 < longest(found) <= 51_000
    assert 49_000 < max(map(len, found)) <= 51_000
    assert max(map(len, many(chance, PUSH, 10 * MOST_WORDS, 20))) <= MOST_WORDS + 10


def test_numbers_grow_into_numbers_and_patterns_into_patterns(chance: random.Random) -> None:
    scores = {words[2] for words in many(chance, SCORE, 10_000) if len(words) > 2}
    assert any(len(score) > 9000 and score.isdigit() for score in scores)
    assert any(len(score) > 9000 and score.startswith("0.0") for score in scores)
    found = many(chance, NAMES, 1_000_000, 50)
    assert any(words[-1].count("*") > 5000 for words in found)
    assert max(len(words[1]) for words in found if len(words) == 2 and "*" in words[1]) < LONGEST_PATTERN + 10


def test_the_argument_that_counts_very_many_keys_is_often_right(chance: random.Random) -> None:
    found = [words for words in many(chance, UNION, 1000) if len(words) > 900]
    assert sum(words[1] == str(len(words) - 2) for words in found) > len(found) / 4


def test_arguments_that_would_take_long_or_differ_do_not_grow(chance: random.Random) -> None:
    assert longest(many(chance, SLEEP, 10_000)) < 100
    assert all(word.count("<id:") < 2 for words in many(chance, KILL, 10_000) for word in words)
    assert all(UNGROWN.values())


def test_the_work_of_a_request_is_the_size_of_each_key_as_often_as_it_is_named() -> None:
    values: dict[bytes, Any] = {b"a": b"x" * 10, b"l": [b"x"] * 7}
    assert work_of(values, [b"MGET", b"a", b"a", b"none", b"l"]) == 27
    assert work_of(values, [b"LCS", b"a", b"l"]) == 70
    assert work_of(values, [b"SORT", b"l", b"GET", b"#"]) == 28


def test_frames_of_the_fuzzer_have_every_order_of_magnitude() -> None:
    supply = Frames(1, command_names())
    sizes = [len(supply.next()) for _ in range(20_000)]
    orders = Counter(len(str(size)) for size in sizes)
    assert set(orders) >= {2, 3, 4, 5, 6}
    assert sum(sizes) / len(sizes) < 2000
