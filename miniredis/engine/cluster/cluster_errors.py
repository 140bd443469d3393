"""What clients of a cluster are told, in Redis's words; the other texts are in ``protocol/errors.py``."""

from __future__ import annotations

NO_CLUSTER = b"ERR This instance has cluster support disabled"
CROSS_SLOT = b"CROSSSLOT Keys in request don't hash to the same slot"
SLOT_NOT_SERVED = b"CLUSTERDOWN Hash slot not served"
CLUSTER_DOWN = b"CLUSTERDOWN The cluster is down"
CLUSTER_READ_ONLY = b"CLUSTERDOWN The cluster is down and only accepts read commands"
UNSTEADY = b"TRYAGAIN Multiple keys request during rehashing of slot"
DOWN_IN_SCRIPT = b"ERR Script attempted to execute a command while the cluster is down"
READ_ONLY_IN_SCRIPT = (
    b"ERR Script attempted to execute a write command while the cluster is down and readonly"
)
NOT_LOCAL_IN_SCRIPT = b"ERR Script attempted to access a non local key in a cluster node"
CROSS_SLOT_IN_SCRIPT = b"ERR Script attempted to access keys that do not hash to the same slot"
NOT_FOR_CLUSTERS = b"ERR Can not run script on cluster, 'no-cluster' flag is set."
COPY_IN_CLUSTER = b"ERR Copying to another database is not allowed in cluster mode"
REPLICAOF_IN_CLUSTER = b"ERR REPLICAOF not allowed in cluster mode."
FAILOVER_IN_CLUSTER = b"ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead."
INVALID_SLOT = b"ERR Invalid slot"
INVALID_SLOT_OR_COUNT = b"ERR Invalid slot or number of keys"
OUT_OF_SLOTS = b"ERR Invalid or out of range slot"
SETSLOT_OF_REPLICA = b"ERR Please use SETSLOT only with masters."
SETSLOT_ACTION = b"ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP"
NOT_A_MASTER = b"ERR Target node is not a master"
ONLY_MASTERS_HAVE_REPLICAS = b"ERR The specified node is not a master"
NO_REPLICA_TO_FAIL_OVER = b"ERR You should send CLUSTER FAILOVER to a replica"
PRIMARY_FAILED = b"ERR Master is down or failed, please use CLUSTER FAILOVER FORCE"
REPLICATES_ITSELF = b"ERR Can't replicate myself"
REPLICATES_REPLICA = b"ERR I can only replicate a master, not a replica."
REPLICATE_NEEDS_EMPTY = b"ERR To set a master the node must be empty and without assigned slots."
FORGETS_ITSELF = b"ERR I tried hard but I can't forget myself..."
FORGETS_ITS_MASTER = b"ERR Can't forget my master!"
RESET_NEEDS_EMPTY = b"ERR CLUSTER RESET can't be called with master nodes containing keys"
EPOCH_IS_SET = b"ERR Node config epoch is already non-zero"
EPOCH_NEEDS_SOLITUDE = (
    b"ERR The user can assign a config epoch only when the node does not know any other node."
)
INVALID_CURSOR = b"ERR Invalid cursor"
CURSOR_OF_OTHER_SLOT = b"ERR Cursor slot mismatch with SLOT argument"
SLOT_TWICE = b"ERR SLOT option can only be specified once"
SORT_METRIC = b"ERR Unrecognized sort metric for ORDERBY."
SLOT_LIMIT = b"ERR Limit has to lie in between 1 and 16384 (maximum number of slots)."
FILTER_TWICE = b"ERR Multiple filters of the same type are disallowed."
NO_MIGRATIONS = b"ERR No migrations ongoing"
FLUSHSLOTS_NEEDS_EMPTY = b"ERR DB must be empty to perform CLUSTER FLUSHSLOTS."

REDIRECTIONS = (b"MOVED ", b"ASK ", b"TRYAGAIN ", b"CROSSSLOT ", b"CLUSTERDOWN ")
"""How the errors begin that tell clients of a cluster where to go; EXEC answers them as they are."""


def not_in_cluster(command: bytes) -> bytes:
    """A command that a node of a cluster does not have."""
    return b"ERR %b is not allowed in cluster mode" % command


def sort_option_in_cluster(option: bytes) -> bytes:
    """SORT reads other keys than the one that it names."""
    return b"ERR %b option of SORT denied in Cluster mode." % option


def redirect(primary: tuple[str, int]) -> bytes:
    """A replica that serves no client which would rather ask the primary."""
    return b"REDIRECT %b:%d" % (primary[0].encode(), primary[1])


def moved(slot: int, address: bytes) -> bytes:
    """Another node has the slot."""
    return b"MOVED %d %b" % (slot, address)


def asking(slot: int, address: bytes) -> bytes:
    """A key has left for another node already."""
    return b"ASK %d %b" % (slot, address)


def not_my_slot(slot: int) -> bytes:
    """Only the owner of a slot can let it go."""
    return b"ERR I'm not the owner of hash slot %d" % slot


def my_slot(slot: int) -> bytes:
    """The owner of a slot cannot import it."""
    return b"ERR I'm already the owner of hash slot %d" % slot


def invalid_epoch(word: bytes) -> bytes:
    """An epoch is below zero."""
    return b"ERR Invalid config epoch specified: %b" % word


def invalid_node_port(kind: bytes, word: bytes) -> bytes:
    """A port of a node is not a number."""
    return b"ERR Invalid TCP %b port specified: %b" % (kind, word)


def invalid_node_address(host: bytes, port: bytes) -> bytes:
    """A node is to be met at what is no address."""
    return b"ERR Invalid node address specified: %b:%b" % (host, port)


def no_such_node(name: bytes) -> bytes:
    """A slot cannot move to or from a node that is not there."""
    return b"ERR I don't know about node %b" % name


def slot_with_keys(slot: int) -> bytes:
    """A slot cannot be given away while there are keys in it."""
    refusal = b"ERR Can't assign hashslot %d to a different node while I still hold keys for this hash slot."
    return refusal % slot


def slot_taken(slot: int) -> bytes:
    """A slot has an owner already."""
    return b"ERR Slot %d is already busy" % slot


def slot_free(slot: int) -> bytes:
    """A slot has no owner."""
    return b"ERR Slot %d is already unassigned" % slot


def slot_repeated(slot: int) -> bytes:
    """A slot is named twice."""
    return b"ERR Slot %d specified multiple times" % slot


def slots_reversed(start: int, end: int) -> bytes:
    """A range of slots ends before it begins."""
    return b"ERR start slot number %d is greater than end slot number %d" % (start, end)


def unknown_node(name: bytes) -> bytes:
    """No node of the cluster has this name."""
    return b"ERR Unknown node %b" % name
