"""Copies that are made at their first use.

To restore a snapshot is to copy all that is in it, and a test uses little of that. A borrowed object refers
to its original, which must not change any more. Its first use, of any attribute or method, turns it into a
copy and into an object of the original's class. So the methods of that class check nothing for its sake.

To lend objects of one more class, give it ``__slots__`` and ``copy``, and call ``lender`` with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

__all__ = ["lender"]


class Lendable(Protocol):
    """What can be lent: an object of a class with ``__slots__``."""

    def copy(self) -> Self:
        """A copy, which shares nothing that can change."""


T = TypeVar("T", bound=Lendable)


def lender(kind: type[T]) -> Callable[[T], T]:
    """A function that returns a borrowed object for an object of a class."""
    slots: tuple[str, ...] = vars(kind)["__slots__"]
    original = vars(kind)[slots[0]]  # this slot has the original meanwhile

    class Borrowed(kind):  # type: ignore[misc, valid-type]
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            become_copy(self)
            return getattr(self, name)

        def __setattr__(self, name: str, value: Any) -> None:
            become_copy(self)
            setattr(self, name, value)

    def become_copy(borrowed: Any) -> None:
        copied = original.__get__(borrowed).copy()
        object.__setattr__(borrowed, "__class__", kind)
        for slot in slots:
            setattr(borrowed, slot, getattr(copied, slot))

    make, keep = object.__new__, original.__set__

    def borrowed(value: T) -> T:
        made: T = make(Borrowed)
        keep(made, value)
        return made

    return borrowed
