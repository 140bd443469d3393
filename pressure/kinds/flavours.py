"""The flavours: what runs the definitions of a kind, whichever kind it is.

``Synchronous`` is the flavour with functions; ``Asynchronous`` is what the two flavours with coroutines
share. To join a flavour and a kind: ``class BackupQueue(Synchronous, BackupMethods)``.

Rules:
    - A block that holds a role runs both its ends on one connection, on which the hold lives.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterator,
)
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import redis

from pressure.driver import Driver, Interrupt
from pressure.errors import PressureError, QueueClosedError, QueueEmptyError
from pressure.keys import Located
from pressure.kinds.methods import (
    Block,
    Call,
    Definition,
    Each,
    Errand,
    Loop,
    Method,
    Methods,
    Span,
    Work,
    definitions,
    like,
)
from pressure.lease import ATTEMPTS, ThreadKeeper
from pressure.protocol.steps import Operation
from pressure.settings import Settings

if TYPE_CHECKING:
    import pressure.aio.driver
    import pressure.trio.driver

T = TypeVar("T")

#: Makes the operation that renews the leases of some holds.
Renewal: TypeAlias = Callable[[Collection[bytes]], Operation[None]]

#: What makes the method of a definition, and what the method returns; see ``like``.
Making: TypeAlias = tuple[Callable[[Callable[..., Any]], Callable[..., Any]], str]


class Flavour(ABC):
    """Makes methods of definitions."""

    _making: ClassVar[dict[type[Definition], Making]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        made = {name: each for name, each in definitions(cls) if inspect.getattr_static(cls, name) is each}
        for name, definition in made.items():  # what a subclass has of its own stays
            make, returns = cls._making[type(definition)]
            setattr(cls, name, like(definition, make(definition.define), returns))
        kinds = (base for base in cls.__mro__ if issubclass(base, Methods) and not issubclass(base, Flavour))
        if made and not vars(cls).get("__doc__"):  # what a queue does is told by its kind
            cls.__doc__ = next(kinds).__doc__

    _where: Settings

    @property
    def _server(self) -> tuple[str, Any]:
        """Which server and database it is on."""
        return self._where.address, self._where.kwargs.get("db") or 0

    def __repr__(self) -> str:
        flavour = type(self).__module__.removeprefix("pressure").removesuffix(".queue").removesuffix(".kinds")
        return f"<{flavour[1:]}{flavour and '.'}{type(self).__qualname__} {self} at {self._where.address}>"


@contextlib.contextmanager
def _noted(error: BaseException) -> Iterator[None]:
    """What fails at the end of a block that ended by an error becomes a note of that error."""
    try:
        yield
    except Exception as failure:
        error.add_note(f"at the end of the block, this failed, too: {failure}")


class Synchronous(Flavour):
    """The flavour with functions.

    Attributes:
        interrupt: Asked before each wait; see ``pressure.Queue``.
    """

    interrupt: Interrupt | None = None
    _clients: ClassVar[tuple[type, ...]] = (redis.Redis,)

    def _connect(
        self, where: Settings, located: Located, lease: float | None = None, renewal: Renewal | None = None
    ) -> None:
        self._where = where
        self._keeper = None
        if lease is not None and renewal is not None:
            within = lease / ATTEMPTS
            self._keeper = ThreadKeeper(lease, lambda holds: self._driver.aside(renewal(holds), within))
        self._driver = Driver(where, located, self._keeper)

    def _wish(self) -> BaseException | None:
        return None if self.interrupt is None else self.interrupt()

    def _run(self, operation: Operation[T]) -> T:
        return self._driver.run(operation, self._wish)

    @contextlib.contextmanager
    def _block(self, span: Span[T]) -> Iterator[T]:
        with contextlib.ExitStack() as stack:
            run: Callable[[Operation[Any]], Any] = self._run
            if span.holds_role:
                checkout = self._driver.checkout(self._wish)
                stack.callback(checkout.close)
                run = checkout.run
            taken = run(span.enter)
            try:
                yield taken
            except BaseException as error:
                if (operation := span.end(taken, error)) is not None:
                    with _noted(error):
                        run(operation)
                raise
            if (operation := span.end(taken, None)) is not None:
                run(operation)

    def _loop(self, each: Each[T]) -> Generator[T, None, None]:
        while True:
            with contextlib.ExitStack() as stack:
                try:
                    taken = stack.enter_context(self._block(each()))
                except (QueueClosedError, QueueEmptyError):
                    return
                yield taken

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
        if self._keeper is not None:
            self._keeper.stop()
        self._driver.connections.disconnect()

    def close(self) -> None:
        """``disconnect`` under the name that files and sockets give it, for ``contextlib.closing``."""
        self.disconnect()

    def __enter__(self) -> Self:
        """The object itself. The end of the block disconnects it, and leaves the queue as it is."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()

    _making = {  # noqa: RUF012, a table of the class
        Method: (lambda define: lambda self, *args, **opts: self._run(define(self, *args, **opts)), "{}"),
        Work: (lambda define: lambda self, *args, **opts: self._errand(define(self, *args, **opts)), "{}"),
        Block: (
            lambda define: lambda self, *args, **opts: self._block(define(self, *args, **opts)),
            "AbstractContextManager[{}]",
        ),
        Loop: (
            lambda define: lambda self, *args, **opts: self._loop(define(self, *args, **opts)),
            "Generator[{}, None, None]",
        ),
    }


