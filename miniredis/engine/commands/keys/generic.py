"""The commands for keys of any type, and WAIT."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import check_not_in_cluster
from ...declarations.registry import Keys, command
from ...glob import compile_match
from ...keyspace.keyspace import NO_TOUCH, Database, duplicate
from ...numbers.numbers import as_c_int, read_integer, read_milliseconds
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Encoded, Reply, status
from ...replication import replication_errors
from ..connections.connection import database, read_index

EVERYWHERE: Final = "request_policy:all_shards response_policy:agg_min"
EACH: Final = "request_policy:multi_shard response_policy:agg_sum"
FROM_TO: Final = (Keys(1, "RO access"), Keys(2, "OW update"))
RENAMED: Final = Keys(1, "RW access delete")


@command(
    "DEL",
    -2,
    "write",
    acl="keyspace",
    keys=Keys(1, "RM delete", last=-1),
    tips=EACH,
    since="1.0.0",
    syntax="key#0...",
)
def del_(session: Session, args: list[bytes]) -> Reply:
    """Deletes keys; returns how many existed."""
    db = session.db
    return sum(db.lookup_write(key) is not None and db.delete(key) for key in args[1:])


@command(
    "EXISTS",
    -2,
    "readonly fast",
    acl="keyspace",
    keys=Keys(1, "RO", last=-1),
    tips=EACH,
    since="1.0.0",
    syntax="key#0...",
)
def exists(session: Session, args: list[bytes]) -> Reply:
    """Counts how many of the named keys exist; a key named twice counts twice."""
    return sum(session.db.lookup_read(key, flags=NO_TOUCH) is not None for key in args[1:])


@command(
    "TOUCH",
    -2,
    "readonly fast",
    acl="keyspace",
    keys=Keys(1, "RO", last=-1),
    tips=EACH,
    since="3.2.1",
    syntax="key#0...",
)
def touch(session: Session, args: list[bytes]) -> Reply:
    """Updates the last access of keys; returns how many of them exist."""
    return sum(session.db.lookup_read(key) is not None for key in args[1:])


@command(
    "UNLINK",
    -2,
    "write fast",
    acl="keyspace",
    keys=Keys(1, "RM delete", last=-1),
    tips=EACH,
    since="4.0.0",
    syntax="key#0...",
)
def unlink(session: Session, args: list[bytes]) -> Reply:
    """Deletes keys, and frees their memory later; returns how many existed."""
    return del_(session, args)


@command("TYPE", 2, "readonly fast", acl="keyspace", keys=Keys(1, "RO"), since="1.0.0", syntax="key#0")
def type_(session: Session, args: list[bytes]) -> Encoded:
    """Returns the type of the value at a key."""
    return status(session.db.type_name(args[1]))


@command(
    "KEYS",
    2,
    "readonly",
    acl="keyspace dangerous",
    tips="request_policy:all_shards nondeterministic_output_order",
    since="1.0.0",
    syntax="pattern:pattern",
)
def keys(session: Session, args: list[bytes]) -> Reply:
    """Lists all keys that match a glob pattern."""
    fits = compile_match(args[1])
    return [key for key in session.db.live_keys() if fits(key)]


# Copying and moving


@command(
    "COPY",
    -3,
    "write denyoom",
    acl="keyspace",
    keys=FROM_TO,
    since="6.2.0",
    syntax="source#0 destination#1 [DB destination-db:integer] [REPLACE]",
)
def copy(session: Session, args: list[bytes]) -> Reply:
    """Copies a key with its time to live to another name or database."""
    source, target = args[1], args[2]
    to, replace = read_copy_options(session, args[3:])
    if to.index:
        check_not_in_cluster(session, cluster_errors.COPY_IN_CLUSTER)
    if to is session.db and source == target:
        raise CommandError(errors.SAME_OBJECT)
    value = session.db.lookup_read(source)
    if value is None:
        return 0
    if to.lookup_write(target) is not None:
        if not replace:
            return 0
        to.delete(target, None)
    to.create(target, copied := duplicate(value), "copy_to", deadline=session.db.deadlines.get(source))
    to.note_fields(target, copied)
    return 1


def read_copy_options(session: Session, words: list[bytes]) -> tuple[Database, bool]:
    """The database to copy to, and whether to replace an existing key."""
    to, replace = session.db, False
    rest = iter(words)
    for word in rest:
        if word.upper() == b"REPLACE":
            replace = True
        elif word.upper() == b"DB" and (index := next(rest, None)) is not None:
            to = database(session, read_index(index))
        else:
            raise CommandError(errors.SYNTAX)
    return to, replace


@command(
    "MOVE",
    3,
    "write fast",
    acl="keyspace",
    keys=Keys(1, "RW access update"),
    since="1.0.0",
    syntax="key#0 db:integer",
)
def move(session: Session, args: list[bytes]) -> Reply:
    """Moves a key to another database, unless that has a key of this name."""
    check_not_in_cluster(session, cluster_errors.not_in_cluster(b"MOVE"))
    db, key, to = session.db, args[1], database(session, read_index(args[2]))
    if to is db:
        raise CommandError(errors.SAME_OBJECT)
    value = db.lookup_write(key)
    if value is None or to.lookup_write(key) is not None:
        return 0
    deadline = db.deadlines.get(key)
    to.create(key, value, None, deadline=deadline)
    to.note_fields(key, value)
    db.delete(key, "", 0)
    to.signal_modified(key, "")
    db.announce(key, "move_from")
    to.announce(key, "move_to")
    return 1


@command(
    "RENAME",
    3,
    "write",
    acl="keyspace",
    keys=(RENAMED, Keys(2, "OW update")),
    since="1.0.0",
    syntax="key#0 newkey#1",
)
def rename(session: Session, args: list[bytes]) -> Reply:
    """Renames a key, and replaces a key that has the new name."""
    name_anew(session.db, args[1], args[2], replace=True)
    return OK


@command(
    "RENAMENX",
    3,
    "write fast",
    acl="keyspace",
    keys=(RENAMED, Keys(2, "OW insert")),
    since="1.0.0",
    syntax="key#0 newkey#1",
)
def renamenx(session: Session, args: list[bytes]) -> Reply:
    """Renames a key, unless the new name is in use."""
    return int(name_anew(session.db, args[1], args[2], replace=False))


def name_anew(db: Database, old: bytes, new: bytes, *, replace: bool) -> bool:
    """Renames a key; creates the new name, so that clients blocked on it are served."""
    value = db.lookup_write(old)
    if value is None:
        raise CommandError(errors.NO_SUCH_KEY)
    if db.lookup_write(new) is not None:
        if old == new or not replace:
            return False
        db.delete(new, None)
    db.create(new, value, None, deadline=db.deadlines.get(old))
    db.note_fields(new, value)
    db.delete(old, "", 0)
    db.signal_modified(new, "")
    db.announce(old, "rename_from")
    db.announce(new, "rename_to")
    return True


# Replication


@command(
    "WAIT",
    3,
    "noscript",
    acl="connection",
    tips=EVERYWHERE,
    since="3.0.0",
    syntax="numreplicas:integer timeout:integer",
)
def wait(session: Session, args: list[bytes]) -> Reply:
    """Waits until some replicas have the writes of this client; returns how many have them."""
    if session.engine.replication.upstream.address is not None:
        raise CommandError(replication_errors.WAIT_ON_REPLICA)
    wanted = read_integer(args[1])
    timeout = read_milliseconds(args[2])
    acks, offset = session.engine.replication.replicas.acks, session.reached
    least = min(wanted, as_c_int(wanted))
    return acks.wait_for(session, lambda: acks.reached(offset), lambda count: count >= least, timeout)
