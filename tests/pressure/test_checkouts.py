"""A hold keeps one connection: how long a checkout lasts, and what a forked child inherits of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from pressure import ConnectionFailedError, OutcomeUnknownError, Queue
from pressure.connections.identity import connection_in
from pressure.protocol import length
from pressure.sync.driver import Checkout

from .conftest import JOBS, ROOT, StartTask, invariant, server_fixture, until, waiting
from .loops import cancelled, live, ours, play
from .loops import until as come

server_address = server_fixture("embedded_server", "real_server")


def holder(raw: redis.Redis) -> dict[str, Any]:
    """The connection on which the consumer role is held, as the server lists it."""
    value: Any = raw.get(f"{JOBS}:consumer")
    name = (connection_in(value) or b"").decode()
    (found,) = [each for each in ours(raw) if each["name"] == name]
    return found


def test_a_block_holds_one_connection_from_its_begin_to_its_end(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    before = set(live())

    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put(b"v")
        async with queue.receive():
            first = holder(raw)["id"]
            assert len(live() - before) == 1
            for _ in range(3):
                await queue.put(b"w")
            assert holder(raw)["id"] == first
            assert len(ours(raw)) == 2, "the block's and the puts'"
        assert live() == before

    play(flavour, main, url=redis_url)
    invariant(raw)


def test_disconnect_leaves_the_connection_of_a_block_alone(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    """The object may be shared: others end their own ``with queue`` blocks meanwhile."""

    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put(b"v")
        async with queue.receive():
            held = holder(raw)["id"]
            await queue.disconnect()
            assert [each["id"] for each in ours(raw)] == [held]
        await come(lambda: not ours(raw), "was it closed when it was given back")
        assert await queue.length() == 0

    play(flavour, main, url=redis_url)
    invariant(raw)


def test_a_block_whose_connection_was_lost_while_idle_is_settled_on_a_fresh_one(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put(b"v")
        async with queue.receive():
            raw.client_kill_filter(_id=holder(raw)["id"])
        assert (await queue.stats()).consumed_messages == 1

    play(flavour, main, url=redis_url)
    invariant(raw)
    assert raw.llen(f"{JOBS}:unacked") == 0


def test_a_hold_is_over_when_its_connection_is_lost_during_an_operation(
    flavour: str, redis_url: str, raw: redis.Redis, task: StartTask
) -> None:
    before = set(live())

    async def main(queue: Any) -> None:
        await queue.create()

        def kill() -> None:
            waiting(raw)
            raw.client_kill_filter(_id=holder(raw)["id"])

        killer = task(kill)
        with pytest.raises(OutcomeUnknownError):
            await queue.get()
        assert live() == before
        killer.result()

    play(flavour, main, url=redis_url)


@pytest.mark.usefixtures("with_maxmemory")
def test_a_connection_whose_role_could_not_be_given_back_is_closed(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    """Kept open, it would say that the holder is alive."""

    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put(b"v")
        raw.config_set("maxmemory", 1)
        try:
            with pytest.raises(Exception, match="OOM"):
                await queue.put(b"w")
        finally:
            raw.config_set("maxmemory", 0)
        await come(lambda: not ours(raw), "was it closed")

    play(flavour, main, url=redis_url, scripts=False)


def test_the_connection_of_an_operation_that_was_broken_off_is_closed(
    redis_url: str, raw: redis.Redis
) -> None:
    """Such as by a handler of a signal that raises. Kept open, it would say that the holder is alive."""
    with Queue("jobs", url=redis_url) as queue:
        queue.create()

        def interrupt() -> None:
            if raw.llen(f"{JOBS}:consumer_free") == 0:
                raise SystemExit

        queue.interrupt = interrupt
        with pytest.raises(SystemExit):
            queue.get()
        assert raw.llen(f"{JOBS}:consumer_free") == 0
        until(lambda: not ours(raw), "was it closed")
        queue.interrupt = None
        queue.put(b"v")
        assert queue.get() == b"v"


def test_blocks_that_are_cancelled_while_they_wait_keep_one_connection(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    """They have given their roles back."""
    seen: set[str] = set()

    async def main(queue: Any) -> None:
        await queue.create()

        async def receive() -> None:
            async with queue.receive():
                pass

        def waits() -> list[str]:
            waiting = [each["id"] for each in ours(raw) if "b" in each["flags"]]
            seen.update(waiting)
            return waiting

        for _ in range(3):
            assert await cancelled(receive, waits) == "cancelled"

    play(flavour, main, url=redis_url)
    assert len(seen) == 1
    invariant(raw)


@pytest.mark.parametrize("moment", ["after the first operation", "before the second operation"])
def test_the_connection_of_a_block_that_was_broken_off_is_closed(
    redis_url: str, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """A handler of a signal may raise between the operations of a block, too."""
    begin, calls = Checkout.begin, iter(["first", "second"])

    def broken_off(self: Checkout, operation: Any) -> Any:
        if moment == f"before the {next(calls)} operation":
            raise SystemExit
        result = begin(self, operation)
        if moment == "after the first operation":
            raise SystemExit
        return result

    with Queue("jobs", url=redis_url) as queue:
        queue.create()
        queue.put(b"v")
        with monkeypatch.context() as patches:
            patches.setattr(Checkout, "begin", broken_off)
            with pytest.raises(SystemExit), queue.receive():
                pass
        assert raw.llen(f"{JOBS}:consumer_free") == 0
        until(lambda: not ours(raw), "was it closed")
        assert queue.get() == b"v"
    invariant(raw)


# Forks

PROGRAM = """
import asyncio, os, sys, time
import pressure, pressure.aio, pressure.trio
import trio
flavour, url = sys.argv[1:]

