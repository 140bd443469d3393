"""Whether a user's function fits the flavour that calls it: a handler of the wrong sort would never run.

A function whose sort is known is refused before it is called. For others (a lambda, a decorated function, a
mock) the result of each call decides.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable
from typing import Any


def check_handler(handle: Any, *, coroutines: bool) -> None:
    """Raises TypeError for what cannot be called, and for a function that is known to be of the wrong sort.

    Args:
        handle: The user's function.
        coroutines: Whether it must be a coroutine function.
    """
    if not callable(handle):
        raise TypeError(f"handle must be a function of one message, not {handle!r}")
    function = handle
    while isinstance(function, functools.partial):
        function = function.func
    is_plain = inspect.isfunction(function) or inspect.ismethod(function)
    if not is_plain and inspect.ismethod(method := function.__call__):
        function = method
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"handle must be a function without yield, not {handle!r}: its body would not run")
    is_coroutine_function = inspect.iscoroutinefunction(function)
    if is_coroutine_function and not coroutines:
        raise TypeError(
            f"handle must be a plain function, not the coroutine function {handle!r}: use the ReliableQueue "
            "of pressure.aio or pressure.trio, which await it"
        )
    if coroutines and is_plain and not is_coroutine_function and not _may_return_awaitable(function):
        raise TypeError(f"handle must be a coroutine function (async def), not the plain function {handle!r}")


def _may_return_awaitable(function: Any) -> bool:
    """Whether a plain function is of the sort that passes on what a coroutine function returns."""
    return function.__name__ == "<lambda>" or hasattr(function, "__wrapped__")


def plain_result(result: Any) -> Any:
    """The result of a plain function; raises TypeError if somebody would have to await it."""
    if not inspect.isawaitable(result):
        return result
    if inspect.iscoroutine(result):
        result.close()  # or Python would warn that it was never awaited
    raise TypeError(
        f"the handler returned an awaitable ({type(result).__name__}), which only pressure.aio and "
        "pressure.trio await; the message is not handled"
    )


def awaitable_result(result: Any) -> Awaitable[Any]:
    """The result of a coroutine function; raises TypeError if it cannot be awaited."""
    if inspect.isawaitable(result):
        return result
    raise TypeError(
        f"the handler returned {type(result).__name__}, which cannot be awaited; make it a coroutine "
        "function (async def)"
    )
