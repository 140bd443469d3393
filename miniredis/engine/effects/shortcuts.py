"""Shortcuts: what most commands of an append-only file do, in less time.

A shortcut changes the value of a key that is there and has no deadline. It creates and deletes no key, makes
no reply and tells nobody: it is for a replay alone, and only while nobody observes keys. It does what its
command does to the value, or returns False with nothing done; then the command itself has to run.

To add one, write a function that gets what a command gets, and a row in ``SHORTCUTS``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from ..values.hashes import HashValue
from ..values.sets import SetValue

if TYPE_CHECKING:
    from ..clients.session import Session

__all__ = ["SHORTCUTS"]


def rpush(session: Session, args: list[bytes]) -> bool:
    """Adds elements at the tail of a list."""
    values = session.db.values.get(args[1])
    if type(values) is not deque:
        return False
    values.extend(args[2:])
    return True


def lpush(session: Session, args: list[bytes]) -> bool:
    """Adds elements at the head of a list."""
    values = session.db.values.get(args[1])
    if type(values) is not deque:
        return False
    values.extendleft(args[2:])
    return True


def rpop(session: Session, args: list[bytes]) -> bool:
    """Removes the last element of a list that has more."""
    values = session.db.values.get(args[1])
    if type(values) is not deque or len(values) == 1 or len(args) > 2:
        return False
    values.pop()
    return True


def lpop(session: Session, args: list[bytes]) -> bool:
    """Removes the first element of a list that has more."""
    values = session.db.values.get(args[1])
    if type(values) is not deque or len(values) == 1 or len(args) > 2:
        return False
    values.popleft()
    return True


def set_(session: Session, args: list[bytes]) -> bool:
    """Replaces a string."""
    values = session.db.values
    if type(values.get(args[1])) is not bytes or len(args) > 3:
        return False
    values[args[1]] = args[2]
    return True


def hset(session: Session, args: list[bytes]) -> bool:
    """Sets one field of a hash."""
    value = session.db.values.get(args[1])
    if type(value) is not HashValue or len(args) > 4:
        return False
    value.put(args[2], args[3], session.engine.packing)
    return True


def sadd(session: Session, args: list[bytes]) -> bool:
    """Adds one member to a set."""
    value = session.db.values.get(args[1])
    if type(value) is not SetValue or len(args) > 3:
        return False
    value.add(args[2], session.engine.packing)
    return True


SHORTCUTS: Final[Mapping[bytes, Callable[[Session, list[bytes]], bool]]] = {
    b"rpush": rpush,
    b"lpush": lpush,
    b"rpop": rpop,
    b"lpop": lpop,
    b"set": set_,
    b"hset": hset,
    b"sadd": sadd,
}
"""By the name of the command; its number of arguments has been checked."""
