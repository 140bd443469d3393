"""Clients that die between any two messages: before one gets through, or when its reply has not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count as numbers
from typing import Any, Final, Literal

from pressure import PressureError

from ..judging.environment import Environment

ACTS: Final[tuple[Literal["lose-message"], Literal["lose-reply"]]] = ("lose-message", "lose-reply")


def moments_of(
    kind: str, env: Environment, setup: Callable[[], object], work: Callable[[Any], object], **options: Any
) -> Iterator[tuple[int, str]]:
    """Has a client of a kind work, and die at each message in turn; yields after each death.

    The last time of each it does not die any more. A client that lost its connection sends nothing more, so that
    to the server it is as dead as can be.
    """
    for act in ACTS:
        for at in numbers(1):
            setup()
            queue, gate = env.gated_kind(kind, **options)
            gate.arm(at, act)
            with suppress(PressureError):
                work(queue)
            yield at, act
            if gate.messages < at:
                break


def every_death(
    env: Environment, kind: str, setup: Callable[[], Any], work: Callable[[Any], object], **options: Any
) -> Iterator[tuple[Any, bool]]:
    """The same, with a client that lives on, as ``setup`` returns it, and whether the work was done."""
    survivors: list[Any] = []

    def begin() -> None:
        survivors.append(setup())

    done: list[bool] = []

    def attempt(queue: Any) -> None:
        done.append(False)
        work(queue)
        done[-1] = True

    for _ in moments_of(kind, env, begin, attempt, **options):
        yield survivors[-1], done[-1]
