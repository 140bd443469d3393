"""INFO: facts about the server, in Redis's sections and field names.

A section is a function in the table ``SECTIONS``. Fields that only apply to Redis's own build are omitted.
Features that this server lacks (such as eviction) are reported as if they were never used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from ..clients.publishing import CHANNELS, PATTERNS, SHARDS
from ..replication.report import facts_of_link
from ..versions.version import MODULE

if TYPE_CHECKING:
    from ..engine import Engine
    from ..versions.version import Version

__all__ = ["report"]

Fields: TypeAlias = dict[str, object]


def report(engine: Engine, wanted: Iterable[str] = ()) -> str:
    """The requested sections; the default ones if none is named."""
    names = set(wanted) or {"default"}
    if names & {"all", "everything"}:
        names |= SECTIONS.keys()
    elif "default" in names:
        names |= SECTIONS.keys() - NOT_BY_DEFAULT
    texts = [section(name, make(engine)) for name, make in SECTIONS.items() if name in names]
    return "\r\n".join(texts)


def section(name: str, fields: Fields) -> str:
    return f"# {TITLES.get(name, name.capitalize())}\r\n" + "".join(
        f"{field}:{value}\r\n" for field, value in fields.items()
    )


def numbers(version: Version) -> Fields:
    """The number of the version; Valkey's own one stands behind that of the Redis that it says to be."""
    own: Fields = {"server_name": version.product, "valkey_version": version.valkey} if version.valkey else {}
    return {"redis_version": version.number, **own}


def server(engine: Engine) -> Fields:
    uptime = (engine.now.monotonic - engine.started.monotonic) // 1_000_000
    return {
        **numbers(engine.version),
        "redis_git_sha1": "00000000",  # Redis's value if it was not built from a repository
        "redis_git_dirty": 0,
        "redis_mode": "standalone" if engine.cluster is None else "cluster",
        "os": engine.environment.system,
        "arch_bits": 64,
        "monotonic_clock": "POSIX clock_gettime",
        "multiplexing_api": engine.environment.poller,
        "process_id": engine.environment.pid,
        "process_supervised": engine.config["supervised"],
        "run_id": engine.run_id.decode(),
        "tcp_port": engine.config.integer("port"),
        "server_time_usec": engine.now.wall,
        "uptime_in_seconds": uptime,
        "uptime_in_days": uptime // 86400,
        "hz": engine.config["hz"],
        "configured_hz": engine.config["hz"],
        "lru_clock": engine.now.wall // 1_000_000 & 0xFFFFFF,
        "executable": engine.environment.executable,
        "config_file": engine.config.file,
        "io_threads_active": 0,
    }


def clients(engine: Engine) -> Fields:
    return {
        "connected_clients": len(engine.sessions) - len(engine.replication.replicas.all),
        "cluster_connections": 0,
        "maxclients": engine.config["maxclients"],
        "blocked_clients": len(engine.waiting),
        "tracking_clients": engine.notifier.tracking.count,
        "clients_in_timeout_table": engine.waiting.with_deadline,
    }


def memory(engine: Engine) -> Fields:
    resident = engine.environment.memory()
    engine.statistics.memory_peak = max(engine.statistics.memory_peak, resident)
    return {
        "used_memory": resident,
        "used_memory_human": human(resident),
        "used_memory_rss": resident,
        "used_memory_rss_human": human(resident),
        "used_memory_peak": engine.statistics.memory_peak,
        "used_memory_peak_human": human(engine.statistics.memory_peak),
        "used_memory_peak_perc": f"{100 * resident / (engine.statistics.memory_peak or 1):.2f}%",
        "number_of_cached_scripts": len(engine.scripts),
        "number_of_functions": engine.libraries.function_count,
        "number_of_libraries": len(engine.libraries.libraries),
        "maxmemory": engine.config["maxmemory"],
        "maxmemory_human": human(engine.config.integer("maxmemory")),
        "maxmemory_policy": engine.config["maxmemory-policy"],
        "mem_fragmentation_ratio": "1.00",
        "mem_allocator": "python",
        "active_defrag_running": 0,
        "lazyfree_pending_objects": 0,
    }


