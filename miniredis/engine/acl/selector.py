"""A set of rights: commands, keys and channels. Rules change it.

To add a rule that is always the same, write a method and give it its row in ``WORDS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from ..declarations.registry import chosen
from ..glob import compile_glob
from . import acl_errors
from .catalog import Catalog

__all__ = ["READ", "WRITE", "RuleError", "Selector", "channels_in_rules", "rules_that_fit"]

READ: Final = 1
WRITE: Final = 2
LETTERS: Final = {b"r": READ, b"w": WRITE}

KEY_RULE: Final = re.compile(rb"%([rwRW]{1,2})(?:~(.*))?", re.DOTALL).fullmatch
SPACES: Final = re.compile(rb"[\0 \t\n\v\f\r]").search

EVERYTHING: Final = -1
"""The bits of all commands, also of those to come; ``commands`` is negative while it has these."""


class RuleError(ValueError):
    """A rule cannot be applied.

    Attributes:
        reason: why, in Redis's words.
    """

    def __init__(self, reason: bytes) -> None:
        super().__init__(reason)
        self.reason = reason


class Pattern(NamedTuple):
    """A pattern of keys.

    Attributes:
        access: READ, WRITE or both: what it allows.
        fits: returns whether a key matches it.
    """

    access: int
    fits: Callable[[bytes], bool]


class Selector:
    """A set of rights, without any at first.

    Attributes:
        all_commands: whether every command may run, also one that is not in ``commands``.
        commands: the commands that may run, a bit each.
        first_words: by command, its first arguments with which it may run all the same.
        said: the rules about commands since the last one about all of them, as some versions show them.
        all_keys: whether every key may be used.
        keys: which keys may be used otherwise, by pattern.
        all_channels: whether every channel may be used.
        channels: the patterns of those that may be used otherwise.
    """

    def __init__(self, *, all_channels: bool = False) -> None:
        self.all_commands = False
        self.commands = 0
        self.first_words: dict[bytes, list[bytes]] = {}
        self.said: list[bytes] = []
        self.all_keys = False
        self.keys: dict[bytes, Pattern] = {}
        self.all_channels = all_channels
        self.channels: dict[bytes, Callable[[bytes], bool]] = {}

    @property
    def allows_all(self) -> bool:
        """Whether it allows everything."""
        return self.all_commands and self.all_keys and self.all_channels

    def copy(self) -> Selector:
        """The same rights, to be changed."""
        new = Selector(all_channels=self.all_channels)
        new.all_commands, new.commands, new.all_keys = self.all_commands, self.commands, self.all_keys
        new.said = list(self.said)
        new.first_words = {name: list(words) for name, words in self.first_words.items()}
        new.keys, new.channels = dict(self.keys), dict(self.channels)
        return new

    # Rules

    def apply(self, rule: bytes, catalog: Catalog) -> None:
        """Changes the rights by one rule; raises ``RuleError`` if there is no such rule."""
        change = WORDS.get(rule.lower())
        if catalog.refuses(rule):
            raise RuleError(acl_errors.RULE_SYNTAX)
        if change is not None:
            change(self)
        elif rule[:1] in {b"~", b"%"}:
            self._add_keys(rule)
        elif rule[:1] == b"&":
            self._add_channels(rule[1:])
        elif rule[:2] in {b"+@", b"-@"}:
            self._change_category(rule[2:].lower(), catalog, is_allowed=rule[:1] == b"+")
        elif rule[:1] == b"+":
            self._allow(rule[1:], catalog)
        elif rule[:1] == b"-":
            self._change(named(rule[1:].lower(), catalog), catalog, is_allowed=False)
        else:
            raise RuleError(acl_errors.RULE_SYNTAX)

    def allow_all_commands(self) -> None:
        """``+@all``: also commands that do not exist yet."""
        self.all_commands, self.commands = True, EVERYTHING
        self._forget_rules()

    def forbid_all_commands(self) -> None:
        """``-@all``."""
        self.all_commands, self.commands = False, 0
        self._forget_rules()

    def _forget_rules(self) -> None:
        self.first_words.clear()
        self.said.clear()

    def _say(self, name: bytes, *, is_allowed: bool) -> None:
        """Keeps a rule in place of those about the same, or a part of it."""
        self.said = [each for each in self.said if each[1:] != name and not each[1:].startswith(name + b"|")]
        self.said.append((b"+" if is_allowed else b"-") + name)

    def _allow(self, rule: bytes, catalog: Catalog) -> None:
        name, first_word = rule.lower(), catalog.split(rule)[2]
        parent, bar, part = catalog.split(name)
        if not bar:
            self._change(named(name, catalog), catalog, is_allowed=True)
            return
        if b"|" in named(parent, catalog):
            raise RuleError(acl_errors.FIRST_WORD_OF_SUBCOMMAND)
        if not part:
            raise RuleError(acl_errors.RULE_SYNTAX)
        if catalog.families[parent] != catalog.bits[parent]:
            self._change(named(name, catalog), catalog, is_allowed=True)
            return
        self._say(name, is_allowed=True)
        words = self.first_words.setdefault(parent, [])
        if all(word.lower() != part for word in words):
            words.append(first_word)

    def _change(self, name: bytes, catalog: Catalog, *, is_allowed: bool) -> None:
        self._say(name, is_allowed=is_allowed)
        self._set(catalog.families[name], is_allowed=is_allowed)
        self.first_words.pop(name, None)

    def _change_category(self, category: bytes, catalog: Catalog, *, is_allowed: bool) -> None:
        if category not in catalog.members:
            raise RuleError(acl_errors.UNKNOWN_IN_RULE)
        self._say(b"@" + category, is_allowed=is_allowed)
        self._set(catalog.reach[category], is_allowed=is_allowed)
        for name in tuple(self.first_words):
            if catalog.bits[name] & catalog.members[category]:
                del self.first_words[name]

    def _set(self, bits: int, *, is_allowed: bool) -> None:
        if is_allowed:
            self.commands |= bits
        else:
            self.commands &= ~bits
            self.all_commands = False

    def allow_all_keys(self) -> None:
        """``~*``."""
        self.all_keys = True
        self.keys.clear()

    def forbid_keys(self) -> None:
        """``resetkeys``."""
        self.all_keys = False
        self.keys.clear()

    def _add_keys(self, rule: bytes) -> None:
        if self.all_keys:
            raise RuleError(acl_errors.KEYS_AFTER_ALL)
        access, pattern = READ | WRITE, rule[1:]
        if rule[:1] == b"%":
            parts = KEY_RULE(rule)
            letters = parts[1].lower() if parts else b""
            if parts is None or len(set(letters)) != len(letters):
                raise RuleError(acl_errors.RULE_SYNTAX)
            access, pattern = (
                sum(LETTERS[letters[at : at + 1]] for at in range(len(letters))),
                parts[2] or b"",
            )
        if SPACES(pattern):
            raise RuleError(acl_errors.RULE_SYNTAX)
        before = self.keys.get(pattern)
        if before is None:
            self.keys[pattern] = Pattern(access, compile_glob(pattern))
        else:
            self.keys[pattern] = before._replace(access=before.access | access)

    def allow_all_channels(self) -> None:
        """``&*``."""
        self.all_channels = True
        self.channels.clear()

    def forbid_channels(self) -> None:
        """``resetchannels``."""
        self.all_channels = False
        self.channels.clear()

    def _add_channels(self, pattern: bytes) -> None:
        if self.all_channels:
            raise RuleError(acl_errors.CHANNELS_AFTER_ALL)
        if SPACES(pattern):
            raise RuleError(acl_errors.RULE_SYNTAX)
        if pattern not in self.channels:
            self.channels[pattern] = compile_glob(pattern)

    # How it is shown

    def key_rules(self) -> list[bytes]:
        """The rules that make its keys."""
        if self.all_keys:
            return [b"~*"]
        return [SIGNS[access] + pattern for pattern, (access, _) in self.keys.items()]

    def channel_rules(self) -> list[bytes]:
        """The rules that make its channels."""
        return [b"&*"] if self.all_channels else [b"&" + pattern for pattern in self.channels]

    def command_rules(self, catalog: Catalog) -> list[bytes]:
        """Rules that make its commands."""
        return chosen(catalog.version, rules_that_fit)(self, catalog)

    def fitting_rules(self, catalog: Catalog) -> list[bytes]:
        """All commands or none, then categories that fit well, then single commands."""
        adds = self.commands >= 0
        sign = b"+" if adds else b"-"
        reached = 0 if adds else EVERYTHING
        rules = [b"-@all" if adds else b"+@all"]
        for category in fitting(self.commands, catalog, adds=adds):
            rules.append(sign + b"@" + category)
            reached = (reached | catalog.reach[category]) if adds else (reached & ~catalog.reach[category])
        while others := (self.commands ^ reached) & catalog.every:
            bit = others & -others  # the lowest: a container comes before its parts
            name = catalog.names[bit.bit_length() - 1]
            family, is_wanted = catalog.families[name], bool(self.commands & bit)
            rules.append((b"+" if is_wanted else b"-") + name)
            reached = (reached | family) if is_wanted else (reached & ~family)
        return rules + [
            b"+%b|%b" % (name, word)
            for name, words in self.first_words.items()
            for word in words
            if not self.commands & catalog.bits[name]
        ]

    def rules(self, catalog: Catalog) -> list[bytes]:
        """Rules that make these rights."""
        channels = chosen(catalog.version, channels_in_rules)(self)
        return [*self.key_rules(), *channels, *self.command_rules(catalog)]


def rules_that_fit(selector: Selector, catalog: Catalog) -> list[bytes]:
    """The rules that a selector's commands are shown as."""
    return selector.fitting_rules(catalog)


