"""Calls of every flavour as coroutines, so that a test of connections is written once.

``play`` runs a coroutine function with a queue of the flavour; synchronous queues run on threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

import pressure
import pressure.aio
import pressure.trio
from pressure.connections.pool import HOLDS

QUEUES: Final[dict[str, Any]] = {
    "sync": pressure.Queue,
    "aio": pressure.aio.Queue,
    "trio": pressure.trio.Queue,
}
Main = Callable[[Any], Awaitable[Any]]


class Sync:
    """A synchronous queue, whose methods are called on threads of Trio's, and are stopped when cancelled."""

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        self._stopping: set[int] = set()
        queue.interrupt = self._wish

    def _wish(self) -> BaseException | None:
        return Stopped() if threading.get_ident() in self._stopping else None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.queue, name)
        if name == "receive":
            return lambda *args, **options: Block(self, method(*args, **options))

        async def call(*args: Any, **options: Any) -> Any:
            return await self.run(lambda: method(*args, **options))

        return call

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run a function on a thread; if the task is cancelled, the thread is told to stop."""
        box: list[Any] = []
        over, token = trio.Event(), trio.lowlevel.current_trio_token()

        def whole() -> None:
            try:
                box.append((work(), None))
            except BaseException as error:
                box.append((None, error))
            token.run_sync_soon(over.set)

        thread = threading.Thread(target=whole)
        thread.start()
        try:
            await over.wait()
        except trio.Cancelled:
            self._stopping.add(thread.ident or 0)
            with trio.CancelScope(shield=True):
                await over.wait()
            if isinstance(box[0][1], Stopped):
                raise
        finally:
            thread.join()
            self._stopping.discard(thread.ident or 0)
        result, error = box[0]
        if error is not None:
            raise error
        return result


class Stopped(Exception):  # noqa: N818, a wish
    """What a thread is stopped with."""


class Block:
    """A block of a synchronous queue."""

    def __init__(self, queue: Sync, block: Any) -> None:
        self._queue = queue
        self._block = block

    async def __aenter__(self) -> Any:
        return await self._queue.run(self._block.__enter__)

    async def __aexit__(self, *error: object) -> None:
        with trio.CancelScope(shield=True):
            await self._queue.run(lambda: self._block.__exit__(*error))


def play(flavour: str, main: Main, **options: Any) -> Any:
    """Run a coroutine function on the flavour's loop, with a queue of the flavour called ``jobs``."""
    made = QUEUES[flavour]("jobs", **options)
    queue = Sync(made) if flavour == "sync" else made

    async def whole() -> Any:
        try:
            return await main(queue)
        finally:
            with trio.CancelScope(shield=True) if flavour != "aio" else Nothing():
                await queue.disconnect()

    return asyncio.run(whole()) if flavour == "aio" else trio.run(whole)


class Nothing:
    """A context that does nothing."""

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(self, *_: object) -> None:
        """Does nothing."""


def on_asyncio() -> bool:
    """Whether asyncio runs, and not Trio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def pause(seconds: float = 0.002) -> None:
    """Let others run."""
    await (asyncio.sleep(seconds) if on_asyncio() else trio.sleep(seconds))


async def until(condition: Callable[[], Any], what: str = "condition", limit: float = 20.0) -> Any:
    """Poll a condition until it holds; its value."""
    for _ in range(int(limit / 0.002)):
        if value := condition():
            return value
        await pause()
    raise AssertionError(f"not in {limit} s: {what}")


async def others_had_turns(count: int = 5) -> None:
    """Until others could run so many times."""
    turns = iter(range(count))
    await until(lambda: next(turns, None) is None, "did others run")


async def together(*calls: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Run calls side by side; their results, or errors."""
    results: list[Any] = [None] * len(calls)

    async def one(number: int) -> None:
        try:
            results[number] = await calls[number]()
        except pressure.PressureError as error:
            results[number] = error

    if on_asyncio():
        await asyncio.gather(*map(one, range(len(calls))))
    else:
        async with trio.open_nursery() as nursery:
            for number in range(len(calls)):
                nursery.start_soon(one, number)
    return results


async def cancelled(work: Callable[[], Awaitable[Any]], when: Callable[[], Any]) -> str:
    """Run a call, and cancel it once a condition holds; how it ended: its error's name, or its result."""
    ended: list[str] = []

    async def whole() -> None:
        try:
            ended.append(f"returned {await work()!r}")
        except pressure.PressureError as error:
            ended.append(type(error).__name__)
        except (asyncio.CancelledError, trio.Cancelled):
            ended.append("cancelled")
            raise

    if on_asyncio():
        task = asyncio.create_task(whole())
        await until(when)
        task.cancel()
        await asyncio.wait([task])
    else:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(whole)
            await until(when)
            nursery.cancel_scope.cancel()
    return ended[0]


def ours(raw: Any) -> list[dict[str, Any]]:
    """The connections of this process, as the server lists them."""
    return [each for each in raw.client_list() if each["name"].startswith(HOLDS.process.decode() + "/")]


def live() -> set[bytes]:
    """The holds of this process that live."""
    return HOLDS._live
