"""The synchronous driver: runs operations, each on one connection.

Rules:
    - One connection for the whole operation, no retries, each step in one round trip.
    - No reply that the server has sent is dropped. An operation is stopped in place of a wait, and gives its
      role back. A wait that is under way is ended by CLIENT UNBLOCK from a second connection. If the server
      then does not answer within ``STOP_TIMEOUT``, the connection is closed.
    - On the main thread, if Python's own handler of SIGINT is installed, SIGINT only asks the operation to
      stop (``DeferredInterrupt``): a KeyboardInterrupt raised while a reply is being read would lose it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # not in every typeshed
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType, TracebackType
from typing import Final, TypeVar

from pressure.connections.error_replies import LOST, SILENT, NotDoneError
from pressure.connections.forks import forget_in_child
from pressure.connections.pool import BaseCheckout, Member
from pressure.connections.settings import STOP_TIMEOUT, Settings
from pressure.errors import ConnectionFailedError, PressureError, ServerReplyError
from pressure.execution.execution import (
    MOVING,
    PooledExecution,
    client_unblock,
    grace_period,
    is_wrong_server,
)
from pressure.execution.lease import LeaseRenewer
from pressure.keys import QueueKeys
from pressure.protocol.operation import AtNodes, Batch, Operation, Reply, Wait
from pressure.sync.connection import TICK, CancelScope, Connection, Connections, FairLock, Interrupt, close

T = TypeVar("T")


class Driver:
    """Runs operations over the connections of one queue object; threads may share it.

    Args:
        where: The server.
        keys: The queue's keys; None if any node of a cluster will do.
        renewer: Renews the leases; None without leases.

    Attributes:
        connections: The connections.
    """

    def __init__(
        self, where: Settings, keys: QueueKeys | None = None, renewer: LeaseRenewer | None = None
    ) -> None:
        self.connections = Connections(where, keys)
        self.renewer = renewer
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Begin anew in a forked child: a thread of the parent may have held the lock."""
        self._unblocks = threading.Lock()

    def run(self, operation: Operation[T], interrupt: Interrupt | None = None) -> T:
        """Run an operation to its end.

        Args:
            operation: A generator that was not started yet.
            interrupt: Called before each wait, and while the server is silent; see ``Interrupt``.

        Raises:
            ConnectionFailedError: The server cannot be reached, or was lost before anything was changed.
            ClusterError: The server is part of a cluster, and the queue's name has no hash tag.
            OutcomeUnknownError: The connection was lost after commands were sent that change something.
            PressureError: Whatever the operation raises.
        """
        checkout = self.checkout(interrupt)
        try:
            return checkout.run(operation)
        finally:
            checkout.close()

    def checkout(self, interrupt: Interrupt | None = None) -> Checkout:
        """A connection for several operations, one after the other; the first of them connects it."""
        return Checkout(self, self.connections.pool.take(), interrupt)

    def aside(self, operation: Operation[T], within: float) -> T:
        """Run an operation on a connection of its own, outside the pool, and close the connection.

        Args:
            operation: A generator that was not started yet.
            within: How many seconds it may take in all, connecting included.

        Raises:
            PressureError: As in ``run``.
        """
        checkout = Checkout(self, Member(), None, time.monotonic() + within)
        try:
            return checkout.run(operation)
        finally:
            checkout.close()

    def unblock(self, number: int | None) -> bool | None:
        """End the wait of the connection with this CLIENT ID. Returns ``unblocked`` for ``grace_period``."""
        if number is None:
            return False
        if not self._unblocks.acquire(timeout=STOP_TIMEOUT):
            return None
        try:
            return self.aside(client_unblock(number), STOP_TIMEOUT)
        except PressureError:
            return None
        finally:
            self._unblocks.release()


