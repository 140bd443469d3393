"""Whether those who wait on one list were served in the order in which they blocked.

It needs no search: the recorder saw each waiter blocked before the next one began (``blocked``), and waited
for each push to be answered before the next, so that there is one way only in which it can have gone. It is
gone through, and what each waiter should have got is compared with what it got. A waiter that left is
served no more: the recorder saw it gone (``gone``), or its time was over before the push. From anything else
on that is done to the list, and with waiters on several lists, the order is not known. The places of waiters
for a role are nobody's business: their lists are passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter
from typing import Final

from .model import NEVER, History, Operation, Verdict, worst
from .scope import OBSERVED, keys_of

__all__ = ["check", "check_key"]

_ROLES: Final = (":producer_free", ":consumer_free")
_WAITS: Final = {"BLPOP": 0, "BRPOP": -1}
_PUSHES: Final = frozenset({"LPUSH", "RPUSH"})


class _UnclearError(Exception):
    """The record does not say in which order it went."""

    def __init__(self, reason: str, *operations: Operation) -> None:
        super().__init__(reason)
        self.operations = operations


def check(history: History) -> Verdict:
    """Judges the waiters on the lists on which a waiter was seen, but for those whose elements are roles."""
    lists = {each.queue: list[Operation]() for each in history.operations if each.name == "blocked"}
    for operation in history.operations:
        for key in keys_of(operation, lists):
            if key in lists:
                lists[key].append(operation)
    return worst(
        check_key(mine, history.facts.killed) for key, mine in lists.items() if not key.endswith(_ROLES)
    )


def check_key(operations: Sequence[Operation], killed: Collection[str] = ()) -> Verdict:
    """Judges the waiters on one list, which is empty at the beginning.

    Args:
        operations: in whatever order.
        killed: the clients that were killed.
    """
    try:
        expected = _expected(operations)
    except _UnclearError as unclear:
        return Verdict("unknown", reason=str(unclear), operations=unclear.operations)
    order = tuple(expected)
    for waiter, due in expected.items():
        got = waiter.result[-1] if waiter.result else None
        if waiter.outcome == "open" and due is not None:
            if waiter.client in killed:
                reason = f"{waiter.client} was killed, and nobody saw it gone before {due!r} was pushed"
                return Verdict("unknown", reason=reason, operations=(waiter,))
            reason = f"{waiter.client} was first in the line for {due!r}, and was not served"
            return Verdict("illegal", "waiters", reason, (waiter, *_who_got(operations, due)), order)
        if waiter.outcome == "ok" and got != due:
            reason = f"{waiter.client} got {_called(got)}, and {_called(due)} was its due"
            return Verdict("illegal", "waiters", reason, (waiter, *_who_got(operations, due)), order)
    return Verdict("ok", order=order)


def _called(value: bytes | None) -> str:
    return "nothing" if value is None else repr(value)


def _who_got(operations: Sequence[Operation], value: bytes | None) -> Iterator[Operation]:
    for operation in operations:
        if value is not None and (value in operation.argument or value in (operation.result or ())[1:]):
            yield operation


def _expected(operations: Sequence[Operation]) -> dict[Operation, bytes | None]:
    """What each waiter should have got.

    Raises:
        _UnclearError: it cannot be told.
    """
    line: dict[str, Operation] = {}
    due: dict[Operation, bytes | None] = {}
    stored: deque[bytes] = deque()
    for moment, kind, operation in _events(operations):
        if kind == "wait":
            due[operation] = None
            if stored:
                due[operation] = _popped(stored, operation)
            else:
                line[operation.client] = operation
        elif kind == "gone":
            line.pop(operation.client, None)
        else:
            stored.extend(operation.argument) if operation.name == "RPUSH" else stored.extendleft(
                operation.argument
            )
            _serve(line, stored, due, moment)
    return due


def _serve(
    line: dict[str, Operation], stored: deque[bytes], due: dict[Operation, bytes | None], moment: int
) -> None:
    for client, waiter in list(line.items()):
        if not stored:
            return
        if _is_over(waiter, moment):
            del line[client]
            continue
        due[waiter] = _popped(stored, line.pop(client))


def _is_over(waiter: Operation, moment: int) -> bool:
    """Whether its time was over at a push."""
    if waiter.outcome == "open" or waiter.result is not None:
        return False
    if waiter.end < moment:
        return True
    seconds = float(waiter.argument[-1])
    if waiter.outcome == "ok" and (not seconds or moment < waiter.invoked + int(seconds * 1e9)):
        return False
    raise _UnclearError(f"the time of {waiter.client} was over while something was pushed", waiter)


def _popped(stored: deque[bytes], waiter: Operation) -> bytes:
    return stored.popleft() if waiter.name == "BLPOP" else stored.pop()


def _events(operations: Sequence[Operation]) -> Iterator[tuple[int, str, Operation]]:
    """What happened, in order.

    Raises:
        _UnclearError: two things overlap.
    """
    confirmed = {each.client: each.invoked for each in operations if each.name == "blocked"}
    events: list[tuple[int, int, str, Operation]] = []
    others = [each for each in operations if _is_other(each)]
    other = min(others, key=attrgetter("invoked"), default=None)
    for operation in operations:
        if other is not None and operation.returned is not None and operation.end >= other.invoked:
            if operation.name in _WAITS or operation.name in _PUSHES:
                raise _UnclearError(
                    f"{other.client} did {other.name} before {operation.client} was answered",
                    other,
                    operation,
                )
        elif operation.name in _WAITS:
            until = min(confirmed.get(operation.client, NEVER), operation.end)
            events.append((operation.invoked, until, "wait", operation))
        elif operation.name in _PUSHES and operation.outcome != "error":
            events.append((operation.invoked, operation.end, "push", operation))
        elif operation.name == "gone":
            events.append((operation.invoked, operation.invoked, "gone", operation))
    over, last = -NEVER, None
    for begun, until, kind, operation in sorted(events, key=lambda event: event[:2]):
        if begun <= over and last is not None:
            reason = f"{last.client} and {operation.client} were not one after the other"
            raise _UnclearError(reason, last, operation)
        over, last = until, operation
        yield begun, kind, operation


def _is_other(operation: Operation) -> bool:
    """Whether an operation is neither a push nor a wait for this list alone."""
    if operation.name in _WAITS:
        return len(operation.argument) != 1
    return operation.name not in _PUSHES and operation.name not in OBSERVED
