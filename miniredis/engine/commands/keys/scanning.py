"""SCAN and RANDOMKEY: keys in steps, and random keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from ...clients.session import Session
from ...declarations.registry import command
from ...glob import compile_match
from ...keyspace.keyspace import Database
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError, until_nul
from ...protocol.replies import Reply
from ...values.key_index import KeyIndex

CURSOR: Final = re.compile(rb"([+-]?)([0-9]*)").fullmatch
LARGEST: Final = (1 << 64) - 1


@dataclass(slots=True)
class Options:
    """The options of SCAN."""

    pattern: bytes = b"*"
    count: int = 10
    type_name: bytes | None = None


@command(
    "SCAN",
    -2,
    "readonly",
    acl="keyspace",
    tips="nondeterministic_output request_policy:special",
    since="2.8.0",
    syntax="cursor:integer [MATCH pattern:pattern] [COUNT count:integer] [TYPE type@6.0.0]",
)
def scan(session: Session, args: list[bytes]) -> Reply:
    """Returns some keys of the database, and the cursor for the next call."""
    cursor = read_cursor(args[1])
    options = read_options(args[2:])
    fits = compile_match(options.pattern)
    db = session.db
    cursor, keys = db.key_index().walk(cursor, options.count)
    return [b"%d" % cursor, [key for key in keys if fits(key) and is_shown(db, key, options.type_name)]]


def is_shown(db: Database, key: bytes, type_name: bytes | None) -> bool:
    """Whether a key has the requested type, if any, and has not expired."""
    if type_name is not None and db.type_name(key).lower() != type_name:
        return False
    return not db.has_expired(key)


def read_cursor(text: bytes) -> int:
    """A number as C's ``strtoul`` parses it: an empty text is 0, and negative numbers wrap."""
    match = CURSOR(until_nul(text))
    if match is None or (match[1] and not match[2]):
        raise CommandError(errors.CURSOR)
    digits = match[2].lstrip(b"0")
    if len(digits) > len(str(LARGEST)) or int(digits or b"0") > LARGEST:
        raise CommandError(errors.CURSOR)
    number = int(digits or b"0")
    return LARGEST + 1 - number if match[1] == b"-" and number else number


def read_options(words: list[bytes], *, may_have_type: bool = True) -> Options:
    options = Options()
    rest = iter(words)
    for word in rest:
        operand = next(rest, None)
        match word.upper():
            case b"COUNT" if operand is not None:
                options.count = read_integer(operand)
                if options.count < 1:
                    raise CommandError(errors.SYNTAX)
            case b"MATCH" if operand is not None:
                options.pattern = operand
            case b"TYPE" if operand is not None and may_have_type:
                options.type_name = operand.lower()
            case _:
                raise CommandError(errors.SYNTAX)
    return options


class Walkable(Protocol):
    """A collection with members to scan."""

    is_packed: bool

    def __iter__(self) -> Iterator[bytes]: ...

    def index(self) -> KeyIndex:
        """An index of the members."""


def next_members(values: Walkable, cursor: int, options: Options) -> tuple[int, list[bytes]]:
    """The next cursor and the next matching members; a packed value is returned in one step."""
    fits = compile_match(options.pattern)
    cursor, members = (0, list(values)) if values.is_packed else values.index().walk(cursor, options.count)
    return cursor, [member for member in members if fits(member)]


@command(
    "RANDOMKEY",
    1,
    "readonly",
    acl="keyspace",
    tips="request_policy:all_shards nondeterministic_output",
    since="1.0.0",
)
def randomkey(session: Session, args: list[bytes]) -> Reply:
    """Returns a random key; null if the database is empty."""
    db, luck = session.db, session.engine.random
    while (key := db.key_index().any(luck)) is not None and db.has_expired(key):
        if key in db.values:  # an expired key is kept, for example by CLIENT PAUSE
            live = db.live_keys()
            return luck.choice(live) if live else None
    return key
