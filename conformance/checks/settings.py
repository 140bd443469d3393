"""Where a client takes its settings from, and what its repair does; both are our client's own."""

from __future__ import annotations

import os
from unittest import mock

from ..judging.environment import Environment, expect
from .lifecycle import our_own
from .registry import check
from .state import CONSUMER, PRODUCER, expect_roles_free, held, length, text

NOWHERE = "redis://127.0.0.1:1/0"
VARIABLES = ("REDIS_URL", "REDIS_SERVER", "REDIS_PORT", "REDIS_DB", "PRESSURE_PREFIX")


def only(**variables: str) -> dict[str, str]:
    """The environment with these of our variables, and none else."""
    return {name: value for name, value in os.environ.items() if name not in VARIABLES} | variables


@check("decided.arguments-win")
def arguments_win(env: Environment) -> None:
    elsewhere = only(REDIS_URL=NOWHERE, PRESSURE_PREFIX="elsewhere")
    with mock.patch.dict(os.environ, elsewhere, clear=True), our_own(
        env, "jobs", url=env.address.url, prefix=env.prefix
    ) as queue:  # fmt: skip
        queue.create(5)
    expect(text(env, ":bound"), b"5", "the bound where the arguments point")


@check("decided.arguments-win")
def url_wins(env: Environment) -> None:
    split = only(
        REDIS_URL=env.address.url, REDIS_SERVER="127.0.0.1", REDIS_PORT="1", PRESSURE_PREFIX=env.prefix
    )
    with mock.patch.dict(os.environ, split, clear=True), our_own(env, "jobs") as queue:
        queue.create(5)
    expect(text(env, ":bound"), b"5", "the bound where REDIS_URL points")


@check("decided.kubernetes-port")
def kubernetes_port(env: Environment) -> None:
    to = env.address
    found = only(REDIS_PORT=f"tcp://{to.host}:{to.port}", REDIS_DB=str(to.db), PRESSURE_PREFIX=env.prefix)
    with mock.patch.dict(os.environ, found, clear=True), our_own(env, "jobs") as queue:
        queue.create(5)
    expect(text(env, ":bound"), b"5", "the bound where REDIS_PORT points")


@check("decided.repair-forced")
def repair_forced(env: Environment) -> None:
    env.created(2)
    for role in (PRODUCER, CONSUMER):
        env.redis.delete(env.queue_key(role))
    with our_own(env, "jobs", url=env.address.url, prefix=env.prefix) as queue:
        for _ in range(2):
            queue.repair(force=True)
            expect_roles_free(env)
        queue.put(b"v")
        expect(queue.get(), b"v", "what is got from the repaired queue")


@check("decided.repair-spares")
def repair_spares(env: Environment) -> None:
    env.created()
    with held(env, PRODUCER), our_own(env, "jobs", url=env.address.url, prefix=env.prefix) as queue:
        env.redis.set(env.queue_key(":producer"), "another program's client")
        queue.repair()
        expect(length(env, PRODUCER), 0, "elements of producer_free")
        expect(text(env, ":producer"), b"another program's client", "the holder")
