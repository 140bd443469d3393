"""Glob patterns match the same names on both servers, in linear time."""

from __future__ import annotations

import random
import re
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from conformance.targets import Address
from conformance.wire import RawConnection
from miniredis.engine import glob
from miniredis.engine.glob import compile_glob

LETTERS = b"aaabbAB*?[]^-\\\x00\x7f\x80\xff"
CLASSES = [
    b"[a-b]", b"[^a]", b"[\\A-b]", b"[b-A]", b"[\x80-\x7f]", b"[a-\xff]", b"[]", b"[^]", b"[a-]", b"[a-", b"[\\]a]",
    b"[^\\", b"[-a]", b"[a-b-A]", b"[?*]",
]  # fmt: skip


def pattern(rng: random.Random) -> bytes:
    parts = [
        rng.choice([b"*", b"?", b"a", rng.choice(CLASSES), bytes([rng.choice(LETTERS)])]) for _ in range(5)
    ]
    return b"".join(rng.sample(parts, rng.randint(1, 5)))


@pytest.fixture
def both(embedded_server: Address, real_server: Address) -> Iterator[list[RawConnection]]:
    with ExitStack() as stack:
        connections = [
            stack.enter_context(RawConnection(each.host, each.port))
            for each in (embedded_server, real_server)
        ]
        for each in connections:
            each.command("FLUSHALL")
        yield connections


def alike(both: list[RawConnection], *words: bytes | str) -> list[bytes]:
    """The lines of a reply that is the same on both, but for its order."""
    ours, theirs = (sorted(each.command(*words).split(b"\r\n")) for each in both)
    assert ours == theirs, words
    return ours


def test_keys_match_patterns_as_on_redis(both: list[RawConnection]) -> None:
    rng = random.Random(23)  # noqa: S311
    texts = [bytes(rng.choices(LETTERS, k=rng.randint(0, 6))) for _ in range(200)]
    for each in both:
        each.command("MSET", *[word for text in texts for word in (text, b"")])
    for _ in range(600):
        alike(both, "KEYS", pattern(rng))
        alike(both, "KEYS", b"*" * rng.randint(0, 1) + pattern(rng) + b"*" + pattern(rng))


@pytest.mark.usefixtures("redis_7_0")
def test_case_insensitive_patterns_match_as_on_redis(both: list[RawConnection]) -> None:
    rng = random.Random(24)  # noqa: S311
    names = {"".join(rng.choices("aAbB_0", k=rng.randint(1, 5))) for _ in range(60)}
    code = "#!lua name={0}\nredis.register_function('f_{0}', function() end)"
    for each in both:
        for name in sorted(names):
            each.command("FUNCTION", "LOAD", code.format(name))
    try:
        for _ in range(300):
            one = pattern(rng)
            assert reply_set(both[0], one) == reply_set(both[1], one), one
        for name in ("[\\G]ET", "[\\g]ET", "\\GET", "[F-h]ET", "GE[^\\T]", "g[^\\e]T", "ge[^a-S]", "G[E]t"):
            alike(both, "COMMAND", "LIST", "FILTERBY", "PATTERN", name)
    finally:
        for each in both:
            each.command("FUNCTION", "FLUSH")


def reply_set(connection: RawConnection, pattern: bytes) -> set[bytes]:
    lines = connection.command("FUNCTION", "LIST", "LIBRARYNAME", pattern).split(b"\r\n")
    return {
        after for line, _, after in zip(lines, lines[1:], lines[2:], strict=False) if line == b"library_name"
    }


@pytest.mark.usefixtures("redis_7_0")
@pytest.mark.parametrize("stars", [999, 1000, 1001, 1002, 10_000])
def test_patterns_with_about_a_thousand_stars_match_as_on_redis(
    stars: int, both: list[RawConnection]
) -> None:
    for each in both:
        each.command("MSET", "x" * stars, "", "x" * 20_000, "")
    for one in (
        "*x" * stars,
        "*x" * stars + "*",
        "x*" * stars,
        "*x" * stars + "y",
        "*?" * stars,
        "*" * stars + "x",
    ):
        alike(both, "KEYS", one)


N = 10_000

