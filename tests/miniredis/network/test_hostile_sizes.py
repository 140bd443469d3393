"""Hostile cases by size on both servers: the same bytes, and other clients wait little longer than on Redis.

The default run plays one in four of them small, the exhaustive run all. ``pytest -n 0 -m slow tests/miniredis/network/test_hostile_sizes.py`` plays them at
full size, up to values of 300 MB and a million elements, each beside an honest client that sends PING.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from conformance.targets import Address, real_redis
from miniredis.testing.real_servers import at_free_port
from tests.cases import exhaustive
from tests.tools.hostile.case import Case
from tests.tools.hostile.cases.large import LARGE, Sized
from tests.tools.hostile.honest import Honest
from tests.tools.hostile.play import Outcome, Stage

PATIENCE = 300.0
"""Seconds."""

LINEAR_AT_MOST = 10.0
"""Seconds that a small case may take; all take below one, and what is quadratic takes minutes."""

TIMES = 10
"""How much longer than beside a real Redis an honest client may wait."""

ALWAYS_ALLOWED = 1.0
"""Seconds that it may wait anyway: one command of 100,000 words takes Python some microseconds a word."""

TRIES = 3


def difference(ours: Outcome, real: Outcome, case: Case) -> str:
    """Where two replies depart from each other, in few words."""
    lines = [each.reply.split(b"\r\n") for each in (ours, real)]
    mine, theirs = lines if case.in_order else map(sorted, lines)
    pairs = (pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1])
    words = [b"%b" % line[:200] for line in next(pairs, ())]
    return f"{len(lines[0])} and {len(lines[1])} lines, hung up: {ours.hung_up} and {real.hung_up}: {words}"


@pytest.mark.parametrize(
    "sized", [exhaustive(each, when=at % 8 > 0, id=name) for at, (name, each) in enumerate(LARGE.items())]
)
def test_small_hostile_cases_get_the_same_replies_on_both_servers(
    sized: Sized, embedded_server: Address, redis_7_0: Address
) -> None:
    case = sized.case(sized.small)
    outcomes, times = [], []
    for each in (embedded_server, redis_7_0):
        began = time.perf_counter()
        with Stage(each.host, each.port, patience=PATIENCE) as stage:
            outcomes.append(stage.play(case))
        times.append(time.perf_counter() - began)
    ours, real = outcomes
    assert ours.same_as(real, case), difference(ours, real, case)
    assert times[0] < max(LINEAR_AT_MOST, TIMES * times[1]), (
        f"{times[0]:.1f} s, redis-server {times[1]:.1f} s"
    )


@pytest.fixture
def apart(redis_7_0: Address) -> Iterator[list[tuple[str, int]]]:
    """Both servers in processes of their own, new for each case."""

    def command(port: int) -> list[str]:
        return [sys.executable, "-m", "miniredis", "--port", str(port)]

    with at_free_port("miniredis", command) as (_, port), real_redis() as real:
        yield [("127.0.0.1", port), (real.host, real.port)]


def play_beside_honest(address: tuple[str, int], case: Case) -> tuple[Outcome, float]:
    """What became of the hostile client, and how long the honest one ever waited."""
    with Stage(*address, patience=PATIENCE) as stage, Honest(*address) as honest:
        outcome = stage.play(case)
    return outcome, honest.worst


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sized", "size"),
    [pytest.param(each, size, id=f"{each.name}: {size:,}") for each in LARGE.values() for size in each.large],
)
def test_large_hostile_cases_get_the_same_replies_and_hardly_delay_other_clients(
    sized: Sized, size: int, apart: list[tuple[str, int]]
) -> None:
    case = sized.case(size)
    for _ in range(TRIES):
        (ours, worst), (real, worst_real) = [play_beside_honest(address, case) for address in apart]
        assert ours.same_as(real, case), difference(ours, real, case)
        if worst <= max(TIMES * worst_real, ALWAYS_ALLOWED):
            return
    pytest.fail(f"an honest client waited {worst:.3f} s, beside redis-server {worst_real:.3f} s")
