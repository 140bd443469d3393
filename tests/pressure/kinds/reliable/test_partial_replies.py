"""Popping many messages takes several steps: an error in a later step loses no message of earlier steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pressure import ServerReplyError
from pressure.kinds.kind import KindContext, KindKeys
from pressure.kinds.reliable import operations, popping
from pressure.kinds.reliable.model import ReliableKeys
from pressure.kinds.reliable.module import Module
from pressure.kinds.reliable.operations import QueueState
from pressure.kinds.reliable.stream import Stream
from pressure.protocol.operation import Batch, Command, Deadline, Operation, ServerFacts
from pressure.protocol.sizes import MOST_BYTES, Sizes
from tests.cases import for_each

PLACE = KindKeys(b"jobs", (b"a", b"b"))
#: Where all that is asked for fits into one step.
SMALL = KindContext(PLACE, ServerFacts(sizes=Sizes(largest=1)))
#: How many messages are asked for at first.
FEW = Sizes().bounded(1000)
DATAS = tuple(b"%d" % number for number in range(FEW))
IDS = tuple(b"%d-0" % number for number in range(FEW))
ENTRIES = [[each, [b"payload", data]] for each, data in zip(IDS, DATAS, strict=True)]


def stream(key: bytes = b"a") -> QueueState:
    return QueueState(ReliableKeys.of(key, b"workers"), Stream(), 9)


def module() -> QueueState:
    return QueueState(ReliableKeys.of(b"a", b"workers"), Module(), 9)


Deed = Callable[[KindContext, Deadline], Operation[Any]]


def answer(command: Command) -> Any:
    """What a server has that keeps delivering the same messages, none of which was delayed."""
    name = command[0]
    if b"a:due" in command or b"b:due" in command:
        return [] if name == b"XPENDING" else None
    if name == b"XREADGROUP":
        return [[b"a", ENTRIES]]
    if name == b"MQ.POP":
        found = zip(IDS, DATAS, strict=True)
        return [[b"a", *each] for each in found] if b"KEYS" in command else [list(each) for each in found]
    if name == b"MQ.RECOVER":
        return [list(each) for each in zip(IDS, DATAS, strict=True)]
    if name == b"XPENDING":
        return [[each, b"pressure", 9, 1] for each in IDS]
    if name == b"XCLAIM":
        return ENTRIES
    return {b"TIME": [b"1", b"0"], b"HGET": None, b"ZRANGE": []}.get(bytes(name), [None] * FEW)


#: The command whose batch is looked at, the how manieth of these it is, and the operation. A pop begins with the
#: lane of what is due.
CALLS: dict[str, tuple[bytes, int, Deed]] = {
    "pop, stream": (b"XREADGROUP", 3, lambda ctx, p: popping.pop(ctx, stream(), 100, p)),
    "pop, module": (b"MQ.POP", 3, lambda ctx, p: popping.pop(ctx, module(), 100, p)),
    "pop, module, counts": (b"HGET", 1, lambda ctx, p: popping.pop(ctx, module(), 100, p)),
    "pop_any, stream": (
        b"XREADGROUP",
        3,
        lambda ctx, p: popping.pop_any(ctx, [stream(), stream(b"b")], 100, p),
    ),
    "pop_any, next queue": (
        b"XREADGROUP",
        3,
        lambda _, p: popping.pop_any(SMALL, [stream(), stream(b"b")], FEW + 1, p),
    ),
    "pop_any, module": (b"MQ.POP", 3, lambda ctx, p: popping.pop_any(ctx, [module(), module()], 100, p)),
    "pop_any, module, counts": (
        b"HGET",
        1,
        lambda ctx, p: popping.pop_any(ctx, [module(), module()], 100, p),
    ),
    "recover, stream": (b"XPENDING", 2, lambda ctx, _: operations.recover(ctx, stream(), 100, 1)),
    "recover, module": (b"ZMSCORE", 1, lambda ctx, _: operations.recover(ctx, module(), 100, 1)),
}
LATER = [name for name, (_, number, _) in CALLS.items() if number > 1]


def played(name: str) -> tuple[Operation[Any], Batch]:
    """An operation at the step in which something may go wrong."""
    command, number, deed = CALLS[name]
    ctx = KindContext(PLACE)
    working = deed(ctx, Deadline.of(ctx, block=False))
    step = next(working)
    while True:
        assert isinstance(step, Batch)
        number -= any(each[0] == command for each in step.commands)
        if not number:
            return working, step
        step = working.send([answer(each) for each in step.commands])


@for_each("name", CALLS)
def test_messages_already_received_are_known_when_the_connection_is_lost(name: str) -> None:
    _, step = played(name)
    assert step.taken == DATAS


@for_each("name", LATER)
def test_messages_already_received_are_returned_when_a_later_command_is_refused(name: str) -> None:
    working, step = played(name)
    with pytest.raises(StopIteration) as stop:
        working.send([ServerReplyError("OOM no more")] * len(step.commands))
    assert len(stop.value.value) == FEW


def test_an_error_of_the_first_command_is_raised() -> None:
    ctx = KindContext(PLACE)
    for working in (popping.pop(ctx, stream(), 1, Deadline.of(ctx)), operations.recover(ctx, stream(), 1, 1)):
        step = next(working)
        assert isinstance(step, Batch)
        with pytest.raises(ServerReplyError):
            working.send([ServerReplyError("OOM no more")] * len(step.commands))


def test_a_pop_takes_no_more_bytes_than_fit_into_one_reply() -> None:
    ctx = KindContext(PLACE)
    working = popping.pop(ctx, stream(), 100, Deadline.of(ctx, block=False))
    step: Any = next(working)
    while b"a" not in step.commands[0]:  # the lane of what is due comes first
        step = working.send([answer(each) for each in step.commands])
    entries = [[each, [b"payload", bytes(MOST_BYTES // FEW)]] for each in IDS]
    with pytest.raises(StopIteration) as stop:
        working.send([[[b"a", entries]], [], [b"1", b"0"]])
    assert len(stop.value.value) == FEW
