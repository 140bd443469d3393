"""A borrowed object is a copy from its first use on, whatever that is, and leaves its original alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import pytest

from miniredis.engine.values.borrowing import lender


class Box:
    """Something that can be lent."""

    __slots__ = ("label", "things")

    def __init__(self, label: str, things: list[str]) -> None:
        self.label, self.things = label, things

    def __len__(self) -> int:
        return len(self.things)

    def copy(self) -> Self:
        return type(self)(self.label, self.things.copy())


def put(box: Box) -> None:
    box.things.append("new")


def rename(box: Box) -> None:
    box.label = "new"


def replace(box: Box) -> None:
    box.things = ["new"]


@pytest.mark.parametrize("use", [put, rename, replace, len])
def test_the_first_use_makes_a_copy_of_the_same_class(use: Callable[[Box], object]) -> None:
    original, same = Box("old", ["one"]), Box("old", ["one"])
    borrowed = lender(Box)(original)
    assert use(borrowed) == use(same)
    assert type(borrowed) is Box
    assert (borrowed.label, borrowed.things) == (same.label, same.things)
    assert (original.label, original.things) == ("old", ["one"])
