"""What was tried: how often each command had each outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from miniredis.engine.declarations.registry import DECLARED, Command, commands, declare_rest, table_of
from miniredis.engine.versions.version import DEFAULT, version_named

__all__ = ["OUTCOMES", "Coverage"]

OUTCOMES: Final = ("ok", "error", "blocked", "woken")

EXPLAINED: Final = {
    ("info", "error"): "it takes any number of words, and knows every section or leaves it out",
    ("quit", "error"): "it takes any number of words",
    ("command|docs", "error"): "it takes any number of names, and passes over those it does not know",
    ("command|info", "error"): "the same",
    ("config|rewrite", "ok"): "neither server has a file to write",
    ("script|kill", "ok"): "it needs a script that runs on: tests/miniredis/scripts/test_scripts_busy.py",
    ("function|kill", "ok"): "the same",
}
"""Outcomes that a command cannot have though its declaration does not say so."""


class Coverage:
    """Counts outcomes by command."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def count(self, command: str, outcome: str) -> None:
        """A command, by the name COMMAND INFO gives it, had an outcome."""
        self.counts[command, outcome] += 1

    @property
    def total(self) -> int:
        """How many requests were sent."""
        return sum(count for (_, outcome), count in self.counts.items() if outcome != "woken")

    def gaps(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The outcomes that the commands could have had and had not."""
        for name in names:
            for outcome in OUTCOMES:
                if possible(name, outcome) and not self.counts[name, outcome]:
                    yield name, outcome

    def lines(self, names: Iterable[str]) -> Iterator[str]:
        """The table, a command a line."""
        yield f"{'command':24}" + "".join(f"{outcome:>10}" for outcome in OUTCOMES)
        for name in names:
            cells = (self.counts[name, outcome] for outcome in OUTCOMES)
            yield f"{name:24}" + "".join(f"{cell or '-':>10}" for cell in cells)


def declared(name: str) -> Command:
    declare_rest()
    return DECLARED[name.encode()]


def possible(name: str, outcome: str) -> bool:
    """Whether a command can have an outcome: only those that block are blocked, and woken."""
    if (name, outcome) in EXPLAINED:
        return False
    command = declared(name)
    if outcome in {"blocked", "woken"}:
        return "blocking" in command.flags
    return command.handler is not None or outcome == "error"


def all_names(version: str = DEFAULT.name) -> list[str]:
    """Every command and subcommand of miniredis, but for a module's, which no real server has by itself."""
    table = table_of(version_named(version)).lookup
    parents = [parent for parent in commands(table) if "module" not in parent.flags]
    return [each.name.decode() for parent in parents for each in (parent, *commands(parent.subcommands))]
