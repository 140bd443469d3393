"""Deadlines, leases and waits are sent to the server as numbers that it cannot misread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pressure import (
    QueueFullError,
    QueueInUseError,
    protocol,
)
from pressure.protocol import Batch, Context, Deadline, Wait

from .play import (
    KEYS,
    NULL,
    OK,
    OURS,
    QUEUED,
    Clock,
    Play,
    as_producer,
    context,
    pop,
)


def test_one_deadline_holds_for_all_slices_of_all_waits() -> None:
    clock = Clock()
    ctx = replace(context(clock), heal=False)  # a look at the holder would come between
    play = Play(protocol.put(ctx, b"v", Deadline.of(ctx, True, 2.5)))
    seconds: list[float] = []
    play.reply(*pop(NULL))
    for popped in (NULL, [KEYS.producer_free, b"0"]):
        assert isinstance(play.step, Wait)
        seconds.append(play.step.seconds)
        clock.now += play.step.seconds
        play.reply(*pop(popped))
    play.reply(*as_producer(0, NULL, b"5", 5))
    assert isinstance(play.step, Wait)
    seconds.append(play.step.seconds)
    clock.now += play.step.seconds
    play.reply(NULL, b"5", 5, 1, NULL, 0)
    assert seconds == [1.0, 1.0, 0.5]
    assert type(play.step) is Batch
    assert play.sent[0] == "RPOP :not_full"
    play.reply(NULL, b"5", 5, 1, NULL, 0).reply(*OURS).reply(OK, QUEUED, QUEUED, [OK, 1])
    assert isinstance(play.error, QueueFullError)


def test_a_wait_that_the_server_has_ended_is_over_whatever_our_clock_says() -> None:
    """The server waits by its own clock, which a test holds and moves."""
    ctx = replace(context(), heal=False)
    play = Play(protocol.get(ctx, Deadline.of(ctx, True, 1.5))).reply(*pop(NULL))
    seconds: list[float] = []
    while isinstance(play.step, Wait):
        seconds.append(play.step.seconds)
        play.reply(*pop(NULL))
    assert (seconds, play.sent[0]) == ([1.0, 0.5], "RPOP :consumer_free")


def test_a_client_that_closes_waits_longer_than_a_producer_and_says_that_it_waits() -> None:
    """So it has waited longest when a producer gives the role back, which begins its own wait anew each second."""
    ctx = replace(context(), heal=False)
    play = Play(protocol.close(ctx, Deadline.of(ctx, True, 4.0))).reply(*pop(NULL))
    seconds: list[float] = []
    while not play.sent[0].startswith("RPOP"):
        assert play.sent[0].startswith("SET :closing ")
        assert play.sent[0].endswith(" PX 5000")
        play.reply(OK)
        assert isinstance(play.step, Wait)
        seconds.append(play.step.seconds)
        play.reply(*pop(NULL))
    assert seconds == [3.0, 1.0]


@pytest.mark.parametrize("timeout", [0.0, 0.0004, 0.004])
def test_a_wait_is_never_rounded_to_0(timeout: float) -> None:
    ctx = replace(context(), heal=False)
    play = Play(protocol.get(ctx, Deadline.of(ctx, True, timeout))).reply(*pop(NULL))
    assert type(play.step) is Batch
    assert play.sent[0] == "RPOP :consumer_free"
    play.reply(*pop(NULL)).reply(OK)
    assert isinstance(play.error, QueueInUseError)


@pytest.mark.parametrize(("lease", "told"), [(None, 0), (0.0001, 1), (0.0014, 1), (0.0016, 2), (2.5, 2500)])
def test_a_lease_is_sent_in_milliseconds_at_least_1(lease: float | None, told: int) -> None:
    made = Context(KEYS, Clock(), lease=lease)
    assert (made.lease_ms, made.slice) == (told, 1.0)
