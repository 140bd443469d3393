"""The runner of sizes covers every argument of every command, and reports commands that take quadratic time."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from conformance.targets import Address
from miniredis.engine.declarations.registry import commands
from tests.tools.hostile.sizes.command import main
from tests.tools.hostile.sizes.excuses import EXCUSES, MOST, Excuse
from tests.tools.hostile.sizes.forms import LEFT_OUT, Form, forms, routes
from tests.tools.hostile.sizes.growths import Growth, growths, growths_of
from tests.tools.hostile.sizes.judge import Curve, Step, merged, verdict
from tests.tools.hostile.sizes.race import Budget, Race
from tests.tools.hostile.sizes.servers import Cost, parties


def names() -> set[str]:
    return {
        each.name.decode()
        for parent in commands()
        for each in (parent, *commands(parent.subcommands))
        if each.handler is not None
    }


def test_every_command_is_grown_or_left_out_for_a_reason() -> None:
    told = {command.name.decode(): (ways, reason) for command, ways, reason in forms()}
    assert told.keys() == names()
    assert all(bool(ways) != bool(reason) for ways, reason in told.values())
    found = growths()
    assert {name for name, several in found.items() if not several} == {
        name for name, (_, reason) in told.items() if reason
    }
    assert LEFT_OUT.keys() <= told.keys()
    assert len(LEFT_OUT) < 10


def test_every_argument_is_grown_by_some_request() -> None:
    for _, ways, _ in forms():
        for form in ways:
            grown = {id(growth.argument) for growth in growths_of(form)}
            if any(growth.whole for growth in growths_of(form)):
                continue
            missing = [
                route[-1].name
                for route in routes(form.arguments)
                if route[-1].kind != "pure-token" and id(route[-1]) not in grown
            ]
            assert not missing, form.name


def test_the_exceptions_are_few_and_have_reasons() -> None:
    assert len(EXCUSES) <= MOST == 10
    assert all(row.reason and row.commands <= names() for row in EXCUSES)


def test_an_exception_for_a_factor_allows_neither_a_larger_one_nor_faster_growth() -> None:
    row = Excuse(frozenset({"geohash"}), "member*", "a reason", 50)
    assert row.covers("geohash", "member repeated")
    assert not row.covers("geohash", "key: letters")
    assert row.allows("30 times as much: 0.3 s at 100,000, Redis 0.01 s")
    assert not row.allows("60 times as much: 0.6 s at 100,000, Redis 0.01 s")
    assert not row.allows("grows with exponent 2.0, Redis's 1.0: 0.3 s at 100,000, Redis 0.01 s")
    assert not row.allows("at 100,000 miniredis stalls: no reply in 2.0 s, Redis took 0.01 s")


# The judge


def curve(ours: Sequence[float], theirs: Sequence[float], memory: Sequence[int] = ()) -> Curve:
    steps = [
        Step(10 ** (place + 3), Cost(a, room, 100), Cost(b, 0, 100))
        for place, (a, b, room) in enumerate(zip(ours, theirs, memory or [0] * len(ours), strict=True))
    ]
    return Curve(steps)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([0.0001, 0.0001, 0.0001], [0.0001, 0.0001, 0.0001]),
        ([0.001, 0.01, 0.1], [0.0001, 0.001, 0.01]),  # linear, as Redis, and 10 times as long
        ([0.0001, 0.001, 0.01], [0.0001, 0.0001, 0.0001]),  # noise
        ([0.001, 0.05, 2.0], [0.001, 0.05, 2.0]),  # quadratic, as Redis
    ],
)
def test_growth_like_that_of_redis_passes(ours: list[float], theirs: list[float]) -> None:
    assert not verdict(curve(ours, theirs))


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        ([0.001, 0.01, 0.3], [0.0001, 0.001, 0.01], "30 times"),
        ([0.001, 0.01, 0.4], [0.001, 0.005, 0.03], "exponent"),
        ([0.0002, 0.01, 1.0], [0.001, 0.01, 0.1], "exponent"),
    ],
)
def test_a_command_that_takes_longer_or_grows_faster_than_redis_fails(
    ours: list[float], theirs: list[float], word: str
) -> None:
    assert word in verdict(curve(ours, theirs))


def test_a_command_that_uses_more_memory_than_was_sent_fails() -> None:
    flat = [0.001] * 3
    assert "memory" in verdict(curve(flat, flat, [0, 10 << 20, 100 << 20]))
    assert not verdict(curve(flat, flat, [0, 1 << 20, 10 << 20]))


# Real servers

QUADRATIC = """
import sys
from miniredis.engine.declarations.registry import LOOKUP
from miniredis.engine import engine
from miniredis.__main__ import main

def slow(handler):
    def handle(session, args):
        key = session.db.values.get(args[1])
        for _ in range(len(key or ()) // 2):
            bytes(len(key) * 8)
        return handler(session, args)
    return handle

for name in (b"llen", b"LLEN"):
    LOOKUP[name].handler = slow(LOOKUP[name].handler)
    break
main(sys.argv[1:])
"""


def spoilt(port: int) -> list[str]:
    return [sys.executable, "-c", QUADRATIC, "--port", str(port), "--enable-debug-command", "yes"]


def growth_of(command: str, what: str) -> Growth:
    return next(growth for growth in growths()[command] if growth.what == what)


def test_the_best_of_each_size_in_two_runs_counts() -> None:
    first, second = curve([0.1, 9.0], [0.1, 0.2], [5, 5]), curve([0.3, 0.2, 2.0], [0.2, 0.1, 0.9], [9, 1, 3])
    both = merged(first, second)
    assert both == merged(second, first) == curve([0.1, 0.2, 2.0], [0.1, 0.1, 0.9], [5, 1, 3])
    assert verdict(first)
    assert not verdict(both)


def test_a_stall_in_one_of_two_runs_does_not_count() -> None:
    answered = curve([0.1, 0.2], [0.1, 0.2])
    stalled = Curve([*answered.steps[:1], Step(10_000, None, Cost(0.2, 0, 100), "miniredis stalls")])
    assert verdict(stalled)
    assert not verdict(merged(stalled, answered))
    assert verdict(merged(stalled, stalled)) == verdict(stalled)


@pytest.fixture(scope="module")
def race(redis_7_0: Address) -> Iterator[Race]:
    with parties(spoilt) as both:
        yield Race(both, Budget(largest=100_000, seconds=0.3))


@pytest.mark.exhaustive
def test_a_quadratic_command_fails(race: Race) -> None:
    assert verdict(race.run(growth_of("llen", "key, a list")))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("lrange", "key, a list"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (("strlen", "key: letters"), ("sadd", "member repeated"))
        ),
    ],
)
def test_a_linear_command_passes(race: Race, command: str, what: str) -> None:
    assert not verdict(race.run(growth_of(command, what)))


def test_an_older_redis_is_refused_with_the_version_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], older_redis: Path
) -> None:
    monkeypatch.setenv("CONFORMANCE_REDIS_SERVER", str(older_redis))
    assert main(["llen"]) == 2
    assert "does it take the directives enable-debug-command" in capsys.readouterr().err


def test_the_command_lists_what_it_would_grow(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "lrem"]) == 0
    assert "lrem: element: stars" in capsys.readouterr().out


def test_a_form_has_a_growth_for_each_kind_of_size() -> None:
    told = {growth.what for growth in growths()["lpos"]}
    assert {"key, a list", "key: letters", "COUNT: digits"} <= told
    assert "key repeated" in {growth.what for growth in growths()["del"]}
    assert isinstance(next(iter(forms()))[1][0], Form)
