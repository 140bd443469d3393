"""Awaiting something that must not be broken off in the middle.

A task that is cancelled has CancelledError raised in whatever it awaits. In the middle of a reply that would
lose a value or a role. asyncio's own ``shield`` needs a task of its own for that, which is cancelled like any
other when the loop shuts down. Here the coroutine is run step by step instead, and what it waits for is
waited for on its behalf, so that it never hears of the cancellation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Noticed: TypeAlias = Callable[[asyncio.CancelledError], Awaitable[None]]


async def unbroken(work: Coroutine[Any, Any, T], noticed: Noticed, limit: float) -> T:
    """Run a coroutine to its end, whoever cancels the task meanwhile.

    Args:
        work: It; it may not use timeouts, which are cancellations too.
        noticed: Told of a cancellation, when it comes.
        limit: Seconds after which TimeoutError is raised in the coroutine, if nothing has come meanwhile.
    """
    proceed: Callable[[], Any] = lambda: work.send(None)  # noqa: E731, it changes
    while True:
        try:
            future = proceed()
        except StopIteration as stop:
            result: T = stop.value
            return result
        proceed = lambda: work.send(None)  # noqa: E731
        end = asyncio.get_running_loop().time() + limit
        if not await _over(future, noticed, end):
            proceed = lambda: work.throw(TimeoutError("no reply in time"))  # noqa: E731


async def _over(future: asyncio.Future[Any] | None, noticed: Noticed, end: float) -> bool:
    """Wait for what a coroutine waits for, and leave its result alone; False when the time is over."""
    if future is None:  # as in asyncio.sleep(0)
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, None)
    future._asyncio_future_blocking = False
    while not future.done():
        left = end - asyncio.get_running_loop().time()
        if left <= 0:
            return False
        try:
            await asyncio.wait((future,), timeout=left)
        except asyncio.CancelledError as error:
            await noticed(error)
    return True
