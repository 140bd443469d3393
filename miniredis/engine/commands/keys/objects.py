"""OBJECT: encodings of values, and times of last use."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import Keys, chosen, command, container, instead_of
from ...keyspace.keyspace import NO_EVENT, NO_TOUCH, Value
from ...numbers.numbers import parse_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from ...rdb.value_types import TYPES
from ...values.listpack import element_size
from ...values.sets import SetValue

LOOKED_AT: Final = Keys(2, "RO")
TIPS: Final = "nondeterministic_output"

SHARED_INTEGERS: Final = range(10_000)
"""The numbers for which Redis shares one object among all keys."""

COUNT_OF_SHARED: Final = (1 << 31) - 1

container("OBJECT", -2, module=__name__, summary="Shows how values are stored.", since="2.2.3")


@command(
    "OBJECT ENCODING", 3, "readonly", acl="keyspace", keys=LOOKED_AT, tips=TIPS, since="2.2.3", syntax="key#0"
)
def object_encoding(session: Session, args: list[bytes]) -> Reply:
    """Returns the encoding that Redis would use for the value of a key."""
    value = session.db.lookup_read(args[2], flags=NO_TOUCH | NO_EVENT)
    return None if value is None else chosen(session.engine.version, encoding)(value)


def encoding(value: Value) -> bytes:
    """The name of the encoding that Redis would use for a value."""
    return TYPES[type(value)].encoding(value)


@instead_of(encoding, "6.0-6.2")
def encoding_in_6(value: Value) -> bytes:
    """The same in 6.x, where small hashes and sorted sets are ziplists."""
    return encoding(value).replace(b"listpack", b"ziplist")


SMALL_LIST: Final = 8192 - 7
"""The bytes of the elements of a list that is one listpack, by default."""

SMALL_SET: Final = (128, 64)
"""The most members of a set that is a listpack, and their most bytes."""


@instead_of(encoding, "7.2+")
def encoding_since_7_2(value: Value) -> bytes:
    """The same since 7.2: small lists and sets are listpacks, also those that have shrunk."""
    found = encoding(value)
    if found == b"quicklist" and sum(map(element_size, value)) <= SMALL_LIST:  # type: ignore[arg-type]
        return b"listpack"
    if found == b"hashtable" and type(value) is SetValue:
        most, longest = SMALL_SET
        is_small = len(value) <= most and max(map(len, value), default=0) <= longest
        return b"listpack" if is_small else found
    return found


@command(
    "OBJECT FREQ", 3, "readonly", acl="keyspace", keys=LOOKED_AT, tips=TIPS, since="4.0.0", syntax="key#0"
)
def object_freq(session: Session, args: list[bytes]) -> Reply:
    """Replies with an error: this server does not count how often keys are accessed."""
    if session.db.lookup_read(args[2], flags=NO_TOUCH | NO_EVENT) is None:
        return None
    raise CommandError(errors.NO_FREQUENCIES)


@command(
    "OBJECT IDLETIME", 3, "readonly", acl="keyspace", keys=LOOKED_AT, tips=TIPS, since="2.2.3", syntax="key#0"
)
def object_idletime(session: Session, args: list[bytes]) -> Reply:
    """Returns the seconds since a key was last accessed."""
    if session.db.lookup_read(args[2], flags=NO_TOUCH | NO_EVENT) is None:
        return None
    return idle_seconds(session, args[2])


def idle_seconds(session: Session, key: bytes) -> int:
    """The whole seconds since an existing key was last used."""
    now = session.engine.now.milliseconds
    return max(now - session.db.used.get(key, now), 0) // 1000


@command(
    "OBJECT REFCOUNT", 3, "readonly", acl="keyspace", keys=LOOKED_AT, tips=TIPS, since="2.2.3", syntax="key#0"
)
def object_refcount(session: Session, args: list[bytes]) -> Reply:
    """Returns the reference count that the value of a key would have in Redis."""
    value = session.db.lookup_read(args[2], flags=NO_TOUCH | NO_EVENT)
    return None if value is None else reference_count(value)


def reference_count(value: Value) -> int:
    """1, except for small integers, which are shared."""
    is_shared = type(value) is bytes and parse_integer(value) in SHARED_INTEGERS
    return COUNT_OF_SHARED if is_shared else 1


@command("OBJECT HELP", 2, "loading stale", acl="keyspace", since="6.2.0")
def object_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"object"))