def channels_in_rules(selector: Selector) -> list[bytes]:
    """The rules that a selector's channels are shown as."""
    return [*([] if selector.all_channels else [b"resetchannels"]), *selector.channel_rules()]


def named(name: bytes, catalog: Catalog) -> bytes:
    """The full name of a command, in lower case; raises ``RuleError`` if there is none of that name."""
    if name not in catalog.bits:
        raise RuleError(acl_errors.UNKNOWN_IN_RULE)
    return name


def fitting(bits: int, catalog: Catalog, *, adds: bool) -> Iterator[bytes]:
    """The categories that fit commands best, one after the other, each taken out before the next is chosen.

    A category fits if more of its commands are among these commands (or are not, where categories are taken
    away from all commands) than not; of several, the one with the fewest that do not fit.
    """
    left = dict(catalog.members)
    while left:
        best: tuple[int, int, bytes] | None = None
        for category, members in left.items():
            among = (bits & members).bit_count()
            others = members.bit_count() - among
            fit, misfit = (among, others) if adds else (others, among)
            if fit > misfit and (best is None or (misfit, -fit) < best[:2]):
                best = misfit, -fit, category
        if best is None:
            return
        category = best[2]
        del left[category]
        bits = (bits & ~catalog.reach[category]) if adds else (bits | catalog.reach[category])
        yield category


SIGNS: Final = {READ | WRITE: b"~", READ: b"%R~", WRITE: b"%W~"}

WORDS: Final[dict[bytes, Callable[[Selector], None]]] = {
    b"allkeys": Selector.allow_all_keys,
    b"~*": Selector.allow_all_keys,
    b"resetkeys": Selector.forbid_keys,
    b"allchannels": Selector.allow_all_channels,
    b"&*": Selector.allow_all_channels,
    b"resetchannels": Selector.forbid_channels,
    b"allcommands": Selector.allow_all_commands,
    b"+@all": Selector.allow_all_commands,
    b"nocommands": Selector.forbid_all_commands,
    b"-@all": Selector.forbid_all_commands,
}
"""Rules that are always the same."""
