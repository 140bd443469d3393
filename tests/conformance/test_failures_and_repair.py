"""After a failure at any step of any operation, a repair restores the queue and loses no more than documented."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest

from pressure import (
    ConnectionFailedError,
    OutcomeUnknownError,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    protocol,
)
from pressure.protocol.doctor import doctor
from pressure.protocol.repair import repair as repair_queue
from tests.cases import exhaustive
from tests.tools.simulation import FAULTS, Actor, Fault, Simulation, operation

from .failure_scenarios import GET_NOW, GETS, LIVES, PUTS, RECEIPTS, SCENARIOS, Scenario, at_once, put


class Run:
    """One run of a scenario: who took part, and what they got."""

    def __init__(self, scenario: Scenario, scripts: bool) -> None:
        self.scenario = scenario
        self.simulation = simulation = Simulation(lambda _: 0, scripts=scripts)
        if scenario.bound is not None:
            simulation.do(operation(protocol.create, scenario.bound))
        for value in scenario.values:
            simulation.do(put(value))
        scenario.setup(simulation)
        simulation.pass_time(100)
        self.actors = [
            simulation.actor(name).will(*work)
            for name, work in (
                ("first", scenario.first), ("victim", scenario.victim), ("beside", scenario.beside)
            )
        ]  # fmt: skip
        self.victim = self.actors[1]

    def to_its_end(self) -> None:
        """All do what they will, and hang up."""
        self.simulation.run()
        for actor in self.actors:
            if actor.alive:
                actor.kill()

    @property
    def got(self) -> list[bytes]:
        """What the clients got."""
        return [value for actor in self.actors for value in values_in(actor)]


def values_in(actor: Actor) -> Iterator[bytes]:
    for result in actor.results:
        if isinstance(result, list):
            yield from result
        elif isinstance(result, bytes):
            yield result


TOLD = [each for each in FAULTS if each != "dies before"]
"""To the server a client that died before it sent something is one whose command was lost; that one is told, too."""


def failures(scenario: Scenario, scripts: bool, every: bool) -> Iterator[tuple[Run, str]]:
    """A run for everything that may go wrong at each step, or for one such thing in turn; one where nothing does."""
    undisturbed = Run(scenario, scripts)
    undisturbed.to_its_end()
    yield undisturbed, "nothing"
    for step, size in enumerate(undisturbed.victim.sizes, 1):
        for fault in TOLD if every else (in_turn(step),):
            for cut in range(1, size) if fault == "cut short" else (0,):
                yield failing(Run(scenario, scripts), step, fault, cut), f"{fault} ({cut}) at step {step}"


def in_turn(step: int) -> Fault:
    """At every second step the reply is lost, which leaves most behind; at the others each thing in turn."""
    return "reply lost" if step % 2 else TOLD[step // 2 % len(TOLD)]


def failing(run: Run, step: int, fault: Fault, cut: int) -> Run:
    run.victim.fails(step, fault, cut)
    run.to_its_end()
    assert not run.victim.alive
    return run


def repair(run: Run, *, force: bool) -> None:
    """Repairs the queue, if there is one."""
    with suppress(QueueDoesNotExistError):
        report = run.simulation.do(operation(repair_queue, force))
        assert report.left == (), "left alone by the repair"


def expect_whole(run: Run) -> list[bytes]:
    """The values of a queue for which the invariant holds in its strict form."""
    keys, ask = run.simulation.keys, run.simulation.ask
    bound, length = int(ask("GET", keys.bound)), ask("LLEN", keys.queue)
    assert [ask("LLEN", key) for key in (keys.producer_free, keys.consumer_free)] == [1, 1]
    assert ask("LLEN", keys.not_full) == int(bound == 0 or length < bound), "the token"
    assert ask("LLEN", keys.closed) in (0, 2), "marks"
    assert ask("LLEN", keys.unacked) == 0
    produced, consumed = (
        int(ask("GET", key) or 0) for key in (keys.produced_messages, keys.consumed_messages)
    )
    uncounted = produced - consumed - length
    assert 0 <= uncounted <= run.scenario.gone, "the counters"
    assert len(run.simulation.do(operation(doctor)).problems) == bool(uncounted)
    values: list[bytes] = ask("LRANGE", keys.queue, 0, -1)
    return values[::-1]


def expect_nothing_else_missing(run: Run, left: list[bytes], *, disturbed: bool) -> None:
    scenario, seen = run.scenario, Counter(run.got + left)
    stored = [value for value in scenario.order if value not in scenario.puts or seen[value]]
    puts = [value for value in scenario.puts if seen[value]]
    assert puts == [*scenario.puts[: len(puts) if disturbed else None]], "one that should be is not put"
    assert left == stored[len(stored) - len(left) :], "the order"
    missing = [value for value in stored if not seen[value]]
    assert len(missing) <= scenario.gone * disturbed, f"{missing} are gone"
    twice = sum(count - 1 for count in seen.values() if count > 1)
    assert twice <= scenario.twice, "too many came twice"


def expect_told(run: Run, left: list[bytes]) -> None:
    """What returned was done; who was told that nothing was changed, has changed nothing."""
    results, puts = run.victim.results, run.scenario.puts
    broken = [each for each in results if isinstance(each, OutcomeUnknownError | ConnectionFailedError)]
    assert broken in ([], results[-1:])
    if run.scenario not in PUTS.values():
        return
    done = results.count(None)
    acknowledged = puts if done == len(run.scenario.victim) else puts[:done]
    stored = [value for value in puts if value in left + run.got]
    assert stored[: len(acknowledged)] == [*acknowledged], "what was acknowledged is not there"
    if broken and isinstance(broken[0], ConnectionFailedError):
        assert stored == [*acknowledged], "something was put of which nothing should be"


def expect_usable(run: Run, left: list[bytes]) -> None:
    """What is left can be got; then, unless the queue is closed, values go in and out again."""
    consumer = run.simulation.actor("next").will(*[GET_NOW] * (len(left) + 1))
    run.simulation.run()
    assert consumer.results[:-1] == left
    if isinstance(consumer.results[-1], QueueClosedError):
        return
    assert isinstance(consumer.results[-1], QueueEmptyError)
    consumer.will(put(b"z", at_once), GET_NOW)
    run.simulation.run()
    assert consumer.results[-2:] == [None, b"z"]


SCRIPTED = PUTS | GETS | RECEIPTS | {name: each for name, each in LIVES.items() if "close" in name}
"""What the server can do in one script; all else is sent as plain batches wherever there are scripts, too."""


@pytest.mark.parametrize("every", [False, exhaustive(True)], ids=["some", "every"])
@pytest.mark.parametrize(
    ("name", "scripts"),
    [
        *(exhaustive(name, False, id=f"{name}-plain", when=at % 2 > 0) for at, name in enumerate(SCENARIOS)),
        *(exhaustive(name, True, id=f"{name}-scripts", when=at % 3 > 0) for at, name in enumerate(SCRIPTED)),
    ],
)
def test_a_repair_restores_the_queue_after_a_failure_at_any_moment(
    name: str, scripts: bool, every: bool
) -> None:
    """In the default run after one failure at each step, in the exhaustive run after every failure."""
    if scripts:
        pytest.importorskip("lupa", reason="scripts need the extra 'lua'")
    scenario, count = SCENARIOS[name], 0
    for run, what in failures(scenario, scripts, every):
        count += 1
        try:
            expect_restored(run, force=bool(count % 2), disturbed=what != "nothing")
        except Exception as error:
            error.add_note(f"{name}: {what}")
            raise
    assert count >= 2


def expect_restored(run: Run, *, force: bool, disturbed: bool) -> None:
    if disturbed:
        repair(run, force=force)
    if not run.simulation.ask("EXISTS", run.simulation.keys.bound):
        assert run.scenario.may_be_gone
        assert run.simulation.ask("DBSIZE") == 0
        return
    left = expect_whole(run)
    expect_nothing_else_missing(run, left, disturbed=disturbed)
    expect_told(run, left)
    expect_usable(run, left)
