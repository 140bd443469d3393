"""Exploring all states: it reaches every end, finds a bug by a shortest schedule, and reports what it left out."""

from __future__ import annotations

import importlib
from collections.abc import Hashable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pressure import protocol
from pressure.protocol import Batch, Deadline, healing, lua, problems, receiving, role, roles, scripts, waits
from tests.cases import exhaustive
from tests.tools.simulation import Choose, Simulation, every_run
from tests.tools.simulation.__main__ import main
from tests.tools.simulation.documents import HOLES
from tests.tools.simulation.drawing import picture
from tests.tools.simulation.explore import STUCK, Violation, explore, replay
from tests.tools.simulation.gist import gist
from tests.tools.simulation.moves import Game
from tests.tools.simulation.scenario import FORCED_REPAIR, Member, Scenario
from tests.tools.simulation.scenarios import ALL, LARGE, SCENARIOS
from tests.tools.simulation.schedules import read, written
from tests.tools.simulation.wander import shrunk, wander

# The names of these modules are also those of functions in the package.
PUT, GET, REPAIR = (importlib.import_module(f"pressure.protocol.{name}") for name in ("put", "get", "repair"))

MODES = pytest.mark.parametrize("scripts", [False, True], ids=["plain", "scripts"])


@pytest.fixture(autouse=True)
def with_lua(request: pytest.FixtureRequest) -> None:
    if "scripts" in request.fixturenames and request.getfixturevalue("scripts"):
        pytest.importorskip("lupa", reason="scripts need the extra 'lua'")


# What is reached


def ends_of(game: Game) -> set[Hashable]:
    """Of each end the values and what everybody's operations came to."""
    ends: set[Hashable] = set()
    seen, left = {game.start}, [game.start]
    for state in left:
        if game.is_over(state):
            results = [tuple(map(str, local.results)) for local in game.locals(state)]
            ends.add((game.server(state).values, *results))
            continue
        for _, after in game.moves(state):
            if after not in seen:
                seen.add(after)
                left.append(after)
    return ends


def ends_of_every_run(scenario: Scenario, scripts: bool) -> tuple[int, set[Hashable]]:
    """The same, by running the scenario in every way there is; and how many ways there are."""
    ends: set[Hashable] = set()

    def run(choose: Choose) -> None:
        simulation = Simulation(choose, scripts=scripts)
        simulation.do(lambda ctx: protocol.create(ctx, scenario.bound or 0))
        for member in scenario.members:
            deeds = [lambda ctx, deed=deed: deed.begin(ctx, Deadline.of(ctx)) for deed in member.deeds]
            simulation.actor(member.name).will(*deeds)
        simulation.run()
        results = [
            tuple(type(each).__name__ if isinstance(each, Exception) else str(each) for each in actor.results)
            for actor in simulation.actors
        ]
        ends.add((values_of(simulation), *results))

    return every_run(run), ends


def values_of(simulation: Simulation) -> Hashable:
    ask = simulation.ask
    return tuple(
        (key, tuple(ask("LRANGE", key, 0, -1)) if ask("TYPE", key) == b"list" else ask("GET", key))
        for key in sorted(ask("KEYS", "*"))
    )


@pytest.mark.parametrize(
    ("name", "scripts", "states"),
    [
        exhaustive("one-each", False, 22),
        ("two-producers", False, 31),
        ("close-while-get-waits", False, 19),
        ("two-producers", True, 5),
    ],
)
def test_exploring_reaches_the_final_states_of_all_runs(name: str, scripts: bool, states: int) -> None:
    scenario = SCENARIOS[name]
    found = explore(Game(scenario, scripts=scripts))
    runs, ends = ends_of_every_run(scenario, scripts)
    assert found.violation is None
    assert found.whole
    assert found.states == states
    assert ends_of(Game(scenario, scripts=scripts)) == ends
    assert len(ends) == found.ends
    assert runs >= found.ends


