"""A history cut into pieces gets the same verdict as in one piece, also when a violation spans two pieces."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="this test needs the extra 'spark'")

from conformance.histories import fifo
from conformance.histories.model import Facts, Operation, worst
from conformance.histories.parquet.borders import check_piece

from .by_hand import pieces, quiet_moments
from .changes import CHANGES, changed

pytestmark = pytest.mark.spark


def judged_in_pieces(queue: str, operations: list[Operation], facts: Facts, cuts: list[int]) -> set[str]:
    """The violations, and the rules of which nothing is known."""
    found = [
        check_piece(each, Facts(), {queue: len(cuts)}) for each in pieces(queue, operations, facts, cuts)
    ]
    assert sum(judged.operations for judged in found) == len(operations)
    return {each.verdict.violation or each.rule for judged in found for each in judged.findings}


@pytest.mark.parametrize("change", CHANGES)
def test_pieces_get_the_verdict_of_the_whole_history(change: str) -> None:
    found = 0
    for turn in range(60):
        seed = turn * len(CHANGES) + list(CHANGES).index(change)
        queue, operations, facts = changed(seed, 30)
        quiet, random = quiet_moments(operations), Random(seed)  # noqa: S311
        cuts = sorted(random.sample(quiet, min(len(quiet), random.randrange(1, 6))))
        whole = worst(fifo.check_queue(operations, facts, queue).values())
        in_pieces = judged_in_pieces(queue, operations, facts, cuts)
        assert bool(in_pieces) == (whole.answer != "ok"), seed
        assert change == "drop" or not whole.violation or whole.violation in in_pieces, seed
        found += whole.answer == "illegal" and bool(cuts)
    assert change in {"nothing", "close", "shuffle", "drop"} or found > 5, "nothing was wrong"


def put(value: bytes, moment: int) -> Operation:
    return Operation("p", "q", "put", (value,), None, moment, moment + 1)


def get(value: bytes, moment: int) -> Operation:
    return Operation("c", "q", "get", (), (value,), moment, moment + 1)


def put_many(moment: int, *values: bytes) -> Operation:
    return Operation("p", "q", "put_many", values, None, moment, moment + 1)


def looked_at(value: bytes, moment: int) -> list[Operation]:
    came = Operation("r", "q", "receive", (), (value,), moment, moment + 1)
    return [came, Operation("r", "q", "put_back", (value,), None, moment + 11, moment + 12)]


@pytest.mark.parametrize(
    ("operations", "violation"),
    [
        ([put(b"a", 1), get(b"a", 11), get(b"a", 21)], "duplicate"),
        ([put(b"a", 1), put(b"b", 11), get(b"b", 21), get(b"a", 31)], "order"),
        ([put(b"a", 1), put(b"b", 11), get(b"b", 21)], "loss"),
        ([get(b"a", 1), put(b"a", 11)], "invented"),
        ([put(b"a", 1), put(b"b", 11), *looked_at(b"b", 21), get(b"a", 41), get(b"b", 51)], "order"),
        ([put_many(1, b"a", b"b"), get(b"b", 11), get(b"a", 21)], "order"),
        ([put_many(1, b"a", b"b"), put(b"c", 11), get(b"a", 21), get(b"c", 31), get(b"b", 41)], "order"),
        ([put(b"a", 1), put(b"b", 11), *looked_at(b"a", 21), get(b"a", 41), get(b"b", 51)], ""),
        ([put_many(1, b"a", b"b"), put(b"c", 11), get(b"a", 21), get(b"b", 31), get(b"c", 41)], ""),
        ([put(b"a", 1), put(b"b", 11), get(b"a", 21), get(b"b", 31)], ""),
        ([put(b"a", 1), get(b"a", 11), put(b"b", 21), get(b"b", 31)], ""),
    ],
)
def test_each_verdict_holds_when_every_operation_is_a_piece(
    operations: list[Operation], violation: str
) -> None:
    cuts = quiet_moments(operations)
    facts = Facts(final={"q": ()})
    assert worst(fifo.check_queue(operations, facts, "q").values()).violation in {violation, "order"}
    found = judged_in_pieces("q", operations, facts, cuts)
    assert violation in found if violation else not found


def test_values_received_and_put_back_before_a_piece_do_not_count_against_its_bound() -> None:
    operations = [put(b"a", 1), *looked_at(b"a", 11), put(b"b", 41), get(b"a", 51), get(b"b", 61)]
    facts = Facts(bounds={"q": 1})
    assert worst(fifo.check_queue(operations, facts, "q").values()).answer == "ok"
    assert not judged_in_pieces("q", operations, facts, [41, 51, 61])
    crowded = [put(b"a", 1), put(b"b", 41), get(b"a", 51), get(b"b", 61)]
    assert judged_in_pieces("q", crowded, facts, [41, 51, 61]) == {"bound"}


@pytest.mark.parametrize("rest", [[get(b"b", 31)], []], ids=["got", "there still"])
def test_another_value_inside_a_batch_is_found_wherever_the_history_is_cut(rest: list[Operation]) -> None:
    batch = replace(put_many(1, b"a", b"b"), returned=10)
    other = Operation("other", "q", "put", (b"x",), None, 2, 9)
    operations = [batch, other, get(b"a", 11), get(b"x", 21), *rest]
    assert worst(fifo.check_queue(operations, Facts(), "q").values()).violation == "exclusive"
    for cuts in ([11], [21], [11, 21], *([*some, 31] for some in ([], [11], [11, 21]) if rest)):
        assert judged_in_pieces("q", operations, Facts(), cuts) == {"exclusive"}, cuts


def test_a_value_that_is_got_in_a_later_piece_is_not_reported_as_lost() -> None:
    operations = [put(b"a", 1), put(b"b", 11), get(b"b", 21), get(b"a", 31)]
    first, _ = pieces("q", operations, Facts(), [31])
    assert [each.rule for each in check_piece(first, Facts(), {"q": 1}).findings] == ["fifo"]
