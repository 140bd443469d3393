"""However an operation ends, it gives its role back, unless somebody has freed the role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pressure import (
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    ServerReplyError,
)
from pressure.protocol import Wait
from tests.cases import for_each

from .play import (
    BEFORE,
    ERROR,
    KEYS,
    ME,
    NULL,
    OK,
    OURS,
    QUEUED,
    RELEASE,
    TOKEN,
    WITH_ROLE,
    Play,
    as_consumer,
    as_producer,
    get,
    pop,
    put,
)

#: What an operation was answered -> the error it raises, and what it gives back before.
WAYS_OUT: dict[str, tuple[Callable[[], Play], list[list[Any]], type[Exception], list[str]]] = {
    "put: closed meanwhile": (
        put,
        [WITH_ROLE, as_producer(1, b"0", b"5", 0)],
        QueueClosedError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "put: deleted meanwhile": (
        put,
        [WITH_ROLE, as_producer(0, NULL, NULL, 0)],
        QueueDoesNotExistError,
        RELEASE["producer"],
    ),
    "put: full": (
        lambda: put(block=False),
        [WITH_ROLE, as_producer(0, NULL, b"5", 5)],
        QueueFullError,
        RELEASE["producer"],
    ),
    "put: an error beside the token": (
        put,
        [WITH_ROLE, as_producer(0, b"0", b"5", ERROR)],
        ServerReplyError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "put: the transaction refused": (
        put,
        [WITH_ROLE, as_producer(0, b"0", b"5", 0), [OK, ERROR, *[QUEUED] * 6, ERROR]],
        ServerReplyError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "put: deleted before the transaction": (
        put,
        [WITH_ROLE, as_producer(0, b"0", b"5", 0), [OK, *[QUEUED] * 7, NULL], [OK, ME, 0], [OK], [NULL, ME]],
        QueueDoesNotExistError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "put: deleted while waiting for room": (
        put,
        [WITH_ROLE, as_producer(0, NULL, b"5", 5), [[KEYS.not_full, b"0"], NULL, 5, 1, NULL, 0]],
        QueueDoesNotExistError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "get: empty": (
        lambda: get(block=False),
        [WITH_ROLE, as_consumer(0, NULL, b"5", 0)],
        QueueEmptyError,
        RELEASE["consumer"],
    ),
    "get: closed and empty": (
        get,
        [WITH_ROLE, as_consumer(1, NULL, b"5", 0)],
        QueueClosedError,
        RELEASE["consumer"],
    ),
    "get: deleted while waiting": (
        get,
        [WITH_ROLE, as_consumer(0, NULL, b"5", 0), [NULL, NULL, 0, 0]],
        QueueDoesNotExistError,
        RELEASE["consumer"],
    ),
    "get: an error while waiting": (
        get,
        [WITH_ROLE, as_consumer(0, NULL, b"5", 0), [ERROR, b"5", 0, 0]],
        ServerReplyError,
        RELEASE["consumer"],
    ),
}


@for_each("way", WAYS_OUT)
def test_the_role_is_given_back_however_an_operation_ends(way: str) -> None:
    start, script, error, given_back = WAYS_OUT[way]
    play = start()
    for replies in script:
        play.reply(*replies)
    assert play.sent[0] == "UNWATCH"
    play.reply(*OURS)
    assert play.sent == ["MULTI", *given_back, "EXEC"]
    play.reply(OK, *[QUEUED] * len(given_back), [1] * len(given_back))
    assert isinstance(play.error, error)


@for_each("way", WAYS_OUT)
def test_a_role_that_another_client_holds_is_not_given_back(way: str) -> None:
    start, script, error, _ = WAYS_OUT[way]
    play = start()
    for replies in script:
        play.reply(*replies)
    play.reply(OK, OK, b"another")
    if len(play.sent) > 1:  # a token that was popped goes back, or another producer waits for it for ever
        assert play.sent == ["UNWATCH", "WATCH :bound", "EXISTS :bound"]
        play.reply(OK, OK, 1)
        assert play.sent == ["MULTI", "LPUSH :not_full 0", "LTRIM :not_full 0 0", "EXEC"]
        play.reply(OK, QUEUED, QUEUED, [1, OK])
    else:
        assert play.sent == ["UNWATCH"]
        play.reply(OK)
    assert isinstance(play.error, error)


@pytest.mark.parametrize(
    ("replies", "error"),
    [
        (pop(b"0", exists=0), QueueDoesNotExistError),
        (pop(b"0", closed=1), QueueClosedError),
        (pop(b"0", exists=ERROR), ServerReplyError),
    ],
)
def test_a_role_popped_by_an_operation_that_cannot_start_is_given_back_unless_it_was_freed(
    replies: list[Any], error: type[Exception]
) -> None:
    play = put().reply(*replies)
    assert play.sent == ["UNWATCH", "WATCH :producer", "GET :producer"]
    play.reply(OK, OK, BEFORE)
    assert play.sent == ["MULTI", "LPUSH :producer_free 0", "EXEC"]
    assert isinstance(play.reply(OK, QUEUED, [1]).error, error)
    play = put().reply(*replies).reply(OK, OK, b"another")
    assert play.sent == ["UNWATCH"]
    assert isinstance(play.reply(OK).error, error)


def test_a_client_that_could_not_write_its_id_gives_the_role_back_unless_it_was_freed() -> None:
    play = put().reply(*WITH_ROLE).reply(*as_producer(0, NULL, b"5", 0, said=ERROR))
    play.reply(OK, OK, BEFORE)
    assert play.sent == ["MULTI", "LPUSH :producer_free 0", "EXEC"]
    play.reply(OK, ERROR, ERROR)
    assert play.error is not None
    assert "repair frees it" in play.error.__notes__[0]


def test_a_client_that_finds_the_role_it_popped_freed_goes_on_waiting() -> None:
    play = put().reply(*WITH_ROLE).reply(OK, QUEUED, QUEUED, NULL, OK, b"another", b"5", 0, 0)
    assert play.sent == ["UNWATCH", "WATCH :producer", "GET :producer"]
    play.reply(OK, OK, b"another")
    assert play.sent == ["UNWATCH"]
    play.reply(OK)
    assert play.sent[0] == "RPOP :producer_free"
    play.reply(*pop(NULL, before=b"another"))
    assert isinstance(play.step, Wait)


@pytest.mark.parametrize("start", [put, get])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("stop")])
def test_an_exception_during_a_wait_gives_the_role_back_and_is_raised(
    start: Callable[[], Play], error: BaseException
) -> None:
    replies = as_producer if start is put else as_consumer
    play = start().reply(*WITH_ROLE).reply(*replies(0, NULL, b"1", 1))
    assert isinstance(play.step, Wait)
    play.throw(error).reply(*OURS)
    assert play.sent[0] == "MULTI"
    assert play.sent[1:-1] in RELEASE.values()
    assert play.reply(OK, QUEUED, QUEUED, [OK, 1]).error is error


@pytest.mark.parametrize("start", [put, get])
def test_an_operation_whose_connection_is_lost_sends_nothing_more(start: Callable[[], Play]) -> None:
    replies = as_producer if start is put else as_consumer
    play = start().reply(*WITH_ROLE).reply(*replies(0, NULL, b"1", 1))
    play.operation.close()
