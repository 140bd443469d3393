"""Statistics, peeking, holders and the doctor, and codecs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import redis

import pressure
from pressure import CodecError, Queue, QueueDoesNotExistError, QueueEmptyError
from pressure.connections.identity import process_in, unmarked
from pressure.connections.pool import HOLDS

from .conftest import DEAD, JOBS, StartTask, execute, take, waiting

# Looks


def test_stats_report_length_counters_and_holders(queue: Queue, raw: redis.Redis) -> None:
    queue.create(5)
    queue.put_many([b"1", b"22", b"333"])
    queue.get()
    take(raw, "consumer", b"somebody")
    stats = queue.stats()
    assert (stats.length, stats.bound, stats.closed, stats.unacknowledged) == (2, 5, False, 0)
    assert (stats.produced_messages, stats.produced_bytes) == (3, 6)
    assert (stats.consumed_messages, stats.consumed_bytes) == (1, 1)
    assert (stats.producer, stats.consumer) == (None, b"somebody")


def test_holder_returns_the_client_that_holds_a_role(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put(b"v")
    last = raw.get(f"{JOBS}:producer")
    assert isinstance(last, bytes)
    assert process_in(unmarked(last)) == HOLDS.process
    assert queue.holder("producer") is queue.holder("consumer") is None
    take(raw, "consumer", None)
    assert queue.holder("consumer") == b""
    raw.set(f"{JOBS}:consumer", "somebody")
    assert queue.holder("consumer") == b"somebody"
    with pytest.raises(ValueError, match="role must be"):
        queue.holder("reader")


def test_a_peek_leaves_the_value_where_it_is(queue: Queue) -> None:
    queue.create()
    with pytest.raises(QueueEmptyError):
        queue.peek()
    queue.put_many([b"1", b"2"])
    assert queue.peek() == queue.peek() == b"1"
    assert queue.peek_many(1) == [b"1"]
    assert queue.peek_many(9) == [b"1", b"2"]
    assert queue.length() == 2
    with pytest.raises(ValueError, match="max must be 1 or more"):
        queue.peek_many(0)


@pytest.mark.parametrize("name", ["stats", "peek", "doctor"])
def test_looking_at_a_queue_that_does_not_exist_is_an_error(queue: Queue, name: str) -> None:
    with pytest.raises(QueueDoesNotExistError):
        getattr(queue, name)()
    with pytest.raises(QueueDoesNotExistError):
        queue.holder("producer")


# Doctor


def test_a_healthy_queue_has_no_problems(queue: Queue) -> None:
    queue.create(2)
    assert queue.doctor().problems == ()
    queue.put_many([b"1", b"2"])
    found = queue.doctor()
    assert (found.state, found.length, found.bound, found.problems) == ("open", 2, 2, ())
    with queue.receive():
        assert queue.doctor().problems == ()
        holder = queue.doctor().consumer.holder
        assert holder == queue.holder("consumer")
        assert holder is not None
        assert process_in(holder) == HOLDS.process
        assert queue.doctor().consumer.connected is True
    queue.shutdown()
    assert queue.doctor().state == "closed"
    assert queue.doctor().problems == ()


#: What was done to a queue with a bound of 2 -> what the doctor says.
ILLS: dict[str, tuple[Callable[[redis.Redis], object], str]] = {
    "lost token": (
        lambda raw: raw.delete(f"{JOBS}:not_full"),
        "the token in :not_full that says so is missing",
    ),
    "lost mark": (lambda raw: raw.lpush(f"{JOBS}:closed", 0), ":closed has one element instead of two"),
    "two elements in producer_free": (
        lambda raw: raw.lpush(f"{JOBS}:producer_free", 0),
        ":producer_free has 2 elements",
    ),
    "miscounted": (lambda raw: raw.incr(f"{JOBS}:stats:produced_messages"), "counters do not add up"),
    "malformed bound": (
        lambda raw: raw.set(f"{JOBS}:bound", "many"),
        "its bound is not a number of 0 or more",
    ),
    "unacknowledged": (lambda raw: raw.lpush(f"{JOBS}:unacked", "v"), "1 message is unacknowledged"),
    "dead producer": (
        lambda raw: take(raw, "producer"),
        f"held by {DEAD.decode()}, whose connection is gone",
    ),
    "half deleted": (lambda raw: raw.delete(f"{JOBS}:bound"), "a delete did not finish"),
    "half created": (
        lambda raw: raw.delete(f"{JOBS}:not_full", f"{JOBS}:consumer_free"),
        "a create did not finish",
    ),
}


@pytest.mark.parametrize("ill", ILLS)
def test_the_doctor_reports_each_problem(queue: Queue, raw: redis.Redis, ill: str) -> None:
    harm, said = ILLS[ill]
    queue.create(2)
    if ill != "half created":
        queue.put(b"v")
    harm(raw)
    found = queue.doctor()
    assert said in "\n".join(found.problems)
    assert found.problems[0] in str(found)


def test_the_doctor_reports_a_full_queue_whose_last_consumer_is_not_connected(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    queue.put(b"1")
    raw.set(f"{JOBS}:consumer", DEAD)
    putting = task(lambda: queue.put(b"2"))
    waiting(raw)
    found = queue.doctor()
    (said,) = found.problems
    assert said.startswith(
        "the producer waits for room in a full queue, and no client consumes; the connection of the "
    )
    assert said.endswith(f"last consumer, {DEAD.decode()}, is gone")
    assert (found.producer.taken, found.producer.connected, found.blocked) == (True, True, 1)
    assert f":{os.getpid()}:" in str(found)
    queue.get()
    putting.result()


def test_the_doctor_reports_a_waiting_consumer_whose_last_producer_is_not_connected(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    raw.set(f"{JOBS}:producer", DEAD)
    getting = task(queue.get)
    waiting(raw)
    assert f"the connection of the last producer, {DEAD.decode()}, is gone" in queue.doctor().problems[0]
    queue.put(b"v")
    getting.result()


def test_queues_and_doctor_find_all_queues_of_a_prefix(
    make: Callable[..., Queue], raw: redis.Redis, redis_url: str
) -> None:
    for name in ("jobs", "a:b", "x*y", "unnamed", "jobs2"):
        make(name).create(1)
    keys: Any = raw.keys("__pressure__:unnamed*")
    for key in keys:  # another client may create a queue without a name
        raw.rename(key, key.replace(b"unnamed", b""))
    raw.set("__pressure__x", "something else")
    raw.delete("__pressure__:jobs2:bound")
    assert pressure.queues(url=redis_url) == [b"", b"a:b", b"jobs", b"jobs2", b"x*y"]
    assert [found.state for found in pressure.doctor(url=redis_url)] == [
        "open", "open", "open", "half deleted", "open",
    ]  # fmt: skip
    assert pressure.queues(url=redis_url, prefix="__pressure_*") == []


def test_facts_that_the_server_refuses_to_tell_are_none(start_server: Callable[..., Any]) -> None:
    server = start_server()
    with redis.Redis(port=server.port) as admin:
        allowed = "+@all -client +client|id +client|setname -object"  # before 7.0, no part of a command can be denied
        execute(admin, "ACL", "SETUSER", "limited", "on", ">pw", "~*", *allowed.split())
    with Queue("jobs", url=f"redis://limited:pw@127.0.0.1:{server.port}") as queue:
        queue.create()
        queue.put(b"v")
        found = queue.doctor()
        assert (found.blocked, found.producer.seconds, found.producer.connected) == (None, None, None)
        assert found.problems == ()


# Codecs


@pytest.mark.parametrize(
    ("codec", "item"),
    [
        (None, b"\0\xff"),
        ("json", {"a": [1, 2.5, None, "ü"]}),
        pytest.param("pickle", {1, 2, ("x",)}, marks=pytest.mark.filterwarnings("ignore")),
        pytest.param("msgpack", {"a": [1, b"\xff"]}, marks=pytest.mark.filterwarnings("ignore")),
    ],
)
def test_a_codec_returns_objects_as_they_were_put(
    make: Callable[..., Queue], codec: str | None, item: Any
) -> None:
    if codec == "msgpack":
        pytest.importorskip("msgpack")
    queue = make(codec=codec)
    queue.create()
    queue.put(item)
    queue.put_many([item, item, item])
    assert queue.peek() == item
    assert queue.get() == item
    assert queue.get_many(1) == [item]
    with queue.receive() as message:
        assert message.value == item
    queue.shutdown()
    assert list(queue) == [item]


def test_a_value_that_cannot_be_decoded_is_in_the_error(make: Callable[..., Queue]) -> None:
    queue, plain = make(codec="json"), make()
    plain.create()
    plain.put_many([b"no json", b"1", b"no json"])
    with pytest.raises(CodecError, match="cannot decode") as caught:
        queue.get()
    assert caught.value.taken == [b"no json"]
    with pytest.raises(CodecError) as caught:
        queue.get_many(5)
    assert caught.value.taken == [b"1", b"no json"]
    plain.put(b"no json")
    with pytest.raises(CodecError), queue.receive() as message:
        _ = message.value
    assert plain.get() == b"no json"


def test_a_value_that_cannot_be_encoded_is_not_sent(make: Callable[..., Queue]) -> None:
    queue = make(codec="json")
    queue.create()
    with pytest.raises(TypeError):
        queue.put_many([1, {2}])
    assert queue.length() == 0


def test_a_codec_can_be_any_object_with_encode_and_decode(make: Callable[..., Queue]) -> None:
    class Reverse:
        def encode(self, item: bytes) -> bytes:
            return item[::-1]

        decode = encode

    queue = make(codec=Reverse())
    queue.create()
    queue.put(b"ab")
    assert (make().peek(), queue.get()) == (b"ba", b"ab")
    with pytest.raises(ValueError, match=r"one of 'json', 'pickle', 'msgpack', or an object .*, not 'xml'"):
        make(codec="xml")
    with pytest.raises(TypeError, match="codec must be a name or have the methods encode and decode"):
        make(codec=1)
