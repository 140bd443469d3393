"""Servers beside freezegun and time-machine, which replace the functions of ``time`` in the whole process."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import freezegun
import pytest
import time_machine

import miniredis
from miniredis.clock import Machine
from miniredis.server import LoopChoice

from ...waiting import until

WHEN = dt.datetime(2001, 2, 3, tzinfo=dt.UTC)

Still = Callable[[], AbstractContextManager[Any]]


@pytest.fixture(params=["freezegun", "time-machine"])
def still(request: pytest.FixtureRequest) -> Still:
    """Makes time stand still, for all but the server."""
    if request.param == "freezegun":
        return lambda: freezegun.freeze_time(WHEN)
    return lambda: time_machine.travel(WHEN, tick=False)


@pytest.fixture(params=["poll", "streams"])
def loop(request: pytest.FixtureRequest) -> LoopChoice:
    return request.param  # type: ignore[no-any-return]


def seconds_of(client: Any) -> int:
    return int(client.time()[0])


def test_a_server_goes_on_while_time_stands_still(loop: LoopChoice, still: Still) -> None:
    with miniredis.start(loop=loop) as server, server.client() as client:
        before = seconds_of(client)
        with still():
            assert client.blpop("nothing", timeout=0.01) is None
            assert before <= seconds_of(client) < before + 60
            client.set("short", "v", px=1)
            until(lambda: client.dbsize() == 0, "the key has expired")
            server.fast_forward(100)
            assert before + 100 <= seconds_of(client) < before + 160


def test_a_server_that_begins_while_time_stands_still_goes_on(loop: LoopChoice, still: Still) -> None:
    with still(), miniredis.start(loop=loop) as server, server.client() as client:
        assert client.blpop("nothing", timeout=0.01) is None
        assert seconds_of(client) > WHEN.timestamp() + 1e6


def test_a_held_clock_moves_as_it_is_told(still: Still) -> None:
    with still(), miniredis.start(clock="held") as server, server.client() as client:
        before = seconds_of(client)
        client.set("session", "ann", ex=10)
        server.fast_forward(100)
        assert client.get("session") is None
        assert seconds_of(client) == before + 100


def test_a_server_follows_the_time_of_the_test_if_it_is_asked_to(loop: LoopChoice, still: Still) -> None:
    with (
        miniredis.start(loop=loop, clock="follow") as server,
        server.client() as client,
        still() as traveller,
    ):
        assert seconds_of(client) == WHEN.timestamp()
        client.set("session", "ann", ex=3600)
        assert client.blpop("nothing", timeout=0.01) is None
        traveller.move_to(WHEN + dt.timedelta(seconds=3599))
        assert client.ttl("session") == 1
        traveller.move_to(WHEN + dt.timedelta(seconds=3601))
        assert client.get("session") is None


def test_clocks_are_the_machines_also_if_time_was_frozen_before() -> None:
    with freezegun.freeze_time(WHEN):
        from miniredis.clock import _unfrozen

        assert _unfrozen("time_ns") is Machine.time_ns
        assert _unfrozen("monotonic") is Machine.monotonic
