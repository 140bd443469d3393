"""Users as a configuration and the file of ``aclfile`` describe them: ``user ann on >pw ~jobs:* +@all``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..declarations.registry import chosen
from . import acl_errors
from .catalog import Catalog
from .selector import SPACES, RuleError
from .user import User, merge_selectors

__all__ = ["UserLineError", "declared_user", "users_in_file"]

NewUser: TypeAlias = Callable[[bytes], User]


class UserLineError(ValueError):
    """A line describes no user.

    Attributes:
        reason: why, in Redis's words.
    """

    def __init__(self, reason: bytes) -> None:
        super().__init__(reason)
        self.reason = reason


def declared_user(words: Sequence[bytes], new: NewUser, catalog: Catalog) -> User:
    """The user of a line of a configuration.

    Args:
        words: of the line, ``user`` included.
        new: makes a user of that name.
        catalog: the commands.

    Raises:
        UserLineError: there is no name, or a rule is refused.
    """
    if len(words) < 2:
        raise UserLineError(acl_errors.NO_USER_NAME)
    name = words[1]
    if SPACES(name):
        raise UserLineError(acl_errors.SPACES_IN_USER_NAME)
    rules, unmatched = chosen(catalog.version, merge_selectors)(words[2:])
    if unmatched is not None:
        raise UserLineError(acl_errors.bad_user_line(name, acl_errors.UNMATCHED_IN_FILE))
    user = new(name)
    for rule in rules:
        try:
            user.apply(rule, catalog)
        except RuleError as refusal:
            raise UserLineError(acl_errors.bad_user_line(name, refusal.reason)) from None
    return user


def users_in_file(text: bytes, file: bytes, new: NewUser, catalog: Catalog) -> dict[bytes, User]:
    """The users of a file, by name.

    Args:
        text: what the file holds. Words are separated by single spaces, and nothing is quoted.
        file: its name, for errors.
        new: makes a user of that name.
        catalog: the commands.

    Raises:
        UserLineError: with all that is wrong.
    """
    users: dict[bytes, User] = {}
    problems: list[bytes] = []
    for number, each in enumerate(text.split(b"\n"), start=1):
        line = each.strip(b" \t\r\n")
        where = b"%b:%d" % (file, number)
        words = line.split(b" ")
        if not line:
            continue
        if words[0] != b"user" or len(words) < 2:
            problems.append(where + b" should start with user keyword followed by the username. ")
        elif SPACES(words[1]):
            problems.append(b"%b: username '%b' contains invalid characters. " % (where, words[1]))
        elif words[1] in users:
            problems.append(b"WARNING: Duplicate user '%b' found on line %d. " % (words[1], number))
        else:
            users[words[1]] = new(words[1])
            problems += apply_rules(users[words[1]], words[2:], where, catalog)
    if problems:
        raise UserLineError(b"".join(problems) + acl_errors.ACL_FILE_IS_WRONG)
    return users


def apply_rules(user: User, words: list[bytes], where: bytes, catalog: Catalog) -> list[bytes]:
    """Applies the rules of a line; returns what is wrong: unknown commands, and the first other mistake."""
    rules, unmatched = chosen(catalog.version, merge_selectors)(words)
    if unmatched is not None:
        return [b"%b: %b. " % (where, acl_errors.UNMATCHED_IN_FILE)]
    problems: list[bytes] = []
    is_clean = True
    for rule in rules:
        try:
            user.apply(rule, catalog)
        except RuleError as refusal:
            if refusal.reason == acl_errors.UNKNOWN_IN_RULE:
                problems.append(b"%b: Error in applying operation '%b': %b. " % (where, rule, refusal.reason))
            elif is_clean:
                problems.append(b"%b: %b. " % (where, refusal.reason))
                is_clean = False
    return problems
