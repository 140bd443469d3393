"""The list commands. A list is a deque whose left end is the head."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final

from .. import errors
from ..errors import CommandError
from ..keyspace import Database, ListValue
from ..numbers import MAX, read_integer, read_positive, read_timeout
from ..registry import Keys, command
from ..replies import NULL_ARRAY, OK, Reply
from ..session import Session

PUSHED: Final = Keys(1, "RW insert")
POPPED: Final = Keys(1, "RW access delete")
POPPED_ANY: Final = Keys(1, "RW access delete", last=-2)
MOVED: Final = (POPPED, Keys(2, "RW insert"))
READ: Final = Keys(1, "RO access")

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


@command("LPUSH", -3, "write denyoom fast", acl="list", keys=PUSHED)
def lpush(session: Session, args: list[bytes]) -> Reply:
    """Prepends elements to a list, one after the other, creating it if need be."""
    return push(session.db, args[1], args[2:], LEFT)


@command("RPUSH", -3, "write denyoom fast", acl="list", keys=PUSHED)
def rpush(session: Session, args: list[bytes]) -> Reply:
    """Appends elements to a list, creating it if need be."""
    return push(session.db, args[1], args[2:], RIGHT)


@command("LPUSHX", -3, "write denyoom fast", acl="list", keys=PUSHED)
def lpushx(session: Session, args: list[bytes]) -> Reply:
    """Prepends elements to a list that exists."""
    return push(session.db, args[1], args[2:], LEFT, create=False)


@command("RPUSHX", -3, "write denyoom fast", acl="list", keys=PUSHED)
def rpushx(session: Session, args: list[bytes]) -> Reply:
    """Appends elements to a list that exists."""
    return push(session.db, args[1], args[2:], RIGHT, create=False)


def push(db: Database, key: bytes, elements: list[bytes], end: End, *, create: bool = True) -> int:
    """Pushes elements in order; returns the new length, 0 if there is no list and none may be created."""
    values = db.find_list(key)
    if values is None:
        if not create:
            return 0
        values = deque[bytes]()
        EXTEND[end](values, elements)
        db.create(key, values, PUSH_EVENT[end])
    else:
        EXTEND[end](values, elements)
        db.touched(key, PUSH_EVENT[end])
    return len(values)


# Popping


@command("LPOP", -2, "write fast", acl="list", keys=POPPED)
def lpop(session: Session, args: list[bytes]) -> Reply:
    """Removes and returns the first element of a list, or the first so many."""
    return pop(session, args, LEFT)


@command("RPOP", -2, "write fast", acl="list", keys=POPPED)
def rpop(session: Session, args: list[bytes]) -> Reply:
    """Removes and returns the last element of a list, or the last so many."""
    return pop(session, args, RIGHT)


def pop(session: Session, args: list[bytes], end: End) -> Reply:
    if len(args) == 2:
        values = session.db.find_list(args[1])
        return None if values is None else pop_one(session.db, args[1], values, end)
    if len(args) > 3:
        raise CommandError(errors.wrong_arity(args[0].lower()))
    count = read_positive(args[2])
    values = session.db.find_list(args[1])
    return NULL_ARRAY if values is None else pop_many(session.db, args[1], values, end, count)


def pop_one(db: Database, key: bytes, values: ListValue, end: End) -> bytes:
    """Pops from the list at a key; the key goes away with its last element."""
    element = POP[end](values)
    db.shrunk(key, values, POP_EVENT[end])
    return element


def pop_many(db: Database, key: bytes, values: ListValue, end: End, count: int) -> list[bytes]:
    """Pops up to ``count`` elements, in the order of popping them one by one."""
    pop_next = POP[end]
    elements = [pop_next(values) for _ in range(min(count, len(values)))]
    if elements:
        db.shrunk(key, values, POP_EVENT[end])
    return elements


# Moving


@command("LMOVE", 5, "write denyoom", acl="list", keys=MOVED)
def lmove(session: Session, args: list[bytes]) -> Reply:
    """Pops from one end of a list and pushes to one end of another, or of the same."""
    return move(session.db, args[1], args[2], read_end(args[3]), read_end(args[4]))


@command("RPOPLPUSH", 3, "write denyoom", acl="list", keys=MOVED)
def rpoplpush(session: Session, args: list[bytes]) -> Reply:
    """Moves the last element of a list to the head of another; LMOVE with RIGHT LEFT."""
    return move(session.db, args[1], args[2], RIGHT, LEFT)


def read_end(text: bytes) -> End:
    end = ENDS.get(text.upper())
    if end is None:
        raise CommandError(errors.SYNTAX)
    return end


def move(db: Database, source: bytes, target: bytes, take: End, give: End) -> bytes | None:
    """Moves one element; None, with the target's type unchecked, if there is no source."""
    values = db.find_list(source)
    return None if values is None else move_from(db, source, values, target, take, give)


def move_from(db: Database, source: bytes, values: ListValue, target: bytes, take: End, give: End) -> bytes:
    receiver = db.find_list(target)
    element = POP[take](values)
    if receiver is None:
        db.create(target, deque((element,)), PUSH_EVENT[give])
    else:
        PUSH[give](receiver, element)
        db.touched(target, PUSH_EVENT[give])
    db.shrunk(source, values, POP_EVENT[take])
    return element


# Blocking


@command("BLPOP", -3, "write noscript blocking", acl="list", keys=POPPED_ANY)
def blpop(session: Session, args: list[bytes]) -> Reply:
    """Pops the first element of the first list that has one, or waits for one."""
    return blocking_pop(session, args, LEFT)


