"""Jobs for ARQ: its command is given the settings at the end."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from arq import Retry, cron
from arq.connections import RedisSettings

from .effects import OnPurposeError, note, note_time, third_time

Context = dict[str, Any]


async def square(_: Context, key: str, number: int) -> int:
    note(key, number)
    return number * number


async def fail(_: Context) -> None:
    raise OnPurposeError("as the test asked")


async def come_around(context: Context, key: str) -> int:
    """Asks to be tried again in so many hundredths of a second."""
    try:
        return third_time(key)
    except OnPurposeError:
        raise Retry(defer=context["job_try"] / 100) from None


async def clock(_: Context, key: str) -> None:
    note_time(key)


async def hold(context: Context, key: str) -> str:
    """Waits on the server, without keeping others from their work, until a test pushes onto the list."""
    note(f"{key}:started", context["job_id"])
    try:
        await context["redis"].blpop([key], timeout=60)
    except asyncio.CancelledError:
        note(f"{key}:cancelled", context["job_id"])
        raise
    return "let go"


async def every_second(_: Context) -> None:
    note_time("arq:every-second")


class WorkerSettings:
    """What a worker of ARQ is told."""

    functions = [square, fail, come_around, clock, hold]  # noqa: RUF012  (as ARQ has it)
    cron_jobs = [cron(every_second, second=set(range(60)), unique=True)]  # noqa: RUF012
    redis_settings = RedisSettings.from_dsn(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
    allow_abort_jobs = True
    poll_delay = 0.05
    health_check_interval = 1
