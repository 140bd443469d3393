"""A Redis-compatible server inside your Python process, for tests and for small programs.

It answers as redis-server ``VERSION`` does. It keeps its data in memory, and also on disk if asked::

    import miniredis
    import redis

    with miniredis.start() as server:
        client = redis.Redis(host=server.host, port=server.port)
        client.set("greeting", "hello")

``start`` runs a server on a thread, ``serve`` runs one in a Trio program, ``spawn`` runs one in a process of
its own, and the command ``miniredis`` runs one as a program. ``join`` shares one server among the processes
that use a directory.
``miniredis.pytest_plugin`` has fixtures for pytest. ``HeldClock`` is for tests of expiry and timeouts.
``Engine`` is the server without sockets, threads and clocks.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .clock import HeldClock
from .embedded import EmbeddedServer, start
from .engine import VERSION, Config, ConfigurationError, Engine, Instant
from .persistence.damage import DamagedFileError
from .server import Server, serve

if TYPE_CHECKING:
    from .processes.spawning import SpawnedServer, spawn
    from .topologies.cluster_nodes import ClusterNode
    from .topologies.clusters import Cluster, cluster
    from .topologies.sentinels import Sentinels, sentinel

    if sys.platform != "win32":
        from .processes.shared import join

__all__ = [
    "VERSION",
    "Cluster",
    "ClusterNode",
    "Config",
    "ConfigurationError",
    "DamagedFileError",
    "EmbeddedServer",
    "Engine",
    "HeldClock",
    "Instant",
    "Sentinels",
    "Server",
    "SpawnedServer",
    "cluster",
    "join",
    "sentinel",
    "serve",
    "spawn",
    "start",
]


IMPORTED_LATER = {
    "ClusterNode": ".topologies.cluster_nodes",
    "Cluster": ".topologies.clusters",
    "cluster": ".topologies.clusters",
    "Sentinels": ".topologies.sentinels",
    "sentinel": ".topologies.sentinels",
    "SpawnedServer": ".processes.spawning",
    "spawn": ".processes.spawning",
    **({} if sys.platform == "win32" else {"join": ".processes.shared"}),
}
"""Names whose modules are imported when they are asked for, as most programs ask for none of them."""


def __getattr__(name: str) -> Any:
    if name == "faults":  # likewise
        return import_module(".faults", __name__)
    if module := IMPORTED_LATER.get(name):
        return getattr(import_module(module, __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
