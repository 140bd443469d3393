"""Random sizes by order of magnitude, since what is quick for ten bytes may take minutes for a million."""

from __future__ import annotations

import random
from typing import TypeVar

from hypothesis import strategies as st

__all__ = ["long_texts", "repeated", "sizes", "some_size"]

T = TypeVar("T")


class Cycled(bytes):
    """A few bytes again and again. A failing test prints how it is made, not all of it."""

    def __new__(cls, part: bytes, size: int) -> Cycled:
        made = super().__new__(cls, (part * (size // len(part) + 1))[:size])
        made.made_of = f"Cycled({part!r}, {size})"
        return made

    made_of: str

    def __repr__(self) -> str:
        return self.made_of


class Repeated(list[T]):
    """A few items again and again, with a short ``repr``, too."""

    def __init__(self, items: list[T], times: int) -> None:
        super().__init__(items * times)
        self.made_of = f"{items!r} * {times}"

    def __repr__(self) -> str:
        return self.made_of


def sizes(largest: int, least: int = 0) -> st.SearchStrategy[int]:
    """Numbers from ``least`` to ``largest``, of every order of magnitude alike."""
    bounds = [10**power for power in range(1, len(str(largest))) if 10**power > least]
    return st.sampled_from([*bounds, largest]).flatmap(lambda bound: st.integers(least, max(bound, least)))


def long_texts(largest: int = 100_000) -> st.SearchStrategy[bytes]:
    """Bytes: up to 20 of any kind, or a few that are repeated up to ``largest``."""
    return st.binary(max_size=20) | st.builds(Cycled, st.binary(min_size=1, max_size=8), sizes(largest))


def repeated(lists: st.SearchStrategy[list[T]], largest: int) -> st.SearchStrategy[list[T]]:
    """Lists: as they are drawn, or repeated up to ``largest`` items."""
    return lists | st.builds(
        lambda items, size: Repeated(items, max(size // max(len(items), 1), 1)), lists, sizes(largest)
    )


def some_size(chance: random.Random, largest: int) -> int:
    """As ``sizes``, without hypothesis: a number from 1 to ``largest``, of every order of magnitude alike."""
    power = chance.randint(1, len(str(largest)))
    return chance.randint(1, min(10**power, largest))
