"""What the two flavours with coroutines share: the methods, and the driver that runs operations.

``pressure.aio`` and ``pressure.trio`` add the I/O of connections, and cancellation.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

from pressure.connections.discovery import Discovery, QueryResult, ServerQuery
from pressure.connections.pool import HOLDS, BaseCheckout, Member, Pool
from pressure.connections.settings import STOP_TIMEOUT, Settings
from pressure.errors import PressureError, QueueClosedError, QueueEmptyError, ServerReplyError
from pressure.execution.execution import PooledExecution, is_wrong_server
from pressure.execution.lease import LeaseRenewer
from pressure.keys import QueueKeys
from pressure.methods.flavour import Flavour, noted_in
from pressure.methods.handlers import awaitable_result
from pressure.methods.methods import Block, CallbackOperation, Form, MethodCall, NextBlock
from pressure.protocol.operation import AtNodes, Batch, Operation, Reply, Wait
from pressure.sync.flavour import Synchronous

T = TypeVar("T")


class Asynchronous(Flavour):
    """The methods of the two flavours with coroutines."""

    _driver: AsyncDriver
    _renewer: Any = None
    _has_coroutines: ClassVar[bool] = True

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
        """Call a coroutine function, and let it finish even if the task is cancelled."""
        await function(*args)

    @abstractmethod
    def _heartbeats(
        self, heartbeat: Callable[[], Operation[Any]], every: float
    ) -> AbstractAsyncContextManager[None, bool | None]:
        """Run an operation periodically during a block."""

    @contextlib.asynccontextmanager
    async def _run_block(self, block: Block[T]) -> AsyncIterator[T]:
        async with contextlib.AsyncExitStack() as stack:
            begin: Callable[[Operation[Any]], Awaitable[Any]] = self._run
            run = begin
            if block.holds_role:
                checkout = await self._driver.checkout()
                stack.push_async_callback(self._shielded, checkout.close)
                begin, run = checkout.begin, checkout.run
            taken = await begin(block.enter)
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
                answer = None
                if step is not None:  # a task is cancelled where it waits
                    answer = await (self._call(step) if isinstance(step, MethodCall) else self._run(step))
            except BaseException as error:
                advance = partial(operation.throw, error)
            else:
                advance = partial(operation.send, answer)

    async def _call(self, call: MethodCall) -> Any:
        async with contextlib.AsyncExitStack() as stack:
            if call.heartbeat is not None:
                await stack.enter_async_context(self._heartbeats(call.heartbeat, call.every))
            return await awaitable_result(call.function(call.argument))

    async def disconnect(self) -> None:  # noqa: D102, below
        if self._renewer is not None:
            await self._renewer.stop()
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


class AsyncDriver(ABC):
    """Runs operations over the connections of one queue object; the tasks of one event loop may share it.

    Args:
        connections: The flavour's connections.
        renewer: Renews the leases; None without leases.
    """

    _checkout: type[AsyncCheckout]

    def __init__(self, connections: AsyncConnections, renewer: LeaseRenewer | None) -> None:
        self.connections = connections
        self.renewer = renewer

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end.

        Raises:
            ConnectionFailedError: The server cannot be reached, or was lost before anything was changed.
            OutcomeUnknownError: The connection was lost after commands were sent that change something.
            asyncio.CancelledError: The task was cancelled; the operation gave back what it held.
            trio.Cancelled: The same with Trio.
            PressureError: Whatever the operation raises.
        """
        return await self._run_on(await self.checkout(), operation)

    async def checkout(self) -> AsyncCheckout:
        """A connection for several operations, one after the other; the first of them connects it."""
        self.connections.come_home()
        return self._checkout(self, self.connections.pool.take())

    @abstractmethod
    async def aside(self, operation: Operation[T], within: float) -> T:
        """Run an operation on a connection of its own, outside the pool, and close the connection.

        Args:
            operation: A generator that was not started yet.
            within: How many seconds it may take in all, connecting included.

        Raises:
            PressureError: As in ``run``.
        """

    @abstractmethod
    async def unblock(self, number: int | None) -> bool | None:
        """End the wait of the connection with this CLIENT ID. Returns ``unblocked`` for ``grace_period``."""

    async def _aside(self, operation: Operation[T]) -> T:
        return await self._run_on(self._checkout(self, Member(), stop=0), operation)

    async def _run_on(self, checkout: AsyncCheckout, operation: Operation[T]) -> T:
        try:
            return await checkout.run(operation)
        finally:
            await checkout.close()


