"""What each method of a queue is, whatever drives it: arguments checked, and the operation to run.

``pressure.Queue``, ``pressure.aio.Queue`` and ``pressure.trio.Queue`` differ in how they run what is defined
here, and in nothing else.

Rules:
    - Arguments are checked before a key is touched.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import Any

from pressure import protocol
from pressure.checks import timeout_of, whole
from pressure.codecs import Codec, codec_of, decoded, sendable
from pressure.keys import Keys
from pressure.lease import lease_of
from pressure.protocol import Context, Diagnosis, Operation, Patience, RepairReport, Server, Stats
from pressure.receiving import Reception
from pressure.settings import SLICE


class Definition:
    """The operations of one queue.

    Args:
        keys: The queue.
        scripts: Whether to run scripts where the server lets us.
        codec: How values are turned into bytes and back; None where they are bytes.
        lease: For how many seconds a role is taken; None to keep it until it is given back.

    Raises:
        ValueError: There is no codec of that name, or the lease cannot be meant.
        TypeError: It is neither a name nor a codec.
    """

    def __init__(
        self,
        keys: Keys,
        *,
        scripts: bool,
        codec: Codec | str | None,
        lease: float | None = None,
    ) -> None:
        self.keys = keys
        self.server = Server(scripts=scripts)
        self._codec = codec_of(codec)
        self.lease = lease_of(lease)

    def _context(self) -> Context:
        return Context(self.keys, time.monotonic, SLICE, self.server, self.lease)

    def create(self, bound: int) -> Operation[None]:
        """Raises ValueError for a bound that is not an integer of 0 or more."""
        if not isinstance(bound, int) or isinstance(bound, bool) or not 0 <= bound < 1 << 63:
            raise ValueError(f"bound must be an integer from 0 to {(1 << 63) - 1}, not {bound!r}")
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

    def put(self, value: Any, block: bool, timeout: float | None, overfill: bool) -> Operation[None]:
        """Raises TypeError for a value that cannot be sent, and ValueTooLongError."""
        data = sendable(self._codec.encode(value))
        context = self._context()
        patience = _patience(context, block, timeout)
        return protocol.put(context, data, patience, overfill=overfill)

    def put_many(
        self, values: Iterable[Any], block: bool, timeout: float | None, overfill: bool
    ) -> Operation[None]:
        """Raises TypeError for a value that cannot be sent, or ValueTooLongError; then none is."""
        data = [sendable(self._codec.encode(value)) for value in values]
        context = self._context()
        patience = _patience(context, block, timeout)
        return protocol.put_many(context, data, patience, overfill=overfill)

    def get_many(self, most: int, block: bool, timeout: float | None) -> Operation[list[Any]]:
        """Raises ValueError for a number below 1."""
        most = whole(most, "max")
        context = self._context()
        patience = _patience(context, block, timeout)
        return self._objects(protocol.get_many(context, patience, most))

    def get(self, block: bool, timeout: float | None) -> Operation[Any]:
        """Takes one value."""
        context = self._context()
        patience = _patience(context, block, timeout)
        return self._object(protocol.get(context, patience))

    def peek(self) -> Operation[Any]:
        """The value that comes next."""
        return self._object(protocol.peek(self._context()))

    def peek_many(self, most: int) -> Operation[list[Any]]:
        """Raises ValueError for a number below 1."""
        most = whole(most, "max")
        return self._objects(protocol.peek_many(self._context(), most))

    def rejected(self, most: int) -> Operation[list[bytes]]:
        """Raises ValueError for a number below 1."""
        most = whole(most, "max")
        return protocol.rejected(self._context(), most)

    def redrive(self, most: int, block: bool, timeout: float | None) -> Operation[int]:
        """Raises ValueError for a number below 1."""
        most = whole(most, "max")
        context = self._context()
        patience = _patience(context, block, timeout)
        return protocol.redrive(context, patience, most)

    def receive(self, block: bool, timeout: float | None) -> Reception:
        """Takes one value, to be settled."""
        context = self._context()
        return Reception(context, _patience(context, block, timeout), self._codec)

    def _object(self, operation: Operation[bytes]) -> Operation[Any]:
        data = yield from operation
        return decoded(self._codec, data, [data], self.keys)

    def _objects(self, operation: Operation[list[bytes]]) -> Operation[list[Any]]:
        found = yield from operation
        return [decoded(self._codec, data, found, self.keys) for data in found]

    def stats(self) -> Operation[Stats]:
        """The queue at one moment."""
        return protocol.stats(self._context())

    def holder(self, role: str) -> Operation[bytes | None]:
        """Raises ValueError for a role that does not exist."""
        check_role(role)
        return protocol.holder(self._context(), role)

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

    def renew(self, names: Collection[bytes]) -> Operation[None]:
        """Renews the leases of some clients."""
        return protocol.renew(self._context(), names)

    def doctor(self) -> Operation[Diagnosis]:
        """What is wrong with it."""
        return protocol.doctor(self._context())

    def repair(self, force: bool, role: str | None) -> Operation[RepairReport]:
        """Raises ValueError for a role that does not exist."""
        if role is not None:
            check_role(role)
        return protocol.repair(self._context(), force, role)


def check_role(role: str) -> None:
    """Raises ValueError for a role that does not exist."""
    if role not in ("producer", "consumer"):
        raise ValueError(f"role must be 'producer' or 'consumer', not {role!r}")


def _patience(context: Context, block: bool, timeout: float | None) -> Patience:
    """Raises TypeError or ValueError for what is no timeout."""
    return Patience.of(context, block, timeout_of(timeout))