def fork():
    if os.fork() == 0:
        print("child", flush=True)
        sys.stdin.readline()  # idle, and alive
        os._exit(0)
    time.sleep(1000)  # until it is killed

async def main():
    async with {"aio": pressure.aio, "trio": pressure.trio}[flavour].Queue("jobs", url=url) as queue:
        await queue.length()
        async with queue.receive():
            fork()

if flavour == "sync":
    with pressure.Queue("jobs", url=url) as queue:
        queue.length()
        with queue.receive():
            fork()
elif flavour == "aio":
    asyncio.run(main())
else:
    trio.run(main)
"""


@contextmanager
def program(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs ``PROGRAM``, and its child, which ends with its input."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, str(script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with process:
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.kill()


def test_an_idle_forked_child_does_not_keep_a_dead_parents_connections_open(
    flavour: str, redis_url: str, raw: redis.Redis, tmp_path: Path
) -> None:
    before = {each["id"] for each in raw.client_list()}
    with Queue("jobs", url=redis_url) as queue:
        queue.create()
        queue.put(b"v")
        queue.disconnect()
    until(lambda: {each["id"] for each in raw.client_list()} <= before)
    with program(tmp_path, flavour, redis_url) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "child\n"
        assert len({each["id"] for each in raw.client_list()} - before) == 1, "the one of the block"
        process.kill()
        process.wait()
        until(lambda: {each["id"] for each in raw.client_list()} <= before, "were they closed")


def in_child(work: Callable[[], object]) -> None:
    """Run a function in a forked child; it must return something true."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_a_forked_child_that_leaves_a_block_changes_nothing(redis_url: str, raw: redis.Redis) -> None:
    with Queue("jobs", url=redis_url) as queue:
        queue.create()
        queue.put(b"v")
        block = queue.receive()
        with block:

            def leave() -> bool:
                block.__exit__(None, None, None)
                return live() == set()

            in_child(leave)
            assert raw.llen(f"{JOBS}:unacked") == 1
            assert raw.llen(f"{JOBS}:consumer_free") == 0
            assert holder(raw)
        assert raw.llen(f"{JOBS}:unacked") == 0
        invariant(raw)


def test_a_forked_child_cannot_use_its_parents_checkout_but_has_connections_of_its_own(
    redis_url: str, raw: redis.Redis
) -> None:
    with Queue("jobs", url=redis_url) as queue:
        queue.create()
        checkout = queue._driver.checkout()
        checkout.run(length(queue._context))

        def use() -> bool:
            with pytest.raises(ConnectionFailedError, match="parent process"):
                checkout.run(length(queue._context))
            checkout.close()
            queue.put(b"v")
            return checkout.is_forked

        in_child(use)
        assert not checkout.is_forked
        assert checkout.run(length(queue._context)) == 1
        checkout.close()
        assert queue.get() == b"v"
    invariant(raw)