class AsyncExecution(PooledExecution[T]):
    """The execution of an operation by a driver with coroutines."""

    __slots__ = ("_checkout", "_is_stopped")

    def __init__(self, operation: Operation[T], checkout: AsyncCheckout) -> None:
        super().__init__(operation, checkout, checkout.driver.connections.settings)
        self._checkout = checkout
        self._is_stopped = False

    async def run(self) -> T:
        """Run the operation to its end, when it is its turn on the connection; its result."""
        lock = self.member.lock
        if lock is not None:
            await (self._acquire(lock) if self._checkout.has_holds else lock.acquire())
        try:
            await self._connect()
            return await self._steps()
        finally:
            if lock is not None:
                lock.release()

    async def _connect(self) -> None:
        try:
            await self._checkout.driver.connections.ready(self.member)
        except PressureError as error:
            if (reason := await self._cancelled()) is not None:  # it came while it was the turn of another
                raise reason from error
            raise

    async def _steps(self) -> T:
        try:
            self.begin()
            while (step := self.step) is not None:
                if self.waits and not await self._may_wait():
                    continue
                if isinstance(step, Batch):
                    self.advance(await self._sent(step))
                elif await self._pause(step.seconds):
                    self.advance([])
        except ServerReplyError as error:
            if is_wrong_server(error):
                await self._checkout.leave_server()
            raise
        finally:
            self.note_end()
        return self.result

    async def _may_wait(self) -> bool:
        """Whether to carry out the next step, which waits."""
        if not self._is_stopped and (reason := await self._cancelled()) is not None:
            self._is_stopped = True
            self.stop(reason)
            return False
        if self.stopped_unable_to_share():
            return False
        if self.shares and isinstance(self.step, Wait):
            return await self._pause(self.poll_interval(self.step))
        return True

    @abstractmethod
    async def _cancelled(self) -> BaseException | None:
        """The exception to stop the operation with; None to go on."""

    @abstractmethod
    async def _acquire(self, lock: Any) -> None:
        """Acquire the lock of a shared connection, even if cancelled; ``_cancelled`` tells that later."""

    @abstractmethod
    async def _pause(self, seconds: float) -> bool:
        """Sleep; False if that was cancelled. Others may use a shared connection meanwhile."""

    @abstractmethod
    async def _sent(self, step: Batch) -> list[Reply]:
        """The replies to a step. A cancellation that comes meanwhile only ends a wait."""


