"""Awaiting something that must not be broken off in the middle.

A task that is cancelled has CancelledError raised in whatever it awaits. In the middle of a reply that would
lose a value or a role. asyncio's own ``shield`` needs a task of its own for that, which is cancelled like any
other when the loop shuts down. Here the coroutine is run step by step instead, and what it waits for is
waited for on its behalf, so that it never hears of the cancellation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from math import inf
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Noticed: TypeAlias = Callable[[asyncio.CancelledError], Awaitable[None]]


async def unbroken(
    work: Coroutine[Any, Any, T], noticed: Noticed, limit: float = inf, stop: float = inf
) -> T:
    """Run a coroutine to its end, whoever cancels the task meanwhile.

    Args:
        work: The coroutine; no timeout of its own may run out in it, since that is a cancellation, too.
        noticed: Told of a cancellation, when it comes.
        limit: Seconds after which TimeoutError is raised in the coroutine, if nothing has come meanwhile.
        stop: Seconds after a cancellation, after which TimeoutError is raised in the coroutine.
    """
    loop, stop_by = asyncio.get_running_loop(), inf
    proceed: Callable[[], Any] = lambda: work.send(None)  # noqa: E731, it changes
    while True:
        try:
            future = _future(proceed())
        except StopIteration as end:
            result: T = end.value
            return result
        proceed, silent_by = lambda: work.send(None), loop.time() + limit
        while not future.done():
            left = min(silent_by, stop_by) - loop.time()
            if left <= 0:
                proceed = lambda: work.throw(TimeoutError("no answer in time"))  # noqa: E731
                break
            try:
                await asyncio.wait((future,), timeout=None if left == inf else left)
            except asyncio.CancelledError as error:
                stop_by = min(stop_by, loop.time() + stop)
                await noticed(error)


def _future(awaited: asyncio.Future[Any] | None) -> asyncio.Future[Any]:
    """What a coroutine waits for, to be waited for on its behalf; its result is left alone."""
    if awaited is None:  # as in asyncio.sleep(0)
        awaited = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(awaited.set_result, None)
    awaited._asyncio_future_blocking = False
    return awaited
