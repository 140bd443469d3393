"""What a backend of reliable queues is, and which one a server has.

To add one: a class with these methods, and a row in ``BACKENDS``; ``chosen`` asks the server which it is to
be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pressure.kinds.reliable.lua import Scripts
from pressure.kinds.reliable.model import Capabilities, Delivered, Pending, ReliableKeys
from pressure.protocol.steps import Command, Operation, Reply


class Backend(Protocol):
    """What differs between servers.

    Attributes:
        capabilities: What it can do.
        scripts: What it does in one step where the server runs scripts.
    """

    capabilities: Capabilities
    scripts: Scripts

    def pushing(self, keys: ReliableKeys, key: bytes, data: bytes, deliveries: int) -> Command:
        """The command that adds a message; the reply tells its id, see ``id_in``."""

    def id_in(self, reply: Reply) -> bytes:
        """The id in the reply to that."""

    def pushed(self, keys: ReliableKeys, counts: Sequence[tuple[bytes, int]]) -> tuple[Command, ...]:
        """What is sent after messages were moved: their ids and earlier deliveries."""

    def popping(self, keys: ReliableKeys, count: int, block: int | None) -> Command:
        """The command that delivers messages, waiting for so many milliseconds."""

    def popped(self, keys: ReliableKeys, count: int, reply: Reply) -> Operation[list[Delivered]]:
        """The messages in the reply to that, with the count that was asked for."""

    def pop_any(
        self, queues: Sequence[ReliableKeys], count: int, block: int | None
    ) -> Operation[list[tuple[int, Delivered]]]:
        """Deliver messages of the first queues that have some, waiting for so many milliseconds.

        Each with the number of its queue. After a wait there may be none although some are there by now.
        """

    def acknowledging(self, keys: ReliableKeys, ids: Sequence[bytes]) -> tuple[Command, ...]:
        """The commands that acknowledge messages, to be sent as a transaction."""

    def acknowledged(self, ids: Sequence[bytes], replies: list[Reply]) -> list[bytes]:
        """The ids of those that were acknowledged by it."""

    def recover(self, keys: ReliableKeys, count: int, idle: int) -> Operation[list[Delivered]]:
        """Deliver again what was delivered so many milliseconds ago or longer."""

    def heartbeat(self, keys: ReliableKeys, ids: Sequence[bytes]) -> Operation[list[bytes]]:
        """Say of messages that they are being worked on; the ids of those that may be delivered still."""

    def inspect(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Delivered]]:
        """Messages that wait, from one place on."""

    def pending(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Pending]]:
        """Messages that are delivered, from one place on."""

    def info(self, keys: ReliableKeys, key: bytes) -> Operation[tuple[bytes, int, int]]:
        """Last id, how many messages wait, and how many are delivered."""
