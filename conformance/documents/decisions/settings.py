"""Where a client takes its settings from, and what its repair does; both are our client's own."""

from __future__ import annotations

import os
from unittest import mock

from ...judging.environment import Environment, expect
from ..registry import check
from ..state import CONSUMER, PRODUCER, expect_roles_free, held, length, only, our_own, text
from . import decided

NOWHERE = "redis://127.0.0.1:1/0"


@decided("decided.arguments-win", "'configurable at queue creation'")
def arguments_win(env: Environment) -> None:
    """Arguments win over the environment, and REDIS_URL over the variables for host, port and database."""
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


@decided("decided.kubernetes-port", "environment variables", needs=("no-password",))
def kubernetes_port(env: Environment) -> None:
    """REDIS_PORT may be of the form tcp://host:port."""
    to = env.address
    found = only(REDIS_PORT=f"tcp://{to.host}:{to.port}", REDIS_DB=str(to.db), PRESSURE_PREFIX=env.prefix)
    with mock.patch.dict(os.environ, found, clear=True), our_own(env, "jobs") as queue:
        queue.create(5)
    expect(text(env, ":bound"), b"5", "the bound where REDIS_PORT points")


@decided("decided.repair-forced", "a client dies holding a role")
def repair_forced(env: Environment) -> None:
    """A forced repair frees what is taken, once."""
    env.created(2)
    for role in (PRODUCER, CONSUMER):
        env.redis.delete(env.queue_key(role))
    with our_own(env, "jobs", url=env.address.url, prefix=env.prefix) as queue:
        for _ in range(2):
            queue.repair(force=True)
            expect_roles_free(env)
        queue.put(b"v")
        expect(queue.get(), b"v", "what is got from the repaired queue")


@decided("decided.repair-spares", "a client dies holding a role")
def repair_spares(env: Environment) -> None:
    """Without force a role stays with a holder that may be alive."""
    env.created()
    with held(env, PRODUCER), our_own(env, "jobs", url=env.address.url, prefix=env.prefix) as queue:
        env.redis.set(env.queue_key(":producer"), "another program's client")
        queue.repair()
        expect(length(env, PRODUCER), 0, "elements of producer_free")
        expect(text(env, ":producer"), b"another program's client", "the holder")
