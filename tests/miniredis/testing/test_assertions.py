"""Assertions about keys: they pass for what a key holds, and say what it holds otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import miniredis
from tests.cases import for_each

CONTENTS: dict[str, tuple[Any, Any]] = {
    "string": (5, b"6"),
    "list": (["a", b"b", 3], ["a", "b"]),
    "set": ({"a", "b"}, {"a"}),
    "hash": ({"f": "v", "g": "w"}, {"f": "v"}),
    "sorted_set": ({"a": 1, "b": 2.5}, {"a": 1, "b": 2}),
    "stream": ([("1-1", ["f", "v"])], [("1-1", ["f", "w"])]),
}
"""For each type what a key holds, and what it does not."""


@pytest.fixture(params=[miniredis.start, miniredis.spawn], ids=lambda start: start.__name__)
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    with request.param() as server:
        yield server


@pytest.fixture(scope="module")
def embedded() -> Iterator[Any]:
    with miniredis.start() as server:
        yield server


def test_each_type_has_an_assertion(server: Any) -> None:
    for kind, (content, other) in CONTENTS.items():
        server.set_content("key", content)
        hold = getattr(server, f"assert_{kind}")
        hold("key", content)
        with pytest.raises(AssertionError, match=f"the {kind.replace('_', ' ')} 'key' has another content"):
            hold("key", other)
        with pytest.raises(AssertionError, match=r"there is no key 'nothing': the keys .* are \[b'key'\]"):
            hold("nothing", content)
        with pytest.raises(AssertionError, match=f"'key' is there: a {kind.replace('_', ' ')}, "):
            server.assert_missing("key")


def test_the_message_shows_what_differs(server: Any) -> None:
    server.set_content("jobs", ["a", "b", "c"])
    with pytest.raises(AssertionError) as failure:
        server.assert_list("jobs", ["a", "c", "d"])
    assert str(failure.value).splitlines()[1:] == ["  b'a'", "+ b'b'", "  b'c'", "- b'd'"]


def test_a_key_of_another_type_is_told(server: Any) -> None:
    server.set_content("jobs", {"a": 1})
    with pytest.raises(AssertionError, match=r"'jobs' is a sorted set, not a list: \{b'a': 1\.0\}"):
        server.assert_list("jobs", ["a"])


@for_each(
    ("kind", "expected", "message"),
    [
        ("list", "abc", "give several elements, such as a list, and not str"),
        ("set", 7, "give several elements, such as a list, and not int"),
        ("hash", ["a"], "give a dict, and not list"),
        ("sorted_set", ["a"], "give a dict, and not list"),
        ("stream", [{"f": 2}], "an entry of a stream is .*, and not {'f': 2}"),
        ("stream", [("1-1", {"f": 2})], "give several elements, such as a list, and not dict"),
    ],
)
def test_what_no_key_of_the_type_can_hold_is_a_mistake_of_the_test(
    embedded: Any, kind: str, expected: Any, message: str
) -> None:
    embedded.set_content("key", CONTENTS[kind][0])
    with pytest.raises(TypeError, match=message):
        getattr(embedded, f"assert_{kind}")("key", expected)


def test_databases_are_told_apart(server: Any) -> None:
    server.set_content("jobs", ["a"], database=1)
    server.assert_missing("jobs")
    server.assert_list("jobs", ["a"], database=1)
    with pytest.raises(AssertionError, match="there is no key 'jobs': database 0 has none"):
        server.assert_list("jobs", ["a"])
