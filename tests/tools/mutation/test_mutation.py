"""The mutation machine itself: which mutants it generates, which clauses and tests reach them, and who convicts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cases import exhaustive

from . import __main__, model, operators, reach, report
from .bench import Benches
from .beyond import BEYOND, BEYOND_FUNCTIONS, BEYOND_LINES
from .equivalent import EQUIVALENT, reason_of
from .judges import Outcome, ProjectTests, Suite
from .model import ROOT, Mutant
from .operators import mutants_of
from .reach import reaching
from .written import COMPARED, CONVICTED

SMALL = '''"""A small file."""

from __future__ import annotations

ANSWER = 42


def double(number: int | None) -> int:
    if number is None:
        return 0
    return number * 2


def nothing() -> None:
    return None


LUA = """
local ours = redis.call('GET', KEYS[1]) == ARGV[1]
if ours and not kept then redis.call('LPUSH', KEYS[2], -1) end -- and
"""
'''

SMALL_MUTANTS = {
    "ANSWER = 43", "ANSWER = 41", "if number is not None:", "pass", "return 1", "return -1", "return number // 2",
    "return number * 3", "return number * 1",
    "local ours = redis.call('GET', KEYS[0]) == ARGV[1]", "local ours = redis.call('GET', KEYS[2]) == ARGV[1]",
    "local ours = redis.call('GET', KEYS[1]) ~= ARGV[1]", "local ours = redis.call('GET', KEYS[1]) == ARGV[0]",
    "local ours = redis.call('GET', KEYS[1]) == ARGV[2]",
    "if not (ours and not kept) then redis.call('LPUSH', KEYS[2], -1) end -- and",
    "if ours or not kept then redis.call('LPUSH', KEYS[2], -1) end -- and",
    "if ours and  kept then redis.call('LPUSH', KEYS[2], -1) end -- and",
    "if ours and not kept then redis.call('RPUSH', KEYS[2], -1) end -- and",
    "if ours and not kept then redis.call('LPUSH', KEYS[1], -1) end -- and",
    "if ours and not kept then redis.call('LPUSH', KEYS[3], -1) end -- and",
    "if ours and not kept then redis.call('LPUSH', KEYS[2], 1) end -- and",
    "if ours and not kept then redis.call('LPUSH', KEYS[2], -2) end -- and",
    "if ours and not kept then redis.call('LPUSH', KEYS[2], -0) end -- and",
}  # fmt: skip


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the file in a project of its own."""
    for module in (model, operators, reach):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "small.py").write_text(SMALL)
    return "small.py"


@pytest.fixture(scope="module")
def benches() -> Iterator[Benches]:
    """One copy of the project for all tests, since making it takes longer than most of them."""
    with Benches(1) as made:
        yield made


def test_each_row_of_the_equivalent_fits_a_generated_mutant() -> None:
    made = {
        file: Counter(each.changed() for each in mutants_of(file))
        for file in {row.file for row in EQUIVALENT}
    }
    for row in EQUIVALENT:
        assert row.reason
        assert all(made[row.file][row.line, becomes] for becomes in row.becomes), row


def test_the_first_of_one_reply_is_the_last() -> None:
    made = [
        each
        for each in mutants_of("pressure/kinds/reliable/stream.py")
        if "check([time])[" in each.changed()[1]
    ]
    by_end = {each.changed()[1].rpartition("[")[2]: reason_of(each) for each in made}
    assert by_end["-1])"] is not None
    assert by_end["1])"] is None


def test_each_file_and_line_that_the_suite_is_not_asked_about_is_there_and_has_a_reason() -> None:
    assert {file for file in BEYOND if (ROOT / file).is_file()} == BEYOND.keys()
    assert all((*BEYOND.values(), *BEYOND_LINES.values(), *BEYOND_FUNCTIONS.values()))
    for file, name in BEYOND_FUNCTIONS:
        assert f"\ndef {name}(" in (ROOT / file).read_text(), name
    for file, line in BEYOND_LINES:
        assert line in map(str.strip, (ROOT / file).read_text().splitlines()), line
    assert not set(__main__.asked("suite", ["pressure.protocol"])) & set(
        mutants_of("pressure/protocol/doctor.py")
    )
    assert set(mutants_of("pressure/protocol/doctor.py")) < set(
        __main__.asked("tests", ["pressure.protocol"])
    )


def test_the_operators_change_python_and_the_lua_in_it(small: str) -> None:
    made = list(mutants_of(small))
    assert {each.changed()[1] for each in made} == SMALL_MUTANTS
    assert len({(each.at, each.becomes) for each in made}) == len(made)
    first = made[0]
    assert first.place == "small.py:5:10 has another number"
    assert first.source() == SMALL.replace("42", first.becomes)


