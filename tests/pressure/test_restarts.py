"""A server that is restarted or still loading: the same queue objects go on, in every flavour."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from conformance.clients.flavours import FLAVOURS as CLIENTS
from conformance.targets import NoRealRedisError, end, find_real_redis, start_real
from pressure import ConnectionFailedError, OutcomeUnknownError, Queue

from .conftest import Task, invariant, until, waiting
from .sentinels_and_clusters import answers

FLAVOURS: dict[str, Any] = {**CLIENTS}

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


class Durable:
    """A server on a port of its own that keeps its data when it is started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process, self.port = start_real(find_real_redis(), folder, *DURABLE)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self, *flags: str) -> None:
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        words += [*DURABLE, *flags]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen([find_real_redis(), *words], stdin=quiet, stdout=quiet, stderr=quiet)

    @property
    def is_up(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        end(self.process)


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Durable]:
    try:
        server = Durable(tmp_path)
    except NoRealRedisError as error:
        pytest.skip(str(error))
    try:
        until(lambda: answers(server.port), "did it start")
        yield server
    finally:
        server.stop()


def test_queue_objects_survive_a_restart_of_the_server(
    durable: Durable, task: Callable[[Callable[[], Any]], Task]
) -> None:
    with contextlib.ExitStack() as stack, redis.Redis(port=durable.port) as raw:
        queues = {name: make(name, url=durable.url) for name, make in FLAVOURS.items()}
        waits = {name: make(f"wait-{name}", url=durable.url) for name, make in FLAVOURS.items()}
        for queue in (*queues.values(), *waits.values()):
            stack.callback(queue.disconnect)
            queue.create(2)
        for queue in queues.values():
            queue.put(b"kept")
        gets = [task(queue.get) for queue in waits.values()]
        waiting(raw, len(gets))
        durable.stop()
        for get in gets:
            with pytest.raises(OutcomeUnknownError, match="repair"):
                get.result()
        for queue in queues.values():
            with pytest.raises(ConnectionFailedError):
                queue.put(b"nowhere to go")
        durable.start()
        until(lambda: answers(durable.port), "did it start again")
        for name, queue in queues.items():
            queue.put(b"new")
            assert queue.get_many(3) == [b"kept", b"new"]
            invariant(raw, name)
        for name, queue in waits.items():
            queue.put(b"later")
            assert queue.get() == b"later", "our own dead hold is no obstacle"
            invariant(raw, f"wait-{name}")


def test_an_operation_on_a_server_that_is_loading_is_a_connection_error(durable: Durable) -> None:
    with redis.Redis(port=durable.port) as raw, Queue("jobs", url=durable.url) as jobs:
        jobs.create(1)
        raw.mset({f"filler:{number}": os.urandom(1024) for number in range(1000)})
        raw.save()
    durable.stop()
    slowly = ("--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024")
    durable.start("--appendonly", "no", *slowly)
    until(lambda: is_loading(durable.port) or not durable.is_up, "was it loading")
    if not durable.is_up:
        pytest.skip(f"this server cannot be made to load slowly: {slowly}")
    for make in FLAVOURS.values():
        queue = make("jobs", url=durable.url)
        for work in (queue.exists, lambda queue=queue: queue.put(b"v")):
            with pytest.raises(ConnectionFailedError, match="LOADING"):
                work()
        queue.disconnect()


def is_loading(port: int) -> bool:
    with redis.Redis(port=port) as client:
        try:
            client.ping()
        except redis.BusyLoadingError:
            return True
        except redis.ConnectionError:
            return False
    return False
