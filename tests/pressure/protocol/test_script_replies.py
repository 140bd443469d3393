"""The arguments that operations send to scripts, and what the replies mean."""

from __future__ import annotations

import pytest

from pressure import (
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
    ServerReplyError,
    protocol,
)
from pressure.protocol import Batch, Context, Deadline, ServerFacts
from pressure.protocol.lua import ScriptReply
from pressure.protocol.problems import problem
from pressure.protocol.role import PRODUCER
from pressure.protocol.scripts import PutProgress
from tests.cases import for_each

from .play import (
    KEYS,
    ME,
    OK,
    QUEUED,
    Clock,
    Play,
    context,
)


def test_a_get_that_waited_returns_its_value_when_scripts_turn_out_to_be_refused_meanwhile() -> None:
    ctx = Context(KEYS, Clock(), 1.0, ServerFacts(scripts=True))
    play = Play(protocol.get(ctx, Deadline.of(ctx)))
    play.reply([b"wait", 0, b"", b"", b"", []])
    ctx.server.scripts = False  # what is known of the server is shared by all threads
    play.reply([b"queue", b"v"], b"0", 0, 0)
    assert play.sent == ["WATCH :consumer", "GET :consumer"]
    assert isinstance(play.step, Batch)
    assert play.step.taken == (b"v",)
    play.reply(OK, ME).reply(OK, *[QUEUED] * 6, [1, OK, 1, 1, OK, 1])
    assert (play.result, play.error) == (b"v", None)


MEBIBYTE = 1 << 20


@for_each(
    ("sizes", "stored", "sent"),
    [
        ([1] * 1001, 0, 1000),
        ([1] * 2100, 1000, 1000),
        ([1] * 2100, 2000, 100),
        ([MEBIBYTE, 1], 0, 1),
        ([MEBIBYTE - 1, 1], 0, 2),
        ([MEBIBYTE - 1, 2], 0, 1),
        ([MEBIBYTE + 1, 1], 0, 1),
        ([1, 2 * MEBIBYTE, 2 * MEBIBYTE], 1, 1),
        ([MEBIBYTE, 1, 1, MEBIBYTE], 1, 2),
    ],
)
def test_a_script_gets_at_most_a_thousand_values_or_a_mebibyte_but_at_least_one_value(
    sizes: list[int], stored: int, sent: int
) -> None:
    values = [bytes(size) for size in sizes]
    assert PutProgress(values, stored).next_values() == values[stored : stored + sent]


@pytest.mark.parametrize(
    ("refusal", "goes_on"),
    [
        ("NOPERM this user may not", True),
        ("ERR unknown command 'EVALSHA'", True),
        ("ERR something else", False),
        ("BUSY with a script", False),
        ("OOM no memory", False),
    ],
)
def test_only_a_client_that_may_not_run_scripts_falls_back_to_batches(refusal: str, goes_on: bool) -> None:
    ctx = Context(KEYS, Clock(), server=ServerFacts(scripts=True))
    play = Play(protocol.put(ctx, b"v", Deadline.of(ctx))).reply(ServerReplyError(refusal))
    if goes_on:
        assert play.sent[0] == "RPOP :producer_free"
    else:
        assert isinstance(play.error, ServerReplyError)
    assert ctx.server.scripts is not goes_on


STATUSES: dict[bytes, type[Exception] | None] = {
    b"ok": None,
    b"wait": None,
    b"gone": QueueDoesNotExistError,
    b"closed": QueueClosedError,
    b"busy": QueueInUseError,
    b"lost": QueueInUseError,
    b"full": QueueFullError,
    b"empty": QueueEmptyError,
    b"error": ServerReplyError,
    b"a status": ServerReplyError,
    b"zero": ServerReplyError,
}


@for_each("stuck", [b"", b"NOPERM no"])
@for_each(("status", "kind"), STATUSES.items())
def test_each_status_that_a_script_returns_becomes_its_error(
    status: bytes, kind: type[Exception] | None, stuck: bytes
) -> None:
    status = bytes(bytearray(status))  # as from a server, no object that the program has
    error = problem(context(), PRODUCER, ScriptReply(status, 0, b"NOPERM no", b"", stuck, []))
    assert type(error) is (kind or type(None))
    assert len(getattr(error, "__notes__", ())) == (1 if stuck and error else 0)


@pytest.mark.parametrize(
    ("bound", "kind"),
    [(b"many", "is not a number of 0 or more: "), (b"-1", "is not a number of 0 or more: ")],
)
def test_a_script_that_finds_no_bound_says_what_it_found(bound: bytes, kind: str) -> None:
    error = problem(context(), PRODUCER, ScriptReply(b"bound", 0, bound, b"", b"", []))
    assert kind in str(error)


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        (b"OOM no memory", "OOM no memory"),
        (b"@user_script: 12: -OOM no memory", "OOM no memory"),
        (b"@user_script:12: OOM no memory", "OOM no memory"),
        (b"ERR The user executing the script can't", "NOPERM the user can't"),
        (b"The user executing the script can't", "NOPERM the user can't"),
    ],
)
def test_an_error_in_a_script_has_the_text_of_a_commands_error(detail: bytes, text: str) -> None:
    assert str(problem(context(), PRODUCER, ScriptReply(b"error", 0, detail, b"", b"", []))) == text
