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

The tests in ``test_config`` compare each row with a real server. To add a directive, add a row.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..numbers.numbers import MAX
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

__all__ = ["ALIASES", "DIRECTIVES", "Directive"]


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

DIRECTIVES: Final = {
    "acl-pubsub-default": works("resetchannels", one_of("allchannels", "resetchannels")),
    "aclfile": works("", text, "immutable"),
    "acllog-max-len": works("128", integer(0, MAX)),
    "active-defrag-cycle-max": ignored("25", integer(1, 99)),
    "active-defrag-cycle-min": ignored("1", integer(1, 99)),
    "active-defrag-ignore-bytes": ignored("104857600", memory(1, MAX)),
    "active-defrag-max-scan-fields": ignored("1000", integer(1, MAX)),
    "active-defrag-threshold-lower": ignored("10", integer(0, 1000)),
    "active-defrag-threshold-upper": ignored("100", integer(0, 1000)),
    "active-expire-effort": ignored("1", integer(1, 10)),
    "activedefrag": off("no", no_defragmentation),
    "activerehashing": ignored("yes", switch),
    "always-show-logo": ignored("no", switch, "immutable"),
    "aof-disable-auto-gc": ignored("no", switch),
    "aof-load-truncated": works("yes", switch),
    "aof-rewrite-incremental-fsync": ignored("yes", switch),
    "aof-timestamp-enabled": ignored("no", switch),
    "aof-use-rdb-preamble": works("yes", switch),
    "aof_rewrite_cpulist": ignored("", text, "immutable"),
    "appenddirname": works("appendonlydir", file_name("appenddirname", "dirname"), "immutable"),
    "appendfilename": works("appendonly.aof", file_name("appendfilename", "filename"), "immutable"),
    "appendfsync": works("everysec", one_of("everysec", "always", "no")),
    "appendonly": works("no", switch, "settled"),
    "auto-aof-rewrite-min-size": works("67108864", memory(0, MAX)),
    "auto-aof-rewrite-percentage": works("100", integer(0, MAX32)),
    "bgsave_cpulist": ignored("", text, "immutable"),
    "bind": works("127.0.0.1", addresses, "words settled"),
    "bind-source-addr": ignored("", text),
    "bio_cpulist": ignored("", text, "immutable"),
    "busy-reply-threshold": works("5000", integer(0, MAX)),
    "client-output-buffer-limit": works(
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", buffer_limits, "words"
    ),
    "client-query-buffer-limit": works("1073741824", memory(1 << 20, MAX)),
    "cluster-allow-pubsubshard-when-down": works("yes", switch),
    "cluster-allow-reads-when-down": works("no", switch),
    "cluster-allow-replica-migration": ignored("yes", switch),
    "cluster-announce-bus-port": ignored("0", integer(0, 65535)),
    "cluster-announce-hostname": ignored("", hostname),
    "cluster-announce-ip": ignored("", text),
    "cluster-announce-port": ignored("0", integer(0, 65535)),
    "cluster-announce-tls-port": ignored("0", integer(0, 65535)),
    "cluster-config-file": ignored("nodes.conf", text, "immutable"),
    "cluster-enabled": works("no", switch, "immutable"),
    "cluster-link-sendbuf-limit": ignored("0", memory(0, MAX_UNSIGNED)),
    "cluster-migration-barrier": ignored("1", integer(0, MAX32)),
    "cluster-node-timeout": ignored("15000", integer(0, MAX)),
    "cluster-port": ignored("0", integer(0, 65535), "immutable"),
    "cluster-preferred-endpoint-type": ignored("ip", one_of("ip", "hostname", "unknown-endpoint")),
    "cluster-replica-no-failover": works("no", switch),
    "cluster-replica-validity-factor": ignored("10", integer(0, MAX32)),
    "cluster-require-full-coverage": works("yes", switch),
    "crash-log-enabled": ignored("yes", switch),
    "crash-memcheck-enabled": ignored("yes", switch),
    "daemonize": works("no", switch, "immutable command"),
    "databases": works("16", integer(1, MAX32), "immutable"),
    "dbfilename": works("dump.rdb", file_name("dbfilename", "filename", may_be_empty=True), "protected"),
    "dir": works(".", text, "protected"),
    "disable-thp": ignored("yes", switch, "immutable"),
    "dynamic-hz": ignored("yes", switch),
    "enable-debug-command": works("no", PERMISSION, "immutable"),
    "enable-module-command": off("no", PERMISSION, "immutable"),
    "enable-protected-configs": works("no", PERMISSION, "immutable"),
    "hash-max-listpack-entries": works("512", integer(0, MAX)),
    "hash-max-listpack-value": works("64", memory(0, MAX)),
    "hll-sparse-max-bytes": works("3000", memory(0, MAX)),
    "hz": ignored("10", clamped(integer(0, MAX32), 1, 500)),
    "ignore-warnings": ignored("", text),
    "io-threads": ignored("1", integer(1, 128), "immutable"),
    "io-threads-do-reads": ignored("no", switch, "immutable"),
    "jemalloc-bg-thread": ignored("yes", switch),
    "key-load-delay": ignored("0", integer(MIN32, MAX32), "hidden"),
    "latency-monitor-threshold": works("0", integer(0, MAX)),
    "latency-tracking": works("yes", switch),
    "latency-tracking-info-percentiles": works("50 99 99.9", percentiles, "words"),
    "lazyfree-lazy-eviction": ignored("no", switch),
    "lazyfree-lazy-expire": ignored("no", switch),
    "lazyfree-lazy-server-del": ignored("no", switch),
    "lazyfree-lazy-user-del": ignored("no", switch),
    "lazyfree-lazy-user-flush": ignored("no", switch),
    "lfu-decay-time": ignored("1", integer(0, MAX32)),
    "lfu-log-factor": ignored("10", integer(0, MAX32)),
    "list-compress-depth": ignored("0", integer(0, MAX32)),
    "list-max-listpack-size": ignored("-2", integer(MIN32, MAX32)),
    "loading-process-events-interval-bytes": ignored("2097152", integer(1024, MAX32), "hidden"),
    "logfile": works("", text, "immutable command"),
    "loglevel": works("notice", one_of("debug", "verbose", "notice", "warning")),
    "lua-enable-deprecated-api": ignored("no", switch, "hidden immutable"),
    "masterauth": works("", whole_text, "secret"),
    "masteruser": works("", text, "secret"),
    "maxclients": works("10000", integer(1, MAX_UNSIGNED32)),
    "maxmemory": off("0", memory(0, MAX_UNSIGNED)),
    "maxmemory-clients": off("0", memory_or_percent),
    "maxmemory-eviction-tenacity": ignored("10", integer(0, 100)),
    "maxmemory-policy": ignored("noeviction", one_of(*POLICIES)),
    "maxmemory-samples": ignored("5", integer(1, MAX32)),
    "min-replicas-max-lag": works("10", integer(0, MAX32)),
    "min-replicas-to-write": works("0", integer(0, MAX32)),
    "no-appendfsync-on-rewrite": ignored("no", switch),
    "notify-keyspace-events": works("", event_classes),
    "oom-score-adj": off("no", one_of("no", "yes", "relative", "absolute")),
    "oom-score-adj-values": ignored("0 200 800", oom_scores, "words"),
    "pidfile": works("", text, "immutable command"),
    "port": works("6379", integer(0, 65535), "settled"),
    "proc-title-template": ignored("{title} {listen-addr} {server-mode}", title_template),
    "propagation-error-behavior": ignored("ignore", one_of("ignore", "panic", "panic-on-replicas")),
    "protected-mode": works("yes", switch),
    "proto-max-bulk-len": works("536870912", memory(1 << 20, MAX)),
    "rdb-del-sync-files": ignored("no", switch),
    "rdb-key-save-delay": ignored("0", integer(MIN32, MAX32), "hidden"),
    "rdb-save-incremental-fsync": ignored("yes", switch),
    "rdbchecksum": works("yes", switch, "immutable"),
    "rdbcompression": ignored("yes", switch),
    "repl-backlog-size": works("1048576", clamped(memory(1, MAX), 1 << 14, MAX)),
    "repl-backlog-ttl": works("3600", integer(0, MAX)),
    "repl-disable-tcp-nodelay": ignored("no", switch),
    "repl-diskless-load": ignored("disabled", one_of("disabled", "on-empty-db", "swapdb")),
    "repl-diskless-sync": ignored("yes", switch),
    "repl-diskless-sync-delay": ignored("5", integer(0, MAX32)),
    "repl-diskless-sync-max-replicas": ignored("0", integer(0, MAX32)),
    "repl-ping-replica-period": works("10", integer(1, MAX32)),
    "repl-timeout": works("60", integer(1, MAX32)),
    "replica-announce-ip": works("", text),
    "replica-announce-port": works("0", integer(0, 65535)),
    "replica-announced": works("yes", switch),
    "replica-ignore-disk-write-errors": ignored("no", switch),
    "replica-ignore-maxmemory": ignored("yes", switch),
    "replica-lazy-flush": ignored("no", switch),
    "replica-priority": works("100", integer(0, MAX32)),
    "replica-read-only": works("yes", switch),
    "replica-serve-stale-data": works("yes", switch),
    "replicaof": works("", primary, "words immutable"),
    "requirepass": works("", whole_text, "secret"),
    "sanitize-dump-payload": ignored("no", one_of("no", "yes", "clients")),
    "save": works("", save_points, "words"),
    "server_cpulist": ignored("", text, "immutable"),
    "set-max-intset-entries": works("512", integer(0, MAX)),
    "set-proc-title": ignored("yes", switch, "immutable"),
    "shutdown-on-sigint": ignored("default", shutdown_options, "words"),
    "shutdown-on-sigterm": ignored("default", shutdown_options, "words"),
    "shutdown-timeout": ignored("10", integer(0, MAX32)),
    "slowlog-log-slower-than": works("10000", integer(-1, MAX)),
    "slowlog-max-len": works("128", integer(0, MAX)),
    "socket-mark-id": ignored("0", integer(0, MAX_UNSIGNED32), "immutable"),
    "stop-writes-on-bgsave-error": works("yes", switch),
    "stream-node-max-bytes": works("4096", memory(0, MAX)),
    "stream-node-max-entries": works("100", integer(0, MAX)),
    "supervised": works("no", one_of("upstart", "systemd", "auto", "no"), "immutable command"),
    "syslog-enabled": off("no", switch, "immutable"),
    "syslog-facility": ignored(
        "local0", one_of("user", *(f"local{number}" for number in range(8))), "immutable"
    ),
    "syslog-ident": ignored("redis", text, "immutable"),
    "tcp-backlog": works("511", integer(0, MAX32), "immutable"),
    "tcp-keepalive": works("300", integer(0, MAX32)),
    "timeout": works("0", integer(0, MAX32)),
    "tls-auth-clients": works("yes", one_of("no", "yes", "optional")),
    "tls-ca-cert-dir": works("", text),
    "tls-ca-cert-file": works("", text),
    "tls-cert-file": works("", text),
    "tls-ciphers": works("", text),
    "tls-ciphersuites": ignored("", text),
    "tls-client-cert-file": ignored("", text),
    "tls-client-key-file": ignored("", text),
    "tls-client-key-file-pass": ignored("", text),
    "tls-cluster": off("no", switch),
    "tls-dh-params-file": ignored("", text),
    "tls-key-file": works("", text),
    "tls-key-file-pass": works("", text),
    "tls-port": works("0", integer(0, 65535), "settled"),
    "tls-prefer-server-ciphers": works("no", switch),
    "tls-protocols": works("", text),
    "tls-replication": off("no", switch),
    "tls-session-cache-size": ignored("20480", integer(0, MAX32)),
    "tls-session-cache-timeout": ignored("300", integer(0, MAX32)),
    "tls-session-caching": ignored("yes", switch),
    "tracking-table-max-keys": works("1000000", integer(0, MAX)),
    "unixsocket": works("", text, "immutable"),
    "unixsocketperm": works("0", octal, "immutable"),
    "use-exit-on-panic": ignored("no", switch, "hidden"),
    "watchdog-period": off("0", integer(0, MAX32), "hidden"),
    "zset-max-listpack-entries": works("128", integer(0, MAX)),
    "zset-max-listpack-value": works("64", memory(0, MAX)),
}
"""All directives by name."""

ALIASES: Final = {
    "cluster-slave-no-failover": "cluster-replica-no-failover",
    "cluster-slave-validity-factor": "cluster-replica-validity-factor",
    "hash-max-ziplist-entries": "hash-max-listpack-entries",
    "hash-max-ziplist-value": "hash-max-listpack-value",
    "list-max-ziplist-size": "list-max-listpack-size",
    "lua-time-limit": "busy-reply-threshold",
    "min-slaves-max-lag": "min-replicas-max-lag",
    "min-slaves-to-write": "min-replicas-to-write",
    "repl-ping-slave-period": "repl-ping-replica-period",
    "slave-announce-ip": "replica-announce-ip",
    "slave-announce-port": "replica-announce-port",
    "slave-ignore-maxmemory": "replica-ignore-maxmemory",
    "slave-lazy-flush": "replica-lazy-flush",
    "slave-priority": "replica-priority",
    "slave-read-only": "replica-read-only",
    "slave-serve-stale-data": "replica-serve-stale-data",
    "slaveof": "replicaof",
    "zset-max-ziplist-entries": "zset-max-listpack-entries",
    "zset-max-ziplist-value": "zset-max-listpack-value",
}
"""Old names of directives, each with the current name."""
