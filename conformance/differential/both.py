"""Any two servers, compared by way of miniredis: each plays every conversation beside the engine.

The engine tells who is to hear something, and when nobody is. Where both depart from it in the same way they
agree; the conversation ends there.
"""

from __future__ import annotations

from .pair import Pair
from .steps import Difference, Step

__all__ = ["Both"]


class Both:
    """Two pairs, played one after the other.

    Args:
        target: the server that is judged, beside the engine.
        against: the one it is compared with, beside the engine.
    """

    def __init__(self, target: Pair, against: Pair) -> None:
        self._target = target
        self._against = against

    def play(self, steps: list[Step]) -> tuple[list[tuple[str, Step]], Difference | None]:
        """A whole conversation: the steps that were sent, by whom, and what was not the same.

        ``ours`` of a difference is what the target's client heard.
        """
        sent, mine = self._target.play(steps)
        other_sent, other = self._against.play(steps)
        if mine is None and other is None:
            return sent, None
        if other is None or (mine is not None and len(sent) < len(other_sent)):
            assert mine is not None
            return sent, Difference(mine.client, ours=mine.theirs, theirs=mine.ours)
        if mine is None or len(other_sent) < len(sent):
            return other_sent, Difference(other.client, ours=other.ours, theirs=other.theirs)
        if (mine.client, mine.theirs) == (other.client, other.theirs):
            return sent, None
        return sent, Difference(mine.client, ours=mine.theirs, theirs=self._heard(mine, other))

    @staticmethod
    def _heard(mine: Difference, other: Difference) -> bytes:
        """What the same client of the other server heard: as the engine's, unless that is its difference."""
        return other.theirs if other.client == mine.client else mine.ours
