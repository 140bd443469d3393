"""The servers that can be judged: miniredis in this process, programs that are started, or any redis:// URL.

``target_named(name).up()`` is a context manager that starts the server, if need be, and stops it at the end::

    with target_named("real").up() as address:
        print(address.url)

``named`` has the targets by name; ``programs`` finds programs on this machine, beside those that
``miniredis.testing.real_programs`` finds; ``miniredis.testing.real_servers`` starts them.
"""

from miniredis.testing.real_servers import (
    START_LIMIT,
    NoRealRedisError,
    NotInstalledError,
    Target,
    accepts,
    end,
    free_port,
    program,
    real_at_free_port,
)

from ..wire import Address
from .named import TARGETS, UnusableError, embedded, real_redis, target_named
from .programs import fakeredis_command, find_real_redis, go_miniredis_command

__all__ = [
    "START_LIMIT",
    "TARGETS",
    "Address",
    "NoRealRedisError",
    "NotInstalledError",
    "Target",
    "UnusableError",
    "accepts",
    "embedded",
    "end",
    "fakeredis_command",
    "find_real_redis",
    "free_port",
    "go_miniredis_command",
    "program",
    "real_at_free_port",
    "real_redis",
    "target_named",
]
