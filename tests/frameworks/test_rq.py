"""RQ: jobs as hashes, queues as lists, results as streams; its scheduler and its commands by pub/sub."""

from __future__ import annotations

import os
import subprocess
import time
from datetime import timedelta
from typing import Any

import pytest

from conformance.targets import Address

from .apps import rq_jobs
from .programs import PATIENCE, Program, Starter, moment, needed, numbers, python, taken, until

rq = needed("rq")
rq_command = needed("rq.command")

QUEUE = "work"


@pytest.fixture(scope="module", autouse=True)
def workers(start: Starter, server: Address) -> list[Program]:
    """Two workers, one of which is the scheduler, too."""
    command = python("rq.cli", "worker", "--url", server.url, "--with-scheduler", QUEUE)
    started = [start(f"rq-worker-{number}", [*command, "--name", f"worker-{number}"]) for number in (1, 2)]
    for worker in started:
        worker.says("Listening on")
    return started


@pytest.fixture
def queue(client: Any) -> Any:
    return rq.Queue(QUEUE, connection=client)


def finished(job: Any) -> Any:
    """What a job returns, once it has."""
    result = job.latest_result(timeout=PATIENCE)
    assert result.type is result.Type.SUCCESSFUL, result.exc_string
    return result.return_value


def state(job: Any) -> str:
    return str(job.get_status().value)


def test_each_job_runs_once(queue: Any, client: Any, key: str) -> None:
    jobs = queue.enqueue_many([rq.Queue.prepare_data(rq_jobs.square, (key, number)) for number in range(50)])
    assert [finished(job) for job in jobs] == [number * number for number in range(50)]
    assert numbers(client, key, 50) == list(range(50))
    assert client.llen(key) == 0
    until(lambda: all(job.id in queue.finished_job_registry for job in jobs))
    assert queue.count == 0
    assert not set(queue.started_job_registry.get_job_ids()) & {job.id for job in jobs}


def test_a_failed_job_is_registered_and_can_be_requeued(queue: Any) -> None:
    job = queue.enqueue(rq_jobs.fail)
    result = job.latest_result(timeout=PATIENCE)
    assert result.type is result.Type.FAILED
    assert "OnPurposeError: as the test asked" in result.exc_string
    until(lambda: state(job) == "failed")
    assert job.id in queue.failed_job_registry
    job.requeue()
    until(lambda: len(job.results()) == 2)
    until(lambda: job.id in queue.failed_job_registry)


def test_a_job_is_retried_until_it_succeeds(queue: Any, client: Any, key: str) -> None:
    job = queue.enqueue(rq_jobs.come_around, key, retry=rq.Retry(max=3, interval=[0, 1]))
    until(lambda: state(job) == "finished")
    assert job.return_value() == 3
    assert client.get(key) == b"3"


def test_a_scheduled_job_runs_no_earlier_than_it_is_due(queue: Any, client: Any, key: str) -> None:
    due = int(time.time() + 2)  # RQ keeps whole seconds
    job = queue.enqueue_in(timedelta(seconds=2), rq_jobs.clock, key)
    assert job.id in queue.scheduled_job_registry
    assert state(job) == "scheduled"
    assert moment(client, key) >= due
    until(lambda: state(job) == "finished")
    assert job.id not in queue.scheduled_job_registry


def test_a_job_is_deferred_until_the_jobs_it_depends_on_finish(queue: Any, client: Any, key: str) -> None:
    gate = f"{key}:gate"
    first = queue.enqueue(rq_jobs.hold, f"{key}:started", gate)
    second = queue.enqueue(rq_jobs.square, key, 2)
    last = queue.enqueue(rq_jobs.square, key, 3, depends_on=[first, second])
    taken(client, f"{key}:started")
    assert taken(client, key) == [b"2"]
    assert finished(second) == 4
    assert state(last) == "deferred"
    client.rpush(gate, "go")
    assert finished(first) == "let go"
    assert finished(last) == 9
    assert taken(client, key) == [b"3"]


def test_a_job_that_allows_failure_runs_after_a_job_it_depends_on_fails(queue: Any, key: str) -> None:
    failing = queue.enqueue(rq_jobs.fail)
    after_all = queue.enqueue(
        rq_jobs.square, key, 2, depends_on=rq.job.Dependency([failing], allow_failure=True)
    )
    assert finished(after_all) == 4


def test_a_stop_command_ends_a_running_job(queue: Any, client: Any, key: str) -> None:
    job = queue.enqueue(rq_jobs.hold, key, f"{key}:gate")
    taken(client, key)
    until(lambda: rq.job.Job.fetch(job.id, connection=client).worker_name)
    rq_command.send_stop_job_command(client, job.id)
    until(lambda: state(job) == "stopped")
    assert finished(queue.enqueue(rq_jobs.square, key, 5)) == 25


def test_a_rate_limit_bounds_how_many_jobs_run_at_once(queue: Any, client: Any, key: str) -> None:
    limit = rq.rate_limit.RateLimit(key, concurrency=1)
    gate = f"{key}:gate"
    jobs = [queue.enqueue(rq_jobs.most_at_once, key, gate, rate_limit=limit) for _ in range(4)]
    client.rpush(gate, *"1234")
    assert [finished(job) for job in jobs] == [1, 1, 1, 1]


def test_a_repeated_job_runs_again_as_often_as_asked(queue: Any, client: Any, key: str) -> None:
    queue.enqueue(rq_jobs.square, key, 7, repeat=rq.Repeat(times=2))
    assert taken(client, key, 3) == [b"7"] * 3


def test_rq_info_lists_the_queue_and_its_workers(server: Address) -> None:
    done = subprocess.run(
        python("rq.cli", "info", "--url", server.url), capture_output=True, text=True, check=True
    )
    assert QUEUE in done.stdout
    assert "2 workers" in done.stdout


def test_suspended_workers_do_not_start(server: Address, client: Any, key: str) -> None:
    def rq_says(*words: str) -> subprocess.CompletedProcess[str]:
        command = python("rq.cli", *words, "--url", server.url)
        here = {**os.environ, "REDIS_URL": server.url}
        return subprocess.run(command, env=here, capture_output=True, text=True, timeout=PATIENCE)

    job = rq.Queue("others", connection=client).enqueue(rq_jobs.square, key, 1)
    rq_says("suspend").check_returncode()
    try:
        assert "suspended" in rq_says("worker", "others", "--burst").stdout
        assert state(job) == "queued"
    finally:
        rq_says("resume").check_returncode()
    rq_says("worker", "others", "--burst").check_returncode()
    assert job.return_value() == 1


@pytest.mark.parametrize("how", ["message", "signal"])
def test_a_worker_exits_when_told_to(server: Address, start: Starter, client: Any, how: str) -> None:
    name = f"leaving-{how}"
    worker = start(name, python("rq.cli", "worker", "--url", server.url, "--name", name, "nothing"))
    worker.says("Listening on")
    until(lambda: name in {each.name for each in rq.Worker.all(connection=client)})
    if how == "message":
        rq_command.send_shutdown_command(client, name)
        assert worker.process.wait(PATIENCE) == 0
    else:
        assert worker.stop() == 0
    assert name not in {each.name for each in rq.Worker.all(connection=client)}
