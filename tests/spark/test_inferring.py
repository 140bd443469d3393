"""The fields of JSON messages are found in a sample, which stays in the queue."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pressure.spark import OptionError, inferring
from pressure.spark.options import options_of
from pressure.spark.source import Source

from .conftest import Place


def found(place: Place, *messages: Any) -> str:
    place.put(*(each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages))
    return inferring.inferred(place.options(format="json", inferSchema="true"))


def test_fields_of_all_messages_have_the_narrowest_type_for_all_their_values(place: Place) -> None:
    assert found(
        place,
        {"n": 1, "x": 1, "big": 1, "huge": 2**64, "yes": True, "text": "a", "none": None},
        {"n": -(2**63) + 1, "x": 0.5, "big": 2**63, "huge": 10**38, "none": None, "later": None},
        {"later": [], "list": [1, None, 2.5], "of": {"a": {}, "b`c": [{"d": 1}, {"e": "x"}]}, "empty": []},
        {"later": ["x"]},
    ) == (
        "`n` BIGINT, `x` DOUBLE, `big` DECIMAL(38,0), `huge` DOUBLE, `yes` BOOLEAN, `text` STRING, `none` STRING, "
        "`later` ARRAY<STRING>, `list` ARRAY<DOUBLE>, `of` STRUCT<`a`: MAP<STRING, STRING>, "
        "`b``c`: ARRAY<STRUCT<`d`: BIGINT, `e`: STRING>>>, `empty` ARRAY<STRING>"
    )
    assert len(place.look()) == 4


def test_messages_that_are_no_objects_say_nothing_of_the_fields(place: Place) -> None:
    assert found(place, b"not JSON", b"[" * 100_000, b"\xff", [1], 7, {"a": 1}) == "`a` BIGINT"


def test_rows_that_a_stream_has_claimed_belong_to_the_sample(place: Place) -> None:
    place.put(b'{"a": 1}')
    source = Source(place.options())
    source.advance(0, None)
    source.release()
    assert place.look() == []
    assert found(place, {"b": 1}) == "`a` BIGINT, `b` BIGINT"


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"a": 1}, {"a": "1"}, "a is BIGINT in one message and STRING in another"),
        ({"a": {"b": [True]}}, {"a": {"b": [1]}}, "a.b is BOOLEAN in one message and BIGINT in another"),
        ({"a": [1]}, {"a": {"b": 1}}, "a is ARRAY<BIGINT> in one message and STRUCT<`b`: BIGINT> in another"),
    ],
)
def test_values_that_no_type_holds_together_are_reported(make: Any, one: Any, other: Any, told: str) -> None:
    with pytest.raises(OptionError) as caught:
        found(make(), one, other)
    assert told in str(caught.value)
    assert "give the option schema" in str(caught.value)


def test_without_an_object_the_fields_are_unknown(make: Callable[..., Place]) -> None:
    with pytest.raises(OptionError, match="no JSON object with fields in the first messages"):
        found(make(), 1, {})


def test_a_sample_has_limits(make: Callable[..., Place], monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [{f"f{number}": "x" * 100} for number in range(20)]
    monkeypatch.setattr(inferring, "SAMPLE", 3)
    assert found(make(), *messages) == "`f0` STRING, `f1` STRING, `f2` STRING"
    monkeypatch.setattr(inferring, "SAMPLE_BYTES", 150)
    assert found(make(), *messages) == "`f0` STRING, `f1` STRING"


def test_fields_of_several_queues_are_found_together(make: Callable[..., Place]) -> None:
    one, two = make(), make()
    one.put(b'{"a": 1}')
    two.put(b'{"a": 1.5, "b": "x"}')
    options = options_of({"queues": f"{one.name},{two.name}", "url": one.url})
    assert inferring.inferred(options) == "`a` DOUBLE, `b` STRING"


@pytest.mark.parametrize("more", [{"schema": "a INT"}, {"format": "text"}])
def test_fields_are_found_for_json_without_a_schema_only(more: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="inferSchema works only with format=json, and without schema"):
        options_of({"queue": "q", "format": "json", "inferSchema": "true", **more})
