"""CLUSTER SLOT-STATS of Valkey: how many keys slots have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import of_cluster
from ...cluster.slots import SLOTS, key_slot
from ...declarations.registry import command
from ...numbers.numbers import parse_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Map, Reply
from .changes import read_slot

__all__: list[str] = []


@command(
    "CLUSTER SLOT-STATS", -4, "loading stale", acl="", since="valkey-8.0.0",
    tips="nondeterministic_output request_policy:all_shards",
    syntax=(
        "filter(SLOTSRANGE~slotsrange{start-slot:integer end-slot:integer}|"
        "ORDERBY~orderby{metric [LIMIT limit:integer] [order(ASC|DESC)]})"
    ),
)  # fmt: skip
def slot_stats(session: Session, args: list[bytes]) -> Reply:
    """Counts the keys of slots that this node has."""
    of_cluster(session.engine)
    match args[2].upper():
        case b"SLOTSRANGE" if len(args) == 5:
            start, end = read_slot(args[3]), read_slot(args[4])
            if start > end:
                raise CommandError(cluster_errors.slots_reversed(start, end).replace(b"start", b"Start", 1))
            return counted(session, range(start, end + 1))
        case b"ORDERBY":
            if args[3].lower() != b"key-count":
                raise CommandError(cluster_errors.SORT_METRIC)
            limit, sign = read_order(args[4:])
            return counted(session, range(SLOTS), sign)[:limit]
        case _:
            raise CommandError(errors.subcommand_or_arity(args[1], b"CLUSTER"))


def read_order(words: list[bytes]) -> tuple[int, int]:
    """How many slots are wanted, and 1 for an ascending or -1 for a descending order."""
    limit = sign = None
    rest = iter(words)
    for word in rest:
        match word.upper():
            case b"LIMIT" if (operand := next(rest, None)) is not None:
                if limit is not None:
                    raise CommandError(cluster_errors.FILTER_TWICE)
                limit = parse_integer(operand)
                if limit is None or not 1 <= limit <= SLOTS:
                    raise CommandError(cluster_errors.SLOT_LIMIT)
            case b"ASC" | b"DESC" as order:
                if sign is not None:
                    raise CommandError(cluster_errors.FILTER_TWICE)
                sign = 1 if order == b"ASC" else -1
            case _:
                raise CommandError(errors.SYNTAX)
    return limit or SLOTS, sign or -1


def counted(session: Session, slots: Iterable[int], sign: int = 0) -> list[Reply]:
    """The slots that the shard of this node has, in the order of their numbers or of their keys."""
    cluster = of_cluster(session.engine)
    node = cluster.node.primary or cluster.node
    counts = Counter(map(key_slot, session.db.values))
    owned = (slot for slot in slots if cluster.owner_of(slot) is node)
    ordered = sorted(owned, key=lambda slot: (sign * counts[slot], slot))
    return [[slot, Map({b"key-count": counts[slot]})] for slot in ordered]