@pytest.mark.parametrize(
    "file",
    [
        "miniredis/engine/clients/waiting.py",
        "pressure/protocol/lua.py",
        exhaustive("pressure/protocol/doctor.py"),
    ],
)
def test_generated_mutants_are_python(file: str) -> None:
    for each in mutants_of(file):
        compile(each.source(), file, "exec", dont_inherit=True)


@pytest.mark.exhaustive  # four seconds of processor time: it records what clauses execute
def test_a_mutant_is_judged_by_who_executes_its_statement(small: str) -> None:
    recorded = {
        "both": (2.0, {small: [9, 11]}),
        "none": (0.5, {small: [9, 10]}),
        "else": (1.0, {"other/file.py": [11]}),
    }
    by_text = {each.changed()[1]: reaching(each, recorded) for each in mutants_of(small)}
    assert by_text["return number * 3"] == ["both"]
    assert by_text["return 1"] == ["none"]
    assert by_text["if number is not None:"] == ["none", "both"]
    assert by_text["ANSWER = 43"] == ["none", "both"]


def test_the_recorder_sees_the_lines_that_threads_execute(benches: Benches) -> None:
    code = (
        "import threading\nfrom tests.tools.mutation.reach import Recorder\nimport pressure.text\nfrom miniredis.engine"
        ".numbers import numbers\nrecorder = Recorder()\nthread = threading.Thread(target=numbers.read_integer, args=(b'7',))\n"
        "thread.start(); thread.join()\nprint(sorted(recorder.taken()), recorder.taken())"
    )
    status, printed = benches.with_bench(lambda bench: bench.run(["-c", code], 30))
    assert (status, printed) == (0, "['miniredis/engine/numbers/numbers.py'] {}\n")


@pytest.mark.exhaustive  # likewise
def test_the_suite_convicts_a_generated_mutant_and_a_change_that_makes_no_difference_survives(
    benches: Benches,
) -> None:
    file = "miniredis/engine/commands/lists/lists.py"
    made = next(
        each
        for each in mutants_of(file)
        if each.changed() == ("return push(session.db, args[1], args[2:], LEFT)", "pass")
    )
    suite = Suite()
    suite.reach = {"sync list.llen": (0.1, {}), "sync list.lpush.prepends": (0.2, {file: list(made.lines)})}
    same = replace(made, becomes=made.text)
    assert benches.with_bench(lambda bench: suite.judge(bench, made)).convicted.keys() == {
        "list.lpush.prepends"
    }
    assert benches.with_bench(lambda bench: suite.judge(bench, same)) == Outcome({}, ["list.lpush.prepends"])
    assert (ROOT / file).read_text() == same.source()


@pytest.mark.exhaustive  # the same machine, with another judge, which takes seconds
def test_the_tests_convict_a_mutant(benches: Benches) -> None:
    file = "miniredis/engine/glob.py"
    made = next(
        each
        for each in mutants_of(file)
        if each.changed()[0].startswith("return ") and each.becomes == "pass"
    )
    tests = ProjectTests()
    tests.reach = {"tests/miniredis/engine/test_glob.py": (0.1, {file: list(made.lines)})}
    same = replace(made, becomes=made.text)
    assert benches.with_bench(lambda bench: tests.judge(bench, made)).convicted
    assert not benches.with_bench(lambda bench: tests.judge(bench, same)).convicted


def test_a_sample_is_the_same_for_the_same_seed_and_has_as_many_of_each_package() -> None:
    mutants = [
        Mutant("", f"{package}/file.py", "", "", at=at)
        for package in "ab"
        for at in range(9 if package == "a" else 99)
    ]
    some = __main__.sample(mutants, 10, 20261124)
    assert some == __main__.sample(mutants, 10, 20261124) != __main__.sample(mutants, 10, 20261125)
    assert Counter(each.package for each in some) == {"a": 5, "b": 5}


def test_the_report_has_the_survivors_and_the_rate_by_package(small: str) -> None:
    one, _, other, *_ = mutants_of(small)
    printed = "\n".join(
        report.lines({one: Outcome({"list.llen": "why"}, ["list.llen"]), other: Outcome({}, ["list.llen"])})
    )
    assert other.place in printed
    assert one.place not in printed
    assert "list.llen 1/2" in printed
    assert "all: 50.0% of 2 convicted" in printed


def test_a_written_mutant_that_another_clause_convicts_fails_the_run() -> None:
    mutant = CONVICTED[0]
    assert not [*__main__.disagreements("suite", {mutant: Outcome(dict.fromkeys(mutant.clauses, ""), [])})]
    assert [*__main__.disagreements("suite", {mutant: Outcome({"list.llen": ""}, [])})]
    assert [*__main__.disagreements("comparison", {COMPARED[0]: Outcome({}, [])})]
