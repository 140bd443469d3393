"""The flavour with functions."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterator
from functools import partial
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

from pressure.background import Attempts
from pressure.connections.settings import Settings
from pressure.errors import QueueClosedError, QueueEmptyError
from pressure.execution.lease import ATTEMPTS, ThreadRenewer
from pressure.keys import QueueKeys
from pressure.methods.flavour import Flavour, Renewal, noted_in
from pressure.methods.handlers import plain_result
from pressure.methods.methods import Block, CallbackOperation, Form, MethodCall, NextBlock
from pressure.protocol.operation import Operation
from pressure.sync.connection import Interrupt
from pressure.sync.driver import LATE_INTERRUPTS, Driver

T = TypeVar("T")


class Synchronous(Flavour):
    """The flavour with functions.

    Attributes:
        interrupt: Called before each wait; see ``pressure.Queue``.
    """

    interrupt: Interrupt | None = None
    _clients: ClassVar[tuple[str, ...]] = ("redis.Redis",)
    _has_coroutines: ClassVar[bool] = False

    @staticmethod
    def _method(define: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, *args, **options: run(self, define(self, *args, **options))

    def _connect(
        self, where: Settings, keys: QueueKeys, lease: float | None = None, renewal: Renewal | None = None
    ) -> None:
        self._where = where
        self._renewer = None
        if lease is not None and renewal is not None:
            within = lease / ATTEMPTS
            self._renewer = ThreadRenewer(
                lease, lambda holds: self._driver.aside(renewal(holds), within), f"queue {keys}"
            )
        self._driver = Driver(where, keys, self._renewer)

    def _wish(self) -> BaseException | None:
        return None if self.interrupt is None else self.interrupt()

    def _run(self, operation: Operation[T]) -> T:
        return self._driver.run(operation, self._wish)

    def _run_next(self, operation: Operation[T]) -> T:
        LATE_INTERRUPTS.raise_now()  # not where an operation ends what an earlier one has begun
        return self._run(operation)

    @contextlib.contextmanager
    def _run_block(self, block: Block[T]) -> Iterator[T]:
        LATE_INTERRUPTS.raise_now()
        with contextlib.ExitStack() as stack:
            begin: Callable[[Operation[Any]], Any] = self._run
            run = begin
            if block.holds_role:
                checkout = self._driver.checkout(self._wish)
                stack.callback(checkout.close)
                begin, run = checkout.begin, checkout.run
            taken = begin(block.enter)
            try:
                yield taken
            except BaseException as error:
                if (operation := block.end(taken, error)) is not None:
                    with noted_in(error):
                        run(operation)
                raise
            if (operation := block.end(taken, None)) is not None:
                run(operation)

    def _iterate(self, next_block: NextBlock[T]) -> Generator[T, None, None]:
        while True:
            with contextlib.ExitStack() as stack:
                try:
                    taken = stack.enter_context(self._run_block(next_block()))
                except (QueueClosedError, QueueEmptyError):
                    return
                yield taken

    def _run_callbacks(self, operation: CallbackOperation[T]) -> T:
        advance = partial(next, operation)
        while True:
            try:
                step = advance()
            except StopIteration as stop:
                result: T = stop.value
                return result
            try:
                answer = self._answer(step)
            except BaseException as error:
                advance = partial(operation.throw, error)
            else:
                advance = partial(operation.send, answer)

    def _answer(self, step: Operation[Any] | MethodCall | None) -> Any:
        if step is not None:
            return self._call(step) if isinstance(step, MethodCall) else self._run(step)
        LATE_INTERRUPTS.raise_now()
        if (reason := self._wish()) is not None:
            raise reason
        return None

    def _call(self, call: MethodCall) -> Any:
        with contextlib.ExitStack() as stack:
            if call.heartbeat is not None:
                stack.enter_context(self._heartbeats(call.heartbeat, call.every))
            return plain_result(call.function(call.argument))

    @contextlib.contextmanager
    def _heartbeats(self, heartbeat: Callable[[], Operation[Any]], every: float) -> Iterator[None]:
        """Run an operation periodically during a block, on a thread of its own."""
        over = threading.Event()
        attempts = Attempts("pressure.heartbeat", f"queue {self}: a heartbeat")

        def run() -> None:
            while not over.wait(every):
                with attempts:
                    self._driver.run(heartbeat())

        thread = threading.Thread(target=run, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def disconnect(self) -> None:
        """Close this object's idle connections. The queue stays; the object can be used again."""
        if self._renewer is not None:
            self._renewer.stop()
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

    _runners = {  # noqa: RUF012, a table of the class
        Form.METHOD: (_run_next, "{}"),
        Form.CONTEXT_MANAGER: (_run_block, "AbstractContextManager[{}]"),
        Form.ITERATOR: (_iterate, "Generator[{}, None, None]"),
        Form.CALLBACK_METHOD: (_run_callbacks, "{}"),
    }
