"""XGROUP and XACK: manages consumer groups, and acknowledges entries."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import Keys, command, container
from ...keyspace.keyspace import STREAM
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply
from ...values.groups import ConsumerGroup
from ...values.stream_ids import read_id, read_strict_id
from ...values.streams import Stream

GROWING: Final = Keys(2, "RW insert")
SHRINKING: Final = Keys(2, "RW delete")
ID_OR_LAST: Final = "id(id|$~new_id)"

container("XGROUP", -2, module=__name__, summary="Manages consumer groups of streams.", since="5.0.0")


@command(
    "XGROUP CREATE",
    -5,
    "write denyoom",
    acl="stream",
    keys=GROWING,
    since="5.0.0",
    syntax=f"key#0 groupname {ID_OR_LAST} [MKSTREAM] [ENTRIESREAD entries_read:integer]",
)
def xgroup_create(session: Session, args: list[bytes]) -> Reply:
    """Creates a consumer group that starts after an id; can create the stream, too."""
    db, key = session.db, args[2]
    creates, entries_read = read_options(args, may_create=True)
    stream = db.lookup_write(key, STREAM)
    if stream is None and not creates:
        raise CommandError(errors.XGROUP_NO_KEY)
    if len(args) > MOST_OF_CREATE:
        raise wrong_arguments(args)
    end = 0 if stream is None else stream.last
    last = end if args[4] == b"$" else read_strict_id(args[4])
    if stream is None:
        stream = Stream()
        db.create(key, stream, "xgroup-create")
    elif args[3] in stream.groups:
        raise CommandError(errors.GROUP_EXISTS)
    else:
        db.changed_beside(key, "xgroup-create")
    stream.groups[args[3]] = ConsumerGroup(last, entries_read)
    return OK


MOST_OF_CREATE: Final = 8
LENGTHS_OF_SETID: Final = (5, 7)


@command(
    "XGROUP SETID",
    -5,
    "write",
    acl="stream",
    keys=Keys(2, "RW update"),
    since="5.0.0",
    syntax=f"key#0 groupname {ID_OR_LAST} [ENTRIESREAD entries_read:integer]",
)
def xgroup_setid(session: Session, args: list[bytes]) -> Reply:
    """Sets the id after which a group continues to read."""
    _, entries_read = read_options(args, may_create=False)
    stream, group = find_group(session, args)
    if len(args) not in LENGTHS_OF_SETID:
        raise wrong_arguments(args)
    group.last = stream.last if args[4] == b"$" else read_id(args[4], 0)
    group.entries_read = entries_read
    session.db.changed_beside(args[2], "xgroup-setid")
    return OK


def read_options(args: list[bytes], *, may_create: bool) -> tuple[bool, int | None]:
    """``[MKSTREAM] [ENTRIESREAD count]``: whether to create the stream, and how many entries were read."""
    creates, entries_read = False, None
    rest = iter(args[5:])
    for word in rest:
        option = word.upper()
        if may_create and option == b"MKSTREAM":
            creates = True
        elif option == b"ENTRIESREAD" and (number := next(rest, None)) is not None:
            entries_read = read_entries_read(number)
        else:
            raise wrong_arguments(args)
    return creates, entries_read


def read_entries_read(text: bytes) -> int | None:
    number = read_integer(text)
    if number < -1:
        raise CommandError(errors.ENTRIES_READ)
    return None if number == -1 else number


def wrong_arguments(args: list[bytes]) -> CommandError:
    return CommandError(errors.subcommand_or_arity(args[1], b"XGROUP"))


def find_stream(session: Session, key: bytes) -> Stream:
    stream = session.db.lookup_write(key, STREAM)
    if stream is None:
        raise CommandError(errors.XGROUP_NO_KEY)
    return stream


def find_group(session: Session, args: list[bytes]) -> tuple[Stream, ConsumerGroup]:
    """The stream and the group; raises ``CommandError`` if either is missing."""
    stream = find_stream(session, args[2])
    group = stream.groups.get(args[3])
    if group is None:
        raise CommandError(errors.no_group_of_key(args[2], args[3]))
    return stream, group


@command("XGROUP DESTROY", 4, "write", acl="stream", keys=SHRINKING, since="5.0.0", syntax="key#0 groupname")
def xgroup_destroy(session: Session, args: list[bytes]) -> Reply:
    """Deletes a consumer group; clients that wait for its entries receive an error."""
    stream = find_stream(session, args[2])
    if stream.groups.pop(args[3], None) is None:
        return 0
    session.db.changed_beside(args[2], "xgroup-destroy", is_ready=True)
    return 1


@command(
    "XGROUP CREATECONSUMER",
    5,
    "write denyoom",
    acl="stream",
    keys=GROWING,
    since="6.2.0",
    syntax="key#0 groupname consumername",
)
def xgroup_createconsumer(session: Session, args: list[bytes]) -> Reply:
    """Adds a consumer to a group; returns whether it is new."""
    _, group = find_group(session, args)
    if args[4] in group.consumers:
        return 0
    group.create_consumer(args[4], session.engine.now.milliseconds)
    session.db.changed_beside(args[2], "xgroup-createconsumer")
    return 1


@command(
    "XGROUP DELCONSUMER",
    5,
    "write",
    acl="stream",
    keys=SHRINKING,
    since="5.0.0",
    syntax="key#0 groupname consumername",
)
def xgroup_delconsumer(session: Session, args: list[bytes]) -> Reply:
    """Deletes a consumer and its pending entries; returns how many entries were pending."""
    _, group = find_group(session, args)
    if args[4] not in group.consumers:
        return 0
    session.db.changed_beside(args[2], "xgroup-delconsumer")
    return group.delete_consumer(args[4])


@command("XGROUP HELP", 2, "loading stale", acl="stream", since="5.0.0")
def xgroup_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"xgroup"))


@command(
    "XACK",
    -4,
    "write fast",
    acl="stream",
    keys=Keys(1, "RW update"),
    since="5.0.0",
    syntax="key#0 group id...",
)
def xack(session: Session, args: list[bytes]) -> Reply:
    """Acknowledges entries, so that they are no longer pending; returns how many were."""
    stream = session.db.lookup_read(args[1], STREAM)
    group = None if stream is None else stream.groups.get(args[2])
    if group is None:
        return 0
    numbers = [read_strict_id(text) for text in args[3:]]
    done = sum([group.release(number) for number in numbers])
    if done:
        session.db.changed_beside(args[1], count=done)
    return done
