"""``--no-heal``: a subcommand that waits for a role does not free the role of a dead client."""

from __future__ import annotations

import sys

import pytest
import redis

from ..conftest import server_fixture
from .conftest import Run

DEAD = "host:1:01234567/1/1"

server_address = server_fixture("miniredis", more=("redis-server",))

#: Subcommands, and the role that each needs.
NEEDS = {
    "put jobs two": "producer",
    "close jobs": "producer",
    "redrive jobs": "producer",
    "pipe other -n 1 -- cat -- jobs": "producer",
    "get jobs -n 1": "consumer",
    "get jobs -n 1 --reliable": "consumer",
    "pipe jobs -n 1 -- cat -- other": "consumer",
    "delete jobs": "consumer",
}


@pytest.fixture(params=NEEDS)
def line(request: pytest.FixtureRequest, run: Run, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A subcommand that needs a role; a dead client holds it. A wait is cut into short slices, to be quick."""
    monkeypatch.setattr(sys.modules["pressure.protocol.liveness"], "PROBE_INTERVAL", 0.0)
    monkeypatch.setattr(sys.modules["pressure.queue"], "SLICE", 0.05)
    for name in ("jobs", "other"):
        assert run("put", name, "--create", "one")[0] == 0
    role = NEEDS[request.param]
    with redis.Redis.from_url(redis_url) as raw:
        raw.lpush("__pressure__:jobs:rejected", "rejected")
        raw.rpop(f"__pressure__:jobs:{role}_free")
        raw.set(f"__pressure__:jobs:{role}", DEAD)
    return str(request.param)


def call(run: Run, line: str, *options: str) -> tuple[int, str, str]:
    command, *rest = line.split()
    return run(command, *options, *rest)


def test_a_subcommand_frees_the_role_of_a_dead_client(run: Run, line: str) -> None:
    assert call(run, line, "--timeout", "60")[0] == 0


def test_with_no_heal_the_role_of_a_dead_client_stays_held(run: Run, redis_url: str, line: str) -> None:
    status, _, err = call(run, line, "--timeout", "1", "--no-heal")
    assert status == 7
    assert DEAD in err
    with redis.Redis.from_url(redis_url) as raw:
        assert raw.get(f"__pressure__:jobs:{NEEDS[line]}") == DEAD.encode()
