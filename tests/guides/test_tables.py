"""The tables of the guides are complete: they list what is in the code, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pytest

import miniredis
import pressure
import pressure.spark
from conformance.documents import CLAUSES, SUITES
from conformance.histories.fifo import RULES
from miniredis.engine.config.table import DIRECTIVES
from miniredis.engine.declarations.registry import LOOKUP, commands
from pressure.cli.status import STATUSES
from pressure.cli.table import COMMANDS
from pressure.execution.execution import Execution
from pressure.protocol import Batch
from pressure.spark.options import OPTIONS
from tests.tools.mutation.written import COMPARED, CONVICTED
from tests.tools.simulation import HOLES, Game, replay
from tests.tools.simulation.schedules import read, written

from .markdown import blocks, section, text_of

COMMANDS_GUIDE = "miniredis/COMMANDS.md"


def test_the_table_of_options_lists_every_option() -> None:
    options = section("pressure/spark/README.md", "Options")
    assert set(re.findall(r"^\| `(\w+)` \|", options, re.MULTILINE)) == OPTIONS.keys()


def test_the_schedules_in_the_guide_reproduce_the_violations_found_by_exploring() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| [^|]+ \| `([^`]+)` \| [^|]+ \|$",
        section("tests/tools/simulation/README.md", "What exploring found"),
        re.MULTILINE,
    )
    assert [name for name, _ in rows] == list(HOLES)
    for name, schedule in rows:
        hole = HOLES[name]
        violation = replay(Game(hole.scenario), read(schedule), about=hole.about)
        assert violation is not None, name
        assert written(violation.schedule) == schedule


def test_the_table_of_suites_has_the_clause_count_of_every_suite() -> None:
    rows = re.findall(
        r"^\| (`[^|]+`) \| ([\d, ]+) \|", section("conformance/README.md", "The suite"), re.MULTILINE
    )
    told = {
        name: int(count)
        for names, counts in rows
        for name, count in zip(re.findall(r"[\w.-]+", names), counts.split(", "), strict=True)
    }
    assert told == {suite: sum(suite in each.suites for each in CLAUSES.values()) for suite in SUITES}


def test_the_counts_of_clauses_and_mutants_are_correct() -> None:
    guides = text_of("conformance/README.md") + text_of("tests/tools/README.md")
    assert re.findall(r"(\d+) (?:clauses\. |copies|faults)", guides.replace("\n", " ")) == [
        str(len(each)) for each in (CLAUSES, CONVICTED, COMPARED)
    ]


def test_the_table_of_rules_lists_every_rule() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| [^|]+ \|$", text_of("conformance/HISTORIES.md"), re.MULTILINE)
    assert rows == list(RULES)


def test_the_readme_shows_the_two_commands_for_conformance_and_tests() -> None:
    lines = re.findall(r"^python3 -m venv .*$", section("README.md", "Two commands"), re.MULTILINE)
    assert [line.rpartition("&& ")[2] for line in lines] == [
        ".venv/bin/python -m conformance",
        ".venv/bin/pytest",
    ]


def test_the_table_of_commands_lists_every_command() -> None:
    table = re.findall(
        r"^\| [a-z/ ]+ \| ([A-Z][A-Z_. ()-]+) \|$", section(COMMANDS_GUIDE, "Commands"), re.MULTILINE
    )
    named = {name.lower().encode() for row in table for name in re.sub(r"\([^)]*\)", "", row).split()}
    assert named == {each.name for each in commands()}
    count = sum("module" not in each.flags for each in commands())
    assert all(
        f"has all {count} commands" in text_of(f"miniredis/{name}.md") for name in ("README", "COMMANDS")
    )
    for parent, parts in re.findall(r"([A-Z]+) \(([A-Z -]+)\)", " ".join(table)):
        ours = {
            each.name.rpartition(b"|")[2].decode().upper()
            for each in commands(LOOKUP[parent.encode()].subcommands)
        }
        assert set(parts.split()) == ours


def test_the_tables_of_directives_list_every_directive() -> None:
    text = section(COMMANDS_GUIDE, "Directives")
    assert re.findall(r"^\| `([a-z-]+)` \| [^`|]", text, re.MULTILINE) == directives("works")
    accepted = re.findall(r"`([a-z-]+)` \| `([^`]+)`", text)
    assert {name: value.replace('""', "") for name, value in accepted} == {
        name: DIRECTIVES[name].default for name in directives("off")
    }


def directives(verdict: str) -> list[str]:
    return [name for name, directive in DIRECTIVES.items() if directive.verdict == verdict]


def test_the_table_of_exit_statuses_lists_every_status() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", text_of("pressure/COMMAND-LINE.md"), re.MULTILINE)
    assert rows == [(str(status.code), status.meaning) for status in STATUSES]


def test_put_and_get_take_the_steps_that_the_guide_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[list[str]] = []
    packed = Execution.packed

    def record(execution: Execution[Any], step: Batch) -> Any:
        steps.append(
            without_repeats(command[0].decode() for command in step.commands if type(command[0]) is bytes)
        )
        return packed(execution, step)

    monkeypatch.setattr(Execution, "packed", record)
    with miniredis.start() as server, pressure.Queue("jobs", url=server.url, scripts=False) as jobs:
        jobs.create(bound=3)
        for title, act in (
            ("A Put, step by step", lambda: jobs.put("one")),
            ("A Get, step by step", jobs.get),
        ):
            steps.clear()
            act()
            rows = re.findall(r"^\| \d \| (.+) \|$", section("pressure/INSIDE.md", title), re.MULTILINE)
            assert [without_repeats(re.findall(r"\b[A-Z]{3,}\b", row)) for row in rows] == steps


def without_repeats(names: Iterable[str]) -> list[str]:
    return [name for name, _ in groupby(names)]


def test_the_table_of_subcommands_lists_every_subcommand() -> None:
    table = section("pressure/COMMAND-LINE.md", "Subcommands")
    first_column = " ".join(re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", first_column)) == COMMANDS.keys()


def test_the_table_of_errors_lists_every_error() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section("pressure/ERRORS.md", "Errors"), re.MULTILINE)
    errors = {name for name in pressure.__all__ if is_error(getattr(pressure, name))}
    assert set(rows) == errors - {"PressureError"}


def test_the_table_of_errors_of_spark_lists_every_error() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section("pressure/spark/README.md", "Errors"), re.MULTILINE)
    assert set(rows) == set(pressure.spark.errors.__all__)


def is_error(exported: object) -> bool:
    return isinstance(exported, type) and issubclass(exported, pressure.PressureError)


def test_the_examples_use_every_subcommand_of_pressure() -> None:
    code = "\n".join(block.code for language in ("sh", "shell") for block in blocks(language))
    assert set(re.findall(r"\bpressure ([a-z]+)", code)) >= set(COMMANDS) - {"exists", "closed"}
