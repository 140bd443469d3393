"""Pauses between looks: they grow, and the last look comes when the time is over."""

from __future__ import annotations

from itertools import count
from threading import Event

import pytest

from conformance.judging import limits
from conformance.judging.limits import LONGEST, LONGEST_TIMES, OnThread, pauses


class Clock:
    """Stands still but for pauses."""

    def __init__(self) -> None:
        self.now, self.slept = 100.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(limits, "time", clock)
    monkeypatch.setattr(limits, "share", lambda: 1.0)
    return clock


def test_pauses_grow_from_none_to_the_longest(clock: Clock) -> None:
    looks = [clock.now for _ in pauses(1.0)]
    assert looks[:2] == [100.0, 100.0]
    assert clock.slept == sorted(clock.slept)
    assert 0 < clock.slept[1] < LONGEST / 10
    assert clock.slept[-1] == LONGEST


def test_the_last_look_comes_when_the_time_is_over(clock: Clock) -> None:
    looks = [clock.now for _ in pauses(1.0)]
    assert looks[-2] < 101.0 <= looks[-1] < 101.1


def test_without_time_there_is_one_look_and_no_pause(clock: Clock) -> None:
    assert [clock.now for _ in pauses(0.0)] == [100.0]
    assert clock.slept == []


@pytest.mark.parametrize(("share", "times"), [(0.5, 2), (0.1, 10), (0.001, LONGEST_TIMES)])
def test_on_a_busy_machine_a_limit_is_longer_but_not_for_ever(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, share: float, times: int
) -> None:
    monkeypatch.setattr(limits, "share", lambda: share)
    looks = [clock.now for _ in pauses(1.0)]
    assert 100 + 0.9 * times < looks[-1] < 100 + 1.2 * times


def test_work_that_a_busy_machine_makes_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, go_on = count(1), Event()

    def share() -> float:
        if next(looks) == 3:
            go_on.set()
        return 0.01

    monkeypatch.setattr(limits, "share", share)
    assert OnThread(go_on.wait).exception(0.1) is None
    with pytest.raises(TimeoutError):
        OnThread(Event().wait).exception(0.01)
