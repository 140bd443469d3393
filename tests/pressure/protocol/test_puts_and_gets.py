"""What a Put and a Get send without scripts, in which order, and what they make of the replies."""

from __future__ import annotations

import pytest

from pressure.protocol import Wait

from .play import (
    KEYS,
    ME,
    NULL,
    OK,
    QUEUED,
    RELEASE,
    WITH_ROLE,
    as_consumer,
    as_producer,
    get,
    put,
)


def test_a_put_with_room_is_three_round_trips() -> None:
    play = put()
    assert play.sent == [
        "RPOP :producer_free",
        "UNWATCH",
        "WATCH :producer",
        "GET :producer",
        "EXISTS :bound",
        "EXISTS :closed",
    ]
    play.reply(*WITH_ROLE)
    assert play.sent == [
        "MULTI",
        f"SET :producer {ME.decode()}",
        "RPOP :not_full",
        "EXEC",
        "WATCH :producer :bound",
        "GET :producer",
        "GET :bound",
        "LLEN queue",
        "EXISTS :closed",
    ]
    play.reply(*as_producer(0, b"0", b"5", 3))
    assert play.sent == [
        "MULTI",
        "LPUSH queue v",
        "INCRBY :stats:produced_messages 1",
        "INCRBY :stats:produced_bytes 1",
        "LPUSH :not_full 0",
        "LTRIM :not_full 0 0",
        *RELEASE["producer"],
        "EXEC",
    ]
    play.reply(OK, *[QUEUED] * 7, [4, 1, 1, 1, OK, OK, 1])
    assert (play.step, play.error) == (None, None)


@pytest.mark.parametrize(("length", "room"), [(5, False), (4, True)])
def test_a_put_at_the_bound_refills_the_token_by_the_length_that_the_push_returned(
    length: int, room: bool
) -> None:
    play = put().reply(*WITH_ROLE).reply(*as_producer(0, b"0", b"5", 4))
    assert play.sent[-2:] == ["WATCH :producer", "GET :producer"]
    assert "LPUSH :not_full 0" not in play.sent
    play.reply(OK, *[QUEUED] * 3, [length, 1, 1], OK, ME)
    refill = ["LPUSH :not_full 0", "LTRIM :not_full 0 0"] if room else []
    assert play.sent == ["MULTI", *refill, *RELEASE["producer"], "EXEC"]


def test_a_get_with_a_value_is_three_round_trips() -> None:
    play = get()
    assert play.sent == [
        "RPOP :consumer_free",
        "UNWATCH",
        "WATCH :consumer",
        "GET :consumer",
        "EXISTS :bound",
        "EXISTS :closed",
    ]
    play.reply(*WITH_ROLE)
    assert play.sent == [
        "MULTI",
        f"SET :consumer {ME.decode()}",
        "EXISTS :closed",
        "LMOVE :unacked queue RIGHT RIGHT",
        "RPOP queue",
        "GET :bound",
        "LLEN queue",
        "EXEC",
        "WATCH :consumer",
        "GET :consumer",
    ]
    play.reply(*as_consumer(0, b"value", b"5", 4))
    assert play.sent == [
        "MULTI",
        "LPUSH :not_full 0",
        "LTRIM :not_full 0 0",
        "INCRBY :stats:consumed_messages 1",
        "INCRBY :stats:consumed_bytes 5",
        *RELEASE["consumer"],
        "EXEC",
    ]
    play.reply(OK, *[QUEUED] * 6, [1, OK, 1, 1, OK, 1])
    assert play.result == b"value"


def test_a_get_from_an_overfilled_queue_does_not_refill_the_token() -> None:
    play = get().reply(*WITH_ROLE).reply(*as_consumer(0, b"v", b"5", 5))
    assert not [command for command in play.sent if "not_full" in command]


def test_a_get_during_a_delete_keeps_its_value_and_writes_nothing_but_its_release() -> None:
    play = get().reply(*WITH_ROLE).reply(*as_consumer(0, b"v", NULL, 3))
    assert play.sent == ["MULTI", *RELEASE["consumer"], "EXEC"]
    assert play.reply(OK, QUEUED, QUEUED, [OK, 1]).result == b"v"


def test_a_get_whose_role_was_taken_away_keeps_its_value() -> None:
    play = get().reply(*WITH_ROLE).reply(*as_consumer(0, b"v", b"5", 3))
    play.reply(OK, *[QUEUED] * 6, NULL)
    assert play.sent == ["WATCH :consumer :bound", "GET :consumer", "EXISTS :bound"]
    assert play.reply(OK, b"another", 1).reply(OK).result == b"v"


def test_a_get_that_pops_a_mark_of_close_pushes_it_back_and_tries_the_queue_again() -> None:
    play = get().reply(*WITH_ROLE).reply(*as_consumer(0, NULL, b"5", 0))
    assert isinstance(play.step, Wait)
    assert play.sent == ["BRPOP queue :closed 1.000", "GET :bound", "LLEN queue", "LLEN :unacked"]
    play.reply([KEYS.closed, b"mark"], b"5", 1, 0)
    assert play.sent == ["LPUSH :closed mark", "RPOP queue", "GET :bound", "LLEN queue"]
    assert play.reply(2, b"last", b"5", 0).reply(OK, *[QUEUED] * 6, [1] * 6).result == b"last"
