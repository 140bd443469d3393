"""Libraries of functions: loading, deleting and restoring them.

Names of functions ignore case, names of libraries do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from ..protocol.errors import CommandError
from ..protocol.requests import split_arguments
from . import script_errors
from .script_flags import check_flags
from .script_interfaces import Interpreter, LibraryError, Registered

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..engine import Engine
    from ..protocol.replies import Reply

__all__ = ["POLICIES", "Libraries", "Library"]

POLICIES: Final = (b"APPEND", b"REPLACE", b"FLUSH")
"""The options of FUNCTION RESTORE for existing libraries."""

NAME: Final = re.compile(rb"[A-Za-z0-9_]+").fullmatch


class Library(NamedTuple):
    """One library.

    Attributes:
        name: from its first line.
        code: its text, including the first line.
        functions: the functions it has registered.
    """

    name: bytes
    code: bytes
    functions: list[Registered]


class LibrarySet:
    """Libraries in which no two have the same name, or a function in common.

    Args:
        other: the initial contents.

    Attributes:
        libraries: by name.
        functions: by name in lower case.
    """

    __slots__ = ("functions", "libraries")

    def __init__(self, other: LibrarySet | None = None) -> None:
        self.libraries: dict[bytes, Library] = dict(other.libraries) if other else {}
        self.functions: dict[bytes, Registered] = dict(other.functions) if other else {}

    def add(self, library: Library) -> None:
        """Adds a library, or replaces the one with its name; raises ``CommandError`` if functions collide."""
        old = self.libraries.get(library.name)
        others = self.functions.keys() - names(old.functions if old else ())
        for function in library.functions:
            if function.name.lower() in others:
                raise CommandError(script_errors.function_exists(function.name))
        if old is not None:
            self.remove(old)
        self.libraries[library.name] = library
        for function in library.functions:
            self.functions.setdefault(function.name.lower(), function)

    def remove(self, library: Library) -> None:
        """Removes a library."""
        del self.libraries[library.name]
        for name in names(library.functions):
            self.functions.pop(name, None)


def names(functions: Iterable[Registered]) -> set[bytes]:
    return {function.name.lower() for function in functions}


class Libraries:
    """The libraries of one engine.

    Args:
        engine: runs their functions.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._shelf = LibrarySet()
        self._interpreter: Interpreter | None = None

    @property
    def libraries(self) -> list[Library]:
        """All libraries."""
        return list(self._shelf.libraries.values())

    @property
    def function_count(self) -> int:
        """The number of functions of all libraries."""
        return len(self._shelf.functions)

    def find(self, name: bytes) -> Registered:
        """The function with this name, in any case; raises ``CommandError`` if there is none."""
        function = self._shelf.functions.get(name.lower())
        if function is None:
            raise CommandError(script_errors.NO_FUNCTION)
        return function

    def call(
        self, client: Session, function: Registered, request: list[bytes], keys: int, *, is_read_only: bool
    ) -> Reply:
        """Runs a function for a client, and returns its reply.

        Args:
            client: the client that called it.
            function: a registered function.
            request: FCALL and its arguments.
            keys: the number of keys among them.
            is_read_only: whether it may not write, whatever its flags say.
        """
        flags = frozenset(function.flags)
        is_read_only |= check_flags(self._engine, flags, is_read_only=is_read_only)
        assert self._interpreter is not None
        scripts = self._engine.scripts
        run = scripts.begin(client, function.name, request, is_function=True, is_read_only=is_read_only)
        run.keeps_to_slot = b"allow-cross-slot-keys" not in flags
        try:
            names, args = request[3 : 3 + keys], request[3 + keys :]
            outcome = self._interpreter.invoke(function.body, function.name, names, args, client.resp)
            return scripts.conclude(outcome)
        finally:
            scripts.end()

    def load(self, code: bytes, *, replace: bool) -> bytes:
        """Loads a library; returns its name. Raises ``CommandError`` if the code is not a library."""
        library = self._read(code, self._shelf, replace=replace)
        self._shelf.add(library)
        self._forget()
        return library.name

    def _read(self, code: bytes, shelf: LibrarySet, *, replace: bool) -> Library:
        engine, name, text = read_metadata(code)
        if not NAME(name):
            raise CommandError(script_errors.LIBRARY_NAME)
        if engine.lower() != b"lua":
            raise CommandError(script_errors.no_engine(engine))
        if name in shelf.libraries and not replace:
            raise CommandError(script_errors.library_exists(name))
        scripts = self._engine.scripts
        if self._interpreter is None:
            self._interpreter = scripts.make_interpreter(for_functions=True)
        scripts.start_loading()
        try:
            functions = self._interpreter.load(text)
        except LibraryError as error:
            raise CommandError(b"ERR " + error.reason) from None
        if not functions:
            raise CommandError(script_errors.NO_FUNCTIONS)
        return Library(name, code, functions)

    def prepare(self) -> Incoming:
        """A separate collection of libraries, to replace all current ones later."""
        return Incoming(self._read)

    def take_over(self, incoming: Incoming) -> None:
        """Replaces all libraries by those of ``prepare``."""
        self._shelf = incoming.shelf
        self._forget()

    def delete(self, name: bytes) -> None:
        """Deletes a library; raises ``CommandError`` if there is none with that name."""
        library = self._shelf.libraries.get(name)
        if library is None:
            raise CommandError(script_errors.NO_LIBRARY)
        self._shelf.remove(library)
        self._forget()

    def _forget(self) -> None:
        """Lets the interpreter free functions that were removed or replaced."""
        if self._interpreter is not None:
            self._interpreter.forget()

    def flush(self) -> None:
        """Deletes all libraries and their interpreter."""
        self._shelf = LibrarySet()
        self._interpreter = None

    def restore(self, codes: Iterable[bytes], policy: bytes) -> None:
        """Loads libraries, all or none; raises ``CommandError``.

        Args:
            codes: of each library.
            policy: one of ``POLICIES``.
        """
        incoming = LibrarySet()
        for code in codes:
            incoming.add(self._read(code, incoming, replace=False))
        shelf = LibrarySet(None if policy == b"FLUSH" else self._shelf)
        for library in incoming.libraries.values():
            if library.name in shelf.libraries and policy != b"REPLACE":
                raise CommandError(script_errors.library_collides(library.name))
        for library in incoming.libraries.values():
            shelf.add(library)
        self._shelf = shelf
        self._forget()


