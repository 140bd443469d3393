"""What a server knows of the cluster that it belongs to, and which requests it sends to other nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ..clients.client_flags import ASKS, READS_REPLICA
from ..clients.publishing import SHARDS
from ..declarations.key_positions import KeysError, keys_of
from ..protocol.errors import CommandError
from ..replication.link import LinkState
from ..replication.upstream import Address
from ..scripts.script_flags import says_it_writes
from . import cluster_errors
from .slots import key_slot
from .topology import Node, Topology
from .view import ClusterView

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..clients.waiting import Waiter
    from ..declarations.registry import Command
    from ..engine import Engine
    from ..scripts.scripts import RunningScript

__all__ = ["Membership", "check_not_in_cluster", "of_cluster"]

OF_SHARD_CHANNELS: Final = {b"ssubscribe", b"sunsubscribe", b"spublish"}
"""The commands whose "keys" are shard channels: they go where the slot is, and are never on their way."""

IN_SCRIPTS: Final = {
    cluster_errors.CLUSTER_DOWN: cluster_errors.DOWN_IN_SCRIPT,
    cluster_errors.CLUSTER_READ_ONLY: cluster_errors.READ_ONLY_IN_SCRIPT,
}
"""How a script is told why a command cannot run here; otherwise the key is not local."""


class Membership(ClusterView):
    """A server that is a node of a cluster. At first it is the only one, and has all slots.

    Args:
        engine: the server's.
        node: the server, as others know it.

    Attributes:
        engine: the server's.
        node: the server, as others know it.
        topology: all nodes, and whose the slots are.
        migrating: the slots that are on their way to another node, each with that node.
        importing: the slots that are on their way here, each with the node that has it.
        unassigned: the slots that have no owner for this node alone (CLUSTER DELSLOTS). Of its own slots it
            forgets them until CLUSTER ADDSLOTS; of others it hears again soon.
    """

    def __init__(self, engine: Engine, node: Node) -> None:
        self.engine = engine
        self.join(Topology([node]), node)

    def join(self, topology: Topology, node: Node) -> None:
        """The server is this node of a cluster from now on."""
        self.topology, self.node = topology, node
        self._served = node.primary or node  # the owner of the slots that this node served last
        self.migrating: dict[int, Node] = {}
        self.importing: dict[int, Node] = {}
        self.unassigned: set[int] = set()
        node.since = self.engine.now.milliseconds
        node.config, node.replication = self.engine.config, self.engine.replication

    def reset(self, *, is_hard: bool) -> None:
        """The node forgets all others, and has no slots; a replica loses its data.

        Args:
            is_hard: it also gets another name, and forgets its epochs.
        """
        former, node = self.topology, self.node
        if node.primary is not None:
            self.engine.keyspace.flush()
        former.leave(node, self.engine.new_name() if is_hard else None)
        self.join(Topology.without_slots(node, former.listener), node)
        self.topology.epoch = 0 if is_hard else former.epoch
        self.topology.changed()
        self.align()

    # Requests

    def redirection(self, session: Session, command: Command, args: list[bytes]) -> bytes | None:
        """Why a request cannot run here: its keys have several slots, or another node has theirs."""
        requests: Sequence[tuple[Command, list[bytes]]] = [(command, args)]
        if command.name == b"exec" and session.transaction is not None:
            requests = session.transaction.queued
        return self._redirection(session, requests)

    def _redirection(self, session: Session, requests: Sequence[tuple[Command, list[bytes]]]) -> bytes | None:
        keys = keys_in(requests)
        if not keys:
            return None
        slot = key_slot(keys[0])
        owner = self.owner_of(slot)
        if owner is None:
            return cluster_errors.SLOT_NOT_SERVED
        if any(key_slot(key) != slot for key in keys):
            return cluster_errors.CROSS_SLOT
        is_of_channel = requests[0][0].name in OF_SHARD_CHANNELS
        if (self.is_uncovered or self.topology.lacks_majority) and self.is_down:
            reason = self._refusal_while_down(requests, is_of_channel=is_of_channel)
            if reason is not None:
                return reason
        if requests[0][0].name == b"migrate" and (slot in self.migrating or slot in self.importing):
            return None
        if owner is self.node and slot in self.migrating:
            return None if is_of_channel else self._refusal_of_leaving(slot, keys)
        if slot in self.importing and (session.flags & ASKS or "asking" in requests[0][0].flags):
            return self._refusal_of_coming(keys)
        if owner is self.node or self._may_read(session, owner, requests, is_of_channel=is_of_channel):
            return None
        return cluster_errors.moved(slot, owner.address)

    def _refusal_while_down(
        self, requests: Sequence[tuple[Command, list[bytes]]], *, is_of_channel: bool
    ) -> bytes | None:
        config = self.engine.config
        if is_of_channel:
            may = config["cluster-allow-pubsubshard-when-down"] == "yes"
            return None if may else cluster_errors.CLUSTER_DOWN
        if config["cluster-allow-reads-when-down"] == "no":
            return cluster_errors.CLUSTER_DOWN
        return cluster_errors.CLUSTER_READ_ONLY if self._write(requests) else None

    def _refusal_of_leaving(self, slot: int, keys: list[bytes]) -> bytes | None:
        """What is asked of keys that are leaving this node, some of which may have left already."""
        missing = self._missing(keys)
        if not missing:
            return None
        if missing < len(keys):
            return cluster_errors.UNSTEADY
        return cluster_errors.asking(slot, self.migrating[slot].address)

    def _refusal_of_coming(self, keys: list[bytes]) -> bytes | None:
        """The same of keys that come: of several all must be here."""
        return cluster_errors.UNSTEADY if len(set(keys)) > 1 and self._missing(keys) else None

    def _missing(self, keys: list[bytes]) -> int:
        db = self.engine.keyspace.databases[0]
        return sum(not db.is_alive(key) for key in keys)

    def _may_read(
        self,
        session: Session,
        owner: Node,
        requests: Sequence[tuple[Command, list[bytes]]],
        *,
        is_of_channel: bool,
    ) -> bool:
        """Whether a replica answers for its primary."""
        if self.node.primary is not owner or not (session.flags & READS_REPLICA or is_of_channel):
            return False
        return not self._write(requests)

    def _write(self, requests: Iterable[tuple[Command, list[bytes]]]) -> bool:
        return any(
            "write" in command.flags or says_it_writes(self.engine, command, args)
            for command, args in requests
        )

    # Scripts

    def begin_script(self, run: RunningScript) -> None:
        """A script begins: the slot of the keys that its client named is its slot."""
        command = run.client.engine.commands.look_up(run.request)
        assert command is not None
        run.slot = next(map(key_slot, keys_in([(command, run.request)])), None)

    def refuse_in_script(self, run: RunningScript, command: Command, args: list[bytes]) -> bytes | None:
        """Why a command of a script cannot run here."""
        if run.client.must_obey:
            return None
        requests = [(command, args)]
        if reason := self._redirection(run.client, requests):
            return IN_SCRIPTS.get(reason, cluster_errors.NOT_LOCAL_IN_SCRIPT)
        keys = keys_in(requests)
        if keys and run.keeps_to_slot:
            slot = key_slot(keys[0])
            if run.slot is None:
                run.slot = slot
            if run.slot != slot:
                return cluster_errors.CROSS_SLOT_IN_SCRIPT
        return None

    # What changes

    def has_keys(self, slot: int) -> bool:
        """Whether this node has keys in a slot."""
        return any(key_slot(key) == slot for key in self.engine.keyspace.databases[0].values)

    def become_replica(self, primary: Node) -> None:
        """This node follows another one from now on."""
        self.topology.follow(self.node, primary)
        self.align()
        self.topology.changed()

    def align(self) -> None:
        """Does what the topology says: is a primary or follows one, and sends clients to other nodes."""
        upstream, primary = self.engine.replication.upstream, self.node.primary
        if primary is None:
            upstream.lead()
        else:
            self.migrating.clear()
            self.importing.clear()
            address = Address(primary.host.decode(), primary.port)
            if upstream.address != address:
                upstream.follow(address)
            elif upstream.link.state is LinkState.CONNECT:
                upstream.link.connect()  # it was down, perhaps
        owners = self.topology.owners
        self.unassigned = {slot for slot in self.unassigned if owners[slot] is self.node}
        self.redirect_blocked()
        self._end_subscriptions()
        self._served = primary or self.node

    def _end_subscriptions(self) -> None:
        """Clients hear that shard channels are elsewhere now."""
        publishing = self.engine.notifier.publishing
        for channel, sessions in tuple(publishing.listeners[SHARDS].items()):
            if self.owner_of(key_slot(channel)) not in {self.node, self._served}:
                for session in tuple(sessions):
                    publishing.end(session, SHARDS, [channel])

    # Messages

    def publish(self, channel: bytes, message: bytes, *, to_shard: bool = False) -> None:
        """Passes a message of a client on to all other nodes, or to those with the same slots."""
        listener, node = self.topology.listener, self.node
        if listener is None:
            return
        shard = node.primary or node
        act = partial(deliver_sharded if to_shard else deliver, channel, message)
        for other in self.topology.nodes:
            if other is not node and (not to_shard or shard in {other, other.primary}):
                listener.tell(other, act)

    # Blocked clients

    def redirect_blocked(self) -> None:
        """Clients that wait for keys of which another node is the owner now hear where to go."""
        engine = self.engine
        for waiter in engine.waiting.in_order():
            reason = self._refusal_of_waiter(waiter) if waiter.keys else None
            if reason is not None:
                engine.unblock(waiter.session, CommandError(reason))

    def _refusal_of_waiter(self, waiter: Waiter) -> bytes | None:
        if self.is_down:
            return cluster_errors.CLUSTER_DOWN
        slot = key_slot(waiter.keys[0])
        owner, session = self.owner_of(slot), waiter.session
        if owner is self.node or slot in self.importing:
            return None
        if owner is None:
            return cluster_errors.SLOT_NOT_SERVED
        command = session.last_command
        is_read = command is not None and "write" not in command.flags
        if is_read and session.flags & READS_REPLICA and self.node.primary is owner:
            return None
        return cluster_errors.moved(slot, owner.address)


def keys_in(requests: Iterable[tuple[Command, list[bytes]]]) -> list[bytes]:
    """The keys of some requests."""
    keys = []
    for command, args in requests:
        try:
            keys += [key for key, _ in keys_of(command, args)]
        except KeysError:
            continue  # the command says what is wrong
    return keys


def deliver(channel: bytes, message: bytes, engine: Engine) -> None:
    engine.notifier.publishing.publish(channel, message)


def deliver_sharded(channel: bytes, message: bytes, engine: Engine) -> None:
    engine.notifier.publishing.publish_sharded(channel, message)


def of_cluster(engine: Engine) -> Membership:
    """The server's place in its cluster; raises ``CommandError`` if it belongs to none."""
    if engine.cluster is None:
        raise CommandError(cluster_errors.NO_CLUSTER)
    return engine.cluster


def check_not_in_cluster(session: Session, refusal: bytes) -> None:
    """Raises ``CommandError`` with this text on a node of a cluster."""
    if session.engine.cluster is not None:
        raise CommandError(refusal)
