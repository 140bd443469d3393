"""Which keys an operation concerns, and which operations no model knows.

An operation that nobody knows concerns its key, and each key of the history that is among its words: what it
does to them cannot be told. Those in ``EVERYWHERE`` concern all keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Final

from .model import Operation, Verdict
from .models import MODELS, Model

__all__ = [
    "EVERYWHERE",
    "OBSERVED",
    "QUEUE_OPERATIONS",
    "is_known",
    "keys_of",
    "together",
    "unknown_operations",
    "unknown_verdict",
]

QUEUE_OPERATIONS: Final = frozenset(
    "put put_many get get_many receive ack put_back create close delete hold".split()
)
"""What ``fifo`` knows."""

OBSERVED: Final = frozenset({"blocked", "gone"})
"""What is no operation, but was seen of a client."""

EVERYWHERE: Final = frozenset(
    "MULTI EXEC EVAL EVALSHA FCALL FLUSHALL FLUSHDB SWAPDB SELECT RESET REPLICAOF SLAVEOF".split()
)
"""Commands that may change any key, or what the commands after them are done to."""


def is_known(name: str, models: Iterable[Model] = MODELS) -> bool:
    """Whether operations of this name are judged."""
    return name in QUEUE_OPERATIONS or name in OBSERVED or any(name in model.operations for model in models)


def keys_of(operation: Operation, keys: Collection[str], models: Iterable[Model] = MODELS) -> tuple[str, ...]:
    """The keys that an operation concerns, its own first.

    Args:
        operation: any.
        keys: those of the history.
        models: what is known.
    """
    for model in models:
        if operation.name in model.operations:
            try:
                return model.keys(operation)
            except (ValueError, IndexError):  # too few words
                break
    if operation.name in EVERYWHERE:
        return (operation.queue, *keys)
    if is_known(operation.name, ()):
        return (operation.queue,)
    own, *words = operation.keys_in()
    return own, *(word for word in words if word in keys)


def unknown_operations(
    operations: Iterable[Operation], models: Iterable[Model] = MODELS
) -> dict[str, Operation]:
    """The first operation of those that nobody knows, by each key that it concerns.

    Raises:
        ValueError: two models know an operation.
    """
    operations, models, found = list(operations), list(models), dict[str, Operation]()
    for one, other in combinations(models, 2):
        if both := set(one.operations).intersection(other.operations):
            raise ValueError(
                f"the models {one.name} and {other.name} both know {min(both)}: give one of them"
            )
    names = {name for name in {each.name for each in operations} if not is_known(name, models)}
    if not names:
        return found
    keys = {key for each in operations for key in (each.queue, *keys_of(each, (), models))}
    for operation in operations:
        if operation.name in names and (operation.outcome != "error" or operation.name in EVERYWHERE):
            for key in keys_of(operation, keys, models):
                found.setdefault(key, operation)
    return found


def together(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Which keys belong together, if an operation concerned one and the other.

    Returns:
        The first of the keys that belong together, by each of them but that.
    """
    first: dict[str, str] = {}

    def root(key: str) -> str:
        while key in first:
            above = first[key]
            first[key] = key = first.get(above, above)  # halves the way of those who come later
        return key

    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        if low != high:
            first[high] = low
    return {key: root(key) for key in first}


def unknown_verdict(operation: Operation) -> Verdict:
    """The verdict on a key that an operation nobody knows concerns."""
    reason = f"no model knows {operation.name}, which {operation.client} did on {operation.queue!r}"
    return Verdict("unknown", reason=reason, operations=(operation,))
