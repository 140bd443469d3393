"""Huey: queues as lists or sorted sets, a schedule read by a Lua script, results as hashes or strings."""

from __future__ import annotations

import contextlib
import signal
import time
from typing import Any

import pytest

from conformance.targets import Address

from .programs import PATIENCE, Starter, moment, needed, numbers, python, taken, until

huey = needed("huey")
huey_jobs = needed("tests.frameworks.apps.huey_jobs")


def consumer(kind: str, *flags: str) -> list[str]:
    """The command that starts Huey's consumer for a kind of instance."""
    return python("huey.bin.huey_consumer", f"tests.frameworks.apps.huey_jobs.{kind}", *flags)


@pytest.fixture(scope="module", params=["plain", "ranked_expiring"])
def kind(request: pytest.FixtureRequest, start: Starter) -> str:
    """A way to keep queues and results: lists and a hash, or sorted sets and strings that expire.

    A consumer of the kind runs, with a scheduler and two workers: threads for one, processes for the other.
    """
    kind = str(request.param)
    process = "thread" if kind == "plain" else "process"
    worker = start(f"huey-{kind}", consumer(kind, "--workers=2", f"--worker-type={process}"))
    worker.says("The following commands are available")
    return kind


@pytest.fixture
def app(server: Address, kind: str) -> Any:
    return huey_jobs.instance(kind, server.url)


def result(handle: Any) -> Any:
    return handle.get(blocking=True, timeout=PATIENCE)


def test_each_task_runs_once(app: Any, client: Any, key: str) -> None:
    handles = [app.tasks.square(key, number) for number in range(50)]
    assert [result(handle) for handle in handles] == [number * number for number in range(50)]
    assert numbers(client, key, 50) == list(range(50))
    assert client.llen(key) == 0
    until(lambda: app.pending_count() == 0)


def test_a_failed_task_reports_its_exception(app: Any) -> None:
    with pytest.raises(huey.exceptions.TaskException, match=r"OnPurposeError.*as the test asked"):
        result(app.tasks.fail())


def test_a_task_is_retried_until_it_succeeds(app: Any, client: Any, key: str) -> None:
    handle = app.tasks.come_around(key)

    def outcome() -> Any:
        with contextlib.suppress(huey.exceptions.TaskException):  # of the first two times
            return app.result(handle.id, preserve=True)

    assert until(outcome) == 3
    assert client.get(key) == b"3"


def test_a_scheduled_task_runs_no_earlier_than_it_is_due(app: Any, client: Any, key: str) -> None:
    before = time.time()
    app.tasks.clock.schedule((key,), delay=1)
    until(lambda: app.scheduled_count() == 1)
    assert moment(client, key) >= before + 1
    assert app.scheduled_count() == 0


def test_a_revoked_task_does_not_run(app: Any, client: Any, key: str) -> None:
    handle = app.tasks.square.schedule((key, 1), delay=1)
    handle.revoke()
    assert handle.is_revoked()
    app.tasks.square.schedule((key, 2), delay=1)
    assert taken(client, key) == [b"2"]
    until(lambda: app.scheduled_count() == app.pending_count() == 0)
    assert client.llen(key) == 0


def test_a_periodic_task_runs(client: Any, kind: str) -> None:
    """Huey looks for them when it starts, and each minute after."""
    assert taken(client, f"{kind}:every-minute") == [b"ran"]


def test_a_locked_task_does_not_run_twice_at_once(app: Any, client: Any, key: str) -> None:
    gate = f"{key}:gate"
    first = app.tasks.alone(key, gate)
    taken(client, key)
    assert app.is_locked("alone")
    with pytest.raises(huey.exceptions.TaskException, match="unable to acquire lock"):
        result(app.tasks.alone(key, gate))
    client.rpush(gate, "go")
    assert result(first) == "let go"
    assert not app.is_locked("alone")


def test_a_group_and_a_chord_give_the_results_of_their_tasks(app: Any, key: str) -> None:
    tasks = [app.tasks.square.s(key, number) for number in range(5)]
    assert app.enqueue(huey.group(tasks)).get(blocking=True, timeout=PATIENCE) == [0, 1, 4, 9, 16]
    tasks = [app.tasks.square.s(key, number) for number in range(5)]
    chord = app.enqueue(huey.chord(tasks, app.tasks.total.s()))
    assert result(chord) == 30


@pytest.mark.parametrize("ranked", ["ranked", "ranked_expiring"])
def test_urgent_tasks_come_first(server: Address, start: Starter, client: Any, key: str, ranked: str) -> None:
    """They are enqueued before their only worker starts."""
    name = f"urgent_{ranked}"
    app = huey_jobs.instance(ranked, server.url, name)
    for number, priority in enumerate([3, 1, 2, 5, 4, 2]):
        app.tasks.square(key, number, priority=priority)
    start(f"huey-{name}", consumer(ranked, "--no-periodic"), HUEY_NAME=name)
    assert taken(client, key, 6) == [b"3", b"4", b"0", b"2", b"5", b"1"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_consumer_exits_cleanly_on_a_signal(
    server: Address, start: Starter, client: Any, key: str, number: signal.Signals
) -> None:
    """Once it does what is due later it has been up long enough to know what the signals mean."""
    name = f"leaving_{number.name}"
    worker = start(f"huey-{name}", consumer("plain", "--no-periodic"), HUEY_NAME=name)
    huey_jobs.instance("plain", server.url, name).tasks.clock.schedule((key,), delay=1)
    moment(client, key)
    assert worker.stop(number) == 0
