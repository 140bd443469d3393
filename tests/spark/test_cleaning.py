"""What queries in Spark have left on a server is shown, and what nothing needs is dropped."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import redis

from pressure.cli import main
from pressure.spark.peeking import Peek
from pressure.spark.sink import Sink
from pressure.spark.source import Source

from .conftest import Place, some


@pytest.fixture
def left(make: Callable[..., Place], raw: redis.Redis) -> Place:
    """A queue with all that a life with Spark leaves beside it."""
    raw.flushdb()
    place = make("backup")
    place.put(*some(0, 10))
    with Sink(place.options()) as sink:
        sink.commit("w", 0, [sink.stage([some(10, 12)], 0, "w")])
        sink.stage([some(0, 3)], 0, "w")  # an attempt that died
        decided = sink.stage([some(12, 15)], 0, "v")
        sink._decide(sink._marker("v"), 0, [decided], "")
    with Peek(place.options(), "0a") as peek:
        peek.plan()
    source = Source(place.options())
    source.advance(0, 4)
    source.divert(source.state, 0, 3, [2])
    source.release()
    return place


def shown(capsys: pytest.CaptureFixture[str], url: str, *words: str) -> dict[str, int]:
    assert main(["--url", url, "spark", "keys", "--json", *words]) == 0
    return {each["what"]: each["keys"] for each in json.loads(capsys.readouterr().out)}


def test_keys_are_shown_by_purpose_and_dropped_if_nothing_needs_them(
    left: Place, raw: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    found = shown(capsys, left.url)
    assert found == {
        "malformed": 1, "pending": 1, "sink": 2, "snapshot": 2, "source": 1, "stage": 2, "stages": 2,
    }  # fmt: skip
    assert shown(capsys, left.url, "--clean", "--older", "3600") == {}  # it is all too young
    assert shown(capsys, left.url) == found
    assert shown(capsys, left.url, "--clean", "--older", "0") == {"snapshot": 2, "stage": 1, "stages": 2}
    assert shown(capsys, left.url) == {"malformed": 1, "pending": 1, "sink": 2, "source": 1, "stage": 1}
    with Sink(left.options()) as sink:
        assert sink.settled("v") == 0  # a decided batch is whole
    assert left.look() == [*some(4, 15)]


def test_keys_are_printed_as_a_table(left: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--url", left.url, "spark", "keys"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["WHAT", "QUEUE'S", "KEY", "KEYS", "BYTES"]
    assert rows[0].split()[:3] == ["malformed", f"queue:{left.name}", "1"]
    assert main(["--url", left.url, "spark", "keys", "--clean", "--older", "0"]) == 0
    assert capsys.readouterr().out.startswith("dropped 5 keys, ")