@pytest.mark.parametrize(
    "name",
    ["one-each", "two-producers-full", "two-consumers", pytest.param("close-beside", marks=pytest.mark.slow)],
)
def test_states_of_a_client_with_the_same_digest_are_the_same(name: str) -> None:
    merged, exact = Game(SCENARIOS[name]), Game(SCENARIOS[name], exact=True)
    assert ends_of(merged) == ends_of(exact)
    assert sum(len(each.states) for each in merged.clients) < sum(len(each.states) for each in exact.clients)


def test_operations_at_different_steps_are_told_apart() -> None:
    def twice() -> Any:
        yield
        yield

    one, other = twice(), twice()
    assert gist(one) == gist(other)
    next(one)
    assert gist(one) != gist(other)
    next(other)
    assert gist(one) == gist(other)
    next(one)
    assert gist(one) != gist(other)


def test_a_client_that_loses_the_reply_to_a_wait_loses_its_value() -> None:
    game = Game(SCENARIOS["one-each-dies"])
    state = game.start
    for move in read("c*2 c!reply-lost p*3"):
        assert game.server(state).connected[1]
        state = dict(game.moves(state))[move]
    producer, consumer = game.locals(state)
    assert (producer.dead, consumer.dead) == (False, True)
    assert [str(result) for result in consumer.results] == ["OutcomeUnknownError"]
    assert not game.server(state).connected[1]
    assert game.contents(state[0]).values == ()


def test_the_operations_of_a_client_must_be_given() -> None:
    with pytest.raises(TypeError, match="what a object will do is not known"):
        gist(object())


def test_a_limit_is_kept_and_reported() -> None:
    found = explore(Game(SCENARIOS["two-each"]), limit=100)
    assert 100 < found.states < 110
    assert not found.whole
    assert found.violation is None


# What is broken is found


def eats_the_mark(ctx: Any, mark: bytes, bound: Any) -> Any:
    yield Batch(((b"GET", ctx.keys.bound),))
    raise problems.is_closed(ctx, role.CONSUMER)


def keeps_the_role(ctx: Any, hold: Any, body: Any) -> Any:
    return (yield from body)


def takes_no_token(ctx: Any, hold: Any, deadline: Any) -> Any:
    bound, length = yield Batch(((b"GET", ctx.keys.bound), (b"LLEN", ctx.keys.queue)))
    return int(bound), length


def leaves_two_tokens(ctx: Any) -> Any:
    return (b"LPUSH", ctx.keys.not_full, 0), (b"LTRIM", ctx.keys.not_full, 0, 1)


def does_not_watch_the_bound(ctx: Any, hold: Any, *watched: bytes) -> Any:
    return roles.is_ours(ctx, hold)


STORE = PUT._store


def pushes_at_the_wrong_end(keys: Any, values: Any) -> Any:
    return ((b"RPUSH", keys.queue, *values), *STORE(keys, values)[1:])


def counts_no_bytes(keys: Any, values: Any) -> Any:
    return STORE(keys, values)[:-1]


def pushes_twice(keys: Any, values: Any) -> Any:
    return ((b"LPUSH", keys.queue, *values, *values), *STORE(keys, values)[1:])


def pushes_nothing(keys: Any, values: Any) -> Any:
    return ((b"LLEN", keys.queue), *STORE(keys, values)[1:])


def takes_the_newest(ctx: Any) -> Any:
    return (b"LMOVE", ctx.keys.queue, ctx.keys.unacked, b"LEFT", b"LEFT")


def knows_no_bound(ctx: Any, reply: Any) -> Any:
    raise ZeroDivisionError("of all things")


def puts_back_at_the_wrong_end(ctx: Any) -> Any:
    return (b"LMOVE", ctx.keys.unacked, ctx.keys.queue, b"LEFT", b"LEFT")


def restores_nothing(*_: Any) -> Any:
    return 0
    yield


def leaves_no_mark(keys: Any, role: Any, _: Any) -> Any:
    return (b"GET", role.holder(keys)), (b"LPUSH", role.free(keys), 0)


