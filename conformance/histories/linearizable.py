"""Whether operations on lists can have taken effect one after the other, each while it was under way.

The search of Wing and Gong with what Lowe added (Testing for linearizability, 2017): a state that was
reached with the same operations done is not gone into again, and operations of keys that have nothing to do
with each other are searched apart. The search goes depth first over a list of calls and returns in the
order of time: a call whose answer fits is taken out with its return, and the search begins again at the
front; at a return whose call is still in, it goes back one. An open operation has no return: it may be
taken out, with whatever answer, or not.

Another kind of object needs another ``step`` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from .lists import COMMANDS, Stored, apply, keys_of
from .model import History, Operation, Verdict

__all__ = ["BUDGET", "Step", "check", "search"]

BUDGET: Final = 2_000_000
"""Steps after which a search gives up."""

Step: TypeAlias = Callable[[Any, Operation], tuple[bool, Any]]
"""From a state and an operation to whether it can have been answered so, and the state after it."""


def check(history: History, budget: int = BUDGET) -> Verdict:
    """Judges operations on lists, which are all empty at the beginning.

    Args:
        history: operations that are no commands on lists are passed over.
        budget: how many steps to take at most.

    Returns:
        ``ok`` with the order in which they may have taken effect; ``illegal`` with the longest beginning of
        one, and the operations of which none can follow; ``unknown`` if the budget did not suffice.
    """
    order: list[Operation] = []
    for keys, mine in apart(history.operations):
        step = partial(_step, {key: place for place, key in enumerate(keys)})
        verdict, budget = search(mine, ((),) * len(keys), step, budget)
        if verdict.answer != "ok":
            return verdict
        order += verdict.order
    return Verdict("ok", order=tuple(order))


def apart(operations: Iterable[Operation]) -> Iterator[tuple[list[str], list[Operation]]]:
    """The operations of keys that have nothing to do with those of others."""
    listed = [each for each in operations if each.outcome != "error" and (each.name in _KNOWN)]
    group: dict[str, set[str]] = {}
    for operation in listed:
        together = set[str]().union(*(group.get(key, {key}) for key in keys_of(operation)))
        group.update(dict.fromkeys(together, together))
    for together in {id(each): each for each in group.values()}.values():
        yield sorted(together), [each for each in listed if each.queue in together]


_KNOWN: Final = frozenset(COMMANDS) | {"LMOVE", "BLMOVE"}


def _step(places: dict[str, int], stored: Stored, operation: Operation) -> tuple[bool, Stored]:
    answer, after = apply(stored, [places[key] for key in keys_of(operation)], operation)
    return operation.returned is None or answer == operation.result, after


@dataclass(slots=True, eq=False)
class _Entry:
    """A call, or the return of one, in a list of entries."""

    number: int
    operation: Operation
    match: _Entry | None = None  # of a call: its return, if there is one
    is_call: bool = True
    before: _Entry = field(init=False)
    after: _Entry | None = None


def _lift(call: _Entry) -> None:
    """Takes a call and its return out of the list."""
    for entry in (call, call.match):
        if entry is not None:
            entry.before.after = entry.after
            if entry.after is not None:
                entry.after.before = entry.before


def _put_back(call: _Entry) -> None:
    for entry in (call.match, call):
        if entry is not None:
            entry.before.after = entry
            if entry.after is not None:
                entry.after.before = entry


def _listed(operations: Sequence[Operation]) -> _Entry:
    """The head of the list of calls and returns; of the same moment, calls come first: they overlap."""
    events: list[tuple[int, int, int, _Entry]] = []
    for number, operation in enumerate(operations):
        call = _Entry(number, operation)
        events.append((operation.invoked, 0, number, call))
        if operation.returned is not None:
            call.match = _Entry(number, operation, is_call=False)
            events.append((operation.returned, 1, number, call.match))
    head = last = _Entry(-1, operations[0])
    for *_, entry in sorted(events, key=lambda event: event[:3]):
        last.after, entry.before = entry, last
        last = entry
    return head


def search(
    operations: Sequence[Operation], state: Any, step: Step, budget: int = BUDGET
) -> tuple[Verdict, int]:
    """Looks for an order in which operations can have taken effect.

    Args:
        operations: those of one object.
        state: of the object at the beginning; it can be hashed.
        step: the object.
        budget: how many steps to take at most.

    Returns:
        The verdict, and what is left of the budget.
    """
    left = sum(operation.returned is not None for operation in operations)
    if not left:
        return Verdict("ok"), budget
    head, done, seen = _listed(operations), 0, set[tuple[int, Any]]()
    taken: list[tuple[_Entry, Any]] = []
    longest, stuck = tuple[Operation, ...](), tuple[Operation, ...]()
    entry = head.after
    while left:
        if entry is not None and entry.is_call:
            budget -= 1
            if budget < 0:
                return Verdict("unknown", reason="the search was given up", order=longest), 0
            fits, after = step(state, entry.operation)
            reached = (done | 1 << entry.number, after)
            if fits and reached not in seen:
                seen.add(reached)
                taken.append((entry, state))
                done, state = reached
                left -= entry.match is not None
                _lift(entry)
                entry = head.after
            else:
                entry = entry.after
            continue
        if not stuck or len(taken) > len(longest):
            longest = tuple(call.operation for call, _ in taken)
            stuck = tuple(_waiting(head, entry))
        if not taken:
            reason = f"after {len(longest)} operations none of {len(stuck)} can have taken effect next"
            return Verdict("illegal", "linearizable", reason, stuck, longest), budget
        entry, state = taken.pop()
        done ^= 1 << entry.number
        left += entry.match is not None
        _put_back(entry)
        entry = entry.after
    return Verdict("ok", order=tuple(call.operation for call, _ in taken)), budget


def _waiting(head: _Entry, until: _Entry | None) -> Iterator[Operation]:
    """The operations that are under way before a return."""
    entry = head.after
    while entry is not None and entry is not until:
        yield entry.operation
        entry = entry.after
