"""What each method of a queue is, whatever drives it: arguments checked, and the operation to run.

``pressure.Queue``, ``pressure.aio.Queue`` and ``pressure.trio.Queue`` differ in how they run what is defined
here, and in nothing else.

Rules:
    - Arguments are checked before a key is touched.
    - A context is made per operation: it says who acts, which is the thread or the task that asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from pressure import protocol
from pressure.connection import SLICE
from pressure.keys import Keys
from pressure.protocol import Context, Operation, Patience, RepairReport

#: What can be put.
Value: TypeAlias = bytes | bytearray | memoryview | str


class Definition:
    """The operations of one queue.

    Args:
        keys: The queue.
        client_id: Tells the identifier of whoever asks.
    """

    def __init__(self, keys: Keys, client_id: Callable[[], bytes]) -> None:
        self.keys = keys
        self._client_id = client_id

    def _context(self) -> Context:
        return Context(self.keys, self._client_id(), time.monotonic, SLICE)

    def create(self, bound: int) -> Operation[None]:
        """Raises ValueError for a bound that is not an integer of 0 or more."""
        if not isinstance(bound, int) or isinstance(bound, bool) or bound < 0:
            raise ValueError(f"bound must be an integer of 0 or more, not {bound!r}")
        return protocol.create(self._context(), bound)

    def exists(self) -> Operation[bool]:
        """Whether it was created and not deleted."""
        return protocol.exists(self._context())

    def length(self) -> Operation[int]:
        """How many values are there."""
        return protocol.length(self._context())

    def length_and_bound(self) -> Operation[tuple[int, int]]:
        """How many values are there, and how many may be."""
        return protocol.length_and_bound(self._context())

    def closed(self) -> Operation[bool]:
        """Whether it is closed."""
        return protocol.closed(self._context())

    def put(self, value: Value, block: bool, timeout: float | None, overfill: bool) -> Operation[None]:
        """Raises TypeError for a value that cannot be sent."""
        data = _payload(value)
        context = self._context()
        return protocol.put(context, data, _patience(context, block, timeout), overfill=overfill)

    def get(self, block: bool, timeout: float | None) -> Operation[bytes]:
        """Takes one value."""
        context = self._context()
        return protocol.get(context, _patience(context, block, timeout))

    def close(self, timeout: float | None) -> Operation[None]:
        """Closes it."""
        context = self._context()
        return protocol.close(context, _patience(context, True, timeout))

    def wait_closed(self, timeout: float | None) -> Operation[bool]:
        """Waits until it is closed."""
        context = self._context()
        return protocol.wait_closed(context, _patience(context, True, timeout))

    def delete(self, timeout: float | None) -> Operation[None]:
        """Deletes it."""
        context = self._context()
        return protocol.delete(context, _patience(context, True, timeout))

    def repair(self, force: bool, role: str | None) -> Operation[RepairReport]:
        """Raises ValueError for a role that does not exist."""
        if role is not None:
            check_role(role)
        return protocol.repair(self._context(), force, role)


def check_role(role: str) -> None:
    """Raises ValueError for a role that does not exist."""
    if role not in ("producer", "consumer"):
        raise ValueError(f"role must be 'producer' or 'consumer', not {role!r}")


def _payload(value: Value) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"a value is bytes-like or str, not {type(value).__name__}")


def _patience(context: Context, block: bool, timeout: float | None) -> Patience:
    """Raises ValueError for a timeout that is negative or not a number."""
    if timeout is not None and not timeout >= 0:
        raise ValueError(f"timeout must be 0 or more seconds, not {timeout!r}")
    return Patience.of(context, block, timeout)
