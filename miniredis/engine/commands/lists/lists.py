"""Pushes to, pops from and moves between lists, blocking or not.

A list is a deque whose left end is the head.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...clients.session import Session
from ...declarations.registry import CountedKeys, Keys, command
from ...keyspace.keyspace import LIST, Database, ListValue
from ...numbers.numbers import MAX, read_positive, read_range, read_timeout
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NULL_ARRAY, Reply

PUSHED: Final = Keys(1, "RW insert")
POPPED: Final = Keys(1, "RW access delete")
POPPED_ANY: Final = Keys(1, "RW access delete", last=-2)
MOVED: Final = (POPPED, Keys(2, "RW insert"))

End = str
LEFT: Final[End] = "left"
RIGHT: Final[End] = "right"
ENDS: Final = {b"LEFT": LEFT, b"RIGHT": RIGHT}

PUSH: Final[dict[End, Callable[[ListValue, bytes], None]]] = {LEFT: deque.appendleft, RIGHT: deque.append}
EXTEND: Final[dict[End, Callable[[ListValue, list[bytes]], None]]] = {
    LEFT: deque.extendleft,
    RIGHT: deque.extend,
}
POP: Final[dict[End, Callable[[ListValue], bytes]]] = {LEFT: deque.popleft, RIGHT: deque.pop}
PUSH_EVENT: Final[dict[End, str]] = {LEFT: "lpush", RIGHT: "rpush"}
POP_EVENT: Final[dict[End, str]] = {LEFT: "lpop", RIGHT: "rpop"}


# Pushing


@command("LPUSH", -3, "write denyoom fast", acl="list", keys=PUSHED, since="1.0.0", syntax="key#0 element...")
def lpush(session: Session, args: list[bytes]) -> Reply:
    """Adds elements at the head of a list, one by one, and creates the list if needed."""
    return push(session.db, args[1], args[2:], LEFT)


@command("RPUSH", -3, "write denyoom fast", acl="list", keys=PUSHED, since="1.0.0", syntax="key#0 element...")
def rpush(session: Session, args: list[bytes]) -> Reply:
    """Adds elements at the tail of a list, one by one, and creates the list if needed."""
    return push(session.db, args[1], args[2:], RIGHT)


@command(
    "LPUSHX", -3, "write denyoom fast", acl="list", keys=PUSHED, since="2.2.0", syntax="key#0 element..."
)
def lpushx(session: Session, args: list[bytes]) -> Reply:
    """Adds elements at the head of a list, if the list exists."""
    return push_existing(session.db, args[1], args[2:], LEFT)


@command(
    "RPUSHX", -3, "write denyoom fast", acl="list", keys=PUSHED, since="2.2.0", syntax="key#0 element..."
)
def rpushx(session: Session, args: list[bytes]) -> Reply:
    """Adds elements at the tail of a list, if the list exists."""
    return push_existing(session.db, args[1], args[2:], RIGHT)


def push_existing(db: Database, key: bytes, elements: list[bytes], end: End) -> int:
    """Pushes elements in order to a list that exists; returns 0 if there is none, else the new length."""
    return 0 if db.lookup_write(key, LIST) is None else push(db, key, elements, end)


def push(db: Database, key: bytes, elements: list[bytes], end: End) -> int:
    """Pushes elements in order, and creates the list if needed; returns the new length."""
    values = db.lookup_write(key, LIST)
    if values is None:
        values = deque()  # deque[bytes]() takes five times as long
        EXTEND[end](values, elements)
        db.create(key, values, PUSH_EVENT[end], len(elements))
    else:
        EXTEND[end](values, elements)
        db.signal_modified(key, PUSH_EVENT[end], len(elements))
    return len(values)


# Popping


@command(
    "LPOP", -2, "write fast", acl="list", keys=POPPED, since="1.0.0", syntax="key#0 [count:integer@6.2.0]"
)
def lpop(session: Session, args: list[bytes]) -> Reply:
    """Removes and returns one or more elements at the head of a list."""
    return pop(session, args, LEFT)


@command(
    "RPOP", -2, "write fast", acl="list", keys=POPPED, since="1.0.0", syntax="key#0 [count:integer@6.2.0]"
)
def rpop(session: Session, args: list[bytes]) -> Reply:
    """Removes and returns one or more elements at the tail of a list."""
    return pop(session, args, RIGHT)


def pop(session: Session, args: list[bytes], end: End) -> Reply:
    db, key = session.db, args[1]
    if len(args) == 2:
        values = db.lookup_write(key, LIST)
        return None if values is None else pop_one(db, key, values, end)
    if len(args) > 3:
        raise CommandError(errors.wrong_arity(args[0].lower()))
    count = read_positive(args[2])
    values = db.lookup_write(key, LIST)
    return NULL_ARRAY if values is None else pop_many(db, key, values, end, count)


def pop_one(db: Database, key: bytes, values: ListValue, end: End) -> bytes:
    """Pops from the list at a key; deletes the key with its last element."""
    element = POP[end](values)
    db.shrunk(key, values, POP_EVENT[end])
    return element


def pop_many(db: Database, key: bytes, values: ListValue, end: End, count: int) -> list[bytes]:
    """Pops up to ``count`` elements, in the order of popping them one by one."""
    pop_next = POP[end]
    elements = [pop_next(values) for _ in range(min(count, len(values)))]
    if elements:
        db.shrunk(key, values, POP_EVENT[end], len(elements))
    return elements


@command(
    "LMPOP",
    -4,
    "write movablekeys",
    acl="list",
    keys=CountedKeys(1, "RW access delete"),
    since="7.0.0",
    syntax="numkeys:integer key#0... where(LEFT|RIGHT) [COUNT count:integer]",
)
def lmpop(session: Session, args: list[bytes]) -> Reply:
    """Removes and returns elements of the first non-empty list among several."""
    return pop_from_any(session.db, read_any(args, 1))


@dataclass(frozen=True, slots=True)
class AnyList:
    """The arguments of LMPOP and BLMPOP: up to ``count`` elements at an end of the first existing list."""

    keys: list[bytes]
    end: End
    count: int

    def serve(self, db: Database, key: bytes, values: ListValue) -> Reply:
        """Pops from the list at one of the keys."""
        return [key, pop_many(db, key, values, self.end, self.count)]


def read_any(args: list[bytes], at: int) -> AnyList:
    return AnyList(*read_keys_and_end(args, at, ENDS))


def read_keys_and_end(args: list[bytes], at: int, ends: dict[bytes, End]) -> tuple[list[bytes], End, int]:
    """Parses ``numkeys key ... end [COUNT count]`` from an index on; ``ends`` has the names of the ends."""
    number = read_range(args[at], 1, MAX, errors.NUMKEYS_NOT_POSITIVE)
    keys, rest = args[at + 1 : at + 1 + number], args[at + 1 + number :]
    if not rest:
        raise CommandError(errors.SYNTAX)
    end, options = read_end(rest[0], ends), rest[1:]
    if not options:
        return keys, end, 1
    if len(options) < 2 or options[0].upper() != b"COUNT":
        raise CommandError(errors.SYNTAX)
    count = read_range(options[1], 1, MAX, errors.COUNT_NOT_POSITIVE)
    if len(options) > 2:
        raise CommandError(errors.SYNTAX)
    return keys, end, count


def pop_from_any(db: Database, wanted: AnyList) -> Reply:
    for key in wanted.keys:
        values = db.lookup_write(key, LIST)
        if values is not None:
            return wanted.serve(db, key, values)
    return NULL_ARRAY


# Moving


@command(
    "LMOVE",
    5,
    "write denyoom",
    acl="list",
    keys=MOVED,
    since="6.2.0",
    syntax="source#0 destination#1 wherefrom(LEFT|RIGHT) whereto(LEFT|RIGHT)",
)
def lmove(session: Session, args: list[bytes]) -> Reply:
    """Moves an element from one end of a list to one end of another or the same list."""
    return move(session.db, args[1], args[2], read_end(args[3]), read_end(args[4]))


@command(
    "RPOPLPUSH",
    3,
    "write denyoom",
    acl="list",
    keys=MOVED,
    since="1.2.0",
    syntax="source#0 destination#1",
    deprecated="6.2.0",
    replaced_by="`LMOVE` with `RIGHT` and `LEFT`",
)
def rpoplpush(session: Session, args: list[bytes]) -> Reply:
    """Moves the last element of a list to the head of another; LMOVE with RIGHT LEFT."""
    return move(session.db, args[1], args[2], RIGHT, LEFT)


def read_end(text: bytes, ends: dict[bytes, End] = ENDS) -> End:
    end = ends.get(text.upper())
    if end is None:
        raise CommandError(errors.SYNTAX)
    return end


def move(db: Database, source: bytes, target: bytes, take: End, give: End) -> bytes | None:
    """Moves one element; None if there is no source, and then the target's type is not checked."""
    values = db.lookup_write(source, LIST)
    return None if values is None else move_from(db, source, values, target, take, give)


