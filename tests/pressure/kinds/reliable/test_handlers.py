"""Handlers of the wrong sort for their flavour lose no message: most are refused before the first pop."""

from __future__ import annotations

import asyncio
import functools
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
import trio

import pressure.aio
import pressure.trio

from ...conftest import server_fixture

FLAVOURS = {"sync": pressure, "aio": pressure.aio, "trio": pressure.trio}
SEEN: list[bytes] = []

server_address = server_fixture("embedded_server")


def plain(message: pressure.Delivered) -> None:
    SEEN.append(message.data)


async def coroutine(message: pressure.Delivered) -> None:
    SEEN.append(message.data)


def generator(message: pressure.Delivered) -> Any:
    yield message


class Handler:
    """Objects that can be called or have a method to call."""

    async def __call__(self, message: pressure.Delivered) -> None:
        SEEN.append(message.data)

    def plain(self, message: pressure.Delivered) -> None:
        SEEN.append(message.data)


@functools.wraps(coroutine)
def decorated(message: pressure.Delivered) -> Any:
    return coroutine(message)


def work(flavour: str, url: str, handle: Callable[..., Any]) -> tuple[int, int, int]:
    """How many messages a worker handled, and how many are waiting and pending then."""
    SEEN.clear()
    with pressure.ReliableQueue("jobs", url=url) as queue:
        queue.push("a")
        if flavour == "sync":
            done = queue.work(handle, until_empty=True)
        else:

            async def main() -> int:
                async with FLAVOURS[flavour].ReliableQueue("jobs", url=url) as worker:
                    return int(await worker.work(handle, until_empty=True))

            done = asyncio.run(main()) if flavour == "aio" else trio.run(main)
        return done, queue.info().undelivered, queue.info().delivered


REFUSED: dict[str, tuple[str, Callable[..., Any], str]] = {
    "sync, coroutine function": ("sync", coroutine, "pressure.aio or pressure.trio"),
    "sync, partial": ("sync", functools.partial(coroutine), "pressure.aio or pressure.trio"),
    "sync, object": ("sync", Handler(), "pressure.aio or pressure.trio"),
    "sync, generator": ("sync", generator, "without yield"),
    "aio, function": ("aio", plain, "async def"),
    "trio, partial of a method": ("trio", functools.partial(Handler().plain), "async def"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_handler_that_its_flavour_cannot_run_is_refused_before_the_first_pop(
    case: str, redis_url: str
) -> None:
    flavour, handle, text = REFUSED[case]
    with pytest.raises(TypeError, match=re.escape(text)):
        work(flavour, redis_url, handle)
    with pressure.ReliableQueue("jobs", url=redis_url) as queue:
        assert (queue.info().undelivered, queue.info().delivered, SEEN) == (1, 0, [])


@pytest.mark.parametrize("flavour", ["aio", "trio"])
@pytest.mark.parametrize(
    "handle", [coroutine, functools.partial(coroutine), Handler(), lambda m: coroutine(m), decorated]
)
def test_what_returns_an_awaitable_is_a_handler(
    flavour: str, handle: Callable[..., Any], redis_url: str
) -> None:
    assert (work(flavour, redis_url, handle), SEEN) == ((1, 0, 0), [b"a"])


@pytest.mark.parametrize(
    ("flavour", "handle", "text"),
    [
        ("sync", lambda message: coroutine(message), "returned an awaitable"),
        ("aio", lambda _: None, "async def"),
    ],
)
def test_a_message_whose_handler_returned_the_wrong_sort_of_result_is_not_acknowledged(
    flavour: str,
    handle: Callable[..., Any],
    text: str,
    redis_url: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR, "pressure.worker")
    assert work(flavour, redis_url, handle) == (0, 0, 1)
    assert text in caplog.text
