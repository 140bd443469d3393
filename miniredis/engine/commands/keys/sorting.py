"""SORT: sorts elements by themselves or by other keys, and gets values of other keys instead."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ...acl import acl_errors
from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import check_not_in_cluster
from ...declarations.registry import Keys, UnknownKeys, by_version, chosen, command, instead_of
from ...keyspace.keyspace import Database, StringValue, Value
from ...numbers.numbers import DECIMAL, parse_double, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError, until_nul
from ...protocol.replies import Reply
from ...values.hashes import HashValue
from ...values.partial_sort import partly_sorted
from ...values.sets import SetValue
from ...values.sorted_sets import SortedSet
from ...versions.version import Version

BY_OR_GET: Final = UnknownKeys(
    "RO access",
    notes="For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the "
    "content of the key we sort",
)
STORED: Final = UnknownKeys(
    "OW update",
    notes="For the optional STORE keyword. It is marked 'unknown' because the keyword can appear anywhere in "
    "the argument array",
)
SORTED: Final = Keys(1, "RO access")
ARE_INTEGERS: Final = re.compile(rb"-?[0-9]{1,15}(?:,-?[0-9]{1,15})*+").fullmatch
"""Integers that a double holds exactly, between commas."""

CATEGORIES: Final = "set sortedset list dangerous"
SYNTAX: Final = (
    "key#0 [BY pattern:pattern#1] [LIMIT offset_count{offset:integer count:integer}] "
    "[GET pattern:pattern#1]...! [order(ASC|DESC)] [ALPHA~sorting]"
)


@dataclass(slots=True)
class Options:
    """The options of SORT, and how it reads numbers."""

    read_number: Callable[[bytes], float]
    by: bytes | None = None
    sorts: bool = True
    start: int = 0
    count: int = -1
    get: list[bytes] = field(default_factory=list)
    descending: bool = False
    alpha: bool = False
    store: bytes | None = None


@command(
    "SORT",
    -2,
    "write denyoom movablekeys",
    acl=CATEGORIES,
    keys=(SORTED, BY_OR_GET, STORED),
    since="1.0.0",
    syntax=SYNTAX + " [STORE destination#2]",
)
def sort(session: Session, args: list[bytes]) -> Reply:
    """Returns or stores the elements of a list, set or sorted set in sorted order."""
    options = read_options(session, args, may_store=True)
    replies = sort_and_get(session, args[1], options)
    if options.store is None:
        return replies
    return store(session.db, options.store, replies)


@command(
    "SORT_RO",
    -2,
    "readonly movablekeys",
    acl=CATEGORIES,
    keys=(SORTED, BY_OR_GET),
    since="7.0.0",
    syntax=SYNTAX,
)
def sort_ro(session: Session, args: list[bytes]) -> Reply:
    """Returns the elements of a list, set or sorted set in sorted order."""
    return sort_and_get(session, args[1], read_options(session, args, may_store=False))


def read_options(session: Session, args: list[bytes], *, may_store: bool) -> Options:
    options, words = Options(chosen(session.engine.version, number_of)), args[2:]
    at = 0
    while at < len(words):
        name = words[at].upper()
        if name == b"STORE" and not may_store:
            raise CommandError(errors.SYNTAX)
        operands, take = OPTIONS.get(name, (0, None))
        end = at + 1 + operands
        if take is None or end > len(words):
            raise CommandError(errors.SYNTAX)
        if name == b"GET" or (name == b"BY" and b"*" in words[at + 1]):
            check_not_in_cluster(session, cluster_errors.sort_option_in_cluster(name))
            if not session.engine.users.allows_all_keys(session.client, args):
                raise CommandError(acl_errors.sort_option_needs_rights(name))
        take(options, words[at + 1 : end])
        at = end
    return options


def take_limit(options: Options, operands: list[bytes]) -> None:
    options.start, options.count = (read_integer(each) for each in operands)


def take_by(options: Options, operands: list[bytes]) -> None:
    """The last pattern counts; one without ``*`` means to keep the order, also if another follows."""
    options.by = operands[0]
    options.sorts &= b"*" in until_nul(options.by)


def setting(name: str, value: object) -> Callable[[Options, list[bytes]], None]:
    return lambda options, _: setattr(options, name, value)


OPTIONS: Final[dict[bytes, tuple[int, Callable[[Options, list[bytes]], None]]]] = {
    b"ASC": (0, setting("descending", value=False)),
    b"DESC": (0, setting("descending", value=True)),
    b"ALPHA": (0, setting("alpha", value=True)),
    b"LIMIT": (2, take_limit),
    b"BY": (1, take_by),
    b"GET": (1, lambda options, operands: options.get.append(operands[0])),
    b"STORE": (1, lambda options, operands: setattr(options, "store", operands[0])),
}
"""Each option: its number of operands, and how to apply it."""


def sort_and_get(session: Session, key: bytes, options: Options) -> list[Reply]:
    db = session.db
    value = db.lookup_read(key)
    elements = elements_of(value, options, session.engine.version)
    is_set = isinstance(value, SetValue)
    if is_set and not options.sorts and (options.store is not None or session.is_script):
        # Redis does not let the order of a hash table decide
        options.by, options.alpha, options.sorts = None, True, True
    start = max(options.start, 0)
    end = len(elements) if options.count < 0 else min(start + options.count, len(elements))
    if options.sorts:
        elements = in_order(db, elements, options, start, end)
    elif options.descending and not is_set:
        elements.reverse()
    return list(shown(db, elements[start:end], options))


mistakes_errno: Final = by_version(True, {"8.0 valkey-8.1+": False})
"""Whether SORT mistakes a score out of C's range, of which errno tells, for an element that is no number."""


