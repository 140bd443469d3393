"""Judges a server or a client of your own in pytest: ``pytest --pyargs conformance --target redis://...``.

Each clause is a test. A clause is skipped, with the reason, if the server or the client lacks what it needs.
A clause that is only recommended or allowed is expected to fail where it does.
Workers of one run take turns: they may share a server, and checks count the clients that are blocked on it.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from conformance.arguments import unknown
from conformance.clients.adapter import Adapter
from conformance.clients.flavours import FLAVOURS
from conformance.clients.judged import Client
from conformance.documents import CLAUSES, SUITES, Clause
from conformance.judging.runner import Judging, Outcome
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
    every = {suite: suite for suite in SUITES}
    suites = {known(every, suite, "suite") for suite in told(config, "suite") or SUITES}
    chosen = [known(CLAUSES, id_, "clause") for id_ in told(config, "clause") or CLAUSES]
    return [clause for clause in chosen if suites & set(clause.suites)]


def known(table: Any, name: str, what: str) -> Any:
    if name not in table:
        otherwise = (
            "python -m conformance --list prints them" if table is CLAUSES else f"give {', '.join(table)}"
        )
        raise ValueError(f"--{what}: {unknown(what, name, table, otherwise)}")
    return table[name]


@pytest.fixture(scope="session")
def judging(request: pytest.FixtureRequest) -> Iterator[Judging]:
    """A server that is up for as long as its clauses last."""
    subject: Subject = request.param
    with ExitStack() as up:
        try:
            address, problem = up.enter_context(subject.target.up()), None
        except NotInstalledError as error:
            address, problem = None, f"{subject.target.name}: {error}"
        if address is None:
            pytest.fail(str(problem), pytrace=False)
        yield Judging(address, subject.client)


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
    if outcome.verdict == "not asked":
        pytest.skip(outcome.reason)
    if outcome.fails():
        pytest.fail(described(outcome), pytrace=False)
    if outcome.is_bad:
        pytest.xfail(f"{clause.level}: {outcome.reason}")


def described(outcome: Outcome) -> str:
    """What is wrong, with all that there is to show."""
    clause = outcome.clause
    lines = [
        f"{outcome.verdict}: {clause.text} [{clause.level}; {', '.join(clause.suites)}; {clause.place}]",
        outcome.reason,
    ]
    return "\n\n".join([*lines, *(f"{each.title}:\n{each.text}" for each in outcome.evidence)])
