"""The commands that rules name: each command and subcommand is a bit, and a category is a set of them.

Categories leave out the commands of a module, as in Redis; a rule can name these one by one.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ..declarations.registry import CATEGORIES, Command, CommandTable, chosen, commands

__all__ = [
    "ABSENT",
    "Catalog",
    "absent",
    "catalog_of",
    "is_refused",
    "name_in_rules",
    "parts_of",
    "split_rule",
]

ABSENT: Final = {
    "admin slow dangerous": ("cluster|forget cluster|meet cluster|reset cluster|set-config-epoch"),
    "keyspace write slow dangerous": "migrate restore-asking",
}
"""Commands of Redis 7.0 that this server lacks, by their categories: rules may name them all the same."""

UNCOUNTED: Final = {"module", "unlisted"}
"""Flags of commands that are in no category."""


class Catalog:
    """The commands of one version, as rules name them.

    Args:
        table: the commands.

    Attributes:
        version: the version.
        name_of: returns the name by which rules mean a command.
        split: splits a rule into a command, a bar, and what is allowed of the command.
        bits: the bit of each command, by its full name (``config|get``); a container comes before its parts.
        names: by the place of its bit, the name of each command.
        every: the bits of all of them.
        families: by the same names, the bits of a command and of its subcommands.
        members: by category, the bits of the commands in it.
        reach: by category, the bits that a rule about it changes: its members and their subcommands.
    """

    def __init__(self, table: CommandTable) -> None:
        self.version = table.version
        self.name_of = chosen(self.version, name_in_rules)
        self.split = chosen(self.version, split_rule)
        categories: dict[bytes, list[str]] = {}
        for parent in commands(table.lookup):
            for each in (parent, *chosen(self.version, parts_of)(parent)):
                categories[each.name] = [] if UNCOUNTED & set(each.flags) else each.acl_categories
        for words, names in chosen(self.version, absent)().items():
            for name in names.encode().split():
                categories.setdefault(name, words.split())
        self.bits = {name: 1 << place for place, name in enumerate(categories)}
        self.names = list(self.bits)
        self.every = (1 << len(self.names)) - 1
        self.families = dict(self.bits)
        for name, bit in self.bits.items():
            container, bar, _ = name.partition(b"|")
            if bar:
                self.families[container] |= bit
        self.members: dict[bytes, int] = dict.fromkeys((name.encode() for name in CATEGORIES), 0)
        self.reach = dict(self.members)
        for name, belongs_to in categories.items():
            for category in belongs_to:
                self.members[category.encode()] |= self.bits[name]
                self.reach[category.encode()] |= self.families[name]

    def refuses(self, rule: bytes) -> bool:
        """Whether a rule came with a later version."""
        return chosen(self.version, is_refused)(rule)

    def names_in(self, category: bytes) -> list[bytes]:
        """The commands of a category, by their full names."""
        members = self.members[category]
        return [name for name, bit in self.bits.items() if members & bit]


def absent() -> dict[str, str]:
    """Commands that this server lacks, by their categories."""
    return ABSENT


def parts_of(parent: Command) -> list[Command]:
    """The subcommands that rules can name."""
    return list(commands(parent.subcommands))


def name_in_rules(command: Command) -> bytes:
    """The name by which rules mean a command."""
    return command.name


def split_rule(rule: bytes) -> tuple[bytes, bytes, bytes]:
    """A command, a bar, and a subcommand or a first argument; of a rule without bar, only the last."""
    return rule.rpartition(b"|")


def is_refused(rule: bytes) -> bool:  # noqa: ARG001
    """Whether a rule came with a later version."""
    return False


@cache
def catalog_of(table: CommandTable) -> Catalog:
    """The catalog of a table of commands."""
    return Catalog(table)
