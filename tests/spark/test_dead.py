"""Messages that are not in the format go to the queue ``dead``, each once, when their batch is acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pressure import Queue
from pressure.spark import OptionError, diverting, finish
from pressure.spark.server import QueueServer
from pressure.spark.source import Source, offset_of

from .conftest import Place, some
from .test_finishing import Query

pytest.importorskip("pyspark", reason="PySpark is not installed; it is in the extra 'spark'")
pa: Any = pytest.importorskip("pyarrow")
datasource: Any = pytest.importorskip("pressure.spark.datasource")
payloads: Any = pytest.importorskip("pressure.spark.payloads")

SCHEMA = pa.schema(
    [
        pa.field("position", pa.int64()),
        pa.field("id", pa.string()),
        pa.field("value", pa.string()),
        pa.field("enqueued", pa.timestamp("us", "UTC")),
        pa.field("deliveries", pa.int32()),
    ]
)
BAD = b"\xff not UTF-8"
BAD_IN_LATIN = b" not UTF-8"


def in_latin(value: bytes) -> str:
    if BAD_IN_LATIN in value:
        raise ValueError("bad")
    return value.decode("latin-1")


#: Another format for text, in which fewer messages are malformed.
latin = payloads.Format(
    lambda values, kind: pa.array(map(in_latin, values), kind), lambda _: in_latin, payloads._payloads
)


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def dead(make: Callable[..., Place]) -> Queue[bytes]:
    return make().queue  # type: ignore[no-any-return]


def opened(place: Place, dead: Queue[bytes]) -> Source:
    return Source(place.options(format="text", dead=dead.name.decode()))


def read(source: Source, first: int, last: int) -> list[str]:
    """The values of rows, as a task reads them."""
    state = source.state
    rows = source.read(state, first, last)
    batches = payloads.batches_of(source.options, SCHEMA, rows, partial(source.divert, state))
    return [value for batch in batches for value in batch.column("value").to_pylist()]


def test_malformed_messages_go_to_a_queue_and_the_others_to_the_stream(
    place: Place, dead: Queue[bytes]
) -> None:
    place.put(b"one", BAD, b"two", BAD + b"2", b"three", BAD + b"3")
    source = opened(place, dead)
    assert source.advance(0, 5) == 5
    for _ in range(2):  # a task that is run again
        assert read(source, 0, 5) == ["one", "two", "three"]
    assert dead.length() == 0
    source.acknowledge(3)
    assert dead.peek_many(9) == [BAD]
    source.acknowledge(5)
    assert source.leave() == 0
    assert dead.peek_many(9) == [BAD, BAD + b"2"]
    assert place.look() == [BAD + b"3"]


@pytest.mark.parametrize("steps", range(12))
def test_an_acknowledgement_killed_at_any_step_puts_each_message_once(
    place: Place, dead: Queue[bytes], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.put(*some(0, 3), BAD, *some(3, 6), BAD + b"2")
    source = opened(place, dead)
    source.advance(0, 8)
    read(source, 0, 8)
    left = [steps]

    def stepwise(self: Any, operation: Any) -> Any:
        if not left[0]:
            raise Killed
        left[0] -= 1
        return self._driver.run(operation())

    with monkeypatch.context() as patch:
        patch.setattr("pressure.spark.server.QueueServer._once", stepwise)
        try:
            source.acknowledge(5)
        except Killed:
            pass
        else:
            assert steps > 8
    source.release()
    source = opened(place, dead)
    source.acknowledge(8)
    source.leave()
    assert dead.peek_many(9) == [BAD, BAD + b"2"]


def test_malformed_messages_go_on_to_their_queue_after_a_restart_of_the_server(
    place: Place, dead: Queue[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of their batches are those of rows: a gap between two of them tells of no loss."""
    place.put(BAD, b"one", b"two", BAD + b"2", b"three")
    source = opened(place, dead)
    source.advance(0, 5)
    read(source, 0, 5)
    source.acknowledge(1)
    monkeypatch.setattr(QueueServer, "run_id", "another")
    source.acknowledge(5)
    assert source.leave() == 0
    assert dead.peek_many(9) == [BAD, BAD + b"2"]


def test_a_message_that_a_later_schema_can_read_goes_to_the_stream_only(
    place: Place, dead: Queue[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query failed, its schema was mended, and Spark does the batch again."""
    monkeypatch.setattr(diverting, "TOGETHER", 2)
    place.put(b"one", BAD, b"\xe4", b"\xf6", BAD + b"2", b"\xfc", BAD + b"3")
    source = opened(place, dead)
    source.advance(0, 7)
    assert read(source, 0, 7) == ["one"]
    with monkeypatch.context() as patch:
        patch.setitem(payloads.FORMATS, "text", latin)
        for _ in range(2):
            assert read(source, 0, 7) == ["one", "\xe4", "\xf6", "\xfc"]
    source.acknowledge(7)
    assert source.leave() == 0
    assert dead.peek_many(9) == [BAD, BAD + b"2", BAD + b"3"]


def test_a_query_that_names_the_queue_no_more_puts_the_messages_of_earlier_batches_there(
    place: Place, dead: Queue[bytes]
) -> None:
    place.put(b"one", BAD)
    source = opened(place, dead)
    source.advance(0, 2)
    read(source, 0, 2)
    offset = offset_of(source, 2)
    source.release()
    reader = datasource.StreamReader(place.options(format="text"), None)
    reader.commit(offset)
    reader.stop()
    assert dead.peek_many(9) == [BAD]


def test_finish_puts_the_malformed_messages_of_the_last_batch(place: Place, dead: Queue[bytes]) -> None:
    place.put(b"one", BAD)
    source = opened(place, dead)
    source.advance(0, 2)
    read(source, 0, 2)
    offset = offset_of(source, 2)
    source.release()
    assert finish(Query(repr(offset)), place.url) == 0
    assert dead.peek_many(9) == [BAD]


def test_a_batch_read_and_malformed_do_not_go_with_a_queue_for_malformed_messages(place: Place) -> None:
    given = {"queue": place.name, "url": place.url, "kind": place.kind, "dead": "x"}
    with pytest.raises(OptionError, match="dead works only without malformed"):
        datasource.PressureDataSource({**given, "malformed": "null"})
    with pytest.raises(OptionError, match="dead is for streams"):
        datasource.PressureDataSource(given).reader(None)
