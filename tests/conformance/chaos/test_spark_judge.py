"""The verdicts on the rows that came through Spark, by the judge of its chaos runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from tests.cases import for_each
from tests.tools.chaos.spark.judge import Kept, Told, wrong

PUT = range(20, 30)
#: The stream's numbers 5 to 7 are the rows 22 to 24, of which 22 had come out. 27 and later were put after that.
KEPT = Kept(5, [22, 23, 24], [25, 26], frozenset([20, 21, 22]))
IN_ORDER = [*PUT]


def verdict(
    came: Sequence[int],
    told: Told | None = None,
    kept: Sequence[Kept] = (KEPT,),
    unknown: Collection[int] = (),
) -> list[str]:
    wanted = {*PUT}.difference(unknown)
    return [each.split(",")[0] for each in wrong(came, wanted, unknown, kept, told or Told())[0]]


@for_each(
    "came, told",
    [
        (IN_ORDER, Told()),
        ([20, 21, 22, 25, 26, 27, 28, 29], Told(lost={6, 7})),
        ([20, 21, 22, *range(22, 30)], Told(again={(8, 8)})),
        (
            [20, 21, 22, 25, *range(22, 30)],
            Told(again={(8, 8), (9, 8)}),
        ),  # Spark had read 25 before the server went back
    ],
)
def test_what_the_pipeline_names_may_be_lost_or_come_twice(came: list[int], told: Told) -> None:
    assert verdict(came, told) == []


@for_each(
    "came, told, found",
    [
        (
            [20, 21, 22, 25, 26, 27, 28, 29],
            Told(lost={6}),
            "1 rows lost",
        ),  # 24 was in flight, and is not named
        ([20, 21, 22, 25, 26, 27, 28, 29], Told(again={(8, 8)}), "2 rows lost"),
        (IN_ORDER[1:], Told(lost={3, 4, 5, 6, 7}), "1 rows lost"),  # 20 was not in flight, whatever is named
        ([20, 21, 22, *range(22, 30)], Told(), "1 rows doubled"),
        ([20, 21, 22, *range(22, 30)], Told(again={(4, 4)}), "1 rows doubled"),  # that was another time
        ([20, 21, 22, 22, *range(22, 30)], Told(again={(8, 8)}), "1 rows doubled"),
        ([*range(20, 24), *range(23, 30)], Told(again={(8, 8)}), "1 rows doubled"),  # 23 had not come out
        ([*range(20, 27), *range(26, 30)], Told(again={(9, 8)}), "1 rows doubled"),  # 26 was not claimed yet
        ([21, 20, *range(22, 30)], Told(again={(8, 8)}), "1 rows out of order"),
        ([*IN_ORDER, 30], Told(), "1 rows that nobody put"),
    ],
)
def test_whatever_else_is_lost_doubled_or_moved_is_wrong(came: list[int], told: Told, found: str) -> None:
    assert verdict(came, told) == [found]


@pytest.mark.parametrize("came", [[], [28]])
def test_rows_that_the_server_has_lost_may_be_on_their_way_in_spark(came: list[int]) -> None:
    assert verdict([*range(20, 27), *came], unknown=[27, 28, 29]) == []
    assert verdict([*range(20, 27), 28, 28], unknown=[27, 28, 29]) == ["1 rows doubled"]
