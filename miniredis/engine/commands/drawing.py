"""Random members of hashes, sets and sorted sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ..numbers.numbers import MAX, read_integer
from ..protocol import errors
from ..protocol.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..clients.session import Session
    from ..values.key_index import KeyIndex

__all__ = ["Drawable", "check_repeated", "drawn", "read_count"]

MOST_REPEATED: Final = 1_000_000
"""The most members drawn with repetition: a short request could otherwise exhaust the memory."""


class Drawable(Protocol):
    """A collection with members to draw."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[bytes]: ...

    def index(self) -> KeyIndex:
        """An index of the members."""


def read_count(text: bytes) -> int:
    """The number of members to draw; negative: with repetition."""
    count = read_integer(text)
    if count < -MAX:
        raise CommandError(errors.outside(-MAX, MAX))
    return count


def drawn(session: Session, values: Drawable, count: int) -> list[bytes]:
    """Random members: up to ``count`` distinct ones, or, if negative, ``-count`` with repetition."""
    if count >= len(values):
        return list(values)
    if count >= 0:
        return values.index().several(count, session.engine.random)
    if -count > MOST_REPEATED:
        raise CommandError(errors.OUT_OF_RANGE)
    return values.index().repeated(-count, session.engine.random)


def check_repeated(session: Session, found: list[bytes], count: int) -> None:
    """Raises ``CommandError`` if repetition made the reply longer than ``proto-max-bulk-len``."""
    if count < 0 and sum(map(len, found)) > session.engine.config.integer("proto-max-bulk-len"):
        raise CommandError(errors.OUT_OF_RANGE)
