"""The versions of Redis and Valkey that this server can answer as, and which of them a declaration means.

7.0 is the default, and what declarations of commands describe; what another version has otherwise is
declared with the versions it holds for: ``"6.0-6.2"``, ``"7.2+"``, ``"7.4+ valkey-9.1+"``.

Valkey began as Redis 7.2: what Redis had by then it has, too, and nothing that Redis got later.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

__all__ = ["DEFAULT", "MODULE", "OLD", "VERSION", "VERSIONS", "Version", "version_named", "versions_in"]


class Version(NamedTuple):
    """A version that the server can answer as.

    Attributes:
        name: what it is called: ``8.0``, ``valkey-8.1``.
        number: of the Redis that it is, or says to be: INFO's ``redis_version``.
        rdb: the version of the format of its dumps and snapshots.
        valkey: the number of the Valkey that it is; empty for Redis.
    """

    name: str
    number: str
    rdb: int
    valkey: str = ""

    @property
    def product(self) -> str:
        """What it calls itself in HELLO."""
        return "valkey" if self.valkey else "redis"

    @property
    def own_number(self) -> str:
        """The number of this product."""
        return self.valkey or self.number

    def has(self, since: str) -> bool:
        """Whether it has what came with a version, such as ``7.0.0`` or ``valkey-9.0.0``; empty for all."""
        product, _, number = since.rpartition("-")
        mine = self.valkey if product else self.number
        return not number or (bool(mine) and parts(mine) >= parts(number))


def parts(number: str) -> list[int]:
    return [int(part) for part in number.split(".")]


VERSIONS: Final = {
    each.name: each
    for each in (
        Version("6.0", "6.0.16", 9),
        Version("6.2", "6.2.14", 9),
        Version("7.0", "7.0.15", 10),
        Version("7.2", "7.2.4", 11),
        Version("7.4", "7.4.1", 12),
        Version("8.0", "8.0.2", 12),
        Version("valkey-8.1", "7.2.4", 11, "8.1.1"),
        Version("valkey-9.1", "7.2.4", 80, "9.1.2"),
    )
}
"""All of them, by name, each with the number of the server that it was compared with."""

DEFAULT: Final = VERSIONS["7.0"]

OLD: Final = "6.0-6.2"
"""The versions that are older than the default one."""

VERSION: Final = DEFAULT.number
"""The version of redis-server whose behaviour this server has unless it is told otherwise."""

MODULE: Final = "mq"
"""The name of the module whose commands are built in: those with the flag ``module``."""


def version_named(name: str) -> Version:
    """The version of that name.

    Raises:
        ValueError: it is none of ``VERSIONS``.
    """
    if name not in VERSIONS:
        raise ValueError(f"there is no version {name!r}; it is one of {', '.join(VERSIONS)}")
    return VERSIONS[name]


@cache
def versions_in(text: str) -> frozenset[Version]:
    """The versions that a declaration means.

    Args:
        text: names and ranges, separated by spaces. ``7.2+`` is that one and all later ones of its product,
            and those of Valkey, if Valkey has what that Redis has; ``6.0-6.2`` is both and what is between.
    """
    found: set[Version] = set()
    for word in text.split():
        found |= range_of(word)
    return frozenset(found)


def range_of(word: str) -> set[Version]:
    if word.endswith("+"):
        first = version_named(word.removesuffix("+"))
        since = f"valkey-{first.valkey}" if first.valkey else first.number
        return {each for each in VERSIONS.values() if each.has(since)}
    if word in VERSIONS:
        return {VERSIONS[word]}
    low, high = (list(VERSIONS).index(name) for name in word.split("-"))
    return set(list(VERSIONS.values())[low : high + 1])