def move_from(db: Database, source: bytes, values: ListValue, target: bytes, take: End, give: End) -> bytes:
    receiver = db.lookup_write(target, LIST)
    element = POP[take](values)
    if receiver is None:
        db.create(target, deque((element,)), PUSH_EVENT[give], 0)
    else:
        PUSH[give](receiver, element)
        db.signal_modified(target, PUSH_EVENT[give], 0)
    db.shrunk(source, values, POP_EVENT[take])
    return element


# Blocking


@command(
    "BLPOP",
    -3,
    "write noscript blocking",
    acl="list",
    keys=POPPED_ANY,
    since="2.0.0",
    syntax="key#0... timeout:double",
)
def blpop(session: Session, args: list[bytes]) -> Reply:
    """Pops the head of the first non-empty list, or waits for an element."""
    return blocking_pop(session, args, LEFT)


@command(
    "BRPOP",
    -3,
    "write noscript blocking",
    acl="list",
    keys=POPPED_ANY,
    since="2.0.0",
    syntax="key#0... timeout:double",
)
def brpop(session: Session, args: list[bytes]) -> Reply:
    """Pops the tail of the first non-empty list, or waits for an element."""
    return blocking_pop(session, args, RIGHT)


def blocking_pop(session: Session, args: list[bytes], end: End) -> Reply:
    def serve(db: Database, key: bytes, values: ListValue) -> Reply:
        return [key, pop_one(db, key, values, end)]

    timeout = read_timeout(args[-1])
    keys = args[1:-1]
    for key in keys:
        values = session.db.lookup_write(key, LIST)
        if values is not None:
            return serve(session.db, key, values)
    return session.block(keys, deque, serve, timeout) if session.may_block else NULL_ARRAY


