"""Every directive of redis-server 7.0, each with its verdict.

``WORKING`` are those that this server heeds. What ``OFF`` names is not there, so only the value that asks for
nothing is taken. The others tune what has no meaning here: they take what redis-server takes, and show it.
"""

from __future__ import annotations

from typing import Final

from .directive import Directive, integer, memory, octal, one_of, only, switch, text
from .numbers import MAX

__all__ = ["ALIASES", "DIRECTIVES"]

MAX32: Final = (1 << 31) - 1
MAX_UNSIGNED: Final = (1 << 64) - 1

WORKING: Final = {
    "bind": Directive("127.0.0.1", text, most=16),
    "client-query-buffer-limit": Directive("1073741824", memory(1 << 20, MAX), mutable=True),
    "databases": Directive("16", integer(1, (1 << 31) - 1)),
    "hz": Directive("10", integer(0, (1 << 31) - 1), mutable=True),
    "loglevel": Directive("notice", one_of("debug", "verbose", "notice", "warning"), mutable=True),
    "maxclients": Directive("10000", integer(1, (1 << 32) - 1), mutable=True),
    "port": Directive("6379", integer(0, 65535)),
    "proto-max-bulk-len": Directive("536870912", memory(1 << 20, MAX), mutable=True),
    "enable-debug-command": Directive("no", one_of("yes", "no", "local")),
    "requirepass": Directive("", text, mutable=True),
    "slowlog-log-slower-than": Directive("10000", integer(-1, MAX), mutable=True),
    "slowlog-max-len": Directive("128", integer(0, MAX), mutable=True),
    "tcp-backlog": Directive("511", integer(0, (1 << 31) - 1)),
    "tcp-keepalive": Directive("300", integer(0, (1 << 31) - 1), mutable=True),
    "unixsocket": Directive("", text),
    "unixsocketperm": Directive("0", octal),
}

OFF: Final = {
    "aclfile": "",
    "always-show-logo": "no",
    "appendonly": "no",
    "client-output-buffer-limit": "normal 0 0 0 slave 0 0 0 pubsub 0 0 0",
    "cluster-enabled": "no",
    "daemonize": "no",
    "enable-module-command": "no",
    "enable-protected-configs": "no",
    "io-threads": "1",
    "latency-monitor-threshold": "0",
    "latency-tracking": "no",
    "latency-tracking-info-percentiles": "50 99 99.9",
    "logfile": "",
    "masterauth": "",
    "maxmemory": "0",
    "maxmemory-clients": "0",
    "notify-keyspace-events": "",
    "oom-score-adj": "no",
    "oom-score-adj-values": "0 200 800",
    "pidfile": "",
    "protected-mode": "no",
    "replicaof": "",
    "save": "",
    "supervised": "no",
    "syslog-enabled": "no",
    "timeout": "0",
    "tls-port": "0",
}
"""Each with the one value it takes."""

SWITCHES: Final = {
    "activedefrag": "no",
    "activerehashing": "yes",
    "aof-disable-auto-gc": "no",
    "aof-load-truncated": "yes",
    "aof-rewrite-incremental-fsync": "yes",
    "aof-timestamp-enabled": "no",
    "aof-use-rdb-preamble": "yes",
    "cluster-allow-pubsubshard-when-down": "yes",
    "cluster-allow-reads-when-down": "no",
    "cluster-allow-replica-migration": "yes",
    "cluster-replica-no-failover": "no",
    "cluster-require-full-coverage": "yes",
    "crash-log-enabled": "yes",
    "crash-memcheck-enabled": "yes",
    "dynamic-hz": "yes",
    "jemalloc-bg-thread": "yes",
    "lazyfree-lazy-eviction": "no",
    "lazyfree-lazy-expire": "no",
    "lazyfree-lazy-server-del": "no",
    "lazyfree-lazy-user-del": "no",
    "lazyfree-lazy-user-flush": "no",
    "no-appendfsync-on-rewrite": "no",
    "rdb-del-sync-files": "no",
    "rdb-save-incremental-fsync": "yes",
    "rdbcompression": "yes",
    "repl-disable-tcp-nodelay": "no",
    "repl-diskless-sync": "yes",
    "replica-announced": "yes",
    "replica-ignore-disk-write-errors": "no",
    "replica-ignore-maxmemory": "yes",
    "replica-lazy-flush": "no",
    "replica-read-only": "yes",
    "replica-serve-stale-data": "yes",
    "stop-writes-on-bgsave-error": "yes",
    "tls-cluster": "no",
    "tls-prefer-server-ciphers": "no",
    "tls-replication": "no",
    "tls-session-caching": "yes",
}
"""Yes or no, and which it is unless told."""

