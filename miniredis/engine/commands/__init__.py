"""One module for each group of Redis's commands. To add a command, write a decorated function.

The modules of common commands are loaded at once, the others on the first request for any other command. So a
test server starts quickly. To add a module, add its row here.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Final

from ..declarations.registry import REST

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
    "acl": "server",
    "bitfields": "bitmap",
    "bitmaps": "bitmap",
    "cluster": "cluster",
    "cluster_changes": "cluster",
    "debugging": "server",
    "documentation": "server",
    "dump": "generic",
    "failovers": "server",
    "functions": "scripting",
    "geo": "geo",
    "geo_search": "geo",
    "hash_members": "hash",
    "hashes": "hash",
    "hyperloglogs": "hyperloglog",
    "introspection": "server",
    "latency": "server",
    "lcs": "string",
    "memory": "server",
    "migration": "generic",
    "modules": "server",
    "objects": "generic",
    "pubsub": "pubsub",
    "replicas": "server",
    "replication": "server",
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

IN_OTHER_VERSIONS: Final = {
    "field_expiry": "hash",
    "stralgo": "string",
    "valkey_fields": "hash",
    "valkey_scripts": "scripting",
    "valkey_strings": "string",
}

GROUPS: Final = AT_ONCE | WHEN_ASKED_FOR | IN_OTHER_VERSIONS
"""The group of each module's commands, as COMMAND DOCS names it."""


def load(modules: Iterable[str]) -> None:
    """Imports modules, which declare their commands."""
    for name in modules:
        import_module(f"{__name__}.{name}")


def load_the_rest() -> None:
    """Imports the modules that are not loaded at once."""
    load(WHEN_ASKED_FOR)


def load_other_versions() -> None:
    """Imports the modules of which the default version needs nothing."""
    load(IN_OTHER_VERSIONS)


load(AT_ONCE)
REST.append(load_the_rest)
