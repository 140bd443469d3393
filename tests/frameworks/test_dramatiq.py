"""Dramatiq: every operation of its broker is one Lua script over hashes, lists and sorted sets."""

from __future__ import annotations

import time
from typing import Any

import pytest

from conformance.targets import Address

from .programs import PATIENCE, Starter, moment, needed, numbers, python, taken, until

dramatiq = needed("dramatiq")
actors = needed("tests.frameworks.apps.dramatiq_actors")

ACTORS = "tests.frameworks.apps.dramatiq_actors:broker"


@pytest.fixture(scope="module", autouse=True)
def worker(start: Starter) -> Any:
    """Two processes with two threads each."""
    worker = start("dramatiq", python("dramatiq", ACTORS, "--processes=2", "--threads=2"))
    worker.says("Worker process is ready for action")
    return worker


@pytest.fixture
def broker(server: Address) -> Any:
    broker = actors.broker_of(server.url)
    dramatiq.set_broker(broker)  # messages ask it where their results are
    return broker


def result(message: Any) -> Any:
    return message.get_result(block=True, timeout=PATIENCE * 1000)


def test_each_message_is_handled_once(broker: Any, client: Any, key: str) -> None:
    messages = [broker.all.square.send(key, number) for number in range(50)]
    assert [result(message) for message in messages] == [number * number for number in range(50)]
    assert numbers(client, key, 50) == list(range(50))
    assert client.llen(key) == 0
    broker.join("default", timeout=PATIENCE * 1000)


def test_a_failed_message_is_kept_as_a_dead_letter(broker: Any, client: Any) -> None:
    message = broker.all.fail.send()
    with pytest.raises(dramatiq.results.ResultFailure, match="as the test asked"):
        result(message)
    dead = until(lambda: client.zrange("dramatiq:default.XQ", 0, -1))
    kept = dramatiq.Message.decode(client.hget("dramatiq:default.XQ.msgs", dead[-1]))
    assert kept.message_id == message.message_id


def test_an_actor_is_retried_until_it_succeeds(broker: Any, client: Any, key: str) -> None:
    assert result(broker.all.come_around.send(key)) == 3
    assert client.get(key) == b"3"


def test_a_delayed_message_is_handled_no_earlier_than_it_is_due(broker: Any, client: Any, key: str) -> None:
    before = time.time()
    broker.all.clock.send_with_options(args=(key,), delay=1000)
    assert moment(client, key) >= before + 0.999  # whole milliseconds


def test_a_concurrent_rate_limit_lets_one_message_run_at_a_time(broker: Any, client: Any, key: str) -> None:
    gate = f"{key}:gate"
    messages = [broker.all.alone.send(key, gate) for _ in range(3)]
    client.rpush(gate, *"123")
    assert [result(message) for message in messages] == [1, 1, 1]


def test_messages_of_another_queue_are_handled(broker: Any, client: Any, key: str) -> None:
    broker.all.elsewhere.send(key, "there")
    assert taken(client, key) == [b"there"]
    broker.join("other", timeout=PATIENCE * 1000)


def test_a_pipeline_passes_results_on_unless_told_to_ignore_them(broker: Any, client: Any, key: str) -> None:
    pipe = dramatiq.pipeline(
        [
            broker.all.square.message(key, 2),
            broker.all.come_around.message_with_options(args=(f"{key}:tries",), pipe_ignore=True),
        ]
    )
    assert pipe.run().get_result(block=True, timeout=PATIENCE * 1000) == 3
    assert taken(client, key) == [b"2"]


def test_a_group_gives_its_results_and_then_calls_back(broker: Any, client: Any, key: str) -> None:
    group = dramatiq.group([broker.all.square.message(key, number) for number in range(5)], broker=broker)
    group.add_completion_callback(broker.all.elsewhere.message(f"{key}:done", "all"))
    group.run()
    assert list(group.get_results(block=True, timeout=PATIENCE * 1000)) == [0, 1, 4, 9, 16]
    assert taken(client, f"{key}:done") == [b"all"]


def test_a_barrier_opens_when_all_parties_have_come(broker: Any, key: str) -> None:
    barrier = dramatiq.rate_limits.Barrier(broker.limits, key)
    assert barrier.create(parties=2)
    assert not barrier.wait(block=False)
    assert barrier.wait(block=False)


def test_messages_sent_after_a_worker_stops_are_handled_by_another(
    start: Starter, broker: Any, client: Any, key: str
) -> None:
    worker = start(
        "dramatiq-leaving", python("dramatiq", ACTORS, "--processes=1", "--threads=1", "--queues", "other")
    )
    worker.says("Worker process is ready for action")
    assert worker.stop() == 0
    broker.all.elsewhere.send(key, "still there")
    assert taken(client, key) == [b"still there"]
