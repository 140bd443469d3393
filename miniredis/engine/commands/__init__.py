"""One module for each group of Redis's commands. To add a command, write a decorated function.

The modules of the commands that most clients use are loaded at once, the others when any other command is
asked for: a test server is started often, and few need them all.
"""

from ..registry import REST
from . import (
    clients,
    config,
    connection,
    expiring,
    generic,
    list_elements,
    lists,
    scanning,
    server,
    strings,
    transactions,
)

__all__ = [
    "clients",
    "config",
    "connection",
    "expiring",
    "generic",
    "list_elements",
    "lists",
    "scanning",
    "server",
    "strings",
    "transactions",
]


def load_the_rest() -> None:
    """Loads the other modules."""
    from . import rest  # noqa: F401


REST.append(load_the_rest)
