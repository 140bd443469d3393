"""MEMORY: estimates of the memory that keys take."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import Keys, command, container
from ...keyspace.keyspace import Database
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Map, Reply, Verbatim
from ...rdb.value_types import TYPES

KEY_OVERHEAD: Final = 160
"""The bytes a key takes in addition to its name and value: hash table entries and object header."""

EXPIRY_OVERHEAD: Final = 32
"""The bytes that its time takes if it expires."""

SAMPLES: Final = 5

TOO_LITTLE: Final = 5 * 1024 * 1024
"""Bytes; of a process with less memory, Redis says nothing."""

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


TOLD: Final = "nondeterministic_output request_policy:all_shards response_policy:special"

UNKNOWN: Final = (
    "clients.slaves", "clients.normal", "cluster.links", "aof.buffer", "lua.caches", "functions.caches",
)  # fmt: skip
"""Fields of MEMORY STATS that this server does not measure, as ``startup.allocated``: they are 0."""

RATIOS: Final = (
    "allocator-fragmentation.ratio", "allocator-rss.ratio", "rss-overhead.ratio", "fragmentation",
)  # fmt: skip
"""Fields that compare what was allocated with what the process has. Python tells only that: they are 1."""


@command("MEMORY STATS", 2, acl="", tips=TOLD, since="4.0.0")
def memory_stats(session: Session, args: list[bytes]) -> Reply:
    """Tells how much memory the process has and what the tables of keys take of it, by estimate."""
    engine = session.engine
    used = engine.environment.memory()
    peak = engine.statistics.memory_peak = max(engine.statistics.memory_peak, used)
    databases = [db for db in engine.keyspace.databases if len(db)]
    keys = sum(map(len, databases))
    overhead = sum(KEY_OVERHEAD * len(db) + EXPIRY_OVERHEAD * len(db.deadlines) for db in databases)
    data = max(used - overhead, 0)
    return Map(
        {
            b"peak.allocated": peak,
            b"total.allocated": used,
            b"startup.allocated": 0,
            b"replication.backlog": engine.replication.history.size,
            **{name.encode(): 0 for name in UNKNOWN},
            **{b"db.%d" % db.index: hash_tables(db) for db in databases},
            b"overhead.total": overhead,
            b"keys.count": keys,
            b"keys.bytes-per-key": used // (keys or 1),
            b"dataset.bytes": data,
            b"dataset.percentage": 100 * data / (used or 1),
            b"peak.percentage": 100 * used / (peak or 1),
            b"allocator.allocated": used,
            b"allocator.active": used,
            b"allocator.resident": used,
            **{
                part: number
                for name in RATIOS
                for part, number in (
                    (name.encode(), 1.0),
                    (name.removesuffix(".ratio").encode() + b".bytes", 0),
                )
            },
        }
    )


def hash_tables(db: Database) -> Reply:
    """What the tables of a database take beside names and values."""
    return Map(
        {
            b"overhead.hashtable.main": KEY_OVERHEAD * len(db),
            b"overhead.hashtable.expires": EXPIRY_OVERHEAD * len(db.deadlines),
            b"overhead.hashtable.slot-to-keys": 0,
        }
    )


NO_DATA: Final = (
    b"Hi Sam, this instance is empty or is using very little memory, my issues detector can't be used in "
    b"these conditions. Please, leave for your mission on Earth and fill it with some data. The new Sam and "
    b"I will be back to our programming as soon as I finished rebooting.\n"
)
NO_ISSUE: Final = (
    b"Hi Sam, I can't find any memory issue in your instance. I can only account for what occurs on this "
    b"base.\n"
)
PEAK: Final = (
    b"Sam, I detected a few issues in this Redis instance memory implants:\n\n"
    b" * Peak memory: In the past this instance used more than 150% the memory that is currently using. The "
    b"allocator is normally not able to release memory after a peak, so you can expect to see a big "
    b"fragmentation ratio, however this is actually harmless and is only due to the memory peak, and if the "
    b"Redis instance Resident Set Size (RSS) is currently bigger than expected, the memory will be used as "
    b"soon as you fill the Redis instance with more data. If the memory peak was only occasional and you "
    b"want to try to reclaim memory, please try the MEMORY PURGE command, otherwise the only other option is "
    b"to shutdown and restart the instance.\n\n"
    b"I'm here to keep you safe, Sam. I want to help you.\n"
)
"""Redis's words."""


@command("MEMORY DOCTOR", 2, acl="", tips=TOLD, since="4.0.0")
def memory_doctor(session: Session, args: list[bytes]) -> Reply:
    """Says whether the process once had much more memory than now."""
    used = session.engine.environment.memory()
    if used < TOO_LITTLE:
        return Verbatim(NO_DATA)
    if session.engine.statistics.memory_peak > 1.5 * used:
        return Verbatim(PEAK)
    return Verbatim(NO_ISSUE)


@command("MEMORY MALLOC-STATS", 2, acl="", tips=TOLD, since="4.0.0")
def memory_malloc_stats(session: Session, args: list[bytes]) -> Reply:
    """Says what Redis says where its allocator has no statistics, as Python's has none for this."""
    return b"Stats not supported for the current allocator"


@command(
    "MEMORY PURGE",
    2,
    acl="",
    tips="request_policy:all_shards response_policy:all_succeeded",
    since="4.0.0",
)
def memory_purge(session: Session, args: list[bytes]) -> Reply:
    """Does what it does where the allocator cannot be told to give memory back: nothing."""
    return OK


@command("MEMORY HELP", 2, "loading stale", acl="", since="4.0.0")
def memory_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"memory"))
