"""Every directive of redis-server 7.0, one row each, with a verdict on its effect here.

``works``: it has redis-server's effect. ``ignored``: it tunes something that does not exist here, so it
accepts and shows redis-server's values, and changes nothing. ``off``: its feature is missing, so it accepts
only the value that turns the feature off; no other value can be silently without effect.

A row has the default, the kind of value, and traits:

    immutable   CONFIG SET may not change it
    settled     CONFIG SET may not change it here, though it may in Redis; Config.switch makes exceptions
    protected   CONFIG SET may change it only as enable-protected-configs says
    secret      its value does not show in the slow log
    hidden      CONFIG GET finds it by its name, and by no pattern
    words       its value may be several words
    command     only the command ``miniredis`` may change it, because it concerns the whole process

The rows are those of a ``TypedDict``, so that an editor and mypy know the keywords of ``start``.

The tests in ``test_config`` compare each row with a real server. To add a directive, add a row.
"""

from typing import Annotated, Final, NamedTuple, Protocol, TypeAlias, TypedDict

from ..numbers.numbers import MAX
from ..versions.version import Version, versions_in
from .kinds import (
    Check,
    file_name,
    hostname,
    integer,
    memory,
    memory_or_percent,
    no_defragmentation,
    octal,
    one_of,
    switch,
    text,
    title_template,
    whole_text,
)
from .words import (
    addresses,
    buffer_limits,
    clamped,
    event_classes,
    only,
    oom_scores,
    percentiles,
    primary,
    save_points,
    shutdown_options,
)

__all__ = ["ALIASES", "DIRECTIVES", "LOG_LEVELS", "Directive", "Directives", "Value", "check_in"]

LOG_LEVELS: Final = ("debug", "verbose", "notice", "warning", "nothing")
"""From the least to the most severe; scripts name them by their numbers. The last came with 7.2."""


class AnyPath(Protocol):
    """A path, as ``os.PathLike[str]``."""

    def __fspath__(self) -> str:
        """The path as a str."""


Value: TypeAlias = str | int | float | AnyPath
"""The types of a directive's value as a keyword; True and False mean ``yes`` and ``no``."""


class Directive(NamedTuple):
    """One row of the table.

    Attributes:
        verdict: ``works``, ``ignored`` or ``off``.
        default: the value if none is given.
        check: accepts or refuses a value; see ``kinds``.
        traits: see the head of this module.
    """

    verdict: str
    default: str
    check: Check
    traits: frozenset[str]


def works(default: str, check: Check, traits: str = "") -> Directive:
    return Directive("works", default, check, frozenset(traits.split()))


def ignored(default: str, check: Check, traits: str = "") -> Directive:
    return Directive("ignored", default, check, frozenset(traits.split()))


def off(value: str, check: Check, traits: str = "") -> Directive:
    return Directive("off", value, only(value, check), frozenset(traits.split()))


MIN32: Final = -(1 << 31)
MAX32: Final = (1 << 31) - 1
MAX_UNSIGNED32: Final = (1 << 32) - 1
MAX_UNSIGNED: Final = (1 << 64) - 1
PERMISSION: Final = one_of("no", "yes", "local")
POLICIES: Final = (
    "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu",
    "allkeys-random", "noeviction",
)  # fmt: skip


