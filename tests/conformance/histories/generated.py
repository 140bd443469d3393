"""Random histories of a queue: what a model did, each operation spread over an interval around its moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from conformance.histories import Facts, Operation, Verdict
from conformance.histories.linearizable import search

STEP = 10


@dataclass(frozen=True)
class Action:
    """Something that is done to the queue; ``open_`` whether it comes back, ``happens`` whether it is done."""

    puts: bool
    before: int
    after: int
    open_: bool = False
    happens: bool = True


moments = st.one_of(st.integers(1, 4), st.integers(1, 45))
actions = st.builds(Action, st.booleans(), moments, moments)
uncertain_actions = st.builds(Action, st.booleans(), moments, moments, st.booleans(), st.booleans())


def played(
    done: Sequence[Action], bound: int = 0, *, empties: bool = True
) -> tuple[list[Operation], tuple[bytes, ...]]:
    """The operations, and what is left."""
    queue, operations = deque[bytes](), list[Operation]()
    for number, action in enumerate(done):
        now, value = 1000 + STEP * number, b"%d" % number
        happens = action.happens or not action.open_
        begun, ended = now - action.before, None if action.open_ else now + action.after
        outcome: Any = "open" if action.open_ else "ok"
        who = f"c{number}"
        if action.puts and (not bound or len(queue) < bound):
            if happens:
                queue.append(value)
            operations.append(Operation(who, "q", "put", (value,), None, begun, ended, outcome))
        elif queue:
            got = (queue.popleft(),) if happens else None
            operations.append(
                Operation(who, "q", "get", (), None if action.open_ else got, begun, ended, outcome)
            )
        elif empties and ended is not None:
            operations.append(Operation(who, "q", "get", (), None, begun, ended, "error", "QueueEmptyError"))
    return operations, tuple(queue)


def corrupted(operations: Sequence[Operation], how: str, rng: Random) -> list[Operation]:
    """The same with one thing wrong, or that may be wrong; unchanged where there is too little."""
    changed = list(operations)
    gets = [place for place, each in enumerate(changed) if each.name == "get" and each.outcome == "ok"]
    if how == "shift" and changed:
        place, by = rng.randrange(len(changed)), rng.randrange(-60, 60)
        one = changed[place]
        ended = None if one.returned is None else one.returned + by
        changed[place] = replace(one, invoked=one.invoked + by, returned=ended)
    if len(gets) < 2:
        return changed
    first, second = rng.sample(gets, 2)
    if how == "swap":
        changed[first] = replace(changed[first], result=operations[second].result)
        changed[second] = replace(changed[second], result=operations[first].result)
    elif how == "double":
        changed[first] = replace(changed[first], result=operations[second].result)
    elif how == "drop":
        del changed[first]
    return changed


CORRUPTIONS = ("swap", "double", "drop", "shift")


def by_search(operations: Sequence[Operation], facts: Facts) -> Verdict:
    """What the general search says of a queue ``q``; what is left is looked at by one more operation."""
    bound, final = facts.bounds.get("q", 0), facts.final.get("q")
    asked = list(operations)
    if final is not None:
        end = max((each.returned or each.invoked for each in asked), default=0) + 1
        asked.append(Operation("looker", "q", "look", (), final, end, end + 1))

    def step(state: tuple[bytes, ...], operation: Operation) -> Iterator[tuple[bytes, ...]]:
        if operation.name == "put":
            if not bound or len(state) < bound:
                yield (*state, *operation.argument)
        elif operation.name == "look":
            if operation.result == state:
                yield state
        elif operation.outcome == "error":
            if not state:
                yield state
        elif state and operation.result in {None, state[:1]}:
            yield state[1:]

    return search(asked, (), step)[0]
