"""A server that is restarted or still loading: the same queue objects go on, in every flavour."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import pytest
import redis

from conformance.clients.flavours import FLAVOURS as CLIENTS
from pressure import ConnectionFailedError, OutcomeUnknownError, Queue
from tests.servers import RealServer, answers, is_loading

from .conftest import StartTask, invariant, until, waiting

FLAVOURS: dict[str, Any] = {**CLIENTS}


def test_queue_objects_survive_a_restart_of_the_server(durable: RealServer, task: StartTask) -> None:
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


def test_an_operation_on_a_server_that_is_loading_is_a_connection_error(durable: RealServer) -> None:
    with redis.Redis(port=durable.port) as raw, Queue("jobs", url=durable.url) as jobs:
        jobs.create(1)
        raw.mset({f"filler:{number}": os.urandom(1024) for number in range(1000)})
        raw.save()
    durable.stop()
    slowly = ("--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024")
    durable.start("--appendonly", "no", *slowly)
    until(lambda: is_loading(durable.port) or not durable.is_running, "was it loading")
    if not durable.is_running:
        pytest.skip(f"this server cannot be made to load slowly: {slowly}")
    for make in FLAVOURS.values():
        queue = make("jobs", url=durable.url)
        for work in (queue.exists, lambda queue=queue: queue.put(b"v")):
            with pytest.raises(ConnectionFailedError, match="LOADING"):
                work()
        queue.disconnect()
