"""ARQ: asyncio, a sorted set as the queue, and optimistic transactions where others have scripts."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from conformance.targets import Address

from .programs import PATIENCE, ROOT, Starter, moment, needed, numbers, python, taken, until

arq = needed("arq", extra="arq")
arq_jobs = needed("tests.frameworks.apps.arq_jobs", extra="arq")

T = TypeVar("T")
SETTINGS = "tests.frameworks.apps.arq_jobs.WorkerSettings"


@pytest.fixture(scope="module", autouse=True)
def workers(start: Starter) -> Any:
    """Two workers on one queue."""
    started = [start(f"arq-{number}", python("arq", SETTINGS)) for number in (1, 2)]
    for worker in started:
        worker.says("Starting worker for")
    return started


@pytest.fixture
def run(server: Address) -> Callable[[Callable[[Any], Awaitable[T]]], T]:
    """Runs an asynchronous function with a pool of connections of ARQ's."""

    def with_pool(function: Callable[[Any], Awaitable[T]]) -> T:
        async def main() -> T:
            pool = await arq.create_pool(arq.connections.RedisSettings.from_dsn(server.url))
            try:
                return await asyncio.wait_for(function(pool), PATIENCE)
            finally:
                await pool.aclose()

        return asyncio.run(main())

    return with_pool


def test_each_job_runs_once(run: Any, client: Any, key: str) -> None:
    async def jobs(pool: Any) -> list[int]:
        jobs = [await pool.enqueue_job("square", key, number) for number in range(50)]
        return [await job.result(poll_delay=0.01) for job in jobs]

    assert run(jobs) == [number * number for number in range(50)]
    assert numbers(client, key, 50) == list(range(50))
    assert client.llen(key) == 0


def test_a_failed_job_reports_its_exception(run: Any) -> None:
    async def job(pool: Any) -> Any:
        job = await pool.enqueue_job("fail")
        with pytest.raises(Exception, match="as the test asked") as caught:
            await job.result(poll_delay=0.01)
        assert type(caught.value).__name__ == "OnPurposeError"
        return await job.result_info()

    assert run(job).success is False


def test_a_job_is_retried_until_it_succeeds(run: Any, client: Any, key: str) -> None:
    async def job(pool: Any) -> Any:
        job = await pool.enqueue_job("come_around", key)
        assert await job.result(poll_delay=0.01) == 3
        return await job.result_info()

    assert run(job).job_try == 3
    assert client.get(key) == b"3"


def test_a_deferred_job_runs_no_earlier_than_it_is_due(run: Any, client: Any, key: str) -> None:
    async def job(pool: Any) -> str:
        job = await pool.enqueue_job("clock", key, _defer_by=1)
        return str((await job.status()).value)

    before = time.time()
    assert run(job) == "deferred"
    assert moment(client, key) >= before + 0.999  # whole milliseconds


def test_a_job_id_is_enqueued_only_once(run: Any, client: Any, key: str) -> None:
    async def jobs(pool: Any) -> int:
        await asyncio.gather(
            *[pool.ping() for _ in range(5)]
        )  # a connection for each, so that they interleave
        twice = [pool.enqueue_job("square", key, 3, _job_id=key) for _ in range(5)]
        (job,) = filter(None, await asyncio.gather(*twice))
        assert await pool.enqueue_job("square", key, 3, _job_id=key) is None
        return int(await job.result(poll_delay=0.01))

    assert run(jobs) == 9
    assert taken(client, key) == [b"3"]
    assert client.llen(key) == 0


def test_a_running_job_is_aborted(run: Any, client: Any, key: str) -> None:
    async def job(pool: Any) -> bool:
        job = await pool.enqueue_job("hold", key)
        assert await pool.blpop([f"{key}:started"], timeout=PATIENCE) is not None
        assert (await job.status()).value == "in_progress"
        return bool(await job.abort(timeout=PATIENCE, poll_delay=0.01))

    assert run(job)
    assert len(taken(client, f"{key}:cancelled")) == 1


def test_a_job_is_aborted_before_it_is_due(run: Any, client: Any, key: str) -> None:
    async def job(pool: Any) -> bool:
        job = await pool.enqueue_job("square", key, 1, _defer_by=3600)
        return bool(await job.abort(timeout=PATIENCE, poll_delay=0.01))

    assert run(job)
    assert client.llen(key) == 0


def test_a_cron_job_runs_once_each_second_with_two_workers(client: Any) -> None:
    """Two workers, but each second it runs once."""
    times = [float(each) for each in taken(client, "arq:every-second", 3)]
    assert max(Counter(int(each - 0.123456) for each in times).values()) == 1


def test_arqs_health_check_succeeds(server: Address, client: Any) -> None:
    until(lambda: client.exists("arq:queue:health-check"))
    done = subprocess.run(
        python("arq", SETTINGS, "--check"), cwd=ROOT, env={"REDIS_URL": server.url, "PATH": ""},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Health check successful" in done.stdout + done.stderr


def test_a_job_of_a_worker_that_stops_is_run_by_another(
    workers: Any, run: Any, client: Any, key: str
) -> None:
    async def enqueue(pool: Any) -> Any:
        return await pool.enqueue_job("hold", key)

    async def resume(pool: Any) -> Any:
        return await arq.jobs.Job(job.job_id, pool).result(poll_delay=0.01)

    job = run(enqueue)
    taken(client, f"{key}:started")
    (its_worker,) = [worker for worker in workers if job.job_id in worker.printed()]
    its_worker.stop()
    taken(client, f"{key}:started")
    client.rpush(key, "go")
    assert run(resume) == "let go"
