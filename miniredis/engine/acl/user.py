"""A user: its passwords, whether clients may become it, and its rights.

Rules such as ``on`` and ``>secret`` change it; to add one, give it its row in ``WORDS`` or ``PASSWORDS``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Final

from ..declarations.registry import chosen
from ..protocol.requests import split_arguments
from . import acl_errors
from .catalog import Catalog
from .selector import RuleError, Selector

__all__ = ["DEFAULT_NAME", "User", "hashed", "merge_selectors", "shown_sanitizing"]

DEFAULT_NAME: Final = b"default"
IS_HASH: Final = re.compile(rb"[0-9a-f]{64}").fullmatch


def hashed(password: bytes) -> bytes:
    """A password as it is kept."""
    return hashlib.sha256(password).hexdigest().encode()


class User:
    """A user, without any rights at first.

    Args:
        name: its name.
        all_channels: whether it may use every channel: the directive ``acl-pubsub-default``.

    Attributes:
        name: the same.
        is_on: whether clients may become this user.
        has_no_password: whether any password is right.
        passwords: the hashes of the right ones.
        sanitizing: ``sanitize-payload`` or ``skip-sanitize-payload``, if a rule said so.
        selectors: its rights. A request must be allowed by one of them; rules change the first.
        allows_all: whether it may do everything.
    """

    def __init__(self, name: bytes, *, all_channels: bool = False) -> None:
        self.name: bytes = name
        self.is_on = False
        self.has_no_password = False
        self.passwords: dict[bytes, None] = {}
        self.sanitizing = b""
        self.selectors = [Selector(all_channels=all_channels)]
        self.allows_all = False
        self._all_channels = all_channels

    def take_from(self, other: User) -> None:
        """Becomes like another user, except for its name."""
        self.is_on, self.has_no_password = other.is_on, other.has_no_password
        self.passwords, self.sanitizing = dict(other.passwords), other.sanitizing
        self.selectors = [each.copy() for each in other.selectors]
        self.allows_all = any(each.allows_all for each in self.selectors)

    @property
    def lets_everybody_in(self) -> bool:
        """Whether clients become this user without a password."""
        return self.has_no_password and self.is_on

    def accepts(self, password: bytes) -> bool:
        """Whether a client with this password may become this user."""
        return self.is_on and (self.has_no_password or hashed(password) in self.passwords)

    # Rules

    def apply(self, rule: bytes, catalog: Catalog) -> None:
        """Changes the user by one rule; raises ``RuleError``, and then has changed nothing."""
        change = WORDS.get(rule.lower())
        if catalog.refuses(rule):
            raise RuleError(acl_errors.RULE_SYNTAX)
        if change is not None:
            change(self)
        elif rule[:1] in PASSWORDS:
            PASSWORDS[rule[:1]](self, rule[1:])
        elif rule[:1] == b"(" and rule[-1:] == b")":
            self._add_selector(rule[1:-1], catalog)
        elif rule:
            self.selectors[0].apply(rule, catalog)
        self.allows_all = any(each.allows_all for each in self.selectors)

    def _add_selector(self, text: bytes, catalog: Catalog) -> None:
        selector = Selector(all_channels=self._all_channels)
        for word in split_arguments(text) or []:  # Redis takes a text with an open quote for an empty one
            selector.apply(word, catalog)
        self.selectors.append(selector)

    def turn_on(self) -> None:
        """``on``."""
        self.is_on = True

    def turn_off(self) -> None:
        """``off``."""
        self.is_on = False

    def need_no_password(self) -> None:
        """``nopass``."""
        self.has_no_password = True
        self.passwords.clear()

    def forget_passwords(self) -> None:
        """``resetpass``: nobody can become this user until it has a password again."""
        self.has_no_password = False
        self.passwords.clear()

    def add_password(self, password: bytes) -> None:
        """``>password``."""
        self.add_hash(hashed(password))

    def add_hash(self, text: bytes) -> None:
        """``#hash``."""
        self.passwords[checked_hash(text)] = None
        self.has_no_password = False

    def remove_password(self, password: bytes) -> None:
        """``<password``."""
        self.remove_hash(hashed(password))

    def remove_hash(self, text: bytes) -> None:
        """``!hash``."""
        if checked_hash(text) not in self.passwords:
            raise RuleError(acl_errors.NO_SUCH_PASSWORD)
        del self.passwords[text]

    def sanitize(self) -> None:
        """``sanitize-payload``: this server reads no payload without checking it."""
        self.sanitizing = b"sanitize-payload"

    def skip_sanitizing(self) -> None:
        """``skip-sanitize-payload``."""
        self.sanitizing = b"skip-sanitize-payload"

    def forget_selectors(self) -> None:
        """``clearselectors``: only the first one stays."""
        del self.selectors[1:]

    def reset(self) -> None:
        """``reset``."""
        self.forget_passwords()
        self.turn_off()
        self.sanitize()
        self.selectors = [Selector(all_channels=self._all_channels)]

    # How it is shown

    def flags(self, catalog: Catalog) -> list[bytes]:
        """The words that say what else it is."""
        no_password = [b"nopass"] if self.has_no_password else []
        sanitizing = chosen(catalog.version, shown_sanitizing)(self)
        return [b"on" if self.is_on else b"off", *no_password, *([sanitizing] if sanitizing else [])]

    def rules(self, catalog: Catalog) -> bytes:
        """The rules that make this user, as ACL LIST shows them."""
        first, *others = (b" ".join(each.rules(catalog)) for each in self.selectors)
        hashes = [b"#" + each for each in self.passwords]
        return b" ".join([*self.flags(catalog), *hashes, first, *(b"(%b)" % each for each in others)])


def shown_sanitizing(user: User) -> bytes:
    """The word about payloads that is shown of a user; empty for none."""
    return user.sanitizing


def checked_hash(text: bytes) -> bytes:
    if not IS_HASH(text):
        raise RuleError(acl_errors.BAD_HASH)
    return text


WORDS: Final[dict[bytes, Callable[[User], None]]] = {
    b"on": User.turn_on,
    b"off": User.turn_off,
    b"nopass": User.need_no_password,
    b"resetpass": User.forget_passwords,
    b"sanitize-payload": User.sanitize,
    b"skip-sanitize-payload": User.skip_sanitizing,
    b"clearselectors": User.forget_selectors,
    b"reset": User.reset,
}
"""Rules that are always the same. What is no password either is for the first selector."""

PASSWORDS: Final[dict[bytes, Callable[[User, bytes], None]]] = {
    b">": User.add_password,
    b"#": User.add_hash,
    b"<": User.remove_password,
    b"!": User.remove_hash,
}
"""Rules about passwords, by their sign."""


def merge_selectors(words: Iterable[bytes]) -> tuple[list[bytes], bytes | None]:
    """Rules, each selector in one piece: ``(+get`` and ``~a)`` become ``(+get ~a)``.

    Returns:
        The rules, and the first word of a selector that does not end; None if there is none.
    """
    rules: list[bytes] = []
    begun: list[bytes] = []
    opening: bytes | None = None
    for word in words:
        if word[:1] == b"(" and word[-1:] != b")":
            begun, opening = [word], word
        elif opening is not None:
            begun.append(word)
            if word[-1:] == b")":
                rules.append(b" ".join(begun))
                opening = None
        else:
            rules.append(word)
    return rules, opening
