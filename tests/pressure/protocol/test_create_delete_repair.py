"""What Create, Delete and Repair send."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pressure import (
    protocol,
)
from pressure.connections.pool import HOLDS
from pressure.protocol import Deadline, Pause
from pressure.protocol.counters import restore_counters
from pressure.protocol.repair import repair

from .play import (
    ME,
    NULL,
    OK,
    QUEUED,
    RELEASE,
    Play,
    context,
)


def test_create_is_one_transaction_under_watch() -> None:
    play = Play(protocol.create(context(), 7))
    count = len(play.sent) - 1
    assert play.sent[0].startswith("WATCH :bound ")
    play.reply(OK, *[0] * count)
    pushes = [f"LPUSH :{which} 0" for which in ("producer_free", "consumer_free", "not_full")]
    assert play.sent == ["MULTI", "SET :bound 7", *pushes, "EXEC"]
    play.reply(OK, *[QUEUED] * 4, NULL)  # somebody was faster: look again
    assert play.sent[0].startswith("WATCH ")


def test_delete_sends_its_steps_in_order() -> None:
    ctx = context()
    play = Play(protocol.delete(ctx, Deadline.of(ctx)))
    log: list[str] = []
    role: list[list[Any]] = [[b"0", ME, 0], [OK, 0], [OK, QUEUED, [1]]]
    begin: list[list[Any]] = [[OK, 5], [OK, QUEUED, QUEUED, QUEUED, [1, 1, 2]]]
    script: Iterable[list[Any]] = [*begin, *role, *role, [OK, 0], [OK, QUEUED, [7]]]
    for replies in script:
        log += play.sent
        play.reply(*replies)
    assert play.error is None
    looks = ("WATCH", "EXISTS", "GET", "MULTI", "EXEC")
    assert [command for command in log if not command.startswith(looks)] == [
        "DEL :bound",
        "LPUSH :not_full 0",
        "LPUSH :closed 0 0",
        "RPOP :producer_free",
        "DEL :producer_free :producer",
        "RPOP :consumer_free",
        "DEL :consumer_free :consumer",
        (
            "DEL :bound :producer_free :producer :consumer_free :consumer :not_full :closed "
            ":stats:produced_messages :stats:produced_bytes :stats:consumed_messages :stats:consumed_bytes "
            "queue :unacked :rejected :producer:suspect :consumer:suspect :not_full:suspect :closing"
        ),
    ]


def test_repair_looks_twice_five_seconds_apart() -> None:
    play = Play(repair(context()))
    look = [b"5", 4, 0, 1, ME, NULL, b"id=1 name=other:9:00000000/1 db=0\n"]
    play.reply(*look)
    assert play.step == Pause(5.0)
    play.reply().reply(*look)
    assert play.sent == [
        "UNWATCH",
        "WATCH :producer_free :producer :unacked :closed",
        "LLEN :producer_free",
        "GET :producer",
        "LLEN :unacked",
        "LLEN :closed",
    ]
    play.reply(OK, OK, 0, ME, 0, 0)
    assert play.sent == ["MULTI", *RELEASE["producer"], "EXEC"]


def test_repair_frees_what_this_process_has_left_behind_without_a_second_look() -> None:
    over = HOLDS.begin(HOLDS.connection_name())
    HOLDS.end(over)
    play = Play(repair(context()))
    play.reply(b"5", 4, 0, 1, over, NULL, b"id=1 name= db=0\n")
    assert play.sent[1] == "WATCH :producer_free :producer :unacked :closed"


@pytest.mark.parametrize("now", [[1, ME], [0, b"another"], [0, NULL]])
def test_repair_frees_no_role_whose_holder_has_changed(now: list[Any]) -> None:
    play = Play(repair(context(), force=True)).reply(b"5", 4, 0, 1, ME, NULL, b"")
    play.reply(OK, OK, *now, 0, 0)
    assert play.sent == ["UNWATCH"]
    play.reply(OK)
    assert play.sent[0] == "WATCH :consumer_free :unacked"
    play.reply(OK, 1, 0).reply(OK)
    assert play.sent[0] == "LLEN :consumer_free"
    play.reply(1, OK)
    assert play.sent[0] == "WATCH :consumer_free :closed"
    play.reply(OK, 1, 0).reply(OK)
    assert play.result.done == ()
    assert play.result.left == ("did not free the producer role: its holder changed during the repair",)


def test_a_repair_gives_up_counting_where_others_always_change_the_queue() -> None:
    play = Play(restore_counters(context()))
    for _ in range(20):
        play.reply(OK, [b"5", b"1", NULL, NULL], 1, 1, 0, 0)
        play.reply(OK, *[QUEUED] * (len(play.sent) - 2), NULL)
    assert (play.step, play.error, play.result) == (None, None, None)
