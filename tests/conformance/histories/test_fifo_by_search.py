"""The near-linear FIFO checker agrees with the general search on small random histories."""

from __future__ import annotations

import time
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.histories import Facts, Operation, worst
from conformance.histories.fifo import check_queue
from conformance.histories.model import Answer

from .generated import CORRUPTIONS, Action, actions, by_search, corrupted, played, uncertain_actions

rng = st.randoms(use_true_random=False)
corruptions = st.sampled_from(CORRUPTIONS)
QUICK = settings(max_examples=60, deadline=None)


def answer(operations: list[Operation], facts: Facts) -> Answer:
    return worst(check_queue(operations, facts, "q").values()).answer


@QUICK
@given(st.lists(uncertain_actions, max_size=40), st.integers(0, 3))
def test_histories_of_a_correct_queue_are_ok(done: list[Action], bound: int) -> None:
    operations, left = played(done, bound)
    assert answer(operations, Facts(bounds={"q": bound}, final={"q": left})) == "ok"
    assert answer(operations, Facts(bounds={"q": bound})) == "ok"


@QUICK
@given(st.lists(actions, max_size=11), corruptions, rng, st.booleans())
def test_with_distinct_values_the_checker_agrees_with_the_search(
    done: list[Action], how: str, rng: Random, final: bool
) -> None:
    operations, left = played(done)
    operations = corrupted(operations, how, rng)
    facts = Facts(final={"q": left}) if final else Facts()
    assert answer(operations, facts) == by_search(operations, facts).answer


@QUICK
@given(st.lists(uncertain_actions, max_size=11), corruptions, rng, st.booleans())
def test_with_open_operations_the_checker_agrees_with_the_search(
    done: list[Action], how: str, rng: Random, final: bool
) -> None:
    operations, left = played(done, empties=False)
    operations = corrupted(operations, how, rng)
    facts = Facts(final={"q": left}) if final else Facts()
    assert answer(operations, facts) == by_search(operations, facts).answer


@QUICK
@given(st.lists(uncertain_actions, max_size=11), corruptions, rng, st.integers(1, 2), st.integers(1, 3))
def test_with_bounds_the_checker_never_fails_a_correct_history(
    done: list[Action], how: str, rng: Random, bound: int, claimed: int
) -> None:
    operations, left = played(done, bound)
    operations = corrupted(operations, how, rng)
    facts = Facts(bounds={"q": claimed}, final={"q": left})
    if answer(operations, facts) == "illegal":
        assert by_search(operations, facts).answer == "illegal"


def test_generated_histories_are_often_ok_and_often_illegal() -> None:
    """Else the comparisons above would compare nothing."""
    answers: Counter[tuple[str, Answer]] = Counter()
    for seed in range(200):
        rng = Random(seed)  # noqa: S311
        wide = 1 + 39 * (seed % 3 == 0)
        done = [Action(rng.random() < 0.5, rng.randint(1, wide), rng.randint(1, wide)) for _ in range(11)]
        how = CORRUPTIONS[seed % len(CORRUPTIONS)]
        operations, left = played(done)
        answers[how, by_search(corrupted(operations, how, rng), Facts(final={"q": left})).answer] += 1
    assert all(answers[how, "illegal"] >= 10 for how in CORRUPTIONS)
    assert sum(answers[how, "ok"] for how in CORRUPTIONS) >= 40


def many(count: int) -> tuple[list[Operation], Facts]:
    rng, full, done = Random(0), 0, list[Action]()  # noqa: S311
    while len(done) < count:
        puts = full < 50 and (not full or rng.random() < 0.5)
        full += 1 if puts else -1
        done.append(Action(puts, rng.randrange(1, 45), rng.randrange(1, 45)))
    operations, left = played(done)
    return operations, Facts(bounds={"q": 60}, final={"q": left})


@pytest.mark.slow
def test_a_million_operations_are_checked_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    operations, facts = many(1_000_000)
    begin = time.process_time()
    assert answer(operations, facts) == "ok"
    took = time.process_time() - begin
    with capsys.disabled():
        print(f"\n{len(operations):,} operations judged in {took:.1f} s of one processor's time")  # noqa: T201
    assert took < 60
    swapped = corrupted(operations, "swap", Random(1))  # noqa: S311
    assert answer(swapped, facts) == "illegal"