class Checkout(BaseCheckout):
    """A connection for several operations, one after the other. ``Driver.checkout`` makes one."""

    def __init__(
        self, driver: Driver, member: Member, interrupt: Interrupt | None, deadline: float = float("inf")
    ) -> None:
        super().__init__(member, driver.renewer)
        self.driver = driver
        self._interrupt = interrupt
        self._deadline = deadline

    def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end, and end the holds; see ``Driver.run``."""
        result = self.begin(operation)
        self.end_holds()
        return result

    def begin(self, operation: Operation[T]) -> T:
        """Run an operation to its end; if it succeeds, its holds last until the next one that is run."""
        self._check()
        with DeferredInterrupt() as deferred:
            own = self._interrupt
            interrupt = deferred.pending if own is None else lambda: deferred.pending() or own()
            return self._run(operation, CancelScope(interrupt, self._deadline))

    def close(self) -> None:
        """End the holds, and give the connection back."""
        if self._close_once():
            self.driver.connections.give_back(self.member)

    def _run(self, operation: Operation[T], scope: CancelScope) -> T:
        lock, connections = self.member.lock, self.driver.connections
        if lock is not None:
            lock.acquire(scope.cancelled if self.has_holds else lambda: _raise(scope.cancelled()))
        try:
            connections.ready(self.member, scope)
            return _Execution(operation, self, scope).run()
        finally:
            if lock is not None:
                lock.release()

    def drop_connection(self, error: BaseException) -> None:
        """Close the connection after an error; all others, too, if the server did not answer."""
        self.end_holds()
        close(self.member.take_out())
        if isinstance(error, SILENT):
            self.driver.connections.disconnect()

    def leave_server(self) -> None:
        """Close all connections to a wrong server; the next operation finds the right one anew."""
        self.driver.connections.disconnect()
        close(self.member.take_out())


def _raise(reason: BaseException | None) -> None:
    if reason is not None:
        raise reason


class _Execution(PooledExecution[T]):
    """One operation under way."""

    __slots__ = ("_checkout", "_is_stopped", "_scope")

    def __init__(self, operation: Operation[T], checkout: Checkout, scope: CancelScope) -> None:
        super().__init__(operation, checkout, checkout.driver.connections.settings)
        self._checkout = checkout
        self._scope = scope
        self._is_stopped = False

    def run(self) -> T:
        """Run the operation to its end; its result."""
        try:
            self.begin()
            while (step := self.step) is not None:
                if self.waits and not self._may_wait():
                    continue
                if isinstance(step, Batch):
                    self.advance(self._sent(step))
                elif self._pause(step.seconds):
                    self.advance([])
        except ServerReplyError as error:
            if is_wrong_server(error):
                self._checkout.leave_server()
            raise
        finally:
            self.note_end()
        return self.result

    def _may_wait(self) -> bool:
        """Whether to carry out the next step, which waits; False if the operation was stopped instead."""
        if not self._is_stopped and (reason := self._scope.cancelled()) is not None:
            self._is_stopped = True
            self.stop(reason)
            return False
        if self.stopped_unable_to_share():
            return False
        if self.shares and isinstance(self.step, Wait):
            self._pause(self.poll_interval(self.step))
        return True

    def _pause(self, seconds: float) -> bool:
        """Sleep; False if the operation was cancelled. Others may use a shared connection meanwhile."""
        lock = self.member.lock if self.shares else None
        if lock is not None:
            lock.release()
        try:
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0 and self._scope.cancelled() is None:
                time.sleep(min(left, TICK))
        finally:
            if lock is not None:
                self._take_back(lock)
        self.check_connection()
        return self._is_stopped or self._scope.cancelled() is None

    def _take_back(self, lock: FairLock) -> None:
        """Acquire the lock again even if an exception ends the wait for it: the caller will release it."""
        try:
            lock.acquire(self._scope.cancelled)
        except BaseException:
            lock.acquire(lambda: None)
            raise

    def _sent(self, step: Batch) -> list[Reply]:
        try:
            return self._answered(step)
        except BaseException as error:
            self._checkout.drop_connection(error)
            if isinstance(error, (*LOST, ConnectionFailedError)):
                raise self.lost(error) from error
            self.abandon()
            raise

    def _answered(self, step: Batch) -> list[Reply]:
        replies = self._exchanged(step)
        while self.accept_delay(step, replies) and self._scope.cancelled() is None:
            self._pause(MOVING)
            replies = self._exchanged(step)
        return replies

    def _exchanged(self, step: Batch) -> list[Reply]:
        if isinstance(step, AtNodes):
            return self._checkout.driver.connections.ask_nodes(step, self._scope)
        end_wait = partial(self._end_wait, step) if isinstance(step, Wait) else None
        while True:
            data, count = self.packed(step)
            connection: Connection = self.connection
            self._scope.begin_wait(self.timeout_of(step), end_wait)
            try:
                replies = connection.exchange(data, count, self._scope)
                self._scope.end_wait()
            except NotDoneError:
                if not self.accept_end():
                    raise
            else:
                if not self.accept_move(step, replies):
                    return replies
            self._checkout.driver.connections.reconnect(self.member, self._scope)
            self.connection = self.member.connection

    def _end_wait(self, step: Wait) -> float:
        self.ended_wait = True
        return grace_period(step, self._checkout.driver.unblock(self.member.number))


#: ``signal``'s own functions try to turn numbers and handlers into enum members: 3 us a call, three calls an
#: operation.
_get: Final[Callable[[int], object]] = _signal.getsignal
_set: Final[Callable[[int, object], object]] = _signal.signal
_SIGINT: Final = int(signal.SIGINT)

#: Seconds between the return of an operation and the KeyboardInterrupt that was deferred during it.
GRACE: Final = 0.02


class LateInterrupts:
    """KeyboardInterrupts that came during operations that succeeded: they are raised after ``GRACE``.

    The next operation raises one at once: in a loop of quick operations, the end of ``GRACE`` might always be
    within one of them.
    """

    def __init__(self) -> None:
        self._put_off: list[None] = []
        forget_in_child(self)

    def forget(self) -> None:
        """Of the parent's interrupts, none is the child's; nor is the operation of another thread."""
        self._put_off.clear()
        if getattr(_get(_SIGINT), "__func__", None) is DeferredInterrupt._note:
            _set(_SIGINT, signal.default_int_handler)

    def put_off(self) -> None:
        """Raise KeyboardInterrupt on the main thread after ``GRACE``."""
        self._put_off.append(None)
        timer = threading.Timer(GRACE, self._signal)
        timer.daemon = True
        timer.start()

    def raise_now(self) -> None:
        """Raise KeyboardInterrupt here, if one was put off and this is the main thread."""
        if self._put_off and threading.current_thread() is threading.main_thread() and self._took_one():
            raise KeyboardInterrupt

    def _signal(self) -> None:
        if self._took_one():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _took_one(self) -> bool:
        try:
            self._put_off.pop()
        except IndexError:  # the other one of the two took it meanwhile
            return False
        return True


LATE_INTERRUPTS: Final = LateInterrupts()


class DeferredInterrupt:
    """A context that defers SIGINT; ``pending`` says whether a signal came.

    An operation that was stopped, or failed, raises KeyboardInterrupt. Its cause is the failure: an
    OutcomeUnknownError says what may be lost. An operation that succeeded returns its result all the same;
    KeyboardInterrupt is raised a moment later, when the caller has had time to keep the result.
    """

    __slots__ = ("_installed", "_noted")

    def __init__(self) -> None:
        self._noted = False
        self._installed = False

    def pending(self) -> BaseException | None:
        """The exception to stop the operation with, if a signal came; else None."""
        return KeyboardInterrupt() if self._noted else None

    def _note(self, _signal: int, _frame: FrameType | None) -> None:
        self._noted = True

    def __enter__(self) -> DeferredInterrupt:
        if (
            threading.current_thread() is threading.main_thread()
            and _get(_SIGINT) is signal.default_int_handler
        ):
            _set(_SIGINT, self._note)
            self._installed = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            _set(_SIGINT, signal.default_int_handler)
        if not self._noted or isinstance(error, KeyboardInterrupt):
            return
        if error is not None:
            raise KeyboardInterrupt from error
        LATE_INTERRUPTS.put_off()
