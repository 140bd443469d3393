"""The server without its sockets: bytes in, bytes out, time as an argument.

It imports no I/O library, no clock and no thread; a test checks that.
"""

from .clients.session import Session
from .config import Config, ConfigurationError
from .engine import Engine
from .environment import Environment
from .instant import Instant
from .versions.version import VERSION

__all__ = ["VERSION", "Config", "ConfigurationError", "Engine", "Environment", "Instant", "Session"]