def counts_nothing(*_: Any) -> Any:
    return 0, 0
    yield


BROKEN: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "eats the mark": ("close-while-get-waits", {"waits._closed_meanwhile": eats_the_mark}, "marks of the close: 1", "x*2 c*2 x c*4"),
    "keeps its role on errors": ("close-beside", {"get.holding": keeps_the_role}, f"{STUCK}: c2 for :consumer_free", "c1 c2*2 x*3 p*3 c1"),
    "takes no token": ("two-each", {"put.wait_for_room": takes_no_token}, "there are 3 values, and the bound is 1", "p1*9 p2*4"),
    "leaves two tokens": ("room", {"put.refill": leaves_two_tokens, "get.refill": leaves_two_tokens}, "there are 2 tokens", "p*3 c*3"),
    "does not watch the bound": ("delete-beside", {"put.is_ours": does_not_watch_the_bound}, "a value is put to a queue that was deleted", "p*2 d*2 p"),
    "pushes at the wrong end": ("two-producers", {"put._store": pushes_at_the_wrong_end}, "a value goes in at the wrong end", "p1*3 p2*3"),
    "counts no bytes": ("one-each", {"put._store": counts_no_bytes}, "the counters are wrong by 0 messages and -1 bytes", "p*4"),
    "pushes twice": ("one-each", {"put._store": pushes_twice}, "1 is there twice", "p*3"),
    "pushes nothing": ("two-producers", {"put._store": pushes_nothing}, "1 was put, and is gone", "p1*3 p2*3"),
    "takes the newest": ("reliable-room", {"receiving._take": takes_the_newest}, "a value comes out that is not the oldest", "p*6 c1*2"),
    "raises anything": ("one-each", {"put.bound_of": knows_no_bound}, "p's put raised ZeroDivisionError: of all things", "p*4"),
    "puts back at the wrong end": ("reliable-room", {"receiving.put_back": puts_back_at_the_wrong_end}, "a value that is put back does not come next", "p*6 c2*4"),
    "restores no token": ("full-dies", {"repair._restore_token": restores_nothing}, "after a repair there are 0 tokens, and 0 values", "p*3 c c!dies-waiting p~ p*3"),
    "leaves no mark": ("forced", {"healing.release_commands": leaves_no_mark}, ":producer_free has 2 elements: the role is there twice", "p1*2 r*3 p1"),
    "restores no counters": ("full-dies", {"repair.restore_counters": counts_nothing}, "after a repair the counters are wrong by 1 messages, 1 bytes", "p*3 c c!dies-waiting p~ p*3"),
}  # fmt: skip
MANY_STATES = {"takes no token", "keeps its role on errors"}
FORCED = Scenario("forced", (*SCENARIOS["two-producers"].members, Member("r", (FORCED_REPAIR,))), 2, tries=2)
MODULES = {
    "healing": healing,
    "put": PUT,
    "get": GET,
    "repair": REPAIR,
    "waits": waits,
    "receiving": receiving,
}
MORE = {
    "forced": FORCED,
    "room": replace(SCENARIOS["one-each"], bound=2),
    "reliable-room": replace(SCENARIOS["reliable"], bound=2),
}


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] if name in MANY_STATES else []) for name in BROKEN]
)
def broken(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Scenario, Violation]:
    """A scenario with clients of which something is wrong, and what is to be found."""
    name, patches, what, schedule = BROKEN[request.param]
    for place, function in patches.items():
        module, _, attribute = place.partition(".")
        monkeypatch.setattr(MODULES[module], attribute, function)
    return {**SCENARIOS, **MORE}[name], Violation(what, read(schedule))


def test_a_violation_is_found_with_a_shortest_schedule(broken: tuple[Scenario, Violation]) -> None:
    scenario, expected = broken
    found = explore(Game(scenario), about=expected.what)
    assert found.violation is not None
    assert (found.violation.what, written(found.violation.schedule)) == (
        expected.what,
        written(expected.schedule),
    )
    assert replay(Game(scenario), found.violation.schedule, expected.what) == found.violation


