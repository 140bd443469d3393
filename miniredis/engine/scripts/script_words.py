"""How versions tell of errors that scripts meet, where they do not say what 7.0 says."""

from __future__ import annotations

import re
from typing import Final

from ..declarations.registry import by_version, instead_of
from ..protocol.errors import CommandError
from . import script_errors
from .script_flags import Flags, read_shebang

__all__ = ["words_of_failure", "words_of_library", "words_of_refusal"]


# What a command of a script is refused with

OF_VALKEY: Final = {
    script_errors.UNKNOWN_IN_SCRIPT: b"ERR Unknown command called from script",
    script_errors.ARITY_IN_SCRIPT: b"ERR Wrong number of args calling command from script",
}
NAMED: Final = {script_errors.NOT_FROM_SCRIPTS: b"ERR This Valkey command is not allowed from script"}
words_of_refusal: Final = by_version({}, {"valkey-8.1": OF_VALKEY, "valkey-9.1+": OF_VALKEY | NAMED})
"""Why a command of a script cannot run, where a version has other words: without the product, or with it."""

# What the library of scripts says of a call

NO_WORDS: Final = b"Please specify at least one argument for this redis lib call"
BAD_WORDS: Final = b"Lua redis lib command arguments must be strings or integers"


words_of_library: Final = by_version(
    (NO_WORDS, BAD_WORDS),
    {
        "valkey-8.1+": (
            b"Please specify at least one argument for this call",
            b"Command arguments must be strings or integers",
        )
    },
)
"""The errors of a call without arguments, and of one with arguments of a wrong type."""


# What a script ends with


def words_of_failure(text: bytes, *, is_of_command: bool) -> bytes:  # noqa: ARG001
    """The error of a script that fails.

    Args:
        text: the error, the script and the place in it, as 7.0 tells them.
        is_of_command: whether a command of the script has failed.
    """
    return text


PLACED: Final = re.compile(rb"(.*) script: (\w+), on (@\w+):(\d+)\.", re.DOTALL)
"""An error with the name of the script or function, the source and the line."""

LIBRARY: Final = re.compile(rb"^ERR redis\.(\w+\(\) requires )")


@instead_of(words_of_failure, "valkey-8.1")
def failure_in_valkey(text: bytes, *, is_of_command: bool) -> bytes:  # noqa: ARG001
    """The same, with the name that Valkey's library has."""
    return LIBRARY.sub(rb"ERR server.\1", text)


@instead_of(words_of_failure, "valkey-9.1+")
def failure_without_name(text: bytes, *, is_of_command: bool) -> bytes:
    """The same, without the name of the script."""
    said = failure_in_valkey(text, is_of_command=is_of_command)
    placed = PLACED.fullmatch(said)
    return b"%b script: on %b:%b." % placed.group(1, 3, 4) if placed else said


REFUSALS_OF_6: Final = {
    script_errors.UNKNOWN_IN_SCRIPT: b"Unknown Redis command called from Lua script",
    script_errors.ARITY_IN_SCRIPT: b"Wrong number of args calling Redis command From Lua script",
    script_errors.NOT_FROM_SCRIPTS: b"This Redis command is not allowed from scripts",
    b"ERR " + NO_WORDS: b"Please specify at least one argument for redis.call()",
    b"ERR " + BAD_WORDS: b"Lua redis() command arguments must be strings or integers",
}

REFUSED: Final = (b"READONLY ", b"OOM ", b"MISCONF ", b"NOREPLICAS ", b"MASTERDOWN ")
"""How refusals begin that 6.x tells as they go to clients, with their dash."""


@instead_of(words_of_failure, "6.0-6.2")
def failure_in_6(text: bytes, *, is_of_command: bool) -> bytes:
    """The same, with the script and the place in front; what refuses a command has its place once more."""
    placed = PLACED.fullmatch(text)
    if placed is None:
        return text
    said, name, source, line = placed.groups()
    refusal = REFUSALS_OF_6.get(said) or (b"-" + said if said.startswith(REFUSED) else b"")
    if refusal:
        said = b"%b: %b: %b" % (source, line, refusal)
    elif not is_of_command:
        said = said.removeprefix(b"ERR ")
    return b"ERR Error running script (call to f_%b): %b:%b: %b" % (name, source, line, said)


# Where a script begins: in 6.x a shebang line is no Lua

instead_of(read_shebang, "6.0-6.2")(lambda body: (body, None))

LANGUAGE: Final = re.compile(rb"#!([^\s\0]*)").match


@instead_of(read_shebang, "valkey-8.1+")
def shebang_of_valkey(body: bytes) -> tuple[bytes, Flags | None]:
    """The same, with a language in any case, which is looked at after the options."""
    language = LANGUAGE(body)
    if language is None:
        return body, None
    read = read_shebang(b"#!lua" + body[language.end() :])
    if language[1].lower() != b"lua":
        raise CommandError(script_errors.no_scripting_engine(language[1]))
    return read
