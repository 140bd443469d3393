"""One module for each group of Redis's commands. To add a command, write a decorated function."""

from . import (
    clients,
    connection,
    debugging,
    documentation,
    expiring,
    generic,
    introspection,
    list_elements,
    lists,
    objects,
    server,
    strings,
    transactions,
    watching,
)

__all__ = [
    "clients",
    "connection",
    "debugging",
    "documentation",
    "expiring",
    "generic",
    "introspection",
    "list_elements",
    "lists",
    "objects",
    "server",
    "strings",
    "transactions",
    "watching",
]
