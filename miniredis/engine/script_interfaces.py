"""What the engine and an interpreter of scripts know of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from .replies import Reply

__all__ = [
    "Caller",
    "Failure",
    "Interpreter",
    "LibraryError",
    "NewInterpreter",
    "NoLanguageError",
    "Registered",
]


class Failure(NamedTuple):
    """A script ended with an error.

    Attributes:
        text: with its code.
        is_counted: it is that of a command, and was counted with it.
    """

    text: bytes
    is_counted: bool


class Registered(NamedTuple):
    """A function that a library has registered.

    Attributes:
        name: as registered.
        description: what it is for, if it says so.
        flags: what it says of itself.
        body: what the interpreter runs.
    """

    name: bytes
    description: bytes | None
    flags: tuple[bytes, ...]
    body: object


class NoLanguageError(Exception):
    """What the interpreter needs is not installed."""


class LibraryError(Exception):
    """The text of a library is of no use."""

    def __init__(self, reason: bytes) -> None:
        super().__init__(reason)
        self.reason = reason


class Caller(Protocol):
    """What a script reaches of the engine."""

    def call(self, args: list[bytes]) -> Reply:
        """Runs a command; its error is its reply."""

    def writes(self, args: list[bytes]) -> bool:
        """Whether a command may have changed something."""

    def is_allowed(self, args: list[bytes]) -> bool | None:
        """Whether the script's user may run a command; None if there is no such command."""

    def count_error(self, text: bytes) -> None:
        """An error is a part of the script's reply."""

    def interrupt(self) -> bytes | None:
        """The script has run on for a while; returns the error with which it is to end, if it is."""


class Interpreter(Protocol):
    """Runs scripts of one language."""

    def digest(self, script: bytes) -> bytes:
        """The SHA1 by which a script is known, in hexadecimal."""

    def compile(self, name: bytes, code: bytes) -> bytes | None:
        """Compiles a script, under its name; returns what is wrong with it, or None."""

    def run(
        self, name: bytes, code: bytes, keys: list[bytes], args: list[bytes], resp: int
    ) -> Reply | Failure:
        """Runs a script that compiles; returns its reply in a version of the protocol."""

    def load(self, code: bytes) -> list[Registered]:
        """Runs the text of a library, and returns what it registers; raises ``LibraryError``."""

    def forget(self) -> None:
        """Functions that were registered are not needed any more: their memory is free for others."""

    def invoke(
        self, function: Any, name: bytes, keys: list[bytes], args: list[bytes], resp: int
    ) -> Reply | Failure:
        """Runs the body of a function; returns its reply in a version of the protocol."""


class NewInterpreter(Protocol):
    """Makes an interpreter."""

    def __call__(self, caller: Caller, *, for_functions: bool) -> Interpreter:
        """Raises ``NoLanguageError`` where what it needs is not installed."""