def test_with_scripts_the_stronger_invariant_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lupa", reason="scripts need the extra 'lua'")
    one_more = lua.PUT.text.replace(b"limit == 0 or length < limit", b"limit == 0 or length <= limit")
    monkeypatch.setattr(scripts, "PUT", lua.Script(one_more))
    found = explore(Game(SCENARIOS["one-each"], scripts=True))
    assert found.violation == Violation("the queue is full, and there is a token", ("p", "p"))


@pytest.mark.parametrize(
    "broken", ["eats the mark", "does not watch the bound", "counts no bytes"], indirect=True
)
def test_a_schedule_found_at_random_is_shrunk(broken: tuple[Scenario, Violation]) -> None:
    scenario, expected = broken
    found = wander(Game(scenario), 500)
    assert found.violation is not None
    assert found.seed == found.runs - 1
    again = wander(Game(scenario), 1, found.seed)
    assert again.violation == found.violation
    assert len(found.violation.schedule) == len(expected.schedule)


@pytest.mark.slow
def test_shrinking_leaves_no_move_that_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_closed_meanwhile", eats_the_mark)
    game = Game(SCENARIOS["close-beside"])
    found = wander(game, 500).violation
    assert found is not None
    assert shrunk(game, found) == found
    for at in range(len(found.schedule)):
        shorter = replay(game, found.schedule[:at] + found.schedule[at + 1 :], strict=False)
        assert shorter is None or len(shorter.schedule) >= len(found.schedule)


# What the documents ask for, and what rests on time

SCHEDULES = {
    "role-kept": "x*6 c1*5 c2*2",
    "bound-passed": "p*5 c*5 p*12 c p*10 c*2 p",
    "bound-passed-by-pseudocode": "p*5 c*5 p*22 c p",
    "token-skipped": "p1*9",
    "put-after-delete": "p*5 d*3 p",
    "waits-for-role-for-ever": "c d*8 c d*9",
    "create-in-delete": "d*2 n*5 d*5 n d*10",
    "marks-eaten": "w c*5 x*5 c x",
    "dead-holder": "p1 p1!dies-waiting p2*2",
}


@pytest.mark.parametrize("name", HOLES)
def test_the_known_holes_of_the_documents_are_found(name: str) -> None:
    found = explore(Game(HOLES[name].scenario), about=HOLES[name].about)
    assert found.violation is not None
    assert written(found.violation.schedule) == SCHEDULES[name]


def test_guarantees_that_depend_on_timing_are_violated_when_timing_is_not_kept() -> None:
    """A delete that waited a slice trusts that others went on."""
    assert explore(Game(SCENARIOS["delete-beside"])).violation is None
    found = explore(Game(SCENARIOS["delete-beside"], free=True))
    assert found.violation is not None
    assert found.violation.what == "the queue was deleted, and 1 keys are left: :producer_free"


@pytest.mark.slow
@MODES
def test_a_repair_that_trusts_that_time_has_passed_when_it_has_not_does_no_harm(scripts: bool) -> None:
    """Whoever is freed by mistake is fenced."""
    assert explore(Game(SCENARIOS["leases"], scripts=scripts, free=True)).violation is None


@pytest.mark.parametrize(
    "scripts", [pytest.param(False, id="plain", marks=pytest.mark.slow), pytest.param(True, id="scripts")]
)
def test_a_forced_repair_at_any_moment_never_lets_two_hold_a_role(scripts: bool) -> None:
    assert explore(Game(FORCED, scripts=scripts)).violation is None


# How it is shown


def test_a_schedule_is_read_back_as_it_was_written() -> None:
    moves = ("p", "p", "c", "p!cut-short-2", "c~", "c~")
    assert written(moves) == "p*2 c p!cut-short-2 c~*2"
    assert read(written(moves)) == moves