class Directives(TypedDict, total=False):
    """All directives as keywords, with ``_`` for ``-``, each with its row; and their old names."""

    acl_pubsub_default: Annotated[Value, works("resetchannels", one_of("allchannels", "resetchannels"))]
    aclfile: Annotated[Value, works("", text, "immutable")]
    acllog_max_len: Annotated[Value, works("128", integer(0, MAX))]
    active_defrag_cycle_max: Annotated[Value, ignored("25", integer(1, 99))]
    active_defrag_cycle_min: Annotated[Value, ignored("1", integer(1, 99))]
    active_defrag_ignore_bytes: Annotated[Value, ignored("104857600", memory(1, MAX))]
    active_defrag_max_scan_fields: Annotated[Value, ignored("1000", integer(1, MAX))]
    active_defrag_threshold_lower: Annotated[Value, ignored("10", integer(0, 1000))]
    active_defrag_threshold_upper: Annotated[Value, ignored("100", integer(0, 1000))]
    active_expire_effort: Annotated[Value, ignored("1", integer(1, 10))]
    activedefrag: Annotated[Value, off("no", no_defragmentation)]
    activerehashing: Annotated[Value, ignored("yes", switch)]
    always_show_logo: Annotated[Value, ignored("no", switch, "immutable")]
    aof_disable_auto_gc: Annotated[Value, ignored("no", switch)]
    aof_load_truncated: Annotated[Value, works("yes", switch)]
    aof_rewrite_incremental_fsync: Annotated[Value, ignored("yes", switch)]
    aof_timestamp_enabled: Annotated[Value, ignored("no", switch)]
    aof_use_rdb_preamble: Annotated[Value, works("yes", switch)]
    aof_rewrite_cpulist: Annotated[Value, ignored("", text, "immutable")]
    appenddirname: Annotated[
        Value, works("appendonlydir", file_name("appenddirname", "dirname"), "immutable")
    ]
    appendfilename: Annotated[
        Value, works("appendonly.aof", file_name("appendfilename", "filename"), "immutable")
    ]
    appendfsync: Annotated[Value, works("everysec", one_of("everysec", "always", "no"))]
    appendonly: Annotated[Value, works("no", switch, "settled")]
    auto_aof_rewrite_min_size: Annotated[Value, works("67108864", memory(0, MAX))]
    auto_aof_rewrite_percentage: Annotated[Value, works("100", integer(0, MAX32))]
    bgsave_cpulist: Annotated[Value, ignored("", text, "immutable")]
    bind: Annotated[Value, works("127.0.0.1", addresses, "words settled")]
    bind_source_addr: Annotated[Value, ignored("", text)]
    bio_cpulist: Annotated[Value, ignored("", text, "immutable")]
    busy_reply_threshold: Annotated[Value, works("5000", integer(0, MAX))]
    client_output_buffer_limit: Annotated[
        Value,
        works("normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", buffer_limits, "words"),
    ]
    client_query_buffer_limit: Annotated[Value, works("1073741824", memory(1 << 20, MAX))]
    cluster_allow_pubsubshard_when_down: Annotated[Value, works("yes", switch)]
    cluster_allow_reads_when_down: Annotated[Value, works("no", switch)]
    cluster_allow_replica_migration: Annotated[Value, ignored("yes", switch)]
    cluster_announce_bus_port: Annotated[Value, ignored("0", integer(0, 65535))]
    cluster_announce_hostname: Annotated[Value, ignored("", hostname)]
    cluster_announce_ip: Annotated[Value, ignored("", text)]
    cluster_announce_port: Annotated[Value, ignored("0", integer(0, 65535))]
    cluster_announce_tls_port: Annotated[Value, ignored("0", integer(0, 65535))]
    cluster_config_file: Annotated[Value, ignored("nodes.conf", text, "immutable")]
    cluster_enabled: Annotated[Value, works("no", switch, "immutable")]
    cluster_link_sendbuf_limit: Annotated[Value, ignored("0", memory(0, MAX_UNSIGNED))]
    cluster_migration_barrier: Annotated[Value, ignored("1", integer(0, MAX32))]
    cluster_node_timeout: Annotated[Value, ignored("15000", integer(0, MAX))]
    cluster_port: Annotated[Value, ignored("0", integer(0, 65535), "immutable")]
    cluster_preferred_endpoint_type: Annotated[
        Value, ignored("ip", one_of("ip", "hostname", "unknown-endpoint"))
    ]
    cluster_replica_no_failover: Annotated[Value, works("no", switch)]
    cluster_replica_validity_factor: Annotated[Value, ignored("10", integer(0, MAX32))]
    cluster_require_full_coverage: Annotated[Value, works("yes", switch)]
    crash_log_enabled: Annotated[Value, ignored("yes", switch)]
    crash_memcheck_enabled: Annotated[Value, ignored("yes", switch)]
    daemonize: Annotated[Value, works("no", switch, "immutable command")]
    databases: Annotated[Value, works("16", integer(1, MAX32), "immutable")]
    dbfilename: Annotated[
        Value, works("dump.rdb", file_name("dbfilename", "filename", may_be_empty=True), "protected")
    ]
    dir: Annotated[Value, works(".", text, "protected")]
    disable_thp: Annotated[Value, ignored("yes", switch, "immutable")]
    dynamic_hz: Annotated[Value, ignored("yes", switch)]
    enable_debug_command: Annotated[Value, works("no", PERMISSION, "immutable")]
    enable_module_command: Annotated[Value, off("no", PERMISSION, "immutable")]
    enable_protected_configs: Annotated[Value, works("no", PERMISSION, "immutable")]
    hash_max_listpack_entries: Annotated[Value, works("512", integer(0, MAX))]
    hash_max_listpack_value: Annotated[Value, works("64", memory(0, MAX))]
    hll_sparse_max_bytes: Annotated[Value, works("3000", memory(0, MAX))]
    hz: Annotated[Value, ignored("10", clamped(integer(0, MAX32), 1, 500))]
    ignore_warnings: Annotated[Value, ignored("", text)]
    io_threads: Annotated[Value, ignored("1", integer(1, 128), "immutable")]
    io_threads_do_reads: Annotated[Value, ignored("no", switch, "immutable")]
    jemalloc_bg_thread: Annotated[Value, ignored("yes", switch)]
    key_load_delay: Annotated[Value, ignored("0", integer(MIN32, MAX32), "hidden")]
    latency_monitor_threshold: Annotated[Value, works("0", integer(0, MAX))]
    latency_tracking: Annotated[Value, works("yes", switch)]
    latency_tracking_info_percentiles: Annotated[Value, works("50 99 99.9", percentiles, "words")]
    lazyfree_lazy_eviction: Annotated[Value, ignored("no", switch)]
    lazyfree_lazy_expire: Annotated[Value, ignored("no", switch)]
    lazyfree_lazy_server_del: Annotated[Value, ignored("no", switch)]
    lazyfree_lazy_user_del: Annotated[Value, ignored("no", switch)]
    lazyfree_lazy_user_flush: Annotated[Value, ignored("no", switch)]
    lfu_decay_time: Annotated[Value, ignored("1", integer(0, MAX32))]
    lfu_log_factor: Annotated[Value, ignored("10", integer(0, MAX32))]
    list_compress_depth: Annotated[Value, ignored("0", integer(0, MAX32))]
    list_max_listpack_size: Annotated[Value, ignored("-2", integer(MIN32, MAX32))]
    loading_process_events_interval_bytes: Annotated[
        Value, ignored("2097152", integer(1024, MAX32), "hidden")
    ]
    logfile: Annotated[Value, works("", text, "immutable command")]
    loglevel: Annotated[Value, works("notice", one_of(*LOG_LEVELS[:-1]))]
    lua_enable_deprecated_api: Annotated[Value, ignored("no", switch, "hidden immutable")]
    masterauth: Annotated[Value, works("", whole_text, "secret")]
    masteruser: Annotated[Value, works("", text, "secret")]
    maxclients: Annotated[Value, works("10000", integer(1, MAX_UNSIGNED32))]
    maxmemory: Annotated[Value, off("0", memory(0, MAX_UNSIGNED))]
    maxmemory_clients: Annotated[Value, off("0", memory_or_percent)]
    maxmemory_eviction_tenacity: Annotated[Value, ignored("10", integer(0, 100))]
    maxmemory_policy: Annotated[Value, ignored("noeviction", one_of(*POLICIES))]
    maxmemory_samples: Annotated[Value, ignored("5", integer(1, MAX32))]
    min_replicas_max_lag: Annotated[Value, works("10", integer(0, MAX32))]
    min_replicas_to_write: Annotated[Value, works("0", integer(0, MAX32))]
    no_appendfsync_on_rewrite: Annotated[Value, ignored("no", switch)]
    notify_keyspace_events: Annotated[Value, works("", event_classes)]
    oom_score_adj: Annotated[Value, off("no", one_of("no", "yes", "relative", "absolute"))]
    oom_score_adj_values: Annotated[Value, ignored("0 200 800", oom_scores, "words")]
    pidfile: Annotated[Value, works("", text, "immutable command")]
    port: Annotated[Value, works("6379", integer(0, 65535), "settled")]
    proc_title_template: Annotated[Value, ignored("{title} {listen-addr} {server-mode}", title_template)]
    propagation_error_behavior: Annotated[
        Value, ignored("ignore", one_of("ignore", "panic", "panic-on-replicas"))
    ]
    protected_mode: Annotated[Value, works("yes", switch)]
    proto_max_bulk_len: Annotated[Value, works("536870912", memory(1 << 20, MAX))]
    rdb_del_sync_files: Annotated[Value, ignored("no", switch)]
    rdb_key_save_delay: Annotated[Value, ignored("0", integer(MIN32, MAX32), "hidden")]
    rdb_save_incremental_fsync: Annotated[Value, ignored("yes", switch)]
    rdbchecksum: Annotated[Value, works("yes", switch, "immutable")]
    rdbcompression: Annotated[Value, ignored("yes", switch)]
    repl_backlog_size: Annotated[Value, works("1048576", clamped(memory(1, MAX), 1 << 14, MAX))]
    repl_backlog_ttl: Annotated[Value, works("3600", integer(0, MAX))]
    repl_disable_tcp_nodelay: Annotated[Value, ignored("no", switch)]
    repl_diskless_load: Annotated[Value, ignored("disabled", one_of("disabled", "on-empty-db", "swapdb"))]
    repl_diskless_sync: Annotated[Value, ignored("yes", switch)]
    repl_diskless_sync_delay: Annotated[Value, ignored("5", integer(0, MAX32))]
    repl_diskless_sync_max_replicas: Annotated[Value, ignored("0", integer(0, MAX32))]
    repl_ping_replica_period: Annotated[Value, works("10", integer(1, MAX32))]
    repl_timeout: Annotated[Value, works("60", integer(1, MAX32))]
    replica_announce_ip: Annotated[Value, works("", text)]
    replica_announce_port: Annotated[Value, works("0", integer(0, 65535))]
    replica_announced: Annotated[Value, works("yes", switch)]
    replica_ignore_disk_write_errors: Annotated[Value, ignored("no", switch)]
    replica_ignore_maxmemory: Annotated[Value, ignored("yes", switch)]
    replica_lazy_flush: Annotated[Value, ignored("no", switch)]
    replica_priority: Annotated[Value, works("100", integer(0, MAX32))]
    replica_read_only: Annotated[Value, works("yes", switch)]
    replica_serve_stale_data: Annotated[Value, works("yes", switch)]
    replicaof: Annotated[Value, works("", primary, "words immutable")]
    requirepass: Annotated[Value, works("", whole_text, "secret")]
    sanitize_dump_payload: Annotated[Value, ignored("no", one_of("no", "yes", "clients"))]
    save: Annotated[Value, works("", save_points, "words")]
    server_cpulist: Annotated[Value, ignored("", text, "immutable")]
    set_max_intset_entries: Annotated[Value, works("512", integer(0, MAX))]
    set_proc_title: Annotated[Value, ignored("yes", switch, "immutable")]
    shutdown_on_sigint: Annotated[Value, ignored("default", shutdown_options, "words")]
    shutdown_on_sigterm: Annotated[Value, ignored("default", shutdown_options, "words")]
    shutdown_timeout: Annotated[Value, ignored("10", integer(0, MAX32))]
    slowlog_log_slower_than: Annotated[Value, works("10000", integer(-1, MAX))]
    slowlog_max_len: Annotated[Value, works("128", integer(0, MAX))]
    socket_mark_id: Annotated[Value, ignored("0", integer(0, MAX_UNSIGNED32), "immutable")]
    stop_writes_on_bgsave_error: Annotated[Value, works("yes", switch)]
    stream_node_max_bytes: Annotated[Value, works("4096", memory(0, MAX))]
    stream_node_max_entries: Annotated[Value, works("100", integer(0, MAX))]
    supervised: Annotated[Value, works("no", one_of("upstart", "systemd", "auto", "no"), "immutable command")]
    syslog_enabled: Annotated[Value, off("no", switch, "immutable")]
    syslog_facility: Annotated[
        Value, ignored("local0", one_of("user", *(f"local{number}" for number in range(8))), "immutable")
    ]
    syslog_ident: Annotated[Value, ignored("redis", text, "immutable")]
    tcp_backlog: Annotated[Value, works("511", integer(0, MAX32), "immutable")]
    tcp_keepalive: Annotated[Value, works("300", integer(0, MAX32))]
    timeout: Annotated[Value, works("0", integer(0, MAX32))]
    tls_auth_clients: Annotated[Value, works("yes", one_of("no", "yes", "optional"))]
    tls_ca_cert_dir: Annotated[Value, works("", text)]
    tls_ca_cert_file: Annotated[Value, works("", text)]
    tls_cert_file: Annotated[Value, works("", text)]
    tls_ciphers: Annotated[Value, works("", text)]
    tls_ciphersuites: Annotated[Value, ignored("", text)]
    tls_client_cert_file: Annotated[Value, ignored("", text)]
    tls_client_key_file: Annotated[Value, ignored("", text)]
    tls_client_key_file_pass: Annotated[Value, ignored("", text)]
    tls_cluster: Annotated[Value, off("no", switch)]
    tls_dh_params_file: Annotated[Value, ignored("", text)]
    tls_key_file: Annotated[Value, works("", text)]
    tls_key_file_pass: Annotated[Value, works("", text)]
    tls_port: Annotated[Value, works("0", integer(0, 65535), "settled")]
    tls_prefer_server_ciphers: Annotated[Value, works("no", switch)]
    tls_protocols: Annotated[Value, works("", text)]
    tls_replication: Annotated[Value, off("no", switch)]
    tls_session_cache_size: Annotated[Value, ignored("20480", integer(0, MAX32))]
    tls_session_cache_timeout: Annotated[Value, ignored("300", integer(0, MAX32))]
    tls_session_caching: Annotated[Value, ignored("yes", switch)]
    tracking_table_max_keys: Annotated[Value, works("1000000", integer(0, MAX))]
    unixsocket: Annotated[Value, works("", text, "immutable")]
    unixsocketperm: Annotated[Value, works("0", octal, "immutable")]
    use_exit_on_panic: Annotated[Value, ignored("no", switch, "hidden")]
    watchdog_period: Annotated[Value, off("0", integer(0, MAX32), "hidden")]
    zset_max_listpack_entries: Annotated[Value, works("128", integer(0, MAX))]
    zset_max_listpack_value: Annotated[Value, works("64", memory(0, MAX))]

    cluster_slave_no_failover: Annotated[Value, "cluster-replica-no-failover"]
    cluster_slave_validity_factor: Annotated[Value, "cluster-replica-validity-factor"]
    hash_max_ziplist_entries: Annotated[Value, "hash-max-listpack-entries"]
    hash_max_ziplist_value: Annotated[Value, "hash-max-listpack-value"]
    list_max_ziplist_size: Annotated[Value, "list-max-listpack-size"]
    lua_time_limit: Annotated[Value, "busy-reply-threshold"]
    min_slaves_max_lag: Annotated[Value, "min-replicas-max-lag"]
    min_slaves_to_write: Annotated[Value, "min-replicas-to-write"]
    repl_ping_slave_period: Annotated[Value, "repl-ping-replica-period"]
    slave_announce_ip: Annotated[Value, "replica-announce-ip"]
    slave_announce_port: Annotated[Value, "replica-announce-port"]
    slave_ignore_maxmemory: Annotated[Value, "replica-ignore-maxmemory"]
    slave_lazy_flush: Annotated[Value, "replica-lazy-flush"]
    slave_priority: Annotated[Value, "replica-priority"]
    slave_read_only: Annotated[Value, "replica-read-only"]
    slave_serve_stale_data: Annotated[Value, "replica-serve-stale-data"]
    slaveof: Annotated[Value, "replicaof"]
    zset_max_ziplist_entries: Annotated[Value, "zset-max-listpack-entries"]
    zset_max_ziplist_value: Annotated[Value, "zset-max-listpack-value"]


def spelled(keyword: str) -> str:
    """The name in redis-server of a keyword."""
    return keyword if keyword.endswith("_cpulist") else keyword.replace("_", "-")


ROWS: Final = {spelled(keyword): hint.__metadata__[0] for keyword, hint in Directives.__annotations__.items()}

DIRECTIVES: Final[dict[str, Directive]] = {
    name: row for name, row in ROWS.items() if isinstance(row, Directive)
}
"""All directives by name."""

ALIASES: Final[dict[str, str]] = {name: row for name, row in ROWS.items() if isinstance(row, str)}
"""Old names of directives, each with the current name."""

CHECKS: Final = (("7.2+", "loglevel", one_of(*LOG_LEVELS)),)
"""What some versions check instead: the versions, the name of the directive, and their check."""


def check_in(version: Version, name: str) -> Check:
    """What accepts or refuses the values of a directive in a version."""
    others = (check for versions, own, check in CHECKS if own == name and version in versions_in(versions))
    return next(others, DIRECTIVES[name].check)
