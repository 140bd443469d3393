"""The general search for a legal order: lists, operations without an end, separate keys, and its explanations."""

from __future__ import annotations

import pytest

from conformance.histories import Facts, History, Verdict
from conformance.histories.linearizable import apart, check
from conformance.histories.models import LISTS, REDIS, redis_model
from tests.cases import for_each

from .notation import history, operation, table


def judged(lines: str) -> Verdict:
    return check(history(lines))


GOOD = {
    "sequential": "a RPUSH x y = 2 0 1\na LPOP = x 2 3\na LLEN = 1 4 5\na LPOP = y 6 7\na LPOP = nil 8 9",
    "concurrent pushes ordered by a read": "a RPUSH x = 2 0 9\nb RPUSH y = 1 1 8\nc LRANGE 0 -1 = y x 10 11",
    "a pop during a push": "a RPUSH x = 1 0 9\nb LPOP = x 1 8",
    "a blocking pop waits for a push": "b BLPOP 0 = q x 0 9\na RPUSH x = 1 2 3",
    "a call that begins as another returns": "b LPOP = x 0 5\na RPUSH x = 1 5 6",
    "an open push that happened": "a RPUSH x ? 0\nb LPOP = x 5 6",
    "an open push that did not happen": "a RPUSH x ? 0\nb LPOP = nil 5 6",
    "an open pop between two reads": "a RPUSH x = 1 0 1\nb LPOP ? 2\nc LLEN = 1 3 4\nc LLEN = 0 5 6",
    "an error changes nothing": "a RPUSH x = 1 0 1\na LPOP ! ValueError 2 3\na LLEN = 1 4 5",
    "a move to another list": "a RPUSH x y = 2 0 1\na LMOVE other RIGHT LEFT = y 2 3\na LRANGE 0 -1 = x 4 5",
}

BAD = {
    "a value that was never pushed": "a LPOP = x 0 1",
    "popped from the wrong end": "a RPUSH x y = 2 0 1\na LPOP = y 2 3",
    "a stale read": "a RPUSH x = 1 0 1\nb LLEN = 0 2 3",
    "popped twice": "a RPUSH x = 1 0 1\nb LPOP = x 2 9\nc LPOP = x 3 8",
    "a pushed value is lost": "a RPUSH x = 1 0 1\nb LPOP = nil 2 3",
    "no order fits both readers": (
        "a RPUSH x = 1 0 20\nb RPUSH y = 2 1 19\nc LINDEX 0 = x 2 3\nd LINDEX 0 = y 4 5\nd LLEN = 2 6 7"
    ),
    "an open push that happened twice": "a RPUSH x ? 0\nb LPOP = x 5 6\nb LPOP = x 7 8",
    "a move that lost its value": "a RPUSH x = 1 0 1\na LMOVE q LEFT RIGHT = x 2 3\na LLEN = 0 4 5",
}


@for_each("name", GOOD)
def test_linearizable_histories_are_ok(name: str) -> None:
    verdict = judged(GOOD[name])
    assert (verdict.answer, verdict.reason) == ("ok", "")
    mine = [each for each in table(GOOD[name]) if each.outcome == "ok"]
    assert set(mine) <= set(verdict.order)


@for_each("name", BAD)
def test_histories_that_are_not_linearizable_are_illegal(name: str) -> None:
    verdict = judged(BAD[name])
    assert (verdict.answer, verdict.violation) == ("illegal", "linearizable")
    assert verdict.operations
    assert not set(verdict.operations) & set(verdict.order)


def test_the_verdict_has_an_order_that_explains_the_replies() -> None:
    verdict = judged("a RPUSH x = 2 0 9\nb RPUSH y = 1 1 8\nc LRANGE 0 -1 = y x 10 11")
    assert [each.client for each in verdict.order] == ["b", "a", "c"]


def test_an_illegal_verdict_shows_an_order_and_the_operations_that_cannot_follow_it() -> None:
    verdict = judged("a RPUSH x = 1 0 1\nb LLEN = 1 2 3\nc LPOP = y 4 9\nd LPOP = z 5 8\ne LLEN = 0 10 11")
    assert [each.client for each in verdict.order] == ["a", "b"]
    assert {each.client for each in verdict.operations} == {"c", "d"}


def test_a_search_that_uses_up_its_budget_is_unknown() -> None:
    lines = "".join(f"p{number} RPUSH {number} = {number + 1} {number} 99\n" for number in range(20))
    assert check(history(lines)).answer == "ok"
    verdict = check(history(lines), budget=10)
    assert (verdict.answer, verdict.reason) == ("unknown", "the search was given up")


def test_the_search_visits_no_state_twice() -> None:
    """Ten reads at once that no order explains: 2**10 sets of them, and 10! orders."""
    reads = "".join(f"r{number} LLEN = 1 {number + 2} 90\n" for number in range(10))
    operations = history("w RPUSH x = 1 0 1\n" + reads + "z LLEN = 7 50 91")
    assert check(operations, budget=20_000).answer == "illegal"


def test_keys_are_searched_apart_unless_an_operation_concerns_several() -> None:
    lines = [operation(f"{key}{number} RPUSH x ? 0", key) for key in "abcd" for number in range(5)]
    lines += [operation("m LMOVE d LEFT RIGHT ? 0", "c"), operation("n LPOP ? 0", "e")]
    groups = sorted((keys, len(mine)) for keys, mine in apart(lines, REDIS))
    assert groups == [(["a"], 5), (["b"], 5), (["c", "d"], 11), (["e"], 1)]
    assert (
        check(History([*table("a LPOP = y 0 1", "z"), *table("a LPOP = nil 0 1")], Facts())).answer
        == "illegal"
    )


def test_what_no_model_knows_is_unknown_to_the_search_itself() -> None:
    assert judged("a LPOS x = 0 0 1\na LPOP = nil 2 3").answer == "unknown"
    assert judged("a LPOP x y = z 0 1").answer == "unknown"


def test_two_models_that_know_the_same_operation_are_refused() -> None:
    with pytest.raises(ValueError, match="the models redis and redis both know RPUSH: give one of them"):
        check(history("a RPUSH x = 1 0 1"), [REDIS, redis_model({"RPUSH": LISTS["RPUSH"]})])