def test_a_violation_is_drawn_with_a_lane_for_each_client() -> None:
    game = Game(HOLES["marks-eaten"].scenario)
    found = explore(game, about=HOLES["marks-eaten"].about)
    assert found.violation is not None
    evidence = picture(game, found.violation)
    lines = evidence.text.splitlines()
    assert lines[0] == f"schedule: {SCHEDULES['marks-eaten']}"
    assert lines[-1] == "the queue was closed, and 0 marks are left"
    assert " 11 x       LPUSH :closed 0 0" in lines
    assert lines[lines.index(" 11 x       LPUSH :closed 0 0") + 2] == "    w       -> [:closed 0]"
    drawn = ET.fromstring(evidence.markup)  # noqa: S314, our own
    words = [each.text for each in drawn.iter() if each.tag.endswith("text")]
    assert {"w", "c", "x", "LPUSH :closed 0 0"} <= set(words)
    assert "color" not in evidence.markup.replace("currentColor", "")


def test_the_command_prints_a_row_for_each_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", "one-each", "--plain"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["scenario", "mode", "faults"]
    assert row.split()[:6] == ["one-each", "plain", "0", "22", "34", "1"]
    assert row.endswith("right in all")


def test_the_command_says_what_it_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", "two-each", "--plain", "--limit", "50"]) == 0
    assert "stopped at 5" in capsys.readouterr().out
    assert main(["--scenario", "crowd-dies", "--plain", "--random", "2", "--seed", "7"]) == 0
    assert "right in 2 runs by luck from seed 7 on; not all states" in capsys.readouterr().out


def test_the_command_draws_a_violation_and_prints_the_schedule_that_repeats_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    drawn = tmp_path / "hole.svg"
    assert main(["--scenario", "dead-holder", "--svg", str(drawn)]) == 1
    *_, last = capsys.readouterr().out.splitlines()
    assert last.endswith('--schedule "p1 p1!dies-waiting p2*2"')
    assert ET.fromstring(drawn.read_text()).tag.endswith("svg")  # noqa: S314, our own
    assert main(["--scenario", "dead-holder", "--schedule", "p1 p1!dies-waiting p2*2"]) == 1
    assert main(["--scenario", "one-each", "--plain", "--schedule", "p*4"]) == 0
    assert "nothing is wrong" in capsys.readouterr().out


def test_a_move_that_is_not_possible_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--scenario", "one-each", "--plain", "--schedule", "p q"])
    assert "the move q is not possible after p" in capsys.readouterr().err


@pytest.mark.slow
def test_several_processes_find_the_same_states(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", "one-each", "--scenario", "two-producers", "--plain", "--processes", "2"]) == 0
    rows = [line.split()[:6] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [
        ["one-each", "plain", "0", "22", "34", "1"],
        ["two-producers", "plain", "0", "31", "40", "2"],
    ]


def test_no_two_scenarios_share_a_name() -> None:
    assert len({*SCENARIOS, *HOLES}) == len(ALL) + len(LARGE) + len(HOLES)


# All of it

FEW_STATES = (
    "one-each two-producers two-consumers one-each-full two-producers-full over-filled "
    "close-while-get-waits close-beside two-closers delete-while-put-waits delete-beside two-deleters "
    "create-beside-delete create-dies reliable reliable-closed one-each-dies full-dies delete-dies reliable-dies "
    "two-producers-die close-dies many-dies leases"
).split()
"""The scenarios that are explored in the exhaustive run; the slow run explores the others."""


@MODES
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each.name, marks=pytest.mark.exhaustive if each.name in FEW_STATES else pytest.mark.slow)
        for each in ALL
    ],
)
def test_every_named_scenario_is_right_in_all_its_states(name: str, scripts: bool) -> None:
    found = explore(Game(SCENARIOS[name], scripts=scripts))
    assert found.violation is None
    assert found.whole


@pytest.mark.slow
@MODES
@pytest.mark.parametrize("name", [each.name for each in LARGE])
def test_many_clients_are_right_in_random_runs(name: str, scripts: bool) -> None:
    assert wander(Game(SCENARIOS[name], scripts=scripts), 1000).violation is None
