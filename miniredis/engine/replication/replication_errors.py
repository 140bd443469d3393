"""What is said of replication, in Redis's words; the other texts are in ``protocol/errors.py``."""

from __future__ import annotations

from ..protocol.errors import until_nul

# Replication
READ_ONLY_REPLICA = b"READONLY You can't write against a read only replica."
MASTER_DOWN = b"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
NO_MASTER_LINK = b"NOMASTERLINK Can't SYNC while not connected with my master"
MASTER_PORT = b"ERR Invalid master port"
INSTANCE_CHANGED = (
    b"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
)
WAIT_ON_REPLICA = (
    b"ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is "
    b"configured to be writable (which is not the default) writes to replicas are just local and are not "
    b"propagated."
)


WAIT_ON_VALKEY_REPLICA = (
    b"ERR WAIT cannot be used with replica instances. Please also note that if a replica is configured to be "
    b"writable (which is not the default) writes to replicas are just local and are not propagated."
)


WAITAOF_ON_REPLICA = (
    b"ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas are just "
    b"local and are not propagated."
)

WAITAOF_WITHOUT_FILE = b"ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."
NO_FILTERS = b"ERR Missing rdb-filter-only values"
NO_REPLICAS = b"NOREPLICAS Not enough good replicas to write."
SYNC_WITH_OUTPUT = b"ERR SYNC and PSYNC are invalid with pending output"


def unrecognized_replconf(option: bytes) -> bytes:
    """REPLCONF of something that is not known."""
    return b"ERR Unrecognized REPLCONF option: " + until_nul(option)


def unsupported_filter(word: bytes) -> bytes:
    """REPLCONF RDB-FILTER-ONLY knows functions."""
    return b"ERR Unsupported rdb-filter-only option: " + until_nul(word)


def replica_address_too_long(size: int) -> bytes:
    """REPLCONF IP-ADDRESS."""
    return b"ERR REPLCONF ip-address provided by replica instance is too long: %d bytes" % size


# FAILOVER
FAILOVER_OF_ANOTHER = b"ERR PSYNC FAILOVER replid must match my replid."
FAILOVER_TO_MASTER = b"ERR PSYNC FAILOVER can't be sent to a master."
FAILING_OVER = b"NOMASTERLINK Can't SYNC while failing over"
NO_FAILOVER = b"ERR No failover in progress."
FAILOVER_TIMEOUT = b"ERR FAILOVER timeout must be greater than 0"
FAILOVER_RUNS = b"ERR FAILOVER already in progress."
FAILOVER_OF_REPLICA = b"ERR FAILOVER is not valid when server is a replica."
FAILOVER_WITHOUT_REPLICAS = b"ERR FAILOVER requires connected replicas."
FAILOVER_FORCE = b"ERR FAILOVER with force option requires both a timeout and target HOST and IP."
FAILOVER_NO_TARGET = b"ERR FAILOVER target HOST and PORT is not a replica."
FAILOVER_NOT_ONLINE = b"ERR FAILOVER target replica is not online."
