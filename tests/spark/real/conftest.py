"""One Spark for all tests of a run; the queues are on either server."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import redis

import pressure.spark
from conformance.targets import Address
from pressure.spark.sessions import QUIET
from tests.spark.conftest import Place

QUICK = {
    **QUIET,
    "spark__driver__extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark__sql__shuffle__partitions": "2",
}
"""Settings with which Spark starts sooner."""


@pytest.fixture(scope="session")
def spark_installed() -> None:
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("PySpark is not installed; it is in the extra 'spark'")


@pytest.fixture(scope="session")
def spark(spark_installed: None) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        session = pressure.spark.session("tests", "local[2,4]", **QUICK)
        yield session
        session.stop()


@pytest.fixture
def on_real(real_server: Address) -> Iterator[Callable[..., Place]]:
    """Makes queues on a real server."""
    with redis.Redis.from_url(real_server.url) as client:
        client.flushall()
    with ExitStack() as stack:
        yield lambda kind="pressure", bound=0, name=None: Place(real_server.url, kind, stack, bound, name)


def options(place: Any, **more: object) -> dict[str, str]:
    given = {"queue": place.name, "url": place.url, "kind": place.kind, "lease": 2}
    return {name: str(value) for name, value in {**given, **more}.items()}
