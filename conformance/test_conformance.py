"""For those who test their own server or client: ``pytest --pyargs conformance --target redis://...``.

A clause is an item. What the server or the client cannot do is skipped, with the reason. Workers of one run
take turns, since a server may be everybody's and checks count who is blocked on it.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from conformance.adapter import Adapter
from conformance.clauses import CLAUSES, SUITES, Clause
from conformance.environment import Client
from conformance.flavours import FLAVOURS
from conformance.runner import Judging, Outcome
from conformance.targets import NotInstalledError, Target, target_named

DEFAULTS: Final = {"target": ["embedded"], "client": ["sync"]}


@dataclass(frozen=True, slots=True)
class Subject:
    """A server and a client that are judged together."""

    target: Target
    client: Client
    name: str


def told(config: pytest.Config, option: str) -> list[str]:
    """What the command line says; nothing where the options are not known."""
    return config.getoption(f"conformance_{option}", None) or []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes an item of each clause, for each server and client."""
    try:
        subjects, clauses = subjects_of(metafunc.config), clauses_of(metafunc.config)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize(
        "judging", subjects, ids=[each.name for each in subjects], indirect=True, scope="session"
    )
    metafunc.parametrize("clause", clauses, ids=[each.id for each in clauses])


def subjects_of(config: pytest.Config) -> list[Subject]:
    clients: dict[str, Client] = {command: Adapter(command) for command in told(config, "adapter")}
    names = told(config, "client") or ([] if clients else DEFAULTS["client"])
    clients |= {name: known(FLAVOURS, name, "client") for name in names}
    targets = [target_named(name) for name in told(config, "target") or DEFAULTS["target"]]
    return [Subject(each, made, f"{each.name} {name}") for each in targets for name, made in clients.items()]


def clauses_of(config: pytest.Config) -> list[Clause]:
    suites = {
        known(dict.fromkeys(SUITES, suite), suite, "suite") for suite in told(config, "suite") or SUITES
    }
    chosen = [known(CLAUSES, id_, "clause") for id_ in told(config, "clause") or CLAUSES]
    return [clause for clause in chosen if suites & set(clause.suites)]


def known(table: Any, name: str, what: str) -> Any:
    if name not in table:
        raise ValueError(f"no {what} {name!r}: name one of {', '.join(table)}")
    return table[name]


@pytest.fixture(scope="session")
def judging(request: pytest.FixtureRequest) -> Iterator[Judging]:
    """A server that is up for as long as its clauses last."""
    subject: Subject = request.param
    try:
        with subject.target.up() as address:
            yield Judging(address, subject.client)
    except NotInstalledError as error:
        pytest.fail(f"{subject.target.name}: {error}", pytrace=False)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else of this run of pytest is in such a block."""
    with (folder / "conformance.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_clause(clause: Clause, judging: Judging, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    with alone(folder.parent if folder.name.startswith("popen-") else folder):
        outcome = judging.judge(clause)
    if outcome.verdict == "skipped":
        pytest.skip(outcome.reason)
    if outcome.verdict == "failed":
        pytest.fail(described(outcome), pytrace=False)


def described(outcome: Outcome) -> str:
    """What is wrong, with all that there is to show."""
    clause = outcome.clause
    lines = [f"{clause.text} [{clause.level}; {', '.join(clause.suites)}; {clause.place}]", outcome.reason]
    return "\n\n".join([*lines, *(f"{each.title}:\n{each.text}" for each in outcome.evidence)])
