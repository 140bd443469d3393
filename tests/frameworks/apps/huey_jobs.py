"""Tasks for Huey: ``huey_consumer`` is given the name of one of the instances at the end."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

from huey import PriorityRedisExpireHuey, PriorityRedisHuey, RedisExpireHuey, RedisHuey

from .effects import OnPurposeError, note, note_time, third_time, wait_for

KINDS: dict[str, Any] = {
    "plain": RedisHuey,
    "ranked": PriorityRedisHuey,
    "expiring": RedisExpireHuey,
    "ranked_expiring": PriorityRedisExpireHuey,
}


def instance(kind: str, url: str, name: str | None = None) -> Any:
    """An instance of a kind, by the name of its kind if by no other; its tasks are in ``instance.tasks``."""
    huey = KINDS[kind](name or kind, url=url, notify_result=True)
    huey.tasks = SimpleNamespace(**simple(huey), **rare(huey))
    return huey


def simple(huey: Any) -> dict[str, Any]:
    @huey.task()
    def square(key: str, number: int) -> int:
        note(key, number)
        return number * number

    @huey.task()
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    @huey.task()
    def fail() -> None:
        raise OnPurposeError("as the test asked")

    @huey.task(retries=2)
    def come_around(key: str) -> int:
        return third_time(key)

    @huey.task()
    def clock(key: str) -> None:
        note_time(key)

    return {"square": square, "total": total, "fail": fail, "come_around": come_around, "clock": clock}


def rare(huey: Any) -> dict[str, Any]:
    @huey.task()
    def alone(key: str, gate: str) -> str:
        with huey.lock_task("alone"):
            note(key, "started")
            wait_for(gate)
        return "let go"

    @huey.periodic_task(lambda _: True)
    def every_minute() -> None:
        note(f"{huey.name}:every-minute", "ran")

    return {"alone": alone, "every_minute": every_minute}


def here(kind: str) -> Any:
    return instance(kind, os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), os.environ.get("HUEY_NAME"))


plain, ranked, expiring, ranked_expiring = (here(kind) for kind in KINDS)
