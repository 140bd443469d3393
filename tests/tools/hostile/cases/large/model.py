"""A hostile case of any size: played small by default, and large where there is time for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from conformance.wire import encode

from ...case import Case

__all__ = ["Sized", "of_table", "repeat"]

Pieces = Iterable[bytes]


@dataclass(frozen=True, slots=True)
class Sized:
    """A case that is made when it is played, since it is large.

    Attributes:
        name: what is hostile about it.
        make: what is sent, by its size.
        small: the size that a default run has time for.
        large: the sizes that are to be survived.
        may_differ: why the servers need not say the same; empty where they must.
        in_order: the lines of the replies come in one order.
    """

    name: str
    make: Callable[[int], Pieces]
    small: int
    large: tuple[int, ...]
    may_differ: str = ""
    in_order: bool = True

    def case(self, size: int) -> Case:
        """The case of that size."""
        return Case(
            f"{self.name}: {size:,}",
            tuple(self.make(size)),
            may_differ=self.may_differ,
            in_order=self.in_order,
        )


def of_table(
    group: str,
    table: Mapping[str, Callable[[int], Pieces]],
    *,
    small: int,
    large: tuple[int, ...],
    may_differ: str = "",
    in_order: bool = True,
) -> list[Sized]:
    """Cases of the same sizes, from names and what they send."""
    return [
        Sized(f"{group}: {name}", make, small, large, may_differ, in_order) for name, make in table.items()
    ]


def repeat(*words: str | bytes, by: str = "{}") -> Callable[[int], list[bytes]]:
    """One command whose ``...`` stands for as many words as the case is large, ``{}`` in each its number."""
    at = words.index("...")

    def make(size: int) -> list[bytes]:
        many = [part.replace("{}", str(place)) for place in range(size) for part in by.split(" ")]
        return [encode(*words[:at], *many, *words[at + 1 :])]

    return make
