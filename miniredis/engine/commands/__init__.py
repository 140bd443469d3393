"""One module for each group of Redis's commands. To add a command, write a decorated function.

The modules of the commands that most clients use are loaded at once, the others when any other command is
asked for: a test server is started often, and few need them all. To add a module, give it its row here.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Final

from ..registry import REST

__all__ = ["GROUPS"]

AT_ONCE: Final = {
    "clients": "connection",
    "config": "server",
    "connection": "connection",
    "expiring": "generic",
    "generic": "generic",
    "list_elements": "list",
    "lists": "list",
    "scanning": "generic",
    "server": "server",
    "strings": "string",
    "transactions": "transactions",
}

WHEN_ASKED_FOR: Final = {
    "bitfields": "bitmap",
    "bitmaps": "bitmap",
    "debugging": "server",
    "documentation": "server",
    "dump": "generic",
    "functions": "scripting",
    "geo": "geo",
    "geo_search": "geo",
    "hash_members": "hash",
    "hashes": "hash",
    "hyperloglogs": "hyperloglog",
    "introspection": "server",
    "lcs": "string",
    "memory": "server",
    "objects": "generic",
    "pubsub": "pubsub",
    "rewriting": "server",
    "rqueue_pops": "module",
    "rqueues": "module",
    "scripting": "scripting",
    "set_algebra": "set",
    "sets": "set",
    "sorted_set_algebra": "sorted-set",
    "sorted_set_pops": "sorted-set",
    "sorted_set_ranges": "sorted-set",
    "sorted_set_samples": "sorted-set",
    "sorted_sets": "sorted-set",
    "sorting": "generic",
    "stream_groups": "stream",
    "stream_info": "stream",
    "stream_pending": "stream",
    "stream_reading": "stream",
    "stream_trimming": "stream",
    "streams": "stream",
    "tracking": "connection",
    "watching": "server",
}

GROUPS: Final = AT_ONCE | WHEN_ASKED_FOR
"""Each module, with what COMMAND DOCS calls the group of its commands."""


def load(modules: Iterable[str]) -> None:
    """Loads modules, which declare their commands."""
    for name in modules:
        import_module(f"{__name__}.{name}")


def load_the_rest() -> None:
    """Loads those that are not loaded at once."""
    load(WHEN_ASKED_FOR)


load(AT_ONCE)
REST.append(load_the_rest)