class Incoming:
    """Libraries that are not in use yet.

    Args:
        read: makes a library from its code, given the other libraries.

    Attributes:
        shelf: the libraries.
    """

    def __init__(self, read: Callable[..., Library]) -> None:
        self._read = read
        self.shelf = LibrarySet()

    def load(self, code: bytes, *, replace: bool) -> None:
        """Loads a library; raises ``CommandError`` if the code is not a library."""
        self.shelf.add(self._read(code, self.shelf, replace=replace))

    def flush(self) -> None:
        """Deletes all of them."""
        self.shelf = LibrarySet()


def read_metadata(code: bytes) -> tuple[bytes, bytes, bytes]:
    """A library's language, name, and code with an empty first line; raises ``CommandError``."""
    if not code.startswith(b"#!"):
        raise CommandError(script_errors.NO_METADATA)
    line, end, _ = code.partition(b"\n")
    words = split_arguments(line) if end else None
    if not words:
        raise CommandError(script_errors.INVALID_METADATA)
    name = None
    for word in words[1:]:
        if not word.lower().startswith(b"name="):
            raise CommandError(script_errors.metadata_value(word))
        if name is not None:
            raise CommandError(script_errors.TWO_LIBRARY_NAMES)
        name = word[len(b"name=") :]
    if name is None:
        raise CommandError(script_errors.NO_LIBRARY_NAME)
    return words[0][2:], name, code[len(line) :]