WORST: dict[str, tuple[bytes, bytes]] = {
    "stars": (b"*" * N * 100, b"a" * N),
    "stars and letters": (b"*a" * N, b"a" * N * 10),
    "stars and places": (b"*?" * N + b"x", b"a" * N),
    "places": (b"?" * N * 100, b"a" * N),
    "letters": (b"a" * N * 100, b"a" * N),
    "letters after a star": (b"*" + b"a" * N + b"b", b"a" * N * 100),
    "places and letters": (b"a?" * N * 100, b"a" * N),
    "classes": (b"[ab]" * N * 100, b"a" * N),
    "a class": (b"*[" + b"ab" * N + b"]c", b"a" * N),
    "classes after a star": (b"*" + b"[ab]" * 60 + b"c", b"a" * N * 100),
    "a class of ranges": (b"[" + b"a-" * N, b"b"),
    "escapes": (b"*" + b"\\a" * N + b"b", b"a" * N),
    "a class that does not end": (b"*[" * N, b"[" * N),
}


def seconds(act: Callable[[], object]) -> float:
    start = time.thread_time()
    act()
    return time.thread_time() - start


@pytest.mark.parametrize(("pattern", "text"), WORST.values(), ids=WORST)
def test_the_worst_patterns_take_time_linear_in_pattern_and_text(pattern: bytes, text: bytes) -> None:
    walk = min(seconds(lambda: [byte for byte in pattern + text if byte != 300]) for _ in range(3))
    took = []
    for _ in range(3):
        glob.kept_members.cache_clear()
        took.append(seconds(lambda: compile_glob(pattern)(text)))
    assert min(took) < 50 * walk + 0.05


def test_a_case_insensitive_pattern_is_read_no_further_than_the_text_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at, exactly = 0, glob.one_of

    def counted(members: bytes, *, negated: bool, ignore_case: bool) -> frozenset[int]:
        nonlocal looked_at
        looked_at += 1
        return exactly(members, negated=negated, ignore_case=ignore_case)

    monkeypatch.setattr(glob, "one_of", counted)
    assert not compile_glob(b"a" * N, ignore_case=True)(b"a" * 10)
    assert looked_at <= 20


def test_a_long_class_is_not_cached() -> None:
    members = b"ab" * 50_000
    tracemalloc.start()
    try:
        assert [compile_glob(b"[%b%d]" % (members, number))(b"%d" % number) for number in range(4)] == [
            True
        ] * 4
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < len(members)


@pytest.mark.parametrize("members", [b"ab", b"a-b", b"\\ab"])
def test_a_long_class_matches_what_a_short_one_does(members: bytes) -> None:
    for negation in (b"", b"^"):
        short, long = (compile_glob(b"[%b%b]" % (negation, members * times)) for times in (1, 1000))
        assert [long(text) for text in (b"a", b"b", b"c")] == [short(text) for text in (b"a", b"b", b"c")]


def test_case_is_ignored_in_a_long_class() -> None:
    plain, escaped = (compile_glob(b"[%b]" % (text * 300), ignore_case=True) for text in (b"aB", b"\\a\\B"))
    assert [plain(text) for text in (b"a", b"A", b"b", b"B", b"c")] == [True] * 4 + [False]
    assert [escaped(text) for text in (b"a", b"A", b"b", b"B", b"c")] == [True, False, False, True, False]


def test_a_long_class_is_read_once_for_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    read, exactly = [0], glob.found_members

    def counted(members: bytes, ignore_case: bool) -> frozenset[int]:
        read[0] += 1
        return exactly(members, ignore_case)

    monkeypatch.setattr(glob, "found_members", counted)
    fits = compile_glob(b"x[%b]y[^%b]" % (b"a-b\\c" * 1000, b"a" * 1000))
    texts = {b"xayb": True, b"xbyz": True, b"xdyb": False, b"xaya": False, b"xcyb": True}
    assert {text: fits(text) for text in texts} == texts
    assert read[0] == 2


def test_many_stars_are_read_once_for_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    read, exactly = [0], glob.TOKEN

    def counted(pattern: bytes, at: int) -> re.Match[bytes] | None:
        token = exactly(pattern, at)
        read[0] += len(token[0]) if token else 0
        return token

    monkeypatch.setattr(glob, "TOKEN", counted)
    fits = compile_glob(b"x%by" % (b"*" * 10_000))
    texts = {b"xy": True, b"xay": True, b"xx": False, b"ay": False, b"": False, b"xxyy": True}
    assert {text: fits(text) for text in texts} == texts
    assert read[0] < 10_100
