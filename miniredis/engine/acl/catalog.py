"""The commands that rules name: each command and subcommand is a bit, and a category is a set of them.

Categories leave out the commands of a module, as in Redis; a rule can name these one by one.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ..registry import CATEGORIES, CommandTable, commands

__all__ = ["Catalog", "catalog_of"]

ABSENT: Final = {
    "admin slow dangerous": ("cluster|forget cluster|meet cluster|reset cluster|set-config-epoch"),
    "keyspace write slow dangerous": "migrate restore-asking",
}
"""Commands of Redis 7.0 that this server lacks, by their categories: rules may name them all the same."""


class Catalog:
    """The commands of one version, as rules name them.

    Args:
        table: the commands.

    Attributes:
        bits: the bit of each command, by its full name (``config|get``); a container comes before its parts.
        names: by the place of its bit, the name of each command.
        every: the bits of all of them.
        families: by the same names, the bits of a command and of its subcommands.
        members: by category, the bits of the commands in it.
        reach: by category, the bits that a rule about it changes: its members and their subcommands.
    """

    def __init__(self, table: CommandTable) -> None:
        categories: dict[bytes, list[str]] = {}
        for parent in commands(table.lookup):
            for each in (parent, *commands(parent.subcommands)):
                categories[each.name] = [] if "module" in each.flags else each.acl_categories
        for words, names in ABSENT.items():
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

    def names_in(self, category: bytes) -> list[bytes]:
        """The commands of a category, by their full names."""
        members = self.members[category]
        return [name for name, bit in self.bits.items() if members & bit]


@cache
def catalog_of(table: CommandTable) -> Catalog:
    """The catalog of a table of commands."""
    return Catalog(table)