NUMBERS: Final = {
    "acllog-max-len": ("128", 0, MAX),
    "active-defrag-cycle-max": ("25", 1, 99),
    "active-defrag-cycle-min": ("1", 1, 99),
    "active-defrag-max-scan-fields": ("1000", 1, MAX),
    "active-defrag-threshold-lower": ("10", 0, 1000),
    "active-defrag-threshold-upper": ("100", 0, 1000),
    "active-expire-effort": ("1", 1, 10),
    "auto-aof-rewrite-percentage": ("100", 0, MAX32),
    "busy-reply-threshold": ("5000", 0, MAX),
    "cluster-announce-bus-port": ("0", 0, 65535),
    "cluster-announce-port": ("0", 0, 65535),
    "cluster-announce-tls-port": ("0", 0, 65535),
    "cluster-migration-barrier": ("1", 0, MAX32),
    "cluster-node-timeout": ("15000", 0, MAX),
    "cluster-replica-validity-factor": ("10", 0, MAX32),
    "hash-max-listpack-entries": ("512", 0, MAX),
    "lfu-decay-time": ("1", 0, MAX32),
    "lfu-log-factor": ("10", 0, MAX32),
    "list-compress-depth": ("0", 0, MAX32),
    "list-max-listpack-size": ("-2", -2147483648, MAX32),
    "maxmemory-eviction-tenacity": ("10", 0, 100),
    "maxmemory-samples": ("5", 1, MAX32),
    "min-replicas-max-lag": ("10", 0, MAX32),
    "min-replicas-to-write": ("0", 0, MAX32),
    "repl-backlog-ttl": ("3600", 0, MAX),
    "repl-diskless-sync-delay": ("5", 0, MAX32),
    "repl-diskless-sync-max-replicas": ("0", 0, MAX32),
    "repl-ping-replica-period": ("10", 1, MAX32),
    "repl-timeout": ("60", 1, MAX32),
    "replica-announce-port": ("0", 0, 65535),
    "replica-priority": ("100", 0, MAX32),
    "set-max-intset-entries": ("512", 0, MAX),
    "shutdown-timeout": ("10", 0, MAX32),
    "stream-node-max-entries": ("100", 0, MAX),
    "tls-session-cache-size": ("20480", 0, MAX32),
    "tls-session-cache-timeout": ("300", 0, MAX32),
    "tracking-table-max-keys": ("1000000", 0, MAX),
    "zset-max-listpack-entries": ("128", 0, MAX),
}
"""Each with its default, and the lowest and highest number it takes."""

SIZES: Final = {
    "active-defrag-ignore-bytes": ("104857600", 1, MAX),
    "auto-aof-rewrite-min-size": ("67108864", 0, MAX),
    "cluster-link-sendbuf-limit": ("0", 0, MAX_UNSIGNED),
    "hash-max-listpack-value": ("64", 0, MAX),
    "hll-sparse-max-bytes": ("3000", 0, MAX),
    "repl-backlog-size": ("1048576", 1, MAX),
    "stream-node-max-bytes": ("4096", 0, MAX),
    "zset-max-listpack-value": ("64", 0, MAX),
}
"""Amounts of memory, each with its default and the least and most it takes."""

POLICIES: Final = (
    "volatile-lru volatile-lfu volatile-random volatile-ttl allkeys-lru allkeys-lfu allkeys-random noeviction"
)

CHOICES: Final = {
    "acl-pubsub-default": ("resetchannels", "allchannels resetchannels"),
    "appendfsync": ("everysec", "everysec always no"),
    "cluster-preferred-endpoint-type": ("ip", "ip hostname unknown-endpoint"),
    "maxmemory-policy": ("noeviction", POLICIES),
    "propagation-error-behavior": ("ignore", "ignore panic panic-on-replicas"),
    "repl-diskless-load": ("disabled", "disabled on-empty-db swapdb"),
    "sanitize-dump-payload": ("no", "no yes clients"),
    "shutdown-on-sigint": ("default", "default save nosave now force"),
    "shutdown-on-sigterm": ("default", "default save nosave now force"),
    "tls-auth-clients": ("yes", "no yes optional"),
}
"""Each with its default, and the words it takes."""

TEXTS: Final = {
    "bind-source-addr": "",
    "cluster-announce-hostname": "",
    "cluster-announce-ip": "",
    "dbfilename": "dump.rdb",
    "dir": ".",
    "ignore-warnings": "",
    "masteruser": "",
    "proc-title-template": "{title} {listen-addr} {server-mode}",
    "replica-announce-ip": "",
    "tls-ca-cert-dir": "",
    "tls-ca-cert-file": "",
    "tls-cert-file": "",
    "tls-ciphers": "",
    "tls-ciphersuites": "",
    "tls-client-cert-file": "",
    "tls-client-key-file": "",
    "tls-client-key-file-pass": "",
    "tls-dh-params-file": "",
    "tls-key-file": "",
    "tls-key-file-pass": "",
    "tls-protocols": "",
}
"""Any text, and what it is unless told."""

AT_START: Final = {
    "aof_rewrite_cpulist": "",
    "appenddirname": "appendonlydir",
    "appendfilename": "appendonly.aof",
    "bgsave_cpulist": "",
    "bio_cpulist": "",
    "cluster-config-file": "nodes.conf",
    "cluster-port": "0",
    "disable-thp": "yes",
    "io-threads-do-reads": "no",
    "rdbchecksum": "yes",
    "server_cpulist": "",
    "set-proc-title": "yes",
    "socket-mark-id": "0",
    "syslog-facility": "local0",
    "syslog-ident": "redis",
}
"""Texts that only the command line may set."""

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
"""Old names of directives."""

DIRECTIVES: Final[dict[str, Directive]] = (
    WORKING
    | {
        name: Directive(off, only(off), mutable=True, most=max(1, len(off.split())))
        for name, off in OFF.items()
    }
    | {name: Directive(default, switch, mutable=True) for name, default in SWITCHES.items()}
    | {
        name: Directive(default, integer(low, high), mutable=True)
        for name, (default, low, high) in NUMBERS.items()
    }
    | {
        name: Directive(default, memory(low, high), mutable=True)
        for name, (default, low, high) in SIZES.items()
    }
    | {
        name: Directive(default, one_of(*words.split()), mutable=True)
        for name, (default, words) in CHOICES.items()
    }
    | {name: Directive(default, text, mutable=True) for name, default in TEXTS.items()}
    | {name: Directive(default, text) for name, default in AT_START.items()}
)
"""All of them by name."""
