"""The programs of the guide that need more than one machine, with addresses of this one in place of theirs."""

from __future__ import annotations

from collections.abc import Mapping

from tests.guides.markdown import blocks_of

GUIDE = "pressure/spark/README.md"


def recipe(start: str, places: Mapping[str, str], language: str = "python") -> str:
    """The block of the guide that has these words in its first line, word for word but for what is replaced."""
    (code,) = (
        each.code
        for each in blocks_of(GUIDE)
        if each.language == language and start in each.code.partition("\n")[0]
    )
    for theirs, ours in places.items():
        assert code.count(theirs) == 1, f"the recipe {start} has {theirs!r} not once"
        code = code.replace(theirs, ours)
    return code
