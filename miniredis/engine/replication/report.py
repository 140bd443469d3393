"""What INFO and ROLE tell of the link to a master."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..protocol.replies import Reply

if TYPE_CHECKING:
    from ..engine import Engine
    from .transfer import Transfer
    from .upstream import Address, Upstream

__all__ = ["facts_of_link", "role_of_replica"]

SECOND: Final = 1_000_000
UNKNOWN: Final = -1


def role_of_replica(upstream: Upstream, address: Address) -> Reply:
    """What ROLE answers."""
    session = upstream.link.session
    offset = UNKNOWN if session is None else session.applied
    host = address.host.encode("utf-8", "surrogateescape")
    return [b"slave", host, address.port, upstream.link.state.value, offset]


def facts_of_link(engine: Engine) -> dict[str, object]:
    """The fields of INFO replication in front of ``connected_slaves``."""
    upstream, config = engine.replication.upstream, engine.config
    if upstream.address is None:
        return {"role": "master"}
    link, session, now = upstream.link, upstream.link.session, engine.now.monotonic
    since = UNKNOWN if link.down_since is None else (now - link.down_since) // SECOND
    silent = (now - link.heard_at) // SECOND
    transfer = None if link.sync is None else link.sync.transfer
    return {
        "role": "slave",
        "master_host": upstream.address.host,
        "master_port": upstream.address.port,
        "master_link_status": "down" if session is None else "up",
        "master_last_io_seconds_ago": UNKNOWN if session is None else silent,
        "master_sync_in_progress": int(transfer is not None),
        "slave_read_repl_offset": upstream.offset if session is None else session.received,
        "slave_repl_offset": upstream.offset if session is None else session.applied,
        **({} if transfer is None else facts_of_transfer(transfer, silent)),
        **({"master_link_down_since_seconds": since} if session is None else {}),
        "slave_priority": config["replica-priority"],
        "slave_read_only": int(config["replica-read-only"] == "yes"),
        "replica_announced": int(config["replica-announced"] == "yes"),
    }


def facts_of_transfer(transfer: Transfer, silent: int) -> dict[str, object]:
    total, progress = transfer.total, transfer.progress
    return {
        "master_sync_total_bytes": total,
        "master_sync_read_bytes": progress,
        "master_sync_left_bytes": total - progress,
        "master_sync_perc": f"{progress / total * 100 if total else 0:.2f}",
        "master_sync_last_io_seconds_ago": silent,
    }