def human(size: float) -> str:
    """A number of bytes in human-readable form."""
    for unit in "BKMG":
        if size < 1024:
            return f"{size:.0f}{unit}" if unit == "B" else f"{size:.2f}{unit}"
        size /= 1024
    return f"{size:.2f}T"


def persistence(engine: Engine) -> Fields:
    journal = engine.environment.journal
    saves, now = engine.saves, engine.now.monotonic // 1_000_000
    child = saves.look_at_child()
    return {
        "loading": 0 if engine.conditions.loading is None else 1,
        "async_loading": 0,
        "current_cow_peak": saves.peak,
        "current_cow_size": child.copied,
        "current_cow_size_age": child.age,
        "current_fork_perc": f"{100 * child.keys / (saves.total or 1):.2f}",
        "current_save_keys_processed": child.keys,
        "current_save_keys_total": saves.total,
        "rdb_changes_since_last_save": saves.changes,
        "rdb_bgsave_in_progress": 0 if saves.began is None else 1,
        "rdb_last_save_time": saves.last,
        "rdb_last_bgsave_status": "err" if saves.has_failed else "ok",
        "rdb_last_bgsave_time_sec": saves.duration,
        "rdb_current_bgsave_time_sec": -1 if saves.began is None else now - saves.began,
        "rdb_saves": saves.count,
        "rdb_last_cow_size": saves.copied,
        "rdb_last_load_keys_expired": saves.expired,
        "rdb_last_load_keys_loaded": saves.loaded,
        "aof_enabled": int(journal is not None and engine.config["appendonly"] == "yes"),
        "aof_rewrite_in_progress": 0,
        "aof_rewrite_scheduled": 0,
        "aof_last_rewrite_time_sec": saves.rewrites.seconds,
        "aof_current_rewrite_time_sec": -1,
        "aof_last_bgrewrite_status": "err" if saves.rewrites.has_failed else "ok",
        "aof_rewrites": saves.rewrites.count,
        "aof_rewrites_consecutive_failures": saves.rewrites.failures,
        "aof_last_write_status": "err" if engine.conditions.disk_error else "ok",
        "aof_last_cow_size": saves.rewrites.copied,
        "module_fork_in_progress": 0,
        "module_fork_last_cow_size": 0,
        **(journal.facts() if journal else {}),
        **loading(engine),
    }


def loading(engine: Engine) -> Fields:
    """The progress of loading the data, with an estimate of the seconds that remain."""
    progress = engine.conditions.loading
    if progress is None:
        return {}
    seconds = engine.now.wall // 1_000_000 - progress.began
    remaining = progress.total - progress.loaded
    return {
        "loading_start_time": progress.began,
        "loading_total_bytes": progress.total,
        "loading_rdb_used_mem": progress.used_memory,
        "loading_loaded_bytes": progress.loaded,
        "loading_loaded_perc": f"{100 * progress.loaded / (progress.total or 1):.2f}",
        "loading_eta_seconds": seconds * remaining // (progress.loaded + 1) if seconds else 1,
    }


