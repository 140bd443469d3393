"""BullMQ on Node: each step of a job is a Lua script over lists, sorted sets, hashes and a stream of events."""

from __future__ import annotations

from typing import Final

import pytest

from conformance.targets import Address

from .node import APPS, check, checks_of
from .programs import Program, Starter

QUEUE: Final = "paint"


@pytest.fixture(scope="module")
def workers(start: Starter, node: dict[str, str]) -> list[Program]:
    """Two processes that take jobs, a few at once."""
    command = ["node", str(APPS / "bullmq_worker.cjs"), QUEUE]
    started = [start(f"bullmq-{number}", [*command, f"worker-{number}"], **node) for number in (1, 2)]
    for worker in started:
        worker.says("ready")
    return started


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("name", checks_of("bullmq_checks.cjs"))
def test_bullmq_passes_its_checks(server: Address, node: dict[str, str], key: str, name: str) -> None:
    check("bullmq_checks.cjs", name, QUEUE, key, environment={**node, "REDIS_URL": server.url})


def test_bullmq_workers_exit_cleanly(workers: list[Program]) -> None:
    assert [worker.stop() for worker in workers] == [0, 0]
