"""Tables of cases in one test: every case is checked, and none of their failures is hidden."""

from __future__ import annotations

import pytest

from .cases import check_each


def test_every_case_is_checked_and_each_failure_is_named() -> None:
    seen: list[int] = []

    def check(number: int) -> None:
        seen.append(number)
        assert number > 1
        if number == 2:
            pytest.fail("two")

    with pytest.raises(BaseExceptionGroup, match=r"2 of 3 cases failed:\n  one\n  two\n") as caught:
        check_each({"one": 1, "two": 2, "three": 3}, check)
    assert seen == [1, 2, 3]
    assert [each.__notes__ for each in caught.value.exceptions] == [
        ["in the case: one"],
        ["in the case: two"],
    ]


def test_a_case_that_skips_does_not_hide_the_failures_of_others() -> None:
    with pytest.raises(BaseExceptionGroup, match="1 of 3 cases failed"):
        check_each({"fine": 0, "skips": 1, "also fine": 0}, lambda number: number and pytest.skip("no"))


def test_a_table_without_cases_fails() -> None:
    with pytest.raises(AssertionError, match="there are no cases"):
        check_each({}, print)
