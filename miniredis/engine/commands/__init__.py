"""A folder for each kind of commands. To add a command, write a decorated function in one of its modules.

The modules of common commands are loaded at once, the others on the first request for any other command. So a
test server starts quickly. To add a module, add its row here.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Final

from ..declarations.registry import OTHERS, REST

__all__ = ["FOLDER", "GROUPS"]

FOLDER: Final = __name__
"""The package that the modules below are named in, unless a name begins with a dot."""

AT_ONCE: Final = {
    "connections.clients": "connection",
    "connections.connection": "connection",
    "connections.transactions": "transactions",
    "keys.expiring": "generic",
    "keys.generic": "generic",
    "keys.scanning": "generic",
    "lists.elements": "list",
    "lists.lists": "list",
    "server.config": "server",
    "server.server": "server",
    "strings.strings": "string",
}

WHEN_ASKED_FOR: Final = {
    "cluster.cluster": "cluster",  # declares the container of the next
    "cluster.changes": "cluster",
    "connections.pubsub": "pubsub",
    "connections.tracking": "connection",
    "geo.geo": "geo",
    "geo.search": "geo",
    "hashes.hashes": "hash",
    "hashes.members": "hash",
    "keys.dump": "generic",
    "keys.migration": "generic",
    "keys.objects": "generic",
    "keys.sorting": "generic",
    "replication.failovers": "server",
    "replication.replicas": "server",
    "replication.replication": "server",
    "rqueues.pops": "module",
    "rqueues.rqueues": "module",
    "scripting.functions": "scripting",
    "scripting.scripting": "scripting",
    "server.acl": "server",
    "server.debugging": "server",
    "server.documentation": "server",
    "server.introspection": "server",
    "server.latency": "server",
    "server.memory": "server",
    "server.modules": "server",
    "server.rewriting": "server",
    "server.watching": "server",
    "sets.algebra": "set",
    "sets.sets": "set",
    "sorted_sets.algebra": "sorted-set",
    "sorted_sets.pops": "sorted-set",
    "sorted_sets.ranges": "sorted-set",
    "sorted_sets.samples": "sorted-set",
    "sorted_sets.sorted_sets": "sorted-set",
    "streams.groups": "stream",
    "streams.info": "stream",
    "streams.pending": "stream",
    "streams.reading": "stream",
    "streams.streams": "stream",
    "streams.trimming": "stream",
    "strings.bitfields": "bitmap",
    "strings.bitmaps": "bitmap",
    "strings.hyperloglogs": "hyperloglog",
    "strings.lcs": "string",
}

IN_OTHER_VERSIONS: Final = {
    "cluster.cluster_versions": "cluster",
    "cluster.clusterscan": "cluster",
    "cluster.slot_stats": "cluster",
    "connections.client_filters": "connection",
    "connections.newer_clients": "connection",
    "geo.polygons": "geo",
    "hashes.field_expiry": "hash",
    "hashes.valkey_fields": "hash",
    "replication.waitaof": "generic",
    "scripting.valkey_scripts": "scripting",
    "server.commandlog": "server",
    "strings.stralgo": "string",
    "strings.valkey_strings": "string",
}

BEFORE_OTHERS: Final = (
    ".acl.variants",
    ".versions.older",
    ".versions.variants",
    ".versions.wordings",
    ".versions.newer_checks",
    ".versions.older_checks",
    ".versions.older_subcommands",
    ".versions.newer_streams",
)
AFTER_OTHERS: Final = ".versions.short_doubles"
"""What else other versions need, beside this folder. The last one changes what all others declare."""

GROUPS: Final = AT_ONCE | WHEN_ASKED_FOR | IN_OTHER_VERSIONS
"""The group of each module's commands, as COMMAND DOCS names it."""


def load(modules: Iterable[str]) -> None:
    """Imports modules, which declare their commands."""
    for name in modules:
        import_module(f".{name}", FOLDER)


def load_the_rest() -> None:
    """Imports the modules that are not loaded at once."""
    load(WHEN_ASKED_FOR)


def load_other_versions() -> None:
    """Imports the modules of which the default version needs nothing."""
    load((*BEFORE_OTHERS, *IN_OTHER_VERSIONS, AFTER_OTHERS))


load(AT_ONCE)
REST.append(load_the_rest)
OTHERS.append(load_other_versions)
