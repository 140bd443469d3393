"""One module for each group of Redis's commands. To add a command, write a decorated function."""

from . import (
    connection,
    expiring,
    generic,
    introspection,
    list_elements,
    lists,
    objects,
    server,
    strings,
    transactions,
)

__all__ = [
    "connection",
    "expiring",
    "generic",
    "introspection",
    "list_elements",
    "lists",
    "objects",
    "server",
    "strings",
    "transactions",
]
