"""Errors of commands that have other texts in some versions; ``versions.wordings`` has most of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ..protocol import errors
from ..protocol.errors import CommandError
from .registry import Handler, wrap_in_versions

if TYPE_CHECKING:
    from ..protocol.replies import Reply

__all__ = ["Made", "Said", "only_in", "reworded"]

Made: TypeAlias = Callable[[list[bytes]], bytes]
"""What makes a text from a request."""
Said: TypeAlias = bytes | Made


def only_in(option: bytes, name: bytes) -> Made:
    """What SCAN or one like it says of a syntax error: an option may be that of another."""
    text = b"ERR %b option can only be used in %b" % (option, name)
    return lambda args: text if option in map(bytes.upper, args[2:]) else errors.SYNTAX


def reworded(versions: str, names: str, words: Mapping[bytes, Said]) -> None:
    """Declares other texts for errors of commands."""

    def saying(handler: Handler) -> Handler:
        def run(session: Any, args: list[bytes]) -> Reply:
            try:
                return handler(session, args)
            except CommandError as error:
                said = words.get(error.message)
                if said is None:
                    raise
                raise CommandError(said if isinstance(said, bytes) else said(args)) from None

        return run

    wrap_in_versions(versions, names, saying)
