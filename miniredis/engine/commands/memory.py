"""MEMORY: estimates of the memory that keys take."""

from __future__ import annotations

from typing import Final

from .. import errors
from ..errors import CommandError
from ..help import help_on
from ..numbers import read_integer
from ..registry import Keys, command, container
from ..replies import Reply
from ..session import Session
from ..value_types import TYPES

KEY_OVERHEAD: Final = 160
"""The bytes a key takes in addition to its name and value: hash table entries and object header."""

SAMPLES: Final = 5

container("MEMORY", -2, module=__name__, summary="Shows how much memory keys use.", since="4.0.0")


@command(
    "MEMORY USAGE",
    -3,
    "readonly",
    acl="",
    keys=Keys(2, "RO"),
    since="4.0.0",
    syntax="key#0 [SAMPLES count:integer]",
)
def memory_usage(session: Session, args: list[bytes]) -> Reply:
    """Estimates the bytes that a key and its value use, from a sample of the elements."""
    samples = read_samples(args[3:])
    value = session.db.values.get(args[2])
    return None if value is None else KEY_OVERHEAD + len(args[2]) + TYPES[type(value)].size(value, samples)


def read_samples(words: list[bytes]) -> int:
    samples = SAMPLES
    rest = iter(words)
    for word in rest:
        number = next(rest, None)
        if word.upper() != b"SAMPLES" or number is None:
            raise CommandError(errors.SYNTAX)
        samples = read_integer(number)
        if samples < 0:
            raise CommandError(errors.SYNTAX)
    return samples


@command("MEMORY HELP", 2, "loading stale", acl="", since="4.0.0")
def memory_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"memory"))
