"""Messages that are acknowledged: one suite for whatever carries them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

import miniredis
from conformance.flavours import MAKERS
from conformance.targets import Address
from pressure import Capabilities, Delivered, ItemLostError, QueueEmptyError, ReliableQueue, exponential

from ..conftest import Task, execute, until, waiting
from .conftest import Make

Start = Callable[[Callable[[], Any]], Task]
JOBS = "queue:jobs"

SETTINGS = {
    "miniredis, stream": ("miniredis", "stream", "sync"),
    "miniredis, stream, plain batches": ("miniredis", "stream", "plain"),
    "miniredis, stream, asyncio": ("miniredis", "stream", "aio"),
    "miniredis, module": ("miniredis", "module", "sync"),
    "miniredis, module, plain batches": ("miniredis", "module", "plain"),
    "miniredis, module, trio": ("miniredis", "module", "trio"),
    "redis-server, stream": ("redis-server", "stream", "sync"),
    "redis-server, stream, plain batches": ("redis-server", "stream", "plain"),
    "redis-server, stream, trio": ("redis-server", "stream", "trio"),
}


class MishapError(Exception):
    """What goes wrong with a message."""


def has_module(client: redis.Redis) -> bool:
    """Whether a server has the commands of RedisMQ, found out in another way than our client does."""
    try:
        execute(client, "MQ.QINFO", "none")
    except redis.ResponseError as error:
        return "unknown command" not in str(error)
    return True


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server_address(request: pytest.FixtureRequest, setting: str) -> Address:
    server, backend, _ = SETTINGS[setting]
    if server == "redis-server":
        real: Address = request.getfixturevalue("real_server")
        return real
    handle: miniredis.Server = request.getfixturevalue("local_handle")
    with handle.client() as client:
        if backend == "module" and not has_module(client):
            pytest.skip("this server has no MQ.* commands")
    return Address(handle.url, "miniredis in this process")


@pytest.fixture
def make(redis_url: str, setting: str) -> Iterator[Make]:
    made: list[Any] = []

    def queue(name: str | bytes = "jobs", **options: Any) -> Any:
        _, backend, flavour = SETTINGS[setting]
        made.append(MAKERS[flavour]("ReliableQueue", name, url=redis_url, backend=backend, **options))
        return made[-1]

    yield queue
    for each in made:
        each.disconnect()


@pytest.fixture
def queue(make: Make) -> Any:
    return make()


@pytest.fixture
def age(request: pytest.FixtureRequest, setting: str, raw: redis.Redis) -> Callable[[float], None]:
    """Lets time pass for everything in the queue."""
    if SETTINGS[setting][0] == "miniredis":
        handle: miniredis.Server = request.getfixturevalue("local_handle")
        return handle.fast_forward

    def pass_time(seconds: float) -> None:
        pending: Any = raw.xpending_range(JOBS, "workers", "-", "+", 100) if raw.exists(JOBS) else []
        for each in pending:
            idle = each["time_since_delivered"] + int(1000 * seconds)
            raw.xclaim(JOBS, "workers", "pressure", 0, [each["message_id"]], idle=idle, justid=True)
        members: Any = raw.zrange(f"{JOBS}:delayed", 0, -1)
        for member in members:
            raw.zincrby(f"{JOBS}:delayed", -1000 * seconds, member)

    return pass_time


def datas(messages: Any) -> list[bytes]:
    return [each.data for each in messages]


def counts(queue: Any) -> tuple[int, int, int, int]:
    """Undelivered, delivered, delayed, dead."""
    info = queue.info()
    return info.undelivered, info.delivered, info.delayed, info.dead


def test_it_tells_what_carries_it(queue: Any, setting: str) -> None:
    capabilities = queue.capabilities()
    assert isinstance(capabilities, Capabilities)
    assert capabilities.backend == SETTINGS[setting][1]
    assert capabilities.heartbeat_is_native == (capabilities.backend == "stream")


def test_it_asks_the_server(redis_url: str, raw: redis.Redis) -> None:
    wanted = "module" if has_module(raw) else "stream"
    with ReliableQueue("jobs", url=redis_url) as queue:
        assert queue.capabilities().backend == wanted


def test_messages_are_delivered_in_order_and_acknowledged(queue: Any) -> None:
    ids = queue.push(b"1", "2", b"3")
    assert counts(queue) == (3, 0, 0, 0)
    first = queue.pop()[0]
    assert (first.id, first.data, first.value, first.deliveries) == (ids[0], b"1", b"1", 1)
    rest = queue.pop(5)
    assert datas(rest) == [b"2", b"3"]
    assert counts(queue) == (0, 3, 0, 0)
    assert queue.ack(first, rest[0].id) == [ids[0], ids[1]]
    assert queue.ack(first, rest[1]) == [ids[2]]
    assert counts(queue) == (0, 0, 0, 0)
    assert queue.info().last_id == ids[2]


def test_nothing_there_is_nothing(queue: Any) -> None:
    assert queue.pop(block=False) == queue.pop(timeout=0.02) == queue.recover(0) == []
    assert queue.inspect() == queue.pending() == queue.push() == queue.ack() == queue.heartbeat() == []
    assert queue.ack(b"1-1") == []
    assert counts(queue) == (0, 0, 0, 0)
    with pytest.raises(QueueEmptyError), queue.take(block=False):
        pass


def test_a_pop_waits(queue: Any, make: Make, raw: redis.Redis, task: Start) -> None:
    for _ in range(2):  # the second time there is a group
        working = task(lambda: queue.pop(3, timeout=15))
        waiting(raw)
        make().push(b"v")
        (message,) = working.result()
        assert message.data == b"v"
        queue.ack(message)


def test_a_block_acknowledges_or_leaves(queue: Any) -> None:
    queue.push(b"1", b"2")
    with queue.take() as message:
        assert message.data == b"1"
    with pytest.raises(MishapError), queue.take():
        raise MishapError
    assert counts(queue) == (0, 1, 0, 0)
    (left,) = queue.pending()
    assert left.message.data == b"2"


def test_what_is_not_acknowledged_is_recovered(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"1", b"2", b"3")
    queue.pop(2)
    assert queue.recover(60, 5) == []
    age(100)
    (third,) = queue.pop()
    again = queue.recover(60, 5)
    assert [(each.data, each.deliveries) for each in again] == [(b"1", 2), (b"2", 2)]
    assert queue.recover(60, 5) == []
    assert [each.deliveries for each in queue.recover(0, 3)].count(3) == 2
    assert len(queue.ack(third, *again)) == 3


def test_who_is_too_slow_is_told(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"v")

    def lose() -> None:
        age(100)
        queue.ack(*queue.recover(60))

    with pytest.raises(ItemLostError, match="done twice"), queue.take():
        lose()


def test_what_is_delivered(queue: Any, age: Callable[[float], None], raw: redis.Redis) -> None:
    queue.push(*(b"%d" % number for number in range(5)))
    queue.pop(4)
    age(100)
    found = queue.pending(1, 2)
    assert [(each.message.data, each.message.deliveries) for each in found] == [(b"1", 1), (b"2", 1)]
    assert 100 <= found[0].idle < 120
    assert abs(found[0].since + found[0].idle - float(execute(raw, "TIME")[0])) < 20
    assert [each.message.data for each in queue.pending(-2, 10)] == [b"2", b"3"]
    assert queue.pending(9, 1) == queue.pending(-9, 1) == []


def test_what_waits(queue: Any) -> None:
    queue.push(*(b"%d" % number for number in range(5)))
    assert datas(queue.inspect(3, 10)) == [b"3", b"4"]
    queue.pop(2)
    assert datas(queue.inspect(0, 2)) == [b"2", b"3"]
    assert datas(queue.inspect(-2, 1)) == [b"3"]
    assert queue.inspect()[0].deliveries == 0
    assert queue.inspect(9, 1) == queue.inspect(-9, 1) == []


def test_what_is_delayed_comes_when_it_is_due(queue: Any, age: Callable[[float], None]) -> None:
    assert queue.push(b"later", delay=60) == []
    queue.push(b"now")
    assert counts(queue) == (1, 0, 1, 0)
    assert datas(queue.pop(5)) == [b"now"]
    assert queue.pop(block=False) == []
    age(61)
    assert datas(queue.pop(5, block=False)) == [b"later"]
    assert counts(queue) == (0, 2, 0, 0)


def test_a_wait_ends_when_something_is_due(queue: Any) -> None:
    queue.push(b"v", delay=0.2)
    assert datas(queue.pop(timeout=15)) == [b"v"]


def test_what_is_due_can_be_moved(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(*(b"%d" % number for number in range(150)), delay=60)
    assert queue.move_due() == 0
    age(61)
    assert queue.move_due() == 150
    assert counts(queue) == (150, 0, 0, 0)


def test_a_retry_counts_on(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"a:b")
    (message,) = queue.pop()
    assert queue.retry(message, 60)
    assert counts(queue) == (0, 0, 1, 0)
    assert not queue.retry(message, 60)
    assert counts(queue) == (0, 0, 1, 0)
    age(61)
    (again,) = queue.pop(block=False)
    assert (again.data, again.deliveries) == (b"a:b", 2)
    age(100)
    (third,) = queue.recover(60)
    assert third.deliveries == 3
    assert queue.pending()[0].message.deliveries == 3
    queue.retry(third)
    age(3.9)
    assert queue.pop(block=False) == []
    age(0.2)
    assert queue.pop(block=False)[0].deliveries == 4


def test_what_was_delivered_too_often_is_dead(make: Make, age: Callable[[float], None]) -> None:
    queue, dead = make(max_deliveries=2), make("jobs:dead")
    queue.push(b"1", b"2", b"3")
    for message in queue.pop(2):
        queue.retry(message, 0)
    age(0.001)
    assert len(queue.pop(3)) == 1
    for message in queue.pop(3, block=False):
        assert queue.retry(message, 0)
    assert counts(queue) == (0, 1, 0, 2)
    for _ in range(2):
        age(100)
        queue.recover(60, 5)
    assert counts(queue) == (0, 0, 0, 3)
    assert sorted(datas(dead.pop(5))) == [b"1", b"2", b"3"]


def test_recovery_goes_on_behind_the_dead(make: Make, age: Callable[[float], None]) -> None:
    queue = make(max_deliveries=1)
    queue.push(b"1")
    queue.pop()
    other = make()
    other.push(b"2")
    other.pop()
    age(100)
    assert queue.recover(60, 1) == []
    assert counts(queue) == (0, 0, 0, 2)


def test_a_heartbeat_keeps_a_message(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"1", b"2", b"3")
    first, second, _ = queue.pop(3)
    age(50)
    assert queue.heartbeat(first, second.id) == [first.id, second.id]
    age(20)
    assert datas(queue.recover(60, 1)) == [b"3"]
    assert queue.recover(60, 5) == []
    assert {each.message.data: each.message.deliveries for each in queue.pending()} == {
        b"1": 1, b"2": 1, b"3": 2,
    }  # fmt: skip
    age(61)
    assert sorted((each.data, each.deliveries) for each in queue.recover(60, 5)) == [
        (b"1", 2), (b"2", 2), (b"3", 3),
    ]  # fmt: skip


def test_a_worker_acknowledges_what_went_well(
    queue: Any, age: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    queue.push(b"left")
    queue.pop()
    age(100)
    queue.push(b"bad", b"good")
    seen: list[tuple[bytes, int]] = []

    def handle(message: Delivered) -> None:
        seen.append((message.data, message.deliveries))
        if message.data == b"bad":
            raise MishapError("bad")

    with caplog.at_level(logging.ERROR, "pressure.worker"):
        assert queue.work(handle, until_empty=True) == 2
    assert seen == [(b"left", 2), (b"bad", 1), (b"good", 1)]
    assert counts(queue) == (0, 1, 0, 0)
    assert "MishapError: bad" in caplog.text


def test_a_worker_tries_again_later(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    queue, tries = make(max_deliveries=3), list[int]()

    def handle(message: Delivered) -> None:
        tries.append(message.deliveries)
        raise MishapError

    queue.push(b"bad")
    with caplog.at_level(logging.CRITICAL, "pressure.worker"):
        assert queue.work(handle, backoff=lambda _: 0, until_empty=True) == 0
    assert tries == [1, 2, 3]
    assert counts(queue) == (0, 0, 0, 1)


def test_a_workers_heartbeat_goes_on_while_it_works(queue: Any) -> None:
    queue.push(b"v")
    beats: list[float] = []

    def handle(_: Delivered) -> None:
        first = queue.pending()[0].since
        beats.append(until(lambda: queue.pending()[0].since > first, "was a heartbeat heard"))

    assert queue.work(handle, min_idle=60, heartbeat=0.01, max_messages=1) == 1
    assert beats


def test_a_worker_ends_after_so_many(queue: Any) -> None:
    queue.push(b"1", b"2", b"3")
    assert queue.work(lambda _: None, max_messages=2) == 2
    assert counts(queue) == (1, 0, 0, 0)


def test_who_was_too_slow_is_logged(queue: Any, caplog: pytest.LogCaptureFixture) -> None:
    queue.push(b"v")
    assert queue.work(lambda message: queue.ack(message), max_messages=1) == 0
    assert "done with by another" in caplog.text


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"backend": "kafka"}, "backend"),
        ({"max_deliveries": 0}, "max_deliveries"),
        ({"codec": "xml"}, "codec"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        ReliableQueue("jobs", **options)


def test_arguments_are_checked_before_anything_is_sent(queue: Any, raw: redis.Redis) -> None:
    calls: list[tuple[str, Callable[[], object]]] = [
        ("count", lambda: queue.pop(0)),
        ("timeout", lambda: queue.pop(timeout=-1)),
        ("min_idle", lambda: queue.recover(-1)),
        ("count", lambda: queue.inspect(count=0)),
        ("delay", lambda: queue.push(b"v", delay=-1)),
        ("heartbeat", lambda: queue.work(print, min_idle=1, heartbeat=2)),
    ]
    for what, call in calls:
        with pytest.raises(ValueError, match=what):
            call()
    assert raw.keys() == []


def test_a_backoff_doubles() -> None:
    assert [exponential(2, 10)(deliveries) for deliveries in (1, 2, 3, 4, 99)] == [2, 4, 8, 10, 10]


def test_messages_of_others_are_taken(redis_url: str, raw: redis.Redis) -> None:
    raw.xadd(JOBS, {"job": "theirs"})
    raw.zadd(f"{JOBS}:delayed", {"odd": 1})
    with ReliableQueue("jobs", url=redis_url, backend="stream") as queue:
        queue.move_due()
        assert datas(queue.pop(5)) == [b"theirs", b"odd"]


def test_two_move_nothing_twice(make: Make, task: Start, age: Callable[[float], None]) -> None:
    items = [b"%d" % number for number in range(60)]
    first = make()
    first.push(*items, delay=60)
    age(61)
    begin = threading.Barrier(4)

    def move(queue: Any) -> int:
        begin.wait()
        return int(queue.move_due())

    moving = [task(lambda queue=queue: move(queue)) for queue in [make() for _ in range(4)]]  # type: ignore[misc]
    assert sum(each.result() for each in moving) == 60
    assert sorted(datas(first.pop(100))) == sorted(items)


def test_two_recover_nothing_twice(make: Make, task: Start, age: Callable[[float], None]) -> None:
    items = [b"%d" % number for number in range(60)]
    first = make()
    first.push(*items)
    first.pop(60)
    age(100)
    begin = threading.Barrier(4)

    def recover(queue: Any) -> list[bytes]:
        begin.wait()
        return datas(queue.recover(60, 60))

    recovering = [task(lambda queue=queue: recover(queue)) for queue in [make() for _ in range(4)]]  # type: ignore[misc]
    found = [data for each in recovering for data in each.result()]
    assert sorted(found) == sorted(items)
