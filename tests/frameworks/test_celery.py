"""Celery: lists as queues, fan-out and results by pub/sub, remote control, chords counted on the server."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.targets import Address

from .programs import PATIENCE, Program, Starter, moment, needed, numbers, python, taken, until

celery = needed("celery")
celery_tasks = needed("tests.frameworks.apps.celery_tasks")

CELERY = python("celery", "-A", "tests.frameworks.apps.celery_tasks")


@pytest.fixture(scope="module", autouse=True)
def worker(start: Starter, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """One with two processes for tasks; it also sends the periodic ones."""
    schedule: Path = tmp_path_factory.mktemp("beat") / "schedule"
    flags = [
        "--concurrency=2",
        "--loglevel=INFO",
        "--hostname=first@here",
        "--beat",
        f"--schedule={schedule}",
    ]
    worker = start("celery", [*CELERY, "worker", *flags])
    worker.says("first@here ready.")
    return worker


@pytest.fixture(scope="module")
def app(server: Address) -> Iterator[Any]:
    """The application of the tests' own process.

    Celery unsubscribes where a result is collected: in the midst of subscribing it would wait for ever for
    redis-py's lock, and later try to reach a server that is gone. So results are collected after each test, and
    what the application still holds in the end has nothing to do any more.
    """
    gc.disable()
    app = celery_tasks.app_of(server.url)
    yield app
    app.backend.remove_pending_result = lambda _: None
    app.close()
    gc.enable()


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    yield
    gc.collect()


def result(handle: Any) -> Any:
    return handle.get(timeout=PATIENCE)


def test_each_task_runs_once(app: Any, client: Any, key: str) -> None:
    handles = [app.all.square.delay(key, number) for number in range(50)]
    assert [result(handle) for handle in handles] == [number * number for number in range(50)]
    assert numbers(client, key, 50) == list(range(50))
    assert client.llen(key) == 0
    assert not client.exists("celery")
    until(lambda: not client.exists("unacked", "unacked_index"))


def test_a_failed_task_reports_its_exception_and_traceback(app: Any) -> None:
    handle = app.all.fail.delay()
    with pytest.raises(Exception, match="as the test asked") as caught:
        result(handle)
    assert type(caught.value).__name__ == "OnPurposeError"
    assert handle.state == "FAILURE"
    assert "as the test asked" in handle.traceback


def test_a_task_is_retried_until_it_succeeds(app: Any, client: Any, key: str) -> None:
    assert result(app.all.come_around.delay(key)) == 3
    assert client.get(key) == b"3"


def test_a_task_with_a_countdown_runs_no_earlier_than_it_is_due(app: Any, client: Any, key: str) -> None:
    before = time.time()
    app.all.clock.apply_async((key,), countdown=1)
    assert moment(client, key) >= before + 1


def test_a_periodic_task_runs_again(client: Any) -> None:
    first, second = (float(each) for each in taken(client, "celery:every-second", 2))
    assert second > first


def test_chains_groups_and_chords_give_their_results(app: Any, key: str) -> None:
    tasks = app.all
    assert result((tasks.square.s(key, 3) | tasks.square.si(key, 4)).apply_async()) == 16
    squares = [tasks.square.s(key, number) for number in range(5)]
    assert result(celery.group(squares, app=app).apply_async()) == [0, 1, 4, 9, 16]
    assert result(celery.chord(squares, app=app)(tasks.total.s())) == 30


def test_a_chord_with_a_failed_task_fails(app: Any, key: str) -> None:
    tasks = app.all
    handle = celery.chord([tasks.square.s(key, 1), tasks.fail.s()], app=app)(tasks.total.s())
    with pytest.raises(Exception, match="as the test asked"):
        result(handle)


def test_results_have_a_time_to_live_and_can_be_forgotten(app: Any, client: Any, key: str) -> None:
    handle = app.all.square.delay(key, 3)
    assert result(handle) == 9
    left = client.ttl(f"celery-task-meta-{handle.id}")
    assert 990 < left <= 1000
    handle.forget()
    assert not client.exists(f"celery-task-meta-{handle.id}")


def test_remote_control_sees_workers_and_running_tasks(app: Any, client: Any, key: str) -> None:
    inspect = app.control.inspect(timeout=PATIENCE, limit=1)
    assert inspect.ping() == {"first@here": {"ok": "pong"}}
    assert "square" in inspect.registered()["first@here"]
    handle = app.all.hold.delay(key)
    taken(client, f"{key}:started")
    assert handle.id in {
        each["id"] for each in inspect.active()["first@here"]
    }  # beside what comes each second
    assert handle.state == "STARTED"
    assert inspect.stats()["first@here"]["broker"]["transport"] == "redis"
    client.rpush(key, "go")
    assert result(handle) == "let go"


def test_a_task_is_revoked_while_it_runs(app: Any, client: Any, key: str) -> None:
    handle = app.all.hold.delay(key)
    taken(client, f"{key}:started")
    handle.revoke(terminate=True)
    with pytest.raises(celery.exceptions.TaskRevokedError):
        result(handle)


def test_urgent_tasks_come_first(start: Starter, app: Any, client: Any, key: str) -> None:
    """They are sent before their only worker starts. To Redis, 0 is the most urgent priority."""
    for number, priority in enumerate([9, 3, 6, 0, 3]):
        app.all.square.apply_async((key, number), queue="urgent", priority=priority)
    flags = ["--pool=solo", "--queues=urgent", "--hostname=urgent@here", "--without-mingle"]
    worker = start("celery-urgent", [*CELERY, "worker", *flags])
    assert taken(client, key, 5) == [b"3", b"1", b"4", b"2", b"0"]
    assert worker.stop() == 0
