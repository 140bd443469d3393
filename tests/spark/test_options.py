"""Options: each wrong one is reported before anything happens."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
import redis

from pressure import PressureError, QueueDoesNotExistError, ServerReplyError
from pressure.spark import OptionError
from pressure.spark.options import options_of
from pressure.spark.places import places_of
from pressure.spark.server import QueueServer
from pressure.spark.source import Source
from tests.cases import for_each

from .conftest import Place


def test_option_names_and_kinds_are_accepted_in_any_case() -> None:
    found = options_of({"QUEUE": "q", "rowsperbatch": "10", "Kind": "BACKUP", "checkpointLocation": "x"})
    assert (found.queue, found.rows_per_batch, found.kind) == ("q", 10, "backup")


@for_each(
    ("given", "told"),
    [
        ({}, "queue is missing"),
        ({"queue": ""}, "option queue: must not be empty"),
        ({"queue": "q", "rowPerBatch": "1"}, "rowPerBatch is not known; did you mean rowsPerBatch"),
        ({"queue": "q", "xyzzy": "1"}, "xyzzy is not known; the options are queue, queues"),
        ({"queue": "q", "writer": "w", "batch": "-1"}, "whole number of 0 or more, not '-1'"),
        ({"queue": "q", "rowsPerBatch": "0"}, "whole number of 1 or more, not '0'"),
        ({"queue": "q", "partitions": "-1"}, "whole number"),
        ({"queue": "q", "kind": "ring"}, "one of pressure, backup, reliable, not 'ring'"),
        ({"queue": "q", "format": "xml"}, "one of binary, text, json"),
        ({"queue": "q", "delivery": "twice"}, "one of exactly_once, plain"),
        ({"queue": "q", "timeout": "soon"}, "number of seconds"),
        ({"queue": "q", "lease": "nan"}, "number of seconds"),
        ({"queue": "q", "envelope": "yes"}, "true or false"),
        ({"queue": "q", "envelope": "true"}, "works only with kind=backup"),
        ({"queue": "q", "schema": "a INT"}, "works only with format=json"),
        ({"queue": "q", "writer": "a b"}, "letters, digits"),
        ({"queue": "q", "writer": "nightly"}, "options writer and batch need each other"),
        ({"queue": "q", "batch": "1"}, "options writer and batch need each other"),
        ({"queue": "q", "path": "jobs"}, "a queue has no path: name it by the option queue"),
        ({"queue": "q", "partitions": "\u0663"}, "whole number of 1 or more"),
        ({"queue": "q", "rowsPerBatch": "1" * 30}, "whole number of 1 or more"),
        (
            {"queue": "q", "writer": "a", "batch": "1", "delivery": "plain"},
            "does not work with delivery=plain",
        ),
        ({"queue": "q", "url": "http://x"}, "option url"),
        ({"queue": "q", "queues": "a, b"}, "queue and queues exclude each other"),
        ({"queues": "a,,b"}, "option queues: must be different names, separated by commas"),
        ({"queues": "a, a"}, "option queues: must be different names"),
        ({"queues": "a, b", "rowsPerBatch": "1"}, "rowsPerBatch is less than the number of queues"),
    ],
)
def test_wrong_options_are_reported(given: dict[str, str], told: str) -> None:
    with pytest.raises(OptionError) as caught:
        options_of(given)
    assert told in str(caught.value)


def test_the_server_is_that_of_the_driver_on_machines_with_other_environment_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://driver:7000/3")
    monkeypatch.setenv("PRESSURE_PREFIX", "mine")
    sent = pickle.dumps(options_of({"queue": "q"}))
    for other in ("redis://worker", "not a URL"):
        monkeypatch.setenv("REDIS_URL", other)
        monkeypatch.setenv("PRESSURE_PREFIX", "another")
        found = pickle.loads(sent)  # noqa: S301, our own
        assert found.where.address == "driver:7000"
        assert places_of(found).main == b"mine:q"
        assert [places_of(each).main for each in found.each] == [b"mine:q"]
        assert found.but(queue="other").where.address == "driver:7000"


def test_options_can_be_pickled() -> None:
    options = options_of({"queue": "q", "url": "redis://127.0.0.1:7000/3", "prefix": "p"})
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301, our own


def test_options_give_the_keys_of_the_queue() -> None:
    assert places_of(options_of({"queue": "q"})).main == b"__pressure__:q"
    assert places_of(options_of({"queue": "q", "kind": "backup"})).main == b"queue:q"
    places = places_of(options_of({"queue": "{q}", "kind": "reliable", "prefix": "p"}))
    assert places.main == b"p:{q}"
    assert places.beside("stage", "1") == b"__spark__:stage:1:p:{q}"


def test_a_pressure_queue_must_exist_before_it_is_used(place: Place) -> None:
    QueueServer(place.options()).check()
    missing = QueueServer(place.options(queue="no such queue"))
    if place.kind == "pressure":
        with pytest.raises(QueueDoesNotExistError, match="create it first"):
            missing.check()
    else:
        missing.check()  # these begin with their first message, which a writer puts
        with pytest.raises(QueueDoesNotExistError, match="missing=empty"):
            missing.check(reading=True)
        QueueServer(place.options(queue="no such queue", missing="empty")).check(reading=True)


def test_a_queue_that_a_stream_has_emptied_still_exists(place: Place) -> None:
    place.put(b"a")
    QueueServer(place.options()).check(reading=True)
    source = Source(place.options())
    source.advance(0, None)
    QueueServer(place.options()).check(reading=True)
    source.acknowledge(1)
    source.leave()
    QueueServer(place.options()).check(reading=True)


def test_a_key_that_holds_another_type_is_reported(place: Place) -> None:
    if place.kind == "pressure":
        pytest.skip(
            "a pressure queue exists if it has a bound, which is another key than the one of its messages"
        )
    server = QueueServer(place.options())
    server.ask((b"SET", server.places.main, b"x"))
    with pytest.raises(PressureError, match="its key holds a string"):
        server.check()


def test_an_unreachable_server_is_named_in_the_error() -> None:
    with pytest.raises(PressureError, match=r"127\.0\.0\.1:1"):
        QueueServer(options_of({"queue": "q", "url": "redis://127.0.0.1:1", "retry": "0"})).check()


PROGRAM = """
import sys, pressure, pressure.cli, pressure.spark, pressure.spark.sink, pressure.spark.peeking
sys.exit(bool({'pyspark', 'pyarrow', 'pandas'} & set(sys.modules)))
"""


def test_importing_pressure_and_its_options_does_not_import_spark() -> None:
    assert subprocess.run([sys.executable, "-c", PROGRAM], check=False).returncode == 0


def test_settings_by_which_a_server_may_lose_what_it_acknowledged_are_named(
    place: Place, raw: redis.Redis
) -> None:
    server = QueueServer(place.options())
    policy = str(raw.config_get("maxmemory-policy")["maxmemory-policy"])
    assert server.weaknesses().startswith("appendonly no, ")
    raw.config_set("maxmemory-policy", "allkeys-lru")
    try:
        assert server.weaknesses().endswith("maxmemory-policy allkeys-lru")
    finally:
        raw.config_set("maxmemory-policy", policy)


def test_a_server_that_does_not_tell_its_settings_has_no_known_weakness(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = ServerReplyError("NOPERM this user has no permissions to run the 'config|get' command")
    monkeypatch.setattr(QueueServer, "reply_to", lambda *_: refused)
    assert QueueServer(place.options()).weaknesses() == ""
