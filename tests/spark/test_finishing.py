"""The last batch of a finished query is acknowledged."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis

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


@pytest.mark.parametrize("form", [json.dumps, repr, dict], ids=["4.3", "4.0", "dict"])
def test_finish_acknowledges_the_last_batch(place: Place, form: Callable[[Any], Any]) -> None:
    place.put(*some(0, 30))
    _, offset = claimed(place, 10)
    query = Query(None, "", "7", form({"other": 1}), form(offset))
    assert finish(query, place.url) == 0
    assert not query.isActive
    assert place.look() == some(10, 30)
    if place.kind == "pressure":
        assert place.queue.get_nowait() == b"row 10"
        assert place.queue.doctor().problems == ()


def test_finish_leaves_rows_of_an_uncommitted_batch_claimed(place: Place) -> None:
    place.put(*some(0, 30))
    stream, offset = claimed(place, 25)
    assert finish(Query(offset), place.url) == 15
    source = Source(place.options())
    assert (source.state.id, source.state.first, source.state.claimed) == (stream, 10, 25)
    source.release()


def test_finish_of_a_query_without_batches_is_told_which_queues_it_reads(
    place: Place, raw: redis.Redis
) -> None:
    place.put(*some(0, 30))
    claimed(place, 5)
    assert finish(Query(), place.url) == 0
    options = {"queue": place.name, "kind": place.kind, "prefix": None}
    assert finish(Query(), place.url, options=options) == 5
    assert raw.keys(f"*:owner:*{place.name}") == []
    source = Source(place.options())
    source.acknowledge(5)
    source.release()
    assert finish(Query(), place.url, options=options) == 0
    if place.kind == "pressure":  # the role is given back, too
        assert place.queue.get_nowait() == b"row 5"


def test_finish_refuses_an_offset_of_another_stream(place: Place) -> None:
    place.put(*some(0, 30))
    _, offset = claimed(place, 10)
    with pytest.raises(RowsGoneError, match="new checkpoint"):
        finish(Query({**offset, "stream": "another"}), place.url)
