"""The suite convicts each mutant written by hand, by exactly the clauses that it names.

All of it: pytest -n 0 -m "slow or not slow" tests/conformance/test_mutants.py
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.clients.flavours import FLAVOURS
from conformance.documents import CLAUSES
from tests.cases import check_each
from tests.tools.mutation.bench import Benches
from tests.tools.mutation.judges import Outcome, Suite
from tests.tools.mutation.model import Mutant
from tests.tools.mutation.written import COMPARED, CONVICTED, WRITTEN, clauses_without_mutant
from tests.tools.mutation.written.clauses.servers import SERVERS

AT_ONCE = 4
"""Trials at the same time; each is a process that mostly waits for what does not come."""

PART = 12
"""How many clauses judge a copy that is not changed at once."""


def unchanged(client: str) -> Iterator[Mutant]:
    """Copies that are not changed, judged by all clauses that convict with this client."""
    same = '"""The name of the module whose commands are built in: those with the flag ``module``."""'
    clauses = [
        *dict.fromkeys(clause for each in CONVICTED if each.client == client for clause in each.clauses)
    ]
    for first in range(0, len(clauses), PART):
        some = tuple(clauses[first : first + PART])
        yield Mutant(
            f"none, {client} {first}", "miniredis/engine/versions/version.py", same, same, some, client
        )


UNCHANGED = [each for client in sorted({each.client for each in CONVICTED}) for each in unchanged(client)]

FIRST = [UNCHANGED[0], SERVERS[0]]

Trial = Callable[[Mutant], Outcome]


@pytest.fixture(scope="module")
def trial(request: pytest.FixtureRequest) -> Iterator[Trial]:
    """Judges a mutant; those of all tests that were chosen are begun at once, unless other processes do some.

    On a busy machine limits last longer, long enough for a queue to heal what the mutant did to it. So whatever
    goes free is judged once more.
    """
    with Benches(AT_ONCE) as benches:

        def judged_once(mutant: Mutant) -> Outcome:
            suite = Suite(hurried=mutant not in UNCHANGED)
            return benches.with_bench(lambda bench: suite.judge(bench, mutant))

        def judged(mutant: Mutant) -> Outcome:
            outcome = judged_once(mutant)
            goes_free = mutant not in UNCHANGED and outcome.convicted.keys() < set(mutant.clauses)
            return judged_once(mutant) if goes_free else outcome

        if "PYTEST_XDIST_WORKER" in os.environ:
            yield judged
        else:
            chosen = [each for item in request.session.items if (each := mutant_of(item)) is not None]
            trials = {each: benches.pool.submit(judged, each) for each in chosen}
            yield lambda mutant: trials[mutant].result()


def mutant_of(item: pytest.Item) -> Mutant | None:
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return parameters.get("mutant")


def marked(mutant: Mutant) -> Any:
    """In the default run one client and one server take part; a trial is a process, and there are hundreds."""
    return pytest.param(mutant, id=mutant.name, marks=[] if mutant in FIRST else [pytest.mark.slow])


CRASH = re.compile(r"\w+: (?:NameError|AttributeError|TypeError)|.*(?:Hangup|ConnectionError)")


@pytest.mark.parametrize("mutant", [marked(each) for each in CONVICTED])
def test_each_mutant_is_convicted_by_the_clauses_that_it_names(
    mutant: Mutant, trial: Trial, request: pytest.FixtureRequest
) -> None:
    if any(clause.startswith("wire.") for clause in mutant.clauses):
        request.getfixturevalue("redis_7_0")
    convicted = trial(mutant).convicted
    assert convicted.keys() == set(mutant.clauses)
    crashes = [why for why in convicted.values() if CRASH.match(why)]
    assert not crashes, "what is wrong with it is to be one small thing, and not that it falls over"


@pytest.mark.parametrize("mutant", [marked(each) for each in UNCHANGED])
def test_a_copy_that_is_not_changed_is_not_convicted(mutant: Mutant, trial: Trial) -> None:
    outcome = trial(mutant)
    assert outcome.convicted == {}
    assert len(outcome.asked) == len(mutant.clauses)


def test_mutants_have_distinct_names_and_existing_clauses() -> None:
    assert {each.file.partition("/")[0] for each in WRITTEN} == {"miniredis", "pressure"}
    assert len({each.name for each in WRITTEN}) == len(WRITTEN)
    assert all(clause in CLAUSES for each in WRITTEN for clause in each.clauses)
    assert {each.client for each in WRITTEN} == {"sync", "plain"} <= FLAVOURS.keys()
    assert min(len(CONVICTED), len(COMPARED)) >= 100


def test_the_text_of_each_mutant_is_in_its_file_once() -> None:
    check_each({each.name: each for each in WRITTEN}, Mutant.source)
    with pytest.raises(ValueError, match=r"0 times in pressure/keys\.py"):
        Mutant("misfit", "pressure/keys.py", "no such text", "").source()


def test_every_clause_convicts_a_mutant() -> None:
    convicting = {clause for each in CONVICTED for clause in each.clauses}
    assert clauses_without_mutant(convicting) == []
    assert clauses_without_mutant(convicting - {"list.llen"}) == [
        f"list.llen convicts no mutant: {CLAUSES['list.llen'].text}"
    ]
