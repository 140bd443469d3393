"""What a backend of reliable queues is.

To add one: a class with these methods, and a row in ``with_taken.BACKENDS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from pressure.kinds.reliable.lua import Scripts
from pressure.kinds.reliable.model import Capabilities, DeadLetter, Delivered, Pending, ReliableKeys
from pressure.protocol.operation import Command, Operation, Reply

#: Another consumer group: its name, and the id that it was delivered last.
Other: TypeAlias = "tuple[bytes, tuple[int, int]]"


class Backend(Protocol):
    """What differs between servers.

    ``keys`` is a lane of a queue where nothing else is said. Ids are those that the lane gave.

    Attributes:
        capabilities: What it can do.
        scripts: What it does in one step where the server runs scripts.
    """

    capabilities: Capabilities
    scripts: Scripts

    def push_command(self, key: bytes, data: bytes, deliveries: int = 0, note: bytes = b"") -> Command:
        """The command that adds a message; the reply tells its id, see ``pushed_id``."""

    def pushed_id(self, reply: Reply) -> bytes:
        """The id in the reply to that."""

    def after_push(self, key: bytes, known: Sequence[tuple[bytes, int, bytes]]) -> tuple[Command, ...]:
        """What is sent after messages were moved: their ids, earlier deliveries and notes."""

    def prepare_commands(self, keys: ReliableKeys) -> tuple[Command, ...]:
        """What is sent before a lane is popped from in a transaction; it may be refused."""

    def pop_command(self, keys: ReliableKeys, count: int, block: int | None = None) -> Command:
        """The command that delivers messages, waiting for so many milliseconds."""

    def read_popped(
        self, keys: ReliableKeys, count: int, reply: Reply, at: float | None
    ) -> Operation[list[Delivered]]:
        """The messages in the reply to that, with the count that was asked for, and the time."""

    def read_reply(self, keys: ReliableKeys, found: Sequence[Reply], at: float) -> list[Delivered]:
        """The messages that the script for a pop tells of."""

    def wait(self, queues: Sequence[ReliableKeys], seconds: float) -> Operation[list[tuple[int, Delivered]]]:
        """Wait until one of several queues has a message; it may be delivered, with its queue's number."""

    def before_ack(self, keys: ReliableKeys) -> tuple[Command, ...]:
        """What is asked before messages are acknowledged without a script."""

    def other_groups(self, keys: ReliableKeys, seen: Sequence[Reply]) -> list[Other]:
        """Who else has to acknowledge messages, by the replies to that."""

    def ack_commands(
        self, keys: ReliableKeys, ids: Sequence[bytes], others: Sequence[Other]
    ) -> tuple[Command, ...]:
        """The commands that acknowledge messages, to be sent as a transaction."""

    def acked_ids(self, ids: Sequence[bytes], replies: list[Reply]) -> list[bytes]:
        """The ids of those that were acknowledged by it."""

    def after_ack(
        self, keys: ReliableKeys, ids: Sequence[bytes], others: Sequence[Other], replies: list[Reply]
    ) -> tuple[Command, ...]:
        """What is sent after that."""

    def recover(self, keys: ReliableKeys, count: int, idle: int) -> Operation[list[Delivered]]:
        """Deliver again what was delivered so many milliseconds ago or longer, in both lanes of a queue."""

    def heartbeat(self, keys: ReliableKeys, ids: Sequence[bytes]) -> Operation[list[bytes]]:
        """Say of messages that they are being worked on; the ids of those that may be delivered still."""

    def inspect(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Delivered]]:
        """Messages that wait, from one place on."""

    def pending(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Pending]]:
        """Messages that are delivered, from one place on, of both lanes of a queue."""

    def info(self, keys: ReliableKeys, key: bytes) -> Operation[tuple[bytes, int, int]]:
        """Last id, how many messages wait, and how many are delivered."""

    def dead_letters(self, keys: ReliableKeys, count: int) -> Operation[list[DeadLetter]]:
        """The oldest dead messages of a queue."""
