"""Whether operations can have taken effect one after the other, each while it was under way.

The search of Wing and Gong with what Lowe added (Testing for linearizability, 2017): a state that was
reached with the same operations done is not gone into again, and operations of keys that have nothing to do
with each other are searched apart. The search goes depth first over a list of calls and returns in the
order of time: a call whose answer fits is taken out with its return, and the search begins again at the
front; at a return whose call is still in, it goes back one. An open operation has no return: it may be
taken out, with whatever answer, or not.

What the objects are, ``models`` says. An operation that no model knows makes the verdict of its keys unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from .model import History, Operation, Verdict, worst
from .models import MODELS, Model
from .scope import keys_of, together, unknown_operations, unknown_verdict

__all__ = ["BUDGET", "Step", "apart", "check", "search"]

BUDGET: Final = 2_000_000
"""Steps after which a search gives up."""

Step: TypeAlias = Callable[[Any, Operation], Iterable[Any]]
"""From a state and an operation to the states after it; none if it cannot have had its result."""


def check(history: History, models: Iterable[Model] = MODELS, budget: int = BUDGET) -> Verdict:
    """Judges the operations that some models know.

    Args:
        history: operations of queues are passed over.
        models: of the objects; an object is in its first state at the beginning.
        budget: how many steps to take at most.

    Returns:
        ``ok`` with the order in which they may have taken effect; ``illegal`` with the longest beginning of
        one, and the operations of which none can follow; ``unknown`` with the reason.
    """
    models, verdicts = list(models), list[Verdict]()
    unknown = unknown_operations(history.operations, models)
    for model in models:
        for keys, mine in apart(history.operations, model):
            if unknown.keys() & keys:
                continue
            verdict, budget = _searched(keys, mine, model, budget)
            if verdict.answer == "illegal":
                return verdict
            verdicts.append(verdict)
    verdicts += [unknown_verdict(operation) for operation in unknown.values()]
    order = tuple(operation for verdict in verdicts for operation in verdict.order)
    return worst(verdicts) if any(each.answer != "ok" for each in verdicts) else Verdict("ok", order=order)


def apart(operations: Iterable[Operation], model: Model) -> Iterator[tuple[list[str], list[Operation]]]:
    """The operations that a model judges, of keys that have nothing to do with those of others."""
    known = [
        (each, keys_of(each, (), [model]))
        for each in operations
        if each.name in model.operations and (each.outcome != "error" or each.error in model.errors)
    ]
    first = together((key, other) for _, (key, *others) in known for other in others)
    groups: dict[str, tuple[set[str], list[Operation]]] = {}
    for operation, touched in known:
        keys, mine = groups.setdefault(first.get(touched[0], touched[0]), (set(), []))
        keys.update(touched)
        mine.append(operation)
    return ((sorted(keys), mine) for keys, mine in groups.values())


def _searched(
    keys: Sequence[str], operations: Sequence[Operation], model: Model, budget: int
) -> tuple[Verdict, int]:
    places = {key: place for place, key in enumerate(keys)}

    def step(states: tuple[Any, ...], operation: Operation) -> Iterator[tuple[Any, ...]]:
        mine = [places[key] for key in model.keys(operation)]
        for after in model.after(tuple(states[place] for place in mine), operation):
            changed = list(states)
            for place, state in zip(mine, after, strict=True):
                changed[place] = state
            yield tuple(changed)

    try:
        return search(operations, (model.initial,) * len(keys), step, budget)
    except (ValueError, IndexError) as error:
        return Verdict("unknown", reason=f"an operation on {keys[0]} cannot be read: {error}"), budget


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
    taken: list[tuple[_Entry, Any, Iterator[Any]]] = []
    longest, stuck = tuple[Operation, ...](), tuple[Operation, ...]()
    entry, states = head.after, None
    while left:
        if entry is not None and entry.is_call:
            if states is None:
                states = iter(step(state, entry.operation))
                budget -= 1
                if budget < 0:
                    return Verdict("unknown", reason="the search was given up", order=longest), 0
            with_it = done | 1 << entry.number
            after = next((each for each in states if (with_it, each) not in seen), _NONE)
            if after is _NONE:
                entry, states = entry.after, None
                continue
            seen.add((with_it, after))
            taken.append((entry, state, states))
            done, state = with_it, after
            left -= entry.match is not None
            _lift(entry)
            entry, states = head.after, None
            continue
        if not stuck or len(taken) > len(longest):
            longest = tuple(call.operation for call, *_ in taken)
            stuck = tuple(_waiting(head, entry))
        if not taken:
            reason = f"after {len(longest)} operations none of {len(stuck)} can have taken effect next"
            return Verdict("illegal", "linearizable", reason, stuck, longest), budget
        entry, state, states = taken.pop()
        done ^= 1 << entry.number
        left += entry.match is not None
        _put_back(entry)
    return Verdict("ok", order=tuple(call.operation for call, *_ in taken)), budget


_NONE: Final = object()


def _waiting(head: _Entry, until: _Entry | None) -> Iterator[Operation]:
    """The operations that are under way before a return."""
    entry = head.after
    while entry is not None and entry is not until:
        yield entry.operation
        entry = entry.after