def elements_of(value: Value | None, options: Options, version: Version) -> list[bytes]:
    """The elements to sort, in the order of the value."""
    if isinstance(value, SortedSet):
        is_out_of_range = value.unpack()
        if is_out_of_range and mistakes_errno(version) and options.by is None and not options.alpha:
            raise CommandError(errors.NOT_SCORES)
        return [member for _, member in value]
    if value is not None and not isinstance(value, deque | SetValue):
        raise CommandError(errors.WRONG_TYPE)
    return list(value or ())


def in_order(db: Database, elements: list[bytes], options: Options, start: int, end: int) -> list[bytes]:
    """The elements, sorted at least from ``start`` up to ``end``."""
    if options.by is None and not options.alpha:
        weights: dict[bytes, Any] = dict(zip(elements, numbers_of(elements, options), strict=True))
    else:
        weights = {element: weight(db, element, options) for element in elements}
    if not options.alpha:
        elements = sorted(elements, reverse=options.descending)  # decides the order of equal numbers
    if options.by is None or not options.alpha or (start, end) == (0, len(elements)):
        return sorted(elements, key=weights.__getitem__, reverse=options.descending)
    # Only here Redis sorts partially. Its sort is not stable, which clients see in elements of equal weight.
    ranks = {each: rank for rank, each in enumerate(sorted(set(weights.values())))}
    sign = -1 if options.descending else 1
    order = partly_sorted([sign * ranks[weights[element]] for element in elements], start, end - 1)
    return [elements[index] for index in order]


def weight(db: Database, element: bytes, options: Options) -> Any:
    """The sort key of an element."""
    text = element if options.by is None else look_up(db, options.by, element)
    if options.alpha:
        if options.store is not None:
            return (text is not None, bytes(text or b""))
        return (text is not None, until_nul(bytes(text or b"")))  # as C compares strings
    return 0.0 if text is None else options.read_number(bytes(text))


def numbers_of(elements: list[bytes], options: Options) -> Iterable[float]:
    """The elements as numbers; integers, as most are, are recognized all at once."""
    text = b",".join(elements)
    if ARE_INTEGERS(text) and text.count(b",") == len(elements) - 1:
        return map(int, elements)
    return map(options.read_number, elements)


def number_of(text: bytes) -> float:
    number = parse_double(text)
    if number is None:
        raise CommandError(errors.NOT_SCORES)
    return number


NOT_PLAIN: Final = re.compile(rb"\s|[+-]?0x", re.I).match


@instead_of(number_of, "8.0")
def plain_number_of(text: bytes) -> float:
    """A decimal number without spaces in front; it may be beyond the range, as infinity or 0."""
    number = until_nul(text)
    if NOT_PLAIN(number):
        raise CommandError(errors.NOT_SCORES)
    return float(number) if DECIMAL(number) else number_of(number)


@instead_of(number_of, "valkey-9.1+")
def plain_number_of_valkey(text: bytes) -> float:
    """A decimal number without spaces in front, and not nothing; it may be as small as can be."""
    number = until_nul(text)
    if not number or NOT_PLAIN(number):
        raise CommandError(errors.NOT_SCORES)
    is_small = DECIMAL(number) and 0 < abs(float(number)) < 1
    return float(number) if is_small else number_of(number)


def shown(db: Database, elements: list[bytes], options: Options) -> Iterator[Reply]:
    for element in elements:
        if not options.get:
            yield element
        for pattern in options.get:
            yield look_up(db, pattern, element)


def look_up(db: Database, pattern: bytes, element: bytes) -> StringValue | None:
    """The string at the key that a pattern yields for an element; the element itself for ``#``.

    ``prefix*->field`` names a field of a hash.
    """
    if until_nul(pattern) == b"#":
        return element
    prefix, star, rest = pattern.partition(b"*")
    if not star or b"\0" in prefix:
        return None
    name, arrow, hash_field = rest.partition(b"->")
    if arrow and hash_field and hash_field[0] and b"\0" not in name:
        value = db.lookup_read(prefix + element + name)
        return value.fields.get(hash_field) if isinstance(value, HashValue) else None
    value = db.lookup_read(prefix + element + rest)
    return value if isinstance(value, StringValue) else None


def store(db: Database, key: bytes, replies: list[Reply]) -> int:
    """Stores the results as a list in place of any old value; missing values become empty strings."""
    values = deque(bytes(each) if isinstance(each, StringValue) else b"" for each in replies)
    return db.store_or_delete(key, values, "sortstore", counts_all=True)
