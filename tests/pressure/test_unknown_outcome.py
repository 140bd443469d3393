"""What an operation reports when its connection is lost or a command is refused; no server takes part."""

from __future__ import annotations

from typing import Any

import pytest

from pressure import ServerReplyError
from pressure.errors import ConnectionFailedError, OutcomeUnknownError
from pressure.execution.execution import Execution
from pressure.protocol import Batch, NewHold, Operation, Pause, Step, Wait
from tests.cases import for_each

LOOK, WRITE = (b"GET", b"k"), (b"SET", b"k", b"GET")


def operation(*steps: Step) -> Operation[str]:
    for step in steps:  # noqa: UP028  (a tuple cannot be sent replies)
        yield step
    return "done"


def begun(*steps: Step) -> Execution[str]:
    execution = Execution(operation(*steps), "here", lambda: b"a hold")
    execution.begin()
    return execution


@for_each(
    ("steps", "kind"),
    [
        ([], ConnectionFailedError),
        ([Batch((LOOK,))], ConnectionFailedError),
        ([Batch((LOOK, LOOK)), Batch((LOOK,))], ConnectionFailedError),
        ([Batch((WRITE,))], OutcomeUnknownError),
        ([Batch((LOOK, WRITE))], OutcomeUnknownError),
        ([Batch((WRITE,)), Batch((LOOK,))], OutcomeUnknownError),
        ([Batch((LOOK,)), Batch((WRITE,))], OutcomeUnknownError),
    ],
)
def test_the_outcome_is_unknown_when_a_command_that_writes_was_sent(
    steps: list[Batch], kind: type[Exception]
) -> None:
    execution = begun(*steps)
    for step in steps:
        assert execution.step is step
        execution.packed(step)
        execution.advance([None] * len(step.commands))
    assert type(execution.lost(OSError("gone"))) is kind


@pytest.mark.parametrize(
    ("reply", "refused"),
    [
        (b"OK", False),
        (ServerReplyError("NOSCRIPT none"), False),
        (ServerReplyError("ERR no such key"), False),
        (ServerReplyError("OOM no memory"), True),
        ([b"OK", ServerReplyError("OOM no memory")], True),
    ],
)
def test_a_refused_command_is_remembered_unless_the_refusal_was_expected(reply: Any, refused: bool) -> None:
    execution = begun(Batch((LOOK,)), Batch((LOOK,)))
    assert execution.refused is False
    execution.advance([reply])
    assert execution.refused is refused
    execution.advance([b"OK"])
    assert execution.refused is refused


def test_what_was_done_and_taken_so_far_is_in_the_error() -> None:
    execution = begun(Batch((WRITE,), taken=(b"v",), done=7))
    assert isinstance(execution.step, Batch)
    execution.packed(execution.step)
    error = execution.lost(OSError("gone"))
    assert isinstance(error, OutcomeUnknownError)
    assert (error.taken, error.done, error.__notes__) == ([b"v"], 7, ["at least 7 of the values were put"])


def test_a_step_that_asks_for_a_hold_is_answered_by_the_course() -> None:
    def asks() -> Operation[list[bytes]]:
        (one,) = yield NewHold()
        (other,) = yield NewHold()
        yield Batch((LOOK,))
        return [one, other]

    ids = iter((b"1", b"2"))
    execution = Execution(asks(), "here", lambda: next(ids))
    execution.begin()
    assert execution.step == Batch((LOOK,))
    execution.advance([None])
    assert execution.result == [b"1", b"2"]


@pytest.mark.parametrize(
    ("step", "waits"), [(Batch((LOOK,)), False), (Wait((LOOK,), 1.0), True), (Pause(1.0), True)]
)
def test_a_step_that_waits_can_be_stopped(step: Step, waits: bool) -> None:
    execution = begun(step)
    assert execution.waits is waits
    execution.advance([])
    assert (execution.step, execution.waits, execution.result) == (None, False, "done")
