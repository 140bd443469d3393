"""A Redis-compatible server inside your process, on Trio.

``start`` runs one on a thread, ``serve`` in a Trio program; the ``miniredis`` command runs one by itself.
"""

from .clock import HeldClock
from .embedded import EmbeddedServer, start
from .engine import VERSION, Config, ConfigurationError, Engine, Instant
from .server import Server, serve

__all__ = [
    "VERSION",
    "Config",
    "ConfigurationError",
    "EmbeddedServer",
    "Engine",
    "HeldClock",
    "Instant",
    "Server",
    "serve",
    "start",
]
