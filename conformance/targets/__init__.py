"""The servers that can be judged: miniredis in this process, programs that are started, or any redis:// URL.

``target_named(name).up()`` is a context manager that starts the server, if need be, and stops it at the end::

    with target_named("real").up() as address:
        print(address.url)

``named`` has the targets by name; ``programs`` finds the programs on this machine; ``processes`` starts them.
"""

from ..wire import Address
from .named import TARGETS, Target, UnusableError, embedded, program, real_redis, target_named
from .processes import (
    START_LIMIT,
    NoRealRedisError,
    NotInstalledError,
    accepts,
    end,
    free_port,
    real_at_free_port,
)
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