class AsyncCheckout(BaseCheckout):
    """A connection for several operations, one after the other. ``AsyncDriver.checkout`` makes one.

    Args:
        driver: The driver.
        member: The connection's place in the pool.
        stop: How many seconds a reply may take once the operation is to be stopped.
    """

    _execution: type[AsyncExecution[Any]]
    #: The errors of a connection whose server is silent for too long.
    _silent: tuple[type[Exception], ...]

    def __init__(self, driver: AsyncDriver, member: Member, stop: float = STOP_TIMEOUT) -> None:
        super().__init__(member, driver.renewer)
        self.driver = driver
        self.stop = stop

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end, and end the holds; see ``AsyncDriver.run``."""
        result = await self.begin(operation)
        self.end_holds()
        return result

    async def begin(self, operation: Operation[T]) -> T:
        """Run an operation to its end; if it succeeds, its holds last until the next one that is run."""
        self._check()
        result: T = await self._execution(operation, self).run()
        return result

    async def close(self) -> None:
        """End the holds, and give the connection back."""
        if self._close_once():
            await self.driver.connections.give_back(self.member)

    async def drop_connection(self, error: BaseException) -> None:
        """Close the connection after an error; all others, too, if the server did not answer."""
        self.end_holds()
        await self.driver.connections.close(self.member.take_out())
        if isinstance(error, self._silent):
            await self.driver.connections.disconnect(nowait=True)

    async def leave_server(self) -> None:
        """Close all connections to a wrong server; the next operation finds the right one anew."""
        await self.driver.connections.disconnect(nowait=True)
        await self.driver.connections.close(self.member.take_out())


class AsyncConnections(ABC):
    """The connections of one queue object, in one event loop at a time.

    Attributes:
        settings: How they connect.
        pool: Which operation uses which connection.
        unblocks: A lock: one wait at a time is ended, from a connection of its own.
    """

    #: The flavour's lock, which is fair.
    _lock: Callable[[], Any]

    def __init__(self, where: Settings, keys: QueueKeys | None = None) -> None:
        self.settings = self._where = where
        self._keys = keys
        self.pool = Pool(where.max_connections, self._lock)
        self._home: tuple[int, Any] = (0, None)
        self.unblocks = self._lock()

    def come_home(self) -> None:
        """Forget the connections of another event loop, or, after a fork, of the parent process."""
        home = (os.getpid(), self._event_loop())
        if self._home != home:
            self.pool.forget()
            self._home, self.unblocks = home, self._lock()

    async def ready(self, member: Member, again: bytes = b"") -> None:
        """Make sure that a member has a connection that works, as far as can be seen.

        Args:
            member: The member.
            again: The name of a new connection; without it, a name that was never used.

        Raises:
            ConnectionFailedError: The server cannot be reached, or refuses the login.
            ClusterError: The server is part of a cluster, and the queue's name has no hash tag.
        """
        if member.connection is not None:
            if self._is_quiet(member.connection):
                return
            await self.close(member.take_out())
        generation, discovery = self.pool.generation, Discovery(self._where, self._keys)
        connection, name = None, b""
        try:
            while (query := discovery.query) is not None:
                await self.close(connection)
                connection, name = None, again or HOLDS.connection_name()
                connection, result = await self._open(query, name, member)
                discovery.receive(result)
        except BaseException:
            await self.close(connection)
            raise
        self._where = discovery.where
        member.set(connection, name, discovery.number, generation)

    async def reconnect(self, member: Member) -> None:
        """Open a member's connection again under its name, so that its holds go on living; see ``ready``."""
        life = member.life
        await self.close(member.take_out())
        await self.ready(member, member.name)
        member.life = life

    async def ask_nodes(self, step: AtNodes) -> list[QueryResult]:
        """The replies of each node to the commands of a step, or why there are none."""
        results = []
        for node in step.nodes:
            query = ServerQuery(self.settings.at(*node), step.commands)
            connection, result = await self._open(query, HOLDS.connection_name(), Member())
            await self.close(connection)
            results.append(result)
        return results

    async def give_back(self, member: Member) -> None:
        """Give a member back to the pool."""
        for connection in self.pool.give_back(member):
            await self.close(connection)

    async def disconnect(self, *, nowait: bool = False) -> None:
        """Close the idle connections, and those in use as soon as they are given back."""
        self.come_home()
        for connection in self.pool.drain():
            await self.close(connection, nowait=nowait)

    @abstractmethod
    def _event_loop(self) -> object:
        """The running event loop."""

    @abstractmethod
    async def _open(self, query: ServerQuery, name: bytes, member: Member) -> tuple[Any, QueryResult]:
        """A new connection, and the result of a query on it; no connection if that failed."""

    @abstractmethod
    def _is_quiet(self, connection: Any) -> bool:
        """Whether a connection is open and has nothing to read; a server that hung up makes it readable."""

    @abstractmethod
    async def close(self, connection: Any, *, nowait: bool = True) -> None:
        """Close a connection, if there is one; unless ``nowait``, wait until it is closed."""
