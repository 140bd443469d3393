"""The HyperLogLog commands: estimated numbers of distinct elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, command, prepared_in
from ...keyspace.keyspace import STRING, StringValue
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply, status
from ...values import hyperloglog
from .strings import mutable

COUNT_NOTES: Final = (
    "RW because it may change the internal representation of the key, and propagate to replicas"
)


def checked(text: StringValue | None) -> StringValue | None:
    """The string; raises ``CommandError`` if it exists and is not a HyperLogLog."""
    if text is not None and not hyperloglog.is_hyperloglog(text):
        raise CommandError(errors.NOT_A_HYPERLOGLOG)
    return text


def sparse_limit(session: Session) -> int:
    """The most bytes of a sparse HyperLogLog."""
    return session.engine.config.integer("hll-sparse-max-bytes")


@command(
    "PFADD",
    -2,
    "write denyoom fast",
    acl="hyperloglog",
    keys=Keys(1, "RW insert"),
    since="2.8.9",
    syntax="key#0 [element]...",
)
def pfadd(session: Session, args: list[bytes]) -> Reply:
    """Adds elements to a HyperLogLog, and creates it if needed; returns whether its state changed."""
    db, key = session.db, args[1]
    text = checked(db.lookup_write(key, STRING))
    most = sparse_limit(session)
    changed = hyperloglog.empty() if text is None else mutable(db, key, text)
    updated = int(text is None) + sum(hyperloglog.add(changed, element, most) for element in args[2:])
    if updated:
        hyperloglog.invalidate(changed)
    if text is None:
        db.create(key, changed, "pfadd", updated)
    elif updated:
        db.signal_modified(key, "pfadd", updated)
    return int(updated > 0)


@command(
    "PFCOUNT",
    -2,
    "readonly may_replicate",
    acl="hyperloglog",
    keys=Keys(1, "RW access", last=-1, notes=COUNT_NOTES),
    since="2.8.9",
    syntax="key#0...",
)
def pfcount(session: Session, args: list[bytes]) -> Reply:
    """Estimates how many distinct elements one HyperLogLog, or the union of several, has counted."""
    if len(args) > 2:
        return hyperloglog.count(highest(session, args[1:]))
    db, key = session.db, args[1]
    text = checked(db.lookup_read(key, STRING))
    if text is None:
        return 0
    number = hyperloglog.cached(text)
    if number is None:
        number = hyperloglog.count(hyperloglog.registers(text))
        hyperloglog.cache(mutable(db, key, text), number)
        db.signal_modified(key, "")
    return number


def highest(session: Session, keys: list[bytes]) -> bytes:
    """The highest value of each register in several HyperLogLogs."""
    number = 0
    seen: set[bytes] = set()
    for key in keys:
        text = checked(session.db.lookup_read(key, STRING))
        if text is not None and key not in seen:
            seen.add(key)
            number = hyperloglog.maximum(number, int.from_bytes(hyperloglog.registers(text), "little"))
    return number.to_bytes(hyperloglog.REGISTERS, "little")


@command(
    "PFMERGE",
    -2,
    "write denyoom",
    acl="hyperloglog",
    keys=(Keys(1, "RW access insert"), Keys(2, "RO access", last=-1)),
    since="2.8.9",
    syntax="destkey#0 sourcekey#1...",
)
def pfmerge(session: Session, args: list[bytes]) -> Reply:
    """Merges HyperLogLogs into the first one."""
    db, key = session.db, args[1]
    values = highest(session, args[1:])
    texts = [db.lookup_write(each, STRING) for each in args[1:]]
    changed = hyperloglog.empty() if texts[0] is None else mutable(db, key, texts[0])
    if any(text is not None and not hyperloglog.is_sparse(text) for text in texts):
        hyperloglog.set_all(changed, values)
    else:
        raise_all(changed, values, sparse_limit(session))
    hyperloglog.invalidate(changed)
    if texts[0] is None:
        db.create(key, changed, "pfadd")
    else:
        db.signal_modified(key, "pfadd")
    return OK


def raise_all(text: bytearray, values: bytes, most: int) -> None:
    """Raises the registers to these values one by one, since the resulting bytes depend on each step."""
    start = None
    for place, (value, before) in enumerate(zip(values, hyperloglog.registers(text), strict=True)):
        if value > before:
            start = hyperloglog.raise_register(text, place, value, most, start)


# Internals


@command(
    "PFDEBUG",
    3,
    "write denyoom admin",
    acl="hyperloglog",
    keys=Keys(2, "RW access"),
    since="2.8.9",
    syntax="subcommand key#0",
    doc_flags="syscmd",
)
def pfdebug(session: Session, args: list[bytes]) -> Reply:
    """Shows the encoding of a HyperLogLog, or makes it dense."""
    db, key = session.db, args[2]
    if db.lookup_write(key) is None:
        raise CommandError(errors.NO_HYPERLOGLOG)
    text = checked(db.lookup_write(key, STRING))
    assert text is not None
    part = PARTS.get(args[1].lower())
    if part is None:
        raise CommandError(errors.unknown_pfdebug(args[1]))
    was_sparse, text = hyperloglog.is_sparse(text), mutable(db, key, text)
    reply = part(text)
    if was_sparse is not hyperloglog.is_sparse(text):
        db.changed_beside(key)
    return reply


@prepared_in("6.0-6.2", "pfdebug")
def counts_words_late(session: Session, args: list[bytes]) -> None:
    """PFDEBUG counts its words once it knows the key and the subcommand."""
    if len(args) > 3 and args[1].lower() in PARTS and checked(session.db.lookup_read(args[2], STRING)):
        raise CommandError(b"ERR Wrong number of arguments for the '%b' subcommand" % args[1])


def all_registers(text: bytearray) -> Reply:
    make_dense(text)
    return list(hyperloglog.registers(text))


def decoded(text: bytearray) -> Reply:
    if not hyperloglog.is_sparse(text):
        raise CommandError(errors.NOT_SPARSE)
    return b" ".join(map(shown, hyperloglog.runs(text)))


def shown(run: hyperloglog.RegisterRun) -> bytes:
    if run.value:
        return b"v:%d,%d" % (run.value, run.length)
    return b"%b:%d" % (b"z" if run.size == 1 else b"Z", run.length)


def encoding(text: bytearray) -> Reply:
    return status(b"sparse" if hyperloglog.is_sparse(text) else b"dense")


def make_dense(text: bytearray) -> Reply:
    if not hyperloglog.is_sparse(text):
        return 0
    hyperloglog.to_dense(text)
    return 1


PARTS: Final[dict[bytes, Callable[[bytearray], Reply]]] = {
    b"getreg": all_registers,
    b"decode": decoded,
    b"encoding": encoding,
    b"todense": make_dense,
}
"""The subcommands."""


@command("PFSELFTEST", 1, "admin", acl="hyperloglog", since="2.8.9", doc_flags="syscmd")
def pfselftest(session: Session, args: list[bytes]) -> Reply:
    """Tests the estimates of HyperLogLogs, with a small number of elements."""
    text = hyperloglog.empty()
    for number in range(TESTED):
        hyperloglog.add(text, b"%d" % number, sparse_limit(session))
    if abs(hyperloglog.count(hyperloglog.registers(text)) - TESTED) > MOST_AMISS:
        raise CommandError(errors.COUNTED_WRONG)
    return OK


TESTED: Final = 50
MOST_AMISS: Final = 2
"""With so few elements, two rarely select the same register."""
