"""The wire: conversations that nobody thought of, with every byte compared.

Miniredis is to answer as Redis 7.0.15 does, which decides every question of behaviour. A clause is a group of
commands: the same seeded conversations of several clients go to miniredis and to a real Redis, whichever of
the two is judged. To have another group, add a row here and one to ``conformance.checks.wire``.
"""

from __future__ import annotations

from typing import Final

from .model import Clause

__all__ = ["WIRE"]

LIMIT: Final = 60.0
"""Seconds, some of them to make a conversation that differs shorter; without one it takes about one."""


def compared(id_: str, what: str, *needs: str) -> Clause:
    text = f"{what}: every client hears the same bytes from miniredis and from Redis 7.0."
    return Clause(
        f"wire.{id_}", ("wire",), "Redis 7.0.15", "decided", text, ("redis-7.0", "reference", *needs), LIMIT
    )


WIRE: Final = (
    compared("lists", "List commands"),
    compared("strings", "Strings, bits and HyperLogLogs"),
    compared("hashes", "Hashes"),
    compared("sets", "Sets"),
    compared("sorted-sets", "Sorted sets and places on a globe"),
    compared("streams", "Streams and their groups"),
    compared("keys", "Commands on keys of every type: expiry, copies, dumps, sorting"),
    compared("transactions", "MULTI, EXEC and WATCH"),
    compared("blocking", "Commands that wait, and what wakes them"),
    compared("messages", "Publishing, keyspace events and tracking"),
    compared("scripts", "Scripts and functions", "scripts"),
    compared("server", "Commands about the server and its clients"),
)  # fmt: skip
