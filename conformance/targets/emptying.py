"""A server that was there before, made for a while like one that has just been started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final

import redis

from ..wire import Address

__all__ = ["emptied"]

EMPTYING: Final = (
    "FLUSHALL", "FUNCTION FLUSH", "SCRIPT FLUSH", "SLOWLOG RESET", "LATENCY RESET", "ACL LOG RESET",
    "CONFIG RESETSTAT",
)  # fmt: skip

KEPT: Final = {"bind", "port", "tls-port", "dir", "dbfilename", "logfile", "maxclients", "save"}
"""Directives that say where a server and its files are, or what its machine can bear; one is set apart."""


@contextmanager
def emptied(address: Address) -> Iterator[Address]:
    """A server without data, libraries and users, with the directives of a Redis 7.0 without configuration.

    At the end it is empty again, and has its own directives.
    """
    with redis.Redis.from_url(address.url, decode_responses=True) as server:
        before = directives(server)
    empty(address, {**defaults(), "save": ""})
    try:
        yield address
    finally:
        empty(address, before)


def empty(address: Address, wanted: Mapping[str, str]) -> None:
    """Empties a server, and sets its directives, but for those that it does not let anybody set."""
    with redis.Redis.from_url(address.url, decode_responses=True) as server:
        for command in EMPTYING:
            server.execute_command(*command.split())
        users: Any = server.acl_users()
        server.acl_deluser("nobody", *(each for each in users if each != "default"))
        for name, value in directives(server).items():
            if value != wanted.get(name, value):
                with suppress(redis.ResponseError):
                    server.config_set(name, wanted[name])


def directives(server: redis.Redis) -> dict[str, str]:
    found: Any = server.config_get("*")
    return dict(found)


@cache
def defaults() -> dict[str, str]:
    """By directive, what it is where nobody has configured a server; without ``KEPT``."""
    import miniredis  # only those who ask for it need it

    with miniredis.start() as ours, redis.Redis.from_url(ours.url, decode_responses=True) as server:
        return {name: value for name, value in directives(server).items() if name not in KEPT}
