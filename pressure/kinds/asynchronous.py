"""What the flavours with coroutines share."""

from __future__ import annotations

import contextlib
import inspect
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from pressure.errors import QueueClosedError, QueueEmptyError
from pressure.kinds.flavour import Flavour, Renewal, noted_in
from pressure.kinds.methods import Block, Call, CallbackOperation, Form, NextBlock
from pressure.kinds.synchronous import Synchronous
from pressure.lease import ATTEMPTS
from pressure.protocol.steps import Operation

if TYPE_CHECKING:
    import pressure.aio.driver
    import pressure.trio.driver

T = TypeVar("T")


class Values(Generic[T]):
    """An asynchronous iteration over the values of a queue; leaving it early leaves nothing to be closed.

    Args:
        get: Takes one value.
    """

    def __init__(self, get: Callable[[], Awaitable[T]]) -> None:
        self._get = get

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        try:
            return await self._get()
        except QueueClosedError:
            raise StopAsyncIteration from None


class Asynchronous(Flavour):
    """What the flavours with coroutines share."""

    _driver: pressure.aio.driver.Driver | pressure.trio.driver.Driver
    _keeper: Any = None

    @staticmethod
    def _method(define: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
        if not inspect.iscoroutinefunction(run):
            return lambda self, *args, **options: run(self, define(self, *args, **options))

        async def method(self: Asynchronous, *args: Any, **options: Any) -> Any:
            return await run(self, define(self, *args, **options))

        return method

    async def _run(self, operation: Operation[T]) -> T:
        return await self._driver.run(operation)

    async def _shielded(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Call a coroutine function, which runs to its end although the task is cancelled."""
        await function(*args)

    @abstractmethod
    def _heartbeats(
        self, heartbeat: Callable[[], Operation[Any]], every: float
    ) -> AbstractAsyncContextManager[None, bool | None]:
        """Runs an operation again and again, beside a block."""

    async def _renewed(self, renewal: Renewal, lease: float, holds: Collection[bytes]) -> None:
        await self._driver.aside(renewal(holds), lease / ATTEMPTS)

    @contextlib.asynccontextmanager
    async def _run_block(self, block: Block[T]) -> AsyncIterator[T]:
        async with contextlib.AsyncExitStack() as stack:
            run: Callable[[Operation[Any]], Awaitable[Any]] = self._run
            if block.holds_role:
                checkout = await self._driver.checkout()
                stack.push_async_callback(self._shielded, checkout.close)
                run = checkout.run
            taken = await run(block.enter)
            try:
                yield taken
            except BaseException as error:
                if (operation := block.end(taken, error)) is not None:
                    with noted_in(error):
                        await self._shielded(run, operation)
                raise
            if (operation := block.end(taken, None)) is not None:
                await self._shielded(run, operation)

    async def _iterate(self, next_block: NextBlock[T]) -> AsyncGenerator[T, None]:
        while True:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    taken = await stack.enter_async_context(self._run_block(next_block()))
                except (QueueClosedError, QueueEmptyError):
                    return
                yield taken

    async def _run_callbacks(self, operation: CallbackOperation[T]) -> T:
        advance = partial(next, operation)
        while True:
            try:
                step = advance()
            except StopIteration as stop:
                result: T = stop.value
                return result
            try:
                answer = await (self._call(step) if isinstance(step, Call) else self._run(step))
            except BaseException as error:
                advance = partial(operation.throw, error)
            else:
                advance = partial(operation.send, answer)

    async def _call(self, call: Call) -> Any:
        async with contextlib.AsyncExitStack() as stack:
            if call.heartbeat is not None:
                await stack.enter_async_context(self._heartbeats(call.heartbeat, call.every))
            return await call.function(call.argument)

    async def disconnect(self) -> None:  # noqa: D102, below
        if self._keeper is not None:
            await self._keeper.stop()
        await self._driver.connections.disconnect()

    async def close(self) -> None:  # noqa: D102, below
        await self.disconnect()

    disconnect.__doc__ = Synchronous.disconnect.__doc__
    close.__doc__ = Synchronous.close.__doc__

    async def __aenter__(self) -> Self:
        """The object itself. The end of the block disconnects it, and leaves the queue as it is."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.disconnect()

    _runners = {  # noqa: RUF012, a table of the class
        Form.METHOD: (_run, "{}"),
        Form.CONTEXT_MANAGER: (_run_block, "AbstractAsyncContextManager[{}]"),
        Form.ITERATOR: (_iterate, "AsyncGenerator[{}, None]"),
        Form.CALLBACK_METHOD: (_run_callbacks, "{}"),
    }
