"""Looking for differences: hypothesis draws conversations, and makes one that differs as short as it can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from .grammar import Form
from .pair import CLIENTS, Difference, Pair, Step
from .requests import request

__all__ = ["Found", "search"]

LONGEST: Final = 60
"""Steps in one conversation."""

COMMON: Final = (
    "lpush", "rpush", "lpush", "rpush", "set", "blpop", "brpop", "blmove", "blmpop", "brpoplpush", "multi", "exec",
    "exec", "lmove", "rename", "copy", "del", "watch",
)  # fmt: skip
"""Commands that are drawn more often than others, so that there is something to meet."""


@dataclass(frozen=True, slots=True)
class Found:
    """A conversation in which the two servers differ, and how."""

    steps: list[tuple[str, Step]]
    difference: Difference


class DifferError(AssertionError):
    """Tells hypothesis that a conversation is what is looked for."""


def conversations(forms: Sequence[Form]) -> st.SearchStrategy[list[Step]]:
    """Lists of steps, of all commands."""
    by_name = {form.name: form for form in forms}
    pool = [*forms, *(by_name[name] for name in COMMON if name in by_name)]

    @st.composite
    def step(draw: st.DrawFn) -> Step:
        def choose(choices: Sequence[Any]) -> Any:
            return choices[draw(st.integers(0, len(choices) - 1))]

        form = choose(pool)
        words = request(form, choose)
        cut = choose((0, 0, 0, 0, 0, 0, 0, 3, 9, 17))
        return Step(choose(range(CLIENTS)), tuple(words), form.name, cut)

    return st.lists(step(), min_size=20, max_size=LONGEST)


def search(
    pair: Pair, forms: Sequence[Form], *, number: int, examples: int, tick: Callable[[], None] = lambda: None
) -> Found | None:
    """Plays so many conversations; the shortest that differs, if one does.

    Args:
        pair: the two servers.
        forms: what to send.
        number: the seed: the same conversations come again with it.
        examples: how many conversations.
        tick: called after each.
    """
    last: list[Found] = []

    @seed(number)
    @settings(
        max_examples=examples, database=None, deadline=None, phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(conversations(forms))
    def run(steps: list[Step]) -> None:
        sent, difference = pair.play(steps)
        tick()
        if difference is not None:
            last[:] = [Found(sent, difference)]
            raise DifferError

    try:
        run()
    except (DifferError, Flaky):
        return last[0]
    return None