@command(
    "BLMOVE",
    6,
    "write denyoom noscript blocking",
    acl="list",
    keys=MOVED,
    since="6.2.0",
    syntax="source#0 destination#1 wherefrom(LEFT|RIGHT) whereto(LEFT|RIGHT) timeout:double",
)
def blmove(session: Session, args: list[bytes]) -> Reply:
    """Moves an element like LMOVE, or waits for one."""
    take, give = read_end(args[3]), read_end(args[4])
    return blocking_move(session, args[1], args[2], take, give, read_timeout(args[5]))


@command(
    "BRPOPLPUSH",
    4,
    "write denyoom noscript blocking",
    acl="list",
    keys=MOVED,
    since="2.2.0",
    syntax="source#0 destination#1 timeout:double",
    deprecated="6.2.0",
    replaced_by="`BLMOVE` with `RIGHT` and `LEFT`",
)
def brpoplpush(session: Session, args: list[bytes]) -> Reply:
    """Moves an element like RPOPLPUSH, or waits for one; BLMOVE with RIGHT LEFT."""
    return blocking_move(session, args[1], args[2], RIGHT, LEFT, read_timeout(args[3]))


def blocking_move(
    session: Session, source: bytes, target: bytes, take: End, give: End, timeout: int | None
) -> Reply:
    def serve(db: Database, key: bytes, values: ListValue) -> Reply:
        return move_from(db, key, values, target, take, give)

    values = session.db.lookup_write(source, LIST)
    if values is not None:
        return serve(session.db, source, values)
    return session.block([source], deque, serve, timeout) if session.may_block else None


@command(
    "BLMPOP",
    -5,
    "write blocking movablekeys",
    acl="list",
    keys=CountedKeys(2, "RW access delete"),
    since="7.0.0",
    syntax="timeout:double numkeys:integer key#0... where(LEFT|RIGHT) [COUNT count:integer]",
)
def blmpop(session: Session, args: list[bytes]) -> Reply:
    """Pops elements like LMPOP, or waits for one."""
    wanted = read_any(args, 2)
    timeout = read_timeout(args[1])
    reply = pop_from_any(session.db, wanted)
    if reply is NULL_ARRAY and session.may_block:
        return session.block(wanted.keys, deque, wanted.serve, timeout)
    return reply
