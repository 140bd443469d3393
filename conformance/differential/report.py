"""A difference as a conversation that the tests can keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..wire import encode
from .search import Found
from .steps import Step

__all__ = ["line", "shown", "transcript"]


LONGEST: Final = 20_000
"""Characters of a request that is shown whole; the same seed makes those that are not."""


def transcript(found: Found, ours: str = "miniredis", theirs: str = "redis-server") -> str:
    """What was sent, in the notation of the recorded conversations, and who heard what of which server."""
    return "\n".join([*map(line, found.steps), *heard(found, ours, theirs)])


def line(sent: tuple[str, Step]) -> str:
    name, step = sent
    if sum(map(len, step.words)) > LONGEST:
        return f"# {name} said {step.command} in {len(step.words)} words: {shown(repr(step.words).encode())}"
    if all(word.isascii() and word.isprintable() and not set(word) & set("\"'\\") for word in step.words):
        return f"{name}: " + " ".join(
            word if word and " " not in word else f'"{word}"' for word in step.words
        )
    data = encode(*(word.encode("latin-1") for word in step.words))
    return f"{name}! " + data.decode("latin-1").encode("unicode_escape").decode()


def heard(found: Found, ours: str, theirs: str) -> Iterator[str]:
    difference = found.difference
    yield f"# {difference.client} of {theirs} heard {shown(difference.theirs)}"
    yield f"# {difference.client} of {ours} heard {shown(difference.ours)}"


def shown(data: bytes) -> str:
    text = data.decode("latin-1").encode("unicode_escape").decode()
    return text if len(text) < 2000 else f"{text[:2000]}... ({len(data)} bytes)"
