"""The interfaces between the engine and an interpreter of scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from ..protocol.replies import Reply

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
    """The error with which a script ended.

    Attributes:
        text: the error with its code.
        is_counted: whether a command raised it, which counted it already.
    """

    text: bytes
    is_counted: bool


class Registered(NamedTuple):
    """A function that a library has registered.

    Attributes:
        name: as registered.
        description: None if it gave none.
        flags: the flags it declared.
        body: what the interpreter runs.
    """

    name: bytes
    description: bytes | None
    flags: tuple[bytes, ...]
    body: object


class NoLanguageError(Exception):
    """The language of the interpreter is not installed."""


class LibraryError(Exception):
    """The code of a library cannot be loaded."""

    def __init__(self, reason: bytes) -> None:
        super().__init__(reason)
        self.reason = reason


class Caller(Protocol):
    """What a script can use of the engine.

    Attributes:
        version: the number of the Redis that the server answers as.
        valkey: the number of the Valkey that it answers as; empty for Redis.
        no_words: the error of a call without arguments.
        bad_words: the error of a call with arguments that are neither strings nor numbers.
    """

    version: str
    valkey: str
    no_words: bytes
    bad_words: bytes

    def call(self, args: list[bytes]) -> Reply:
        """Runs a command; returns its reply or its error."""

    def writes(self, args: list[bytes]) -> bool:
        """Whether a command may write."""

    def is_allowed(self, args: list[bytes]) -> bool | None:
        """Whether the script's user may run a command; None if there is no such command."""

    def logs(self, level: int) -> bool:
        """Whether the server's ``loglevel`` lets a message pass: 0 for debug, to 3 for warning."""

    def count_error(self, text: bytes) -> None:
        """Counts an error that is part of the script's reply."""

    def interrupt(self) -> bytes | None:
        """Called now and then while a script runs; returns the error with which it must end, or None."""


class Interpreter(Protocol):
    """Runs scripts of one language."""

    def digest(self, script: bytes) -> bytes:
        """The SHA1 of a script, in hexadecimal."""

    def compile(self, name: bytes, code: bytes) -> bytes | None:
        """Compiles a script and keeps it under its name; returns the error message, or None."""

    def run(
        self, name: bytes, code: bytes, keys: list[bytes], args: list[bytes], resp: int
    ) -> Reply | Failure:
        """Runs a compiled script; returns its reply for the version ``resp`` of the protocol."""

    def load(self, code: bytes) -> list[Registered]:
        """Runs the code of a library; returns the functions that it registers. Raises ``LibraryError``."""

    def forget(self) -> None:
        """Frees the memory of functions that are no longer used."""

    def invoke(
        self, function: Any, name: bytes, keys: list[bytes], args: list[bytes], resp: int
    ) -> Reply | Failure:
        """Runs the body of a function; returns its reply for the version ``resp`` of the protocol."""


class NewInterpreter(Protocol):
    """Makes an interpreter."""

    def __call__(self, caller: Caller, *, for_functions: bool) -> Interpreter:
        """A new interpreter; raises ``NoLanguageError`` if its language is not installed."""
