"""Libraries of functions: which there are, and how they are kept, given away and taken in.

Names of functions count in any case, those of libraries do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from . import errors
from .errors import CommandError
from .rdb.kinds import LIBRARY
from .rdb.payload import BadDataError, BadPayloadError, opened, sealed
from .rdb.reader import Reader, string
from .requests import split_arguments
from .script_flags import check_flags
from .script_interfaces import Interpreter, LibraryError, Registered

if TYPE_CHECKING:
    from .engine import Engine
    from .replies import Reply
    from .session import Session

__all__ = ["POLICIES", "Libraries", "Library"]

POLICIES: Final = (b"APPEND", b"REPLACE", b"FLUSH")
"""What FUNCTION RESTORE may do about what is there."""

NAME: Final = re.compile(rb"[A-Za-z0-9_]+").fullmatch


class Library(NamedTuple):
    """One library.

    Attributes:
        name: as its first line has it.
        code: its text, first line included.
        functions: what it has registered.
    """

    name: bytes
    code: bytes
    functions: list[Registered]


class Shelf:
    """Libraries that stand together: no two have a name, or a function, in common.

    Args:
        other: which of them there are to begin with.

    Attributes:
        libraries: by name.
        functions: by name in lower case.
    """

    __slots__ = ("functions", "libraries")

    def __init__(self, other: Shelf | None = None) -> None:
        self.libraries: dict[bytes, Library] = dict(other.libraries) if other else {}
        self.functions: dict[bytes, Registered] = dict(other.functions) if other else {}

    def add(self, library: Library) -> None:
        """Puts a library there, in place of one of its name; raises ``CommandError`` if functions collide."""
        old = self.libraries.get(library.name)
        others = self.functions.keys() - names(old.functions if old else ())
        for function in library.functions:
            if function.name.lower() in others:
                raise CommandError(errors.function_exists(function.name))
        if old is not None:
            self.remove(old)
        self.libraries[library.name] = library
        for function in library.functions:
            self.functions.setdefault(function.name.lower(), function)

    def remove(self, library: Library) -> None:
        """Takes a library away."""
        del self.libraries[library.name]
        for name in names(library.functions):
            self.functions.pop(name, None)


def names(functions: Iterable[Registered]) -> set[bytes]:
    return {function.name.lower() for function in functions}


class Libraries:
    """The libraries of one engine.

    Args:
        engine: whose they are.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._shelf = Shelf()
        self._interpreter: Interpreter | None = None

    @property
    def libraries(self) -> list[Library]:
        """All of them."""
        return list(self._shelf.libraries.values())

    @property
    def function_count(self) -> int:
        """How many functions they have."""
        return len(self._shelf.functions)

    def find(self, name: bytes) -> Registered:
        """The function of that name, in any case; raises ``CommandError`` if there is none."""
        function = self._shelf.functions.get(name.lower())
        if function is None:
            raise CommandError(errors.NO_FUNCTION)
        return function

    def call(
        self, client: Session, function: Registered, request: list[bytes], keys: int, *, is_read_only: bool
    ) -> Reply:
        """Runs a function for a client, and returns its reply.

        Args:
            client: who asked for it.
            function: one that was found.
            request: FCALL and its arguments.
            keys: how many of these are keys.
            is_read_only: it may not write, whatever it says of itself.
        """
        flags, refusal = frozenset(function.flags), self._engine.conditions.write_refusal
        is_read_only |= check_flags(flags, is_read_only=is_read_only, write_refusal=refusal)
        assert self._interpreter is not None
        scripts = self._engine.scripts
        scripts.begin(client, function.name, request, is_function=True, is_read_only=is_read_only)
        try:
            names, args = request[3 : 3 + keys], request[3 + keys :]
            outcome = self._interpreter.invoke(function.body, function.name, names, args, client.resp)
            return scripts.conclude(outcome)
        finally:
            scripts.end()

    def load(self, code: bytes, *, replace: bool) -> bytes:
        """Takes a library in; returns its name, and raises ``CommandError`` for what is none."""
        library = self._read(code, self._shelf, replace=replace)
        self._shelf.add(library)
        self._forget()
        return library.name

    def _read(self, code: bytes, shelf: Shelf, *, replace: bool) -> Library:
        engine, name, text = read_metadata(code)
        if not NAME(name):
            raise CommandError(errors.LIBRARY_NAME)
        if engine.lower() != b"lua":
            raise CommandError(errors.no_engine(engine))
        if name in shelf.libraries and not replace:
            raise CommandError(errors.library_exists(name))
        scripts = self._engine.scripts
        if self._interpreter is None:
            self._interpreter = scripts.make_interpreter(for_functions=True)
        scripts.start_loading()
        try:
            functions = self._interpreter.load(text)
        except LibraryError as error:
            raise CommandError(b"ERR " + error.reason) from None
        if not functions:
            raise CommandError(errors.NO_FUNCTIONS)
        return Library(name, code, functions)

    def delete(self, name: bytes) -> None:
        """Takes a library away; raises ``CommandError`` if there is none of that name."""
        library = self._shelf.libraries.get(name)
        if library is None:
            raise CommandError(errors.NO_LIBRARY)
        self._shelf.remove(library)
        self._forget()

    def _forget(self) -> None:
        """Libraries were taken away or replaced."""
        if self._interpreter is not None:
            self._interpreter.forget()

    def flush(self) -> None:
        """Takes all libraries away, and what they have left in their interpreter."""
        self._shelf = Shelf()
        self._interpreter = None

    def dump(self) -> bytes:
        """All libraries as bytes."""
        return sealed(b"".join(bytes([LIBRARY]) + string(library.code) for library in self.libraries))

    def restore(self, payload: bytes, policy: bytes) -> None:
        """Takes in what ``dump`` has made, all or nothing; raises ``CommandError``.

        Args:
            payload: the bytes.
            policy: one of ``POLICIES``.
        """
        incoming = Shelf()
        for code in read_payload(payload):
            incoming.add(self._read(code, incoming, replace=False))
        shelf = Shelf(None if policy == b"FLUSH" else self._shelf)
        for library in incoming.libraries.values():
            if library.name in shelf.libraries and policy != b"REPLACE":
                raise CommandError(errors.library_collides(library.name))
        for library in incoming.libraries.values():
            shelf.add(library)
        self._shelf = shelf
        self._forget()


