"""Reads, changes and removes elements inside lists."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, command, prepared_in
from ...keyspace.keyspace import LIST, ListValue
from ...numbers.numbers import MAX, MIN, as_c_int, parse_integer, read_integer, read_range
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply
from .lists import EXTEND, LEFT, POP, PUSHED, RIGHT

READ: Final = Keys(1, "RO access")


# Reading


@command("LLEN", 2, "readonly fast", acl="list", keys=Keys(1, "RO"), since="1.0.0", syntax="key#0")
def llen(session: Session, args: list[bytes]) -> Reply:
    """Counts the elements of a list; 0 if there is no list."""
    return len(session.db.lookup_read(args[1], LIST) or ())


@command(
    "LRANGE", 4, "readonly", acl="list", keys=READ, since="1.0.0", syntax="key#0 start:integer stop:integer"
)
def lrange(session: Session, args: list[bytes]) -> Reply:
    """Returns the elements between two indexes, both included; negative indexes count from the end."""
    start, stop = read_integer(args[2]), read_integer(args[3])
    values = session.db.lookup_read(args[1], LIST)
    if values is None:
        return []
    first, end = clamp(start, stop, len(values))
    return elements_between(values, first, end)


@command("LINDEX", 3, "readonly", acl="list", keys=READ, since="1.0.0", syntax="key#0 index:integer")
def lindex(session: Session, args: list[bytes]) -> Reply:
    """Returns the element at an index; a negative index counts from the end."""
    values = session.db.lookup_read(args[1], LIST)
    if values is None:
        return None
    index = read_integer(args[2])
    return values[index] if -len(values) <= index < len(values) else None


def clamp(start: int, stop: int, length: int) -> tuple[int, int]:
    """Converts an inclusive range with negative indexes to a half-open one in the list, (0, 0) if empty."""
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


@dataclass(slots=True)
class Search:
    """The options of LPOS.

    Attributes:
        rank: the first match to return; negative ranks count from the tail.
        count: how many matches to return; 0 for all, None for the index of one.
        most: how many elements to compare; 0 for all.
    """

    rank: int = 1
    count: int | None = None
    most: int = 0


@command(
    "LPOS",
    -3,
    "readonly",
    acl="list",
    keys=READ,
    since="6.0.6",
    syntax="key#0 element [RANK rank:integer] [COUNT num-matches:integer] [MAXLEN len:integer]",
)
def lpos(session: Session, args: list[bytes]) -> Reply:
    """Returns the index of an element that equals the given one, or several such indexes."""
    search = read_search(args[3:])
    values = session.db.lookup_read(args[1], LIST)
    found = [] if values is None else positions(values, args[2], search)
    if search.count is not None:
        return found
    return found[0] if found else None


@prepared_in("7.2+", "lpos")
def with_ranks_that_fit(_: Session, args: list[bytes]) -> None:
    """LPOS refuses the rank whose absolute value does not fit."""
    for at in range(3, len(args) - 1, 2):
        if args[at].upper() == b"RANK" and parse_integer(args[at + 1]) == MIN:
            read_search(args[3:at])  # what is wrong with an option before it comes first
            raise CommandError(errors.outside(-MAX, MAX))


def read_search(words: list[bytes]) -> Search:
    search = Search()
    rest = iter(words)
    for option in rest:
        text = next(rest, None)
        if text is None:
            raise CommandError(errors.SYNTAX)
        match option.upper():
            case b"RANK":
                search.rank = read_integer(text)
                if search.rank == 0:
                    raise CommandError(errors.RANK_ZERO)
            case b"COUNT":
                search.count = read_range(text, 0, MAX, errors.COUNT_NEGATIVE)
            case b"MAXLEN":
                search.most = read_range(text, 0, MAX, errors.MAXLEN_NEGATIVE)
            case _:
                raise CommandError(errors.SYNTAX)
    return search


def positions(values: ListValue, element: bytes, search: Search) -> list[int]:
    """The indexes of the matches, in the order of the search."""
    from_tail = search.rank < 0
    walk = enumerate(reversed(values) if from_tail else values)
    matches = (index for index, value in islice(walk, search.most or None) if value == element)
    skipped = abs(search.rank) - 1
    wanted = 1 if search.count is None else search.count or len(values)
    if search.rank == MIN:  # in C its absolute value overflows
        skipped, wanted = 0, len(values)
    found = list(islice(matches, min(skipped, len(values)), min(skipped + wanted, len(values))))
    return [len(values) - 1 - index for index in found] if from_tail else found


# Changing


@command(
    "LSET",
    4,
    "write denyoom",
    acl="list",
    keys=Keys(1, "RW update"),
    since="1.0.0",
    syntax="key#0 index:integer element",
)
def lset(session: Session, args: list[bytes]) -> Reply:
    """Replaces the element at an index."""
    values = session.db.lookup_write(args[1], LIST)
    if values is None:
        raise CommandError(errors.NO_SUCH_KEY)
    index = read_integer(args[2])
    if not -len(values) <= index < len(values):
        raise CommandError(errors.INDEX_OUT_OF_RANGE)
    values[index] = args[3]
    session.db.signal_modified(args[1], "lset")
    return OK


@prepared_in("7.2+", "lset")
def at_c_int(session: Session, args: list[bytes]) -> list[bytes]:
    """LSET takes an index for its last 32 bits."""
    index = parse_integer(args[2])
    return args if index is None else [*args[:2], b"%d" % as_c_int(index), args[3]]


@command(
    "LINSERT",
    5,
    "write denyoom",
    acl="list",
    keys=PUSHED,
    since="2.2.0",
    syntax="key#0 where(BEFORE|AFTER) pivot element",
)
def linsert(session: Session, args: list[bytes]) -> Reply:
    """Inserts an element before or after the first element that equals a pivot; -1 if none does."""
    offset = PLACES.get(args[2].upper())
    if offset is None:
        raise CommandError(errors.SYNTAX)
    values = session.db.lookup_write(args[1], LIST)
    if values is None:
        return 0
    try:
        values.insert(values.index(args[3]) + offset, args[4])
    except ValueError:
        return -1
    session.db.signal_modified(args[1], "linsert")
    return len(values)


PLACES: Final = {b"BEFORE": 0, b"AFTER": 1}


# Removing


@command(
    "LREM",
    4,
    "write",
    acl="list",
    keys=Keys(1, "RW delete"),
    since="1.0.0",
    syntax="key#0 count:integer element",
)
def lrem(session: Session, args: list[bytes]) -> Reply:
    """Removes up to COUNT elements that equal the given one, from the tail if negative; 0 for all."""
    count = read_integer(args[2])
    values = session.db.lookup_write(args[1], LIST)
    if values is None:
        return 0
    removed = remove_equal(values, args[3], abs(count) or MAX, from_tail=count < 0)
    if removed:
        session.db.shrunk(args[1], values, "lrem", removed)
    return removed


@prepared_in("7.4+ valkey-8.1+", "lrem")
def with_counts_that_fit(_: Session, args: list[bytes]) -> None:
    """LREM refuses the count whose absolute value does not fit."""
    if parse_integer(args[2]) == MIN:
        raise CommandError(errors.outside(-MAX, MAX))


def remove_equal(values: ListValue, element: bytes, most: int, *, from_tail: bool) -> int:
    """Removes up to ``most`` equal elements in one pass that stops at the last of them."""
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


@command(
    "LTRIM",
    4,
    "write",
    acl="list",
    keys=Keys(1, "RW delete"),
    since="1.0.0",
    syntax="key#0 start:integer stop:integer",
)
def ltrim(session: Session, args: list[bytes]) -> Reply:
    """Keeps the elements between two indexes, both included, and removes all others."""
    start, stop = read_integer(args[2]), read_integer(args[3])
    values = session.db.lookup_write(args[1], LIST)
    if values is None:
        return OK
    length = len(values)
    first, end = clamp(start, stop, length)
    if 2 * (end - first) <= length:  # copying few elements is faster than popping many
        kept = list(islice(values, first, max(first, end)))
        values.clear()
        values.extend(kept)
    else:
        for _ in range(length - end):
            values.pop()
        for _ in range(first):
            values.popleft()
    if end - first == length:
        session.db.told_as_changed(args[1], "ltrim")
    else:
        session.db.shrunk(args[1], values, "ltrim", length - len(values))
    return OK
