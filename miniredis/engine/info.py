"""INFO: facts about the server, in Redis's sections and field names.

A section is a function in the table at the end. Fields for what this server does not have are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from .version import VERSION

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["report"]

Fields: TypeAlias = dict[str, object]


def report(engine: Engine, wanted: Iterable[str] = ()) -> str:
    """The sections asked for; all that INFO shows by default if none is named."""
    names = set(wanted) or {"default"}
    if names & {"default", "all", "everything"}:
        names |= SECTIONS.keys()
    texts = [section(name, make(engine)) for name, make in SECTIONS.items() if name in names]
    return "\r\n".join(texts)


def section(name: str, fields: Fields) -> str:
    return f"# {name.capitalize()}\r\n" + "".join(f"{field}:{value}\r\n" for field, value in fields.items())


def server(engine: Engine) -> Fields:
    uptime = (engine.now.monotonic - engine.started.monotonic) // 1_000_000
    return {
        "redis_version": VERSION,
        "redis_mode": "standalone",
        "os": engine.facts.system,
        "arch_bits": 64,
        "multiplexing_api": engine.facts.poller,
        "process_id": engine.facts.pid,
        "run_id": engine.run_id.decode(),
        "tcp_port": engine.facts.port,
        "server_time_usec": engine.now.wall,
        "uptime_in_seconds": uptime,
        "uptime_in_days": uptime // 86400,
        "executable": engine.facts.executable,
        "config_file": "",
    }


def clients(engine: Engine) -> Fields:
    return {
        "connected_clients": len(engine.sessions),
        "cluster_connections": 0,
        "maxclients": engine.config["maxclients"],
        "blocked_clients": len(engine.waiting),
        "tracking_clients": 0,
        "clients_in_timeout_table": engine.waiting.with_deadline,
    }


def memory(engine: Engine) -> Fields:
    resident = engine.facts.memory()
    return {
        "used_memory": resident,
        "used_memory_human": human(resident),
        "used_memory_rss": resident,
        "used_memory_rss_human": human(resident),
        "maxmemory": engine.config["maxmemory"],
        "maxmemory_human": "0B",
        "maxmemory_policy": engine.config["maxmemory-policy"],
    }


def human(size: float) -> str:
    """A number of bytes as INFO writes it for people."""
    for unit in "BKMG":
        if size < 1024:
            return f"{size:.0f}{unit}" if unit == "B" else f"{size:.2f}{unit}"
        size /= 1024
    return f"{size:.2f}T"


def persistence(engine: Engine) -> Fields:
    return {
        "loading": 0,
        "async_loading": 0,
        "rdb_changes_since_last_save": engine.keyspace.changes,
        "rdb_bgsave_in_progress": 0,
        "aof_enabled": 0,
        "aof_rewrite_in_progress": 0,
    }


def stats(engine: Engine) -> Fields:
    return {
        "total_connections_received": engine.connections_received,
        "total_commands_processed": engine.commands_processed,
        "total_net_input_bytes": engine.input_bytes,
        "rejected_connections": engine.connections_rejected,
        "expired_keys": engine.keyspace.expired,
        "evicted_keys": 0,
        "keyspace_hits": engine.keyspace.hits,
        "keyspace_misses": engine.keyspace.misses,
        "pubsub_channels": 0,
        "pubsub_patterns": 0,
        "total_error_replies": engine.error_counts.total(),
    }


def replication(engine: Engine) -> Fields:
    return {
        "role": "master",
        "connected_slaves": 0,
        "master_failover_state": "no-failover",
        "master_replid": engine.run_id.decode(),
        "master_replid2": "0" * 40,  # never was a replica
        "master_repl_offset": 0,
    }


def modules(engine: Engine) -> Fields:  # noqa: ARG001
    return {}


def error_stats(engine: Engine) -> Fields:
    return {f"errorstat_{code.decode()}": f"count={count}" for code, count in engine.error_counts.items()}


def cluster(engine: Engine) -> Fields:  # noqa: ARG001
    return {"cluster_enabled": 0}


def keyspace(engine: Engine) -> Fields:
    now = engine.now.milliseconds
    fields: Fields = {}
    for db in engine.keyspace.databases:
        if len(db):
            left = [when - now for when in db.deadlines.values()]
            average = sum(left) // len(left) if left else 0
            fields[f"db{db.index}"] = f"keys={len(db)},expires={len(left)},avg_ttl={max(average, 0)}"
    return fields


SECTIONS: Final[dict[str, Callable[[Engine], Fields]]] = {
    "server": server,
    "clients": clients,
    "memory": memory,
    "persistence": persistence,
    "stats": stats,
    "replication": replication,
    "modules": modules,
    "errorstats": error_stats,
    "cluster": cluster,
    "keyspace": keyspace,
}
