"""Where our own client takes its settings from."""

from __future__ import annotations

import os
from unittest import mock

from ...judging.environment import Environment, expect
from ..registry import check
from ..state import only, our_own, text
from . import decided, ours

NOWHERE = "redis://127.0.0.1:1/0"


@decided("decided.arguments-win", "'configurable at queue creation'")
def arguments_win(env: Environment) -> None:
    """Arguments win over the environment, and REDIS_URL over the variables for host, port and database."""
    elsewhere = only(REDIS_URL=NOWHERE, PRESSURE_PREFIX="elsewhere")
    with mock.patch.dict(os.environ, elsewhere, clear=True), ours(env) as queue:
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
