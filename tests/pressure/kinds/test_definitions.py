"""All flavours have the same names, signatures and docstrings, and cancellation leaves nothing behind."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Callable
from typing import Any

import pytest
import redis
import trio

import pressure
import pressure.aio
import pressure.trio
from pressure.queue import Options

from ..conftest import server_fixture, waiting

KINDS = ("Queue", "BackupQueue", "RingQueue", "ReliableQueue")
FLAVOURS = {"aio": pressure.aio, "trio": pressure.trio}

#: Methods that are no coroutines where the others are.
BLOCKS = {"take", "receive"}
LOOPS = {"messages"}
LOCAL = {"task_done"}


server_address = server_fixture("embedded_server", "real_server")


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", KINDS)
def test_each_flavour_has_the_same_names_signatures_and_docstrings(name: str, flavour: str) -> None:
    ours, theirs = getattr(pressure, name), getattr(FLAVOURS[flavour], name)
    assert public(theirs) == public(ours) - {"interrupt"}
    assert inspect.signature(theirs) == inspect.signature(ours)
    for each in public(theirs):
        ours_, theirs_ = getattr(ours, each), getattr(theirs, each)
        if isinstance(ours_, property):
            continue
        assert inspect.getdoc(theirs_), each
        assert inspect.getdoc(theirs_) == inspect.getdoc(ours_), each
        assert theirs_.__qualname__.split(".")[0] == ours_.__qualname__.split(".")[0] or each in {
            "disconnect",
            "close",
        }
        ours_, theirs_ = inspect.signature(ours_), inspect.signature(theirs_)
        assert theirs_.parameters == ours_.parameters, each
        same = each not in BLOCKS | LOOPS
        assert (theirs_.return_annotation == ours_.return_annotation) == same, each


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", KINDS)
def test_methods_are_coroutine_functions_but_for_blocks_and_loops(name: str, flavour: str) -> None:
    kind = getattr(FLAVOURS[flavour], name)
    methods = {each for each in public(kind) if inspect.isfunction(getattr(kind, each))}
    coroutines = {each for each in methods if inspect.iscoroutinefunction(getattr(kind, each))}
    assert methods - coroutines == methods & (BLOCKS | LOOPS | LOCAL)
    assert coroutines


def test_the_overloads_that_type_checkers_see_have_the_arguments_of_the_class() -> None:
    options = set(typing.get_type_hints(Options))
    assert set(inspect.signature(pressure.Queue).parameters) == {"name", "codec"} | options


def test_signatures_show_what_a_method_returns_and_repr_names_queue_and_server() -> None:
    assert str(inspect.signature(pressure.BackupQueue.claim)).endswith("-> 'Item[V] | None'")
    assert str(inspect.signature(pressure.Queue.receive)).endswith("-> 'AbstractContextManager[Message[V]]'")
    messages = inspect.signature(pressure.trio.Queue.messages)
    assert messages.return_annotation == "AsyncGenerator[Message[V], None]"
    assert repr(pressure.BackupQueue("jobs", port=1)) == "<BackupQueue 'jobs' at 127.0.0.1:1>"
    assert repr(pressure.Queue("jobs", port=1)) == "<Queue 'jobs' at 127.0.0.1:1>"
    assert repr(pressure.aio.Queue("jobs", port=1)) == "<aio.Queue 'jobs' at 127.0.0.1:1>"
    assert repr(pressure.trio.RingQueue("jobs", port=1)) == "<trio.RingQueue 'jobs' at 127.0.0.1:1>"


def test_a_subclass_may_have_methods_of_its_own() -> None:
    class Counted(pressure.BackupQueue):
        """Mine."""

        def length(self) -> int:
            return 42

    assert Counted("jobs").length() == 42
    assert Counted.__doc__ == "Mine."
    assert Counted.claim is pressure.BackupQueue.claim


Main = Callable[[Any], Any]


def play(flavour: str, url: str, main: Main) -> None:
    async def whole() -> None:
        async with FLAVOURS[flavour].BackupQueue("jobs", url=url) as queue:
            await main(queue)

    if flavour == "aio":
        asyncio.run(whole())
    else:
        trio.run(whole)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_claim_that_is_cancelled_leaves_nothing_in_progress(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    async def with_asyncio(queue: Any) -> None:
        claiming = asyncio.create_task(queue.claim())
        await asyncio.to_thread(waiting, raw)
        claiming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claiming

    async def with_trio(queue: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(queue.claim)
            await trio.to_thread.run_sync(waiting, raw)
            nursery.cancel_scope.cancel()

    play(flavour, redis_url, with_asyncio if flavour == "aio" else with_trio)
    raw.lpush("queue:jobs", "v")
    assert raw.llen("queue:jobs") == 1


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_block_that_is_cancelled_leaves_its_item_in_progress(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    async def with_asyncio(queue: Any) -> None:
        async def work() -> None:
            async with queue.take():
                task.cancel()
                await asyncio.sleep(10)

        task = asyncio.ensure_future(work())
        with pytest.raises(asyncio.CancelledError):
            await task

    async def with_trio(queue: Any) -> None:
        with trio.CancelScope() as scope:
            async with queue.take():
                scope.cancel()
                await trio.sleep(10)
        assert scope.cancelled_caught

    raw.lpush("queue:jobs", "v")
    play(flavour, redis_url, with_asyncio if flavour == "aio" else with_trio)
    assert raw.lrange("queue:jobs:processing", 0, -1) == [b"v"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_error_raised_in_a_block_is_not_wrapped(flavour: str, redis_url: str, raw: redis.Redis) -> None:
    async def main(queue: Any) -> None:
        with pytest.raises(KeyError, match="mine"):
            async with queue.take():
                raise KeyError("mine")

    raw.lpush("queue:jobs", "v")
    play(flavour, redis_url, main)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_error_of_a_handler_with_a_heartbeat_is_raised_by_the_worker(flavour: str, redis_url: str) -> None:
    class EndError(BaseException):
        """Ends a worker."""

    async def handle(_: object) -> None:
        raise EndError

    async def whole() -> None:
        async with FLAVOURS[flavour].ReliableQueue("jobs", url=redis_url) as queue:
            await queue.push(b"v")
            with pytest.raises(EndError):
                await queue.work(handle, heartbeat=1)

    if flavour == "aio":
        asyncio.run(whole())
    else:
        trio.run(whole)
