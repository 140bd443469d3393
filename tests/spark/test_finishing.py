"""The last batch of a query, acknowledged from what the query says of itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pressure.spark import RowsGoneError, finish
from pressure.spark.source import Source

from .conftest import Place, some


class Query:
    """What is asked of a query."""

    def __init__(self, *offsets: Any) -> None:
        self.isActive = True
        self.lastProgress = {"sources": [{"endOffset": offset} for offset in offsets]} if offsets else None

    def stop(self) -> None:
        self.isActive = False


def claimed(place: Place, rows: int) -> tuple[str, dict[str, Any]]:
    """A stream that has claimed so many rows, and an offset of it at 10."""
    source = Source(place.options())
    source.advance(0, rows)
    stream = source.state.id
    source.release()
    return stream, {"pressure": place.name, "kind": place.kind, "prefix": "", "stream": stream, "row": 10}


@pytest.mark.parametrize("form", [json.dumps, repr, dict], ids=["4.3", "4.0", "as it is"])
def test_the_last_batch_is_acknowledged(place: Place, form: Callable[[Any], Any]) -> None:
    place.put(*some(0, 30))
    _, offset = claimed(place, 10)
    query = Query(None, "", "7", form({"other": 1}), form(offset))
    assert finish(query, place.url) == 0
    assert not query.isActive
    assert place.look() == some(10, 30)
    if place.kind == "pressure":
        assert place.queue.get_nowait() == b"row 10"
        assert place.queue.doctor().problems == ()


def test_what_is_begun_and_not_done_stays_claimed(place: Place) -> None:
    place.put(*some(0, 30))
    stream, offset = claimed(place, 25)
    assert finish(Query(offset), place.url) == 15
    source = Source(place.options())
    assert (source.state.id, source.state.first, source.state.claimed) == (stream, 10, 25)
    source.release()


def test_a_query_that_did_nothing(place: Place) -> None:
    assert finish(Query(), place.url) == 0


def test_an_offset_of_another_stream(place: Place) -> None:
    place.put(*some(0, 30))
    _, offset = claimed(place, 10)
    with pytest.raises(RowsGoneError, match="new checkpoint"):
        finish(Query({**offset, "stream": "another"}), place.url)
