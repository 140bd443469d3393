"""The methods that change a queue as a whole: its creation and its end, and its repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pressure import protocol
from pressure.codecs import V
from pressure.errors import QueueAlreadyExistsError, QueueDoesNotExistError
from pressure.methods.inspecting import InspectMethods, check_role
from pressure.methods.methods import method
from pressure.protocol import Deadline, Operation

if TYPE_CHECKING:
    from pressure.protocol.repair import RepairReport


class LifecycleMethods(InspectMethods[V]):
    """The methods of ``pressure.Queue`` that create, close, repair and delete a queue."""

    @method
    def create(self, bound: int = 0, *, exist_ok: bool = False) -> Operation[None]:
        """Create the queue (pressure protocol 0.15, Create), in one step that either happens or does not.

        Args:
            bound: How many values the queue may hold; 0 means any number.
            exist_ok: Do nothing if the queue exists with this bound.

        Raises:
            QueueAlreadyExistsError: The queue exists (with ``exist_ok``: with another bound), an unfinished
                delete left one of its keys, or it would share a key with another queue (``jobs:closed``
                beside ``jobs``).
            ValueError: The bound is not an integer from 0 to 2**63 - 1.
        """
        if not isinstance(bound, int) or isinstance(bound, bool) or not 0 <= bound < 1 << 63:
            raise ValueError(f"bound must be an integer from 0 to {(1 << 63) - 1}, not {bound!r}")
        return self._existing(bound) if exist_ok else protocol.create(self._context, bound)

    def _existing(self, bound: int) -> Operation[None]:
        try:
            yield from protocol.create(self._context, bound)
        except QueueAlreadyExistsError as error:
            try:
                _, found = yield from protocol.length_and_bound(self._context)
            except QueueDoesNotExistError:  # the queue does not exist, but one of its keys does
                raise error from None
            if found != bound:
                raise QueueAlreadyExistsError(
                    f"queue {self} already exists, with bound {found} instead of {bound}, "
                    "and a bound cannot be changed"
                ) from None

    @method
    def shutdown(self, timeout: float | None = None) -> Operation[None]:
        """Close the queue for ever, for every client (pressure protocol 0.15, Close).

        Nothing can be put any more; the values that are in it can still be got. ``queue.Queue`` calls it
        ``shutdown``, too. ``close`` is about this object only: it closes connections, like that of a file.

        A ``put`` that waits for room ends with ``QueueClosedError``, unless it is a ``put_many`` that has put
        some of its values already.

        Args:
            timeout: Longest time to wait for the producer role, in seconds; None for no limit.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            QueueClosedError: It is closed already.
            QueueInUseError: Another client held the producer role until the timeout.
        """
        return protocol.close(self._context, Deadline.of(self._context, True, timeout))

    @method
    def wait_closed(self, timeout: float | None = None) -> Operation[bool]:
        """Wait until the queue is closed.

        Args:
            timeout: Longest time to wait, in seconds; None for no limit.

        Returns:
            True if the queue is closed, False if it was still open at the timeout.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
        """
        return protocol.wait_closed(self._context, Deadline.of(self._context, True, timeout))

    @method
    def delete(self, timeout: float | None = None) -> Operation[None]:
        """Delete the queue and its values (pressure protocol 0.15, Delete), or finish an interrupted delete.

        Clients that wait in ``put``, ``get`` or ``shutdown`` get ``QueueDoesNotExistError``. The holders of
        the roles finish what they do; the delete waits for them.

        Args:
            timeout: Longest time to wait for both roles, in seconds; None for no limit.

        Raises:
            QueueDoesNotExistError: None of its keys exists.
            QueueInUseError: Another client held a role until the timeout. The queue is half deleted: it does
                not exist for other clients, and a second ``delete`` or ``repair`` removes its last keys.
        """
        return protocol.delete(self._context, Deadline.of(self._context, True, timeout))

    @method
    def repair(self, force: bool = False, role: str | None = None) -> Operation[RepairReport]:
        """Free the roles of dead clients, and finish an interrupted create or delete.

        Without ``force`` a role is freed only if its holder is certainly dead: the holder is a client of
        this package, and at two probes five seconds apart the role had the same holder, whose connection was
        gone, or which had not written its id, or whose lease had run out. So the call takes five seconds if
        a role is held, unless an operation of this process has left it behind. Unacknowledged messages go
        back to the front, and wrong counters are corrected.

        Args:
            force: Free the roles even if their holders are alive. The next operation of such a holder fails
                with ``QueueInUseError``.
            role: Free only this role, ``"producer"`` or ``"consumer"``.

        Returns:
            What was repaired, and what was not, with the reason.

        Raises:
            QueueDoesNotExistError: None of its keys exists.
            ValueError: There is no such role.
        """
        if role is not None:
            check_role(role)
        from pressure.protocol.repair import repair

        return repair(self._context, force, role)
