"""How a check fails, and what a failure can show for itself, beyond its sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

__all__ = [
    "STANDARD_ERROR",
    "Broken",
    "Evidence",
    "Failure",
    "Unsupported",
    "exactly",
    "expect",
    "expect_error",
]

T = TypeVar("T")

STANDARD_ERROR: Final = "what the client wrote to its standard error"
"""The title of evidence whose last lines are shown on the terminal, too."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something to look at.

    Attributes:
        title: what it is, in a few words.
        text: the whole of it, as plain text.
        markup: the same as a fragment of HTML or SVG that needs nothing else, where that shows it better.
    """

    title: str
    text: str
    markup: str = ""


class Failure(Exception):  # noqa: N818  (a verdict)
    """Raised by a check: the clause does not hold. The text says what was seen; ``evidence`` may show it."""

    def __init__(self, text: str, *evidence: Evidence) -> None:
        super().__init__(text)
        self.evidence = evidence


class Broken(Failure):
    """Raised by a check or a client: one of them, or the server, broke, and nothing can be said."""


class Unsupported(Failure):
    """Raised by a check or a client: the client lacks this feature, so the clause is ``not asked``."""


def expect(seen: object, wanted: object, what: str) -> None:
    """Fails unless what was seen is what was wanted."""
    if seen != wanted:
        raise Failure(f"{what}: wanted {wanted!r}, got {seen!r}")


def exactly(count: int, found: Sequence[T], what: str) -> Sequence[T]:
    """What was found; fails unless there are so many."""
    if len(found) != count:
        raise Failure(f"{what}: wanted {count}, got {found!r}")
    return found


@contextmanager
def expect_error(kind: type[Exception], what: str) -> Iterator[None]:
    """Fails unless the block raises an error of this kind; without a connection nothing can be said."""
    try:
        yield
    except kind:
        return
    except Failure:
        raise
    except ConnectionError as lost:
        raise Broken(f"{what}: wanted {kind.__name__}, got {lost!r}") from lost
    except Exception as other:
        raise Failure(f"{what}: wanted {kind.__name__}, got {other!r}") from other
    raise Failure(f"{what}: wanted {kind.__name__}, nothing was raised")