@command("BRPOP", -3, "write noscript blocking", acl="list", keys=POPPED_ANY)
def brpop(session: Session, args: list[bytes]) -> Reply:
    """Pops the last element of the first list that has one, or waits for one."""
    return blocking_pop(session, args, RIGHT)


def blocking_pop(session: Session, args: list[bytes], end: End) -> Reply:
    def serve(db: Database, key: bytes, values: ListValue) -> Reply:
        return [key, pop_one(db, key, values, end)]

    timeout = read_timeout(args[-1])
    keys = args[1:-1]
    for key in keys:
        values = session.db.find_list(key)
        if values is not None:
            return serve(session.db, key, values)
    return session.block(keys, deque, serve, timeout) if session.may_block else NULL_ARRAY


@command("BLMOVE", 6, "write denyoom noscript blocking", acl="list", keys=MOVED)
def blmove(session: Session, args: list[bytes]) -> Reply:
    """Moves an element as LMOVE does, or waits for one."""
    take, give = read_end(args[3]), read_end(args[4])
    return blocking_move(session, args[1], args[2], take, give, read_timeout(args[5]))


@command("BRPOPLPUSH", 4, "write denyoom noscript blocking", acl="list", keys=MOVED)
def brpoplpush(session: Session, args: list[bytes]) -> Reply:
    """Moves an element as RPOPLPUSH does, or waits for one; BLMOVE with RIGHT LEFT."""
    return blocking_move(session, args[1], args[2], RIGHT, LEFT, read_timeout(args[3]))


def blocking_move(
    session: Session, source: bytes, target: bytes, take: End, give: End, timeout: int | None
) -> Reply:
    def serve(db: Database, key: bytes, values: ListValue) -> Reply:
        return move_from(db, key, values, target, take, give)

    values = session.db.find_list(source)
    if values is not None:
        return serve(session.db, source, values)
    return session.block([source], deque, serve, timeout) if session.may_block else None


# Looking


@command("LLEN", 2, "readonly fast", acl="list", keys=Keys(1, "RO"))
def llen(session: Session, args: list[bytes]) -> Reply:
    """The length of a list; 0 if there is none."""
    return len(session.db.read_list(args[1]) or ())


@command("LRANGE", 4, "readonly", acl="list", keys=READ)
def lrange(session: Session, args: list[bytes]) -> Reply:
    """The elements from one index to another, both included; negative ones count from the end."""
    start, stop = read_integer(args[2]), read_integer(args[3])
    values = session.db.read_list(args[1])
    if values is None:
        return []
    first, end = clamp(start, stop, len(values))
    return elements_between(values, first, end)


@command("LINDEX", 3, "readonly", acl="list", keys=READ)
def lindex(session: Session, args: list[bytes]) -> Reply:
    """The element at an index; negative ones count from the end."""
    values = session.db.read_list(args[1])
    if values is None:
        return None
    index = read_integer(args[2])
    return values[index] if -len(values) <= index < len(values) else None


def clamp(start: int, stop: int, length: int) -> tuple[int, int]:
    """An inclusive range with negative indexes, as a half-open one inside the list; empty is (0, 0)."""
    first = max(start + length if start < 0 else start, 0)
    end = min(stop + length if stop < 0 else stop, length - 1) + 1
    return (first, end) if first < end else (0, 0)


def elements_between(values: ListValue, first: int, end: int) -> list[bytes]:
    """A slice of a deque, reached from the nearer end."""
    length = len(values)
    if first <= length - end:
        return list(islice(values, first, end))
    elements = list(islice(reversed(values), length - end, length - first))
    elements.reverse()
    return elements


# Removing


@command("LREM", 4, "write", acl="list", keys=Keys(1, "RW delete"))
def lrem(session: Session, args: list[bytes]) -> Reply:
    """Removes the first so many elements that are equal to one, from the tail if negative; all if 0."""
    count = read_integer(args[2])
    values = session.db.find_list(args[1])
    if values is None:
        return 0
    removed = remove_equal(values, args[3], abs(count) or MAX, from_tail=count < 0)
    if removed:
        session.db.shrunk(args[1], values, "lrem")
    return removed


def remove_equal(values: ListValue, element: bytes, most: int, *, from_tail: bool) -> int:
    """Removes up to ``most`` equal elements in one walk that stops with the last of them."""
    walk = reversed(values) if from_tail else iter(values)
    kept: list[bytes] = []
    removed = walked = 0
    for value in walk:
        walked += 1
        if value != element:
            kept.append(value)
            continue
        removed += 1
        if removed == most:
            break
    if removed:
        take, give_back = (POP[RIGHT], EXTEND[RIGHT]) if from_tail else (POP[LEFT], EXTEND[LEFT])
        for _ in range(walked):
            take(values)
        kept.reverse()
        give_back(values, kept)
    return removed


@command("LTRIM", 4, "write", acl="list", keys=Keys(1, "RW delete"))
def ltrim(session: Session, args: list[bytes]) -> Reply:
    """Keeps the elements from one index to another, both included, and drops the rest."""
    start, stop = read_integer(args[2]), read_integer(args[3])
    values = session.db.find_list(args[1])
    if values is None:
        return OK
    first, end = clamp(start, stop, len(values))
    for _ in range(len(values) - end):
        values.pop()
    for _ in range(min(first, len(values))):
        values.popleft()
    session.db.shrunk(args[1], values, "ltrim")
    return OK