def read_payload(payload: bytes) -> Iterable[bytes]:
    """The texts of the libraries in a payload; raises ``CommandError`` where there is anything else."""
    try:
        reader = opened(payload)
    except BadPayloadError:
        raise CommandError(errors.BAD_PAYLOAD) from None
    while not reader.is_over:
        yield read_code(reader)


def read_code(reader: Reader) -> bytes:
    if reader.byte() != LIBRARY:
        raise CommandError(errors.NOT_A_LIBRARY)
    try:
        return reader.string()
    except BadDataError:
        raise CommandError(errors.NO_LIBRARY_CODE) from None


def read_metadata(code: bytes) -> tuple[bytes, bytes, bytes]:
    """A library's language, name, and text, whose first line is empty; raises ``CommandError``."""
    if not code.startswith(b"#!"):
        raise CommandError(errors.NO_METADATA)
    line, end, _ = code.partition(b"\n")
    words = split_arguments(line) if end else None
    if not words:
        raise CommandError(errors.INVALID_METADATA)
    name = None
    for word in words[1:]:
        if not word.lower().startswith(b"name="):
            raise CommandError(errors.metadata_value(word))
        if name is not None:
            raise CommandError(errors.TWO_LIBRARY_NAMES)
        name = word[len(b"name=") :]
    if name is None:
        raise CommandError(errors.NO_LIBRARY_NAME)
    return words[0][2:], name, code[len(line) :]
