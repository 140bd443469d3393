"""What a server knows of the cluster that it belongs to, and which requests it sends to other nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .. import errors
from ..errors import CommandError
from ..key_positions import KeysError, keys_of
from .slots import key_slot
from .topology import Node, Topology

if TYPE_CHECKING:
    from ..engine import Engine
    from ..registry import Command
    from ..scripts import Run
    from ..session import Session

__all__ = ["Membership", "check_not_in_cluster", "of_cluster"]


class Membership:
    """A server that is a node of a cluster. At first it is the only one, and has all slots.

    Args:
        node: the server itself.

    Attributes:
        topology: all nodes, and whose the slots are.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.topology = Topology([node])

    def redirection(self, session: Session, command: Command, args: list[bytes]) -> bytes | None:
        """Why a request cannot run here: its keys have several slots, or another node has theirs."""
        if command.name == b"exec" and session.transaction is not None:
            return self._redirection(session.transaction.queued)
        return self._redirection([(command, args)])

    def _redirection(self, requests: Sequence[tuple[Command, list[bytes]]]) -> bytes | None:
        slots = slots_of(requests)
        if not slots:
            return None
        first = slots[0]
        owner = self.topology.owners[first]
        if owner is None:
            return errors.SLOT_NOT_SERVED
        if any(slot != first for slot in slots):
            return errors.CROSS_SLOT
        return None if owner is self.node else errors.moved(first, owner.address)

    def begin_script(self, run: Run) -> None:
        """A script begins: the slot of the keys that its client named is its slot."""
        command = run.client.engine.commands.look_up(run.request)
        assert command is not None
        run.slot = next(iter(slots_of([(command, run.request)])), None)

    def refuse_in_script(self, run: Run, command: Command, args: list[bytes]) -> bytes | None:
        """Why a command of a script cannot run here."""
        if run.client.must_obey:
            return None
        requests = [(command, args)]
        if self._redirection(requests):
            return errors.NOT_LOCAL_IN_SCRIPT
        slots = slots_of(requests)
        if slots and run.keeps_to_slot:
            if run.slot is None:
                run.slot = slots[0]
            if run.slot != slots[0]:
                return errors.CROSS_SLOT_IN_SCRIPT
        return None


def slots_of(requests: Iterable[tuple[Command, list[bytes]]]) -> list[int]:
    """The slots of all keys of some requests."""
    slots = []
    for command, args in requests:
        try:
            slots += [key_slot(key) for key, _ in keys_of(command, args)]
        except KeysError:
            continue  # the command says what is wrong
    return slots


def of_cluster(engine: Engine) -> Membership:
    """The server's place in its cluster; raises ``CommandError`` if it belongs to none."""
    if engine.cluster is None:
        raise CommandError(errors.NO_CLUSTER)
    return engine.cluster


def check_not_in_cluster(session: Session, refusal: bytes) -> None:
    """Raises ``CommandError`` with this text on a node of a cluster."""
    if session.engine.cluster is not None:
        raise CommandError(refusal)