def _coroutine(define: Callable[..., Any]) -> Callable[..., Any]:
    async def run(self: Asynchronous, *args: Any, **options: Any) -> Any:
        return await self._driver.run(define(self, *args, **options))

    return run


def _working_coroutine(define: Callable[..., Any]) -> Callable[..., Any]:
    async def run(self: Asynchronous, *args: Any, **options: Any) -> Any:
        return await self._errand(define(self, *args, **options))

    return run


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

    async def _shielded(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Call a coroutine function, which runs to its end although the task is cancelled."""
        await function(*args)

    @abstractmethod
    def _beating(
        self, beat: Callable[[], Operation[Any]], every: float
    ) -> AbstractAsyncContextManager[None, bool | None]:
        """Runs an operation again and again, beside a block."""

    async def _renewed(self, renewal: Renewal, lease: float, holds: Collection[bytes]) -> None:
        await self._driver.aside(renewal(holds), lease / ATTEMPTS)

    @contextlib.asynccontextmanager
    async def _block(self, span: Span[T]) -> AsyncIterator[T]:
        async with contextlib.AsyncExitStack() as stack:
            run: Callable[[Operation[Any]], Awaitable[Any]] = self._driver.run
            if span.holds_role:
                checkout = await self._driver.checkout()
                stack.push_async_callback(self._shielded, checkout.close)
                run = checkout.run
            taken = await run(span.enter)
            try:
                yield taken
            except BaseException as error:
                if (operation := span.end(taken, error)) is not None:
                    with _noted(error):
                        await self._shielded(run, operation)
                raise
            if (operation := span.end(taken, None)) is not None:
                await self._shielded(run, operation)

    async def _loop(self, each: Each[T]) -> AsyncGenerator[T, None]:
        while True:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    taken = await stack.enter_async_context(self._block(each()))
                except (QueueClosedError, QueueEmptyError):
                    return
                yield taken

    async def _errand(self, errand: Errand[T]) -> T:
        advance = partial(next, errand)
        while True:
            try:
                step = advance()
            except StopIteration as stop:
                result: T = stop.value
                return result
            try:
                answer = await (self._call(step) if isinstance(step, Call) else self._driver.run(step))
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

    _making = {  # noqa: RUF012, a table of the class
        Method: (_coroutine, "{}"),
        Work: (_working_coroutine, "{}"),
        Block: (
            lambda define: lambda self, *args, **opts: self._block(define(self, *args, **opts)),
            "AbstractAsyncContextManager[{}]",
        ),
        Loop: (
            lambda define: lambda self, *args, **opts: self._loop(define(self, *args, **opts)),
            "AsyncGenerator[{}, None]",
        ),
    }
