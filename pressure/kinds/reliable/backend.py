"""The interface of the backends of reliable queues.

To add one: a class with these methods, and a row in ``base.BACKENDS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from pressure.kinds.reliable.lua import Scripts
from pressure.kinds.reliable.model import Capabilities, DeadLetter, Delivered, Pending, Recovery, ReliableKeys
from pressure.protocol.operation import Command, Operation, Reply

#: Another consumer group: its name, and the id that was delivered to it last.
Other: TypeAlias = "tuple[bytes, tuple[int, int]]"


class Backend(Protocol):
    """The commands and replies that differ between streams and the module.

    ``keys`` is one lane of a queue unless the docstring says otherwise. Ids are those of the lane.

    Attributes:
        capabilities: How the backend differs from the other.
        scripts: The scripts for servers that run scripts.
    """

    capabilities: Capabilities
    scripts: Scripts

    def push_command(self, key: bytes, data: bytes, deliveries: int = 0, note: bytes = b"") -> Command:
        """The command that adds a message; ``pushed_id`` finds the id in its reply."""

    def pushed_id(self, reply: Reply) -> bytes:
        """The id in the reply to ``push_command``."""

    def after_push(self, key: bytes, known: Sequence[tuple[bytes, int, bytes]]) -> tuple[Command, ...]:
        """The commands to send after messages were moved; ``known`` has ids, earlier deliveries, notes."""

    def prepare_commands(self, keys: ReliableKeys) -> tuple[Command, ...]:
        """The commands to send before a transaction pops from a lane; the server may refuse them."""

    def pop_command(self, keys: ReliableKeys, count: int, block: int | None = None) -> Command:
        """The command that delivers messages; with ``block``, it waits up to this many milliseconds."""

    def read_popped(
        self, keys: ReliableKeys, count: int, reply: Reply, at: float | None
    ) -> Operation[list[Delivered]]:
        """The messages in the reply to ``pop_command`` with this count; ``at`` is the time in seconds."""

    def read_reply(self, keys: ReliableKeys, found: Sequence[Reply], at: float) -> list[Delivered]:
        """The messages in one list of the reply to the script ``pop``."""

    def wait(
        self, queues: Sequence[ReliableKeys], seconds: float
    ) -> Operation[list[tuple[int, Delivered]] | None]:
        """Wait until one of several queues has a message; may return it, with its queue's number.

        None if the time is over.
        """

    def before_ack(self, keys: ReliableKeys) -> tuple[Command, ...]:
        """The commands to send before messages are acknowledged without a script."""

    def other_groups(self, keys: ReliableKeys, seen: Sequence[Reply]) -> list[Other]:
        """The other groups that have to acknowledge messages, from the replies to ``before_ack``."""

    def ack_commands(
        self, keys: ReliableKeys, ids: Sequence[bytes], others: Sequence[Other]
    ) -> tuple[Command, ...]:
        """The commands that acknowledge messages, to send in a transaction."""

    def acked_ids(self, ids: Sequence[bytes], replies: list[Reply]) -> list[bytes]:
        """The ids that were acknowledged, from the replies to ``ack_commands``."""

    def after_ack(
        self, keys: ReliableKeys, ids: Sequence[bytes], others: Sequence[Other], replies: list[Reply]
    ) -> tuple[Command, ...]:
        """The commands to send after ``ack_commands``."""

    def recover(self, keys: ReliableKeys, count: int, recovery: Recovery) -> Operation[list[Delivered]]:
        """Redeliver up to ``count`` messages of both lanes of a queue; adds them to ``recovery.seen``."""

    def heartbeat(
        self, keys: ReliableKeys, ids: Sequence[bytes], firsts: Mapping[bytes, bytes]
    ) -> Operation[list[bytes]]:
        """Restart the idle time of messages; returns the ids of those that may still be pending.

        Args:
            keys: Those of the lane.
            ids: The messages.
            firsts: For those of them that were delivered once, a note with the time of that.
        """

    def inspect(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Delivered]]:
        """Up to ``count`` waiting messages, from place ``start`` on."""

    def pending(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Pending]]:
        """Up to ``count`` pending messages of both lanes, from place ``start`` on."""

    def info(self, keys: ReliableKeys, key: bytes) -> Operation[tuple[bytes, int, int]]:
        """The last id, how many messages wait, and how many are pending."""

    def dead_letters(self, keys: ReliableKeys, count: int) -> Operation[list[DeadLetter]]:
        """The oldest dead letters of a queue."""
