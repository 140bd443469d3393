"""What runs the definitions of a kind: the part of a queue object that is not about its kind.

``Synchronous`` is the flavour with plain functions; ``Asynchronous`` is what the flavours with coroutines
share.

To join a flavour and a kind: ``class BackupQueue(Synchronous, BackupMethods)``.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

from pressure.arguments import settings
from pressure.driver import Driver, Interrupt
from pressure.errors import PressureError
from pressure.kinds.kind import Kind, Place
from pressure.kinds.methods import Block, Call, Definition, Errand, Method, Span, Work, definitions, like
from pressure.protocol.steps import Operation
from pressure.settings import Settings

T = TypeVar("T")


class Flavour(ABC):
    """Makes methods of definitions."""

    _making: ClassVar[dict[type[Definition], Callable[[Definition], Callable[..., Any]]]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        made = {name: each for name, each in definitions(cls) if inspect.getattr_static(cls, name) is each}
        for name, definition in made.items():  # what a subclass has of its own stays
            setattr(cls, name, like(definition, cls._making[type(definition)](definition)))
        kinds = (base for base in cls.__mro__ if issubclass(base, Kind) and not issubclass(base, Flavour))
        if made:  # what a queue does is told by its kind
            cls.__doc__ = next(kinds).__doc__

    _where: Settings

    @property
    def _server(self) -> tuple[str, Any]:
        """Which server and database it is on."""
        return self._where.address, self._where.kwargs.get("db") or 0

    def __repr__(self) -> str:
        flavour = type(self).__module__.removeprefix("pressure.").removesuffix("kinds")
        return f"<{flavour}{type(self).__qualname__} {self} at {self._where.address}>"


def _note(error: BaseException, failure: Exception) -> None:
    error.add_note(f"at the end of the block, this failed, too: {failure}")


class Synchronous(Flavour):
    """The flavour with plain functions.

    Attributes:
        interrupt: Asked before each wait; see ``pressure.Queue``.
    """

    interrupt: Interrupt | None = None

    def _connect(self, place: Place, **where: Any) -> None:
        self._where = settings(**where)
        self._driver = Driver(self._where, place)

    def _run(self, operation: Operation[T]) -> T:
        return self._driver.run(operation, self._wish)

    def _wish(self) -> BaseException | None:
        return None if self.interrupt is None else self.interrupt()

    @contextlib.contextmanager
    def _block(self, span: Span[T]) -> Iterator[T]:
        taken = self._run(span.enter)
        try:
            yield taken
        except BaseException as error:
            if (operation := span.leave(taken, error)) is not None:
                try:
                    self._run(operation)
                except Exception as failure:
                    _note(error, failure)
            raise
        if (operation := span.leave(taken, None)) is not None:
            self._run(operation)

    def _errand(self, errand: Errand[T]) -> T:
        advance = partial(next, errand)
        while True:
            try:
                step = advance()
            except StopIteration as stop:
                result: T = stop.value
                return result
            try:
                answer = self._call(step) if isinstance(step, Call) else self._run(step)
            except BaseException as error:
                advance = partial(errand.throw, error)
            else:
                advance = partial(errand.send, answer)

    def _call(self, call: Call) -> Any:
        with contextlib.ExitStack() as stack:
            if call.beat is not None:
                stack.enter_context(self._beating(call.beat, call.every))
            return call.function(call.argument)

    @contextlib.contextmanager
    def _beating(self, beat: Callable[[], Operation[Any]], every: float) -> Iterator[None]:
        """Runs an operation again and again, on a thread of its own."""
        over = threading.Event()

        def run() -> None:
            while not over.wait(every):
                with contextlib.suppress(PressureError):  # the next may do better
                    self._driver.run(beat())

        thread = threading.Thread(target=run, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def disconnect(self) -> None:
        """Close this object's idle connections. The queue stays; the object can be used again."""
        self._driver.connections.disconnect()

    def __enter__(self) -> Self:
        """The object itself. The end of the block disconnects it, and leaves the queue as it is."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()

    _making = {  # noqa: RUF012, a table of the class
        Method: lambda d: lambda self, *args, **options: self._run(d.define(self, *args, **options)),
        Block: lambda d: lambda self, *args, **options: self._block(d.define(self, *args, **options)),
        Work: lambda d: lambda self, *args, **options: self._errand(d.define(self, *args, **options)),
    }


def _coroutine(definition: Definition) -> Callable[..., Any]:
    async def run(self: Asynchronous, *args: Any, **options: Any) -> Any:
        return await self._run(definition.define(self, *args, **options))

    return run


def _working_coroutine(definition: Definition) -> Callable[..., Any]:
    async def run(self: Asynchronous, *args: Any, **options: Any) -> Any:
        return await self._errand(definition.define(self, *args, **options))

    return run


class Asynchronous(Flavour):
    """What the flavours with coroutines share."""

    @abstractmethod
    def _connect(self, place: Place, **where: Any) -> None:
        """Prepare connections; nothing is sent."""

    @abstractmethod
    async def _run(self, operation: Operation[T]) -> T:
        """Run an operation to its end."""

    async def _settle(self, operation: Operation[T]) -> T:
        """Run an operation that is to be run although the task is cancelled."""
        return await self._run(operation)

    @abstractmethod
    def _beating(
        self, beat: Callable[[], Operation[Any]], every: float
    ) -> AbstractAsyncContextManager[None, bool | None]:
        """Runs an operation again and again, beside a block."""

    @abstractmethod
    async def _disconnect(self) -> None:
        """Close the idle connections."""

    @contextlib.asynccontextmanager
    async def _block(self, span: Span[T]) -> AsyncIterator[T]:
        taken = await self._run(span.enter)
        try:
            yield taken
        except BaseException as error:
            if (operation := span.leave(taken, error)) is not None:
                try:
                    await self._settle(operation)
                except Exception as failure:
                    _note(error, failure)
            raise
        if (operation := span.leave(taken, None)) is not None:
            await self._settle(operation)

    async def _errand(self, errand: Errand[T]) -> T:
        advance = partial(next, errand)
        while True:
            try:
                step = advance()
            except StopIteration as stop:
                result: T = stop.value
                return result
            try:
                answer = await (self._call(step) if isinstance(step, Call) else self._run(step))
            except BaseException as error:
                advance = partial(errand.throw, error)
            else:
                advance = partial(errand.send, answer)

    async def _call(self, call: Call) -> Any:
        async with contextlib.AsyncExitStack() as stack:
            if call.beat is not None:
                await stack.enter_async_context(self._beating(call.beat, call.every))
            return await call.function(call.argument)

    async def disconnect(self) -> None:  # noqa: D102, below
        await self._disconnect()

    disconnect.__doc__ = Synchronous.disconnect.__doc__

    async def __aenter__(self) -> Self:
        """The object itself. The end of the block disconnects it, and leaves the queue as it is."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.disconnect()

    _making = {  # noqa: RUF012, a table of the class
        Method: _coroutine,
        Block: lambda d: lambda self, *args, **options: self._block(d.define(self, *args, **options)),
        Work: _working_coroutine,
    }