def stats(engine: Engine) -> Fields:
    return {
        "total_connections_received": engine.statistics.connections,
        "total_commands_processed": engine.statistics.total,
        "total_net_input_bytes": engine.statistics.input_bytes,
        "total_net_output_bytes": engine.statistics.output_bytes,
        "total_net_repl_input_bytes": engine.statistics.replication_input_bytes,
        "total_net_repl_output_bytes": engine.statistics.replication_output_bytes,
        "rejected_connections": engine.statistics.rejected_connections,
        "sync_full": engine.replication.replicas.full_syncs,
        "sync_partial_ok": engine.replication.replicas.partial_syncs,
        "sync_partial_err": engine.replication.replicas.failed_partial_syncs,
        "expired_keys": engine.keyspace.expired,
        "evicted_keys": 0,
        "evicted_clients": 0,
        "keyspace_hits": engine.keyspace.hits,
        "keyspace_misses": engine.keyspace.misses,
        "pubsub_channels": len(engine.notifier.publishing.listeners[CHANNELS]),
        "pubsub_patterns": len(engine.notifier.publishing.listeners[PATTERNS]),
        "pubsubshard_channels": len(engine.notifier.publishing.listeners[SHARDS]),
        "latest_fork_usec": engine.saves.fork_microseconds,
        "total_forks": engine.saves.forks,
        "migrate_cached_sockets": 0,
        "tracking_total_keys": len(engine.notifier.tracking.readers),
        "tracking_total_items": engine.notifier.tracking.items,
        "tracking_total_prefixes": len(engine.notifier.tracking.prefixes),
        "unexpected_error_replies": 0,
        "total_error_replies": engine.statistics.errors.total(),
    }


def replication(engine: Engine) -> Fields:
    history, replicas = engine.replication.history, engine.replication.replicas
    return {
        **facts_of_link(engine),
        "connected_slaves": len(replicas.all),
        **({"min_slaves_good_slaves": replicas.acks.good} if replicas.acks.needed else {}),
        **{
            f"slave{number}": f"ip={each.address.decode()},port={each.port},state={each.state.word},"
            f"offset={each.offset},lag={replicas.lag_of(each)}"
            for number, each in enumerate(replicas.all.values())
        },
        "master_failover_state": engine.replication.failover.state.value,
        "master_replid": history.name.decode(),
        "master_replid2": history.former_name.decode(),
        "master_repl_offset": history.offset,
        "second_repl_offset": history.former_end,
        "repl_backlog_active": int(history.is_kept),
        "repl_backlog_size": engine.config["repl-backlog-size"],
        "repl_backlog_first_byte_offset": history.first_kept,
        "repl_backlog_histlen": history.size,
    }


def cpu(engine: Engine) -> Fields:
    system, user = engine.environment.cpu()
    return {"used_cpu_sys": f"{system:.6f}", "used_cpu_user": f"{user:.6f}"}


def modules(engine: Engine) -> Fields:  # noqa: ARG001
    return {"module": f"name={MODULE},ver=1,api=1,filters=0,usedby=[],using=[],options=[]"}


def command_stats(engine: Engine) -> Fields:
    return {
        f"cmdstat_{command.name.decode()}": (
            f"calls={calls.count},usec={calls.seconds * 1e6:.0f},"
            f"usec_per_call={calls.seconds * 1e6 / (calls.count or 1):.2f},"
            f"rejected_calls={calls.rejected},failed_calls={calls.failed}"
        )
        for command, calls in engine.statistics.items()
    }


def error_stats(engine: Engine) -> Fields:
    return {
        f"errorstat_{code.decode()}": f"count={count}"
        for code, count in sorted(engine.statistics.errors.items())
    }


def latency_stats(engine: Engine) -> Fields:
    if not engine.statistics.tracks:
        return {}
    percents = engine.config["latency-tracking-info-percentiles"].split()
    return {
        f"latency_percentiles_usec_{command.name.decode()}": ",".join(
            f"p{percent}={calls.percentile(float(percent)) / 1000:.3f}" for percent in percents
        )
        for command, calls in engine.statistics.items()
        if calls.timed()
    }


def cluster(engine: Engine) -> Fields:
    return {"cluster_enabled": int(engine.cluster is not None)}


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
    "cpu": cpu,
    "modules": modules,
    "commandstats": command_stats,
    "errorstats": error_stats,
    "latencystats": latency_stats,
    "cluster": cluster,
    "keyspace": keyspace,
}

NOT_BY_DEFAULT: Final = {"commandstats", "latencystats"}
TITLES: Final = {"cpu": "CPU"}
