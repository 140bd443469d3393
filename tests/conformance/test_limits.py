"""Pauses between looks: they grow, and the last look comes when the time is over."""

from __future__ import annotations

import pytest

from conformance.judging import limits
from conformance.judging.limits import LONGEST, pauses


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
    return clock


def test_pauses_grow_from_none_to_the_longest(clock: Clock) -> None:
    looks = [clock.now for _ in pauses(1.0)]
    assert looks[:2] == [100.0, 100.0]
    assert clock.slept == sorted(clock.slept)
    assert 0 < clock.slept[1] < LONGEST / 10
    assert clock.slept[-1] == LONGEST


def test_the_last_look_comes_when_the_time_is_over(clock: Clock) -> None:
    looks = [clock.now for _ in pauses(1.0)]
    assert looks[-2] < 101.0 <= looks[-1]


def test_without_time_there_is_one_look_and_no_pause(clock: Clock) -> None:
    assert [clock.now for _ in pauses(0.0)] == [100.0]
    assert clock.slept == []
