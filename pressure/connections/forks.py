"""What a forked child must not take over from its parent: locks that other threads hold, and their work."""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet


class Forgetful(Protocol):
    """An object that begins anew in a forked child."""

    def forget(self) -> None:
        """Begin anew: the parent's threads are not there, and what they hold is never given back."""


_all: Final[WeakSet[Forgetful]] = WeakSet()


def forget_in_child(each: Forgetful) -> None:
    """Have ``each.forget()`` called in every child that is forked from now on."""
    _all.add(each)


def _after_fork() -> None:
    for each in list(_all):
        each.forget()


os.register_at_fork(after_in_child=_after_fork)
