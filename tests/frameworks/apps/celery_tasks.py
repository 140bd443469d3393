"""Tasks for Celery, with Redis as the broker and as the place for results."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

from celery import Celery

from .effects import OnPurposeError, note, note_time, third_time, wait_for, write_down


def app_of(url: str) -> Any:
    """An application with its tasks: in ``app.all``."""
    app: Any = Celery("celery_tasks", broker=url, backend=url, set_as_current=False)
    app.conf.update(
        broker_connection_retry_on_startup=True,
        broker_transport_options={"priority_steps": [0, 3, 6, 9], "queue_order_strategy": "priority"},
        result_backend_transport_options={"retry_policy": {"max_retries": 3}},  # a test that failed ends soon
        result_cache_max=-1,  # none: errors in it would hold results until after their server is gone
        result_expires=1000,
        task_track_started=True,
        worker_prefetch_multiplier=1,
        beat_schedule={"each-second": {"task": "every_second", "schedule": 1.0}},
    )
    app.all = SimpleNamespace(**simple(app), **rare(app))
    return app


def simple(app: Any) -> dict[str, Any]:
    @app.task(name="square")
    def square(key: str, number: int) -> int:
        note(key, number)
        return number * number

    @app.task(name="total")
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    @app.task(name="fail")
    def fail() -> None:
        raise OnPurposeError("as the test asked")

    @app.task(name="clock")
    def clock(key: str) -> None:
        note_time(key)

    @app.task(name="write_down")
    def note_in_file(path: str, number: int) -> None:
        write_down(path, number)

    return {"write_down": note_in_file, "square": square, "total": total, "fail": fail, "clock": clock}


def rare(app: Any) -> dict[str, Any]:
    @app.task(name="come_around", autoretry_for=(OnPurposeError,), default_retry_delay=0.01, max_retries=3)
    def come_around(key: str) -> int:
        return third_time(key)

    @app.task(name="hold")
    def hold(key: str) -> str:
        note(f"{key}:started", "started")
        wait_for(key)
        return "let go"

    @app.task(name="every_second")
    def every_second() -> None:
        note_time("celery:every-second")

    return {"come_around": come_around, "hold": hold, "every_second": every_second}


app = app_of(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
