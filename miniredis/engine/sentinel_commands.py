"""A sentinel: tells clients which server is the master, and tells them when that changes.

A sentinel has commands of its own (``SentinelTable``), and some of those of other servers. To add a
subcommand of SENTINEL, write a function and give it its row in ``SUBCOMMANDS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from .declarations.registry import Command, CommandTable, Handler, declare_rest, table_of
from .protocol import errors
from .protocol.errors import CommandError
from .protocol.replies import NULL_ARRAY, OK, Map, Reply, Verbatim, status
from .statistics.info import SECTIONS, section

if TYPE_CHECKING:
    from .clients.session import Session
    from .sentinels import Peer, Sentinel, Watched
    from .versions.version import Version

__all__ = ["SentinelTable", "sentinel_table"]

SHARED: Final = (
    "ping auth hello client info role subscribe unsubscribe psubscribe punsubscribe publish shutdown command"
).split()
"""The commands that a sentinel has from other servers."""

DOWN_AFTER: Final = 30_000
FAILOVER_TIMEOUT: Final = 180_000
"""Milliseconds, the defaults of redis-server. Nothing happens here by itself."""

HELLO_CHANNEL: Final = b"__sentinel__:hello"


def here(session: Session) -> Sentinel:
    assert session.engine.sentinel is not None
    return session.engine.sentinel


def watched_as(session: Session, name: bytes) -> Watched:
    """What a sentinel watches by a name; raises ``CommandError`` if it is another one."""
    watched = here(session).watched
    if watched.name != name:
        raise CommandError(errors.NO_SUCH_MASTER)
    return watched


def connection_facts(peer: Peer, kind: bytes) -> dict[bytes, Reply]:
    """What is known of the connection to a server; the last answer is always of this moment."""
    is_master = kind == b"master"
    down = [b"s_down", b"o_down"] if is_master else [b"s_down"]
    flags = [*down, kind, b"disconnected"] if peer.is_down else [kind]
    facts: dict[bytes, Reply] = {
        b"ip": peer.host,
        b"port": b"%d" % peer.port,
        b"runid": peer.run_id,
        b"flags": b",".join(flags),
        b"link-pending-commands": b"0",
        b"link-refcount": b"1",
        b"last-ping-sent": b"0",
        b"last-ok-ping-reply": b"0",
        b"last-ping-reply": b"0",
    }
    if peer.is_down:
        facts |= {b"%b-time" % flag.replace(b"_", b"-"): b"0" for flag in down}
    return facts | {b"down-after-milliseconds": b"%d" % DOWN_AFTER}


def master_facts(watched: Watched) -> Map:
    return Map(
        {
            b"name": watched.name,
            **connection_facts(watched.master, b"master"),
            b"info-refresh": b"0",
            b"role-reported": b"master",
            b"role-reported-time": b"0",
            b"config-epoch": b"%d" % watched.epoch,
            b"num-slaves": b"%d" % len(watched.replicas),
            b"num-other-sentinels": b"%d" % (len(watched.sentinels) - 1),
            b"quorum": b"%d" % watched.quorum,
            b"failover-timeout": b"%d" % FAILOVER_TIMEOUT,
            b"parallel-syncs": b"1",
        }
    )


def replica_facts(watched: Watched, peer: Peer) -> Map:
    replication = peer.replication
    is_linked = replication is not None and not peer.is_down and not replication.upstream.is_down
    return Map(
        {
            b"name": peer.address,
            **connection_facts(peer, b"slave"),
            b"info-refresh": b"0",
            b"role-reported": b"slave",
            b"role-reported-time": b"0",
            b"master-link-down-time": b"0",
            b"master-link-status": b"ok" if is_linked else b"err",
            b"master-host": watched.master.host,
            b"master-port": b"%d" % watched.master.port,
            b"slave-priority": b"100",
            b"slave-repl-offset": b"%d" % (replication.history.offset if replication else 0),
            b"replica-announced": b"1",
        }
    )


def sentinel_facts(peer: Peer) -> Map:
    return Map(
        {
            b"name": peer.run_id,
            **connection_facts(peer, b"sentinel"),
            b"last-hello-message": b"0",
            b"voted-leader": b"?",
            b"voted-leader-epoch": b"0",
        }
    )


def masters(session: Session, _: list[bytes]) -> Reply:
    return [master_facts(here(session).watched)]


def master(session: Session, args: list[bytes]) -> Reply:
    return master_facts(watched_as(session, args[2]))


def replicas(session: Session, args: list[bytes]) -> Reply:
    watched = watched_as(session, args[2])
    return [replica_facts(watched, peer) for peer in watched.replicas]


def sentinels(session: Session, args: list[bytes]) -> Reply:
    watched_as(session, args[2])
    return [sentinel_facts(peer) for peer in here(session).others]


def get_master_addr(session: Session, args: list[bytes]) -> Reply:
    watched = here(session).watched
    if watched.name != args[2]:
        return NULL_ARRAY
    return [watched.master.host, b"%d" % watched.master.port]


def myid(session: Session, _: list[bytes]) -> Reply:
    return here(session).peer.run_id


def check_quorum(session: Session, args: list[bytes]) -> Reply:
    watched = watched_as(session, args[2])
    usable = 1 + sum(not peer.is_down for peer in here(session).others)
    problems = []
    if usable < watched.quorum:
        problems.append(b"Not enough available Sentinels to reach the specified quorum for this master")
    if usable < len(watched.sentinels) // 2 + 1:
        problems.append(b"Not enough available Sentinels to reach the majority and authorize a failover")
    if problems:
        raise CommandError(b"NOQUORUM %d usable Sentinels. %b" % (usable, b". ".join(problems)))
    return status(b"OK %d usable Sentinels. Quorum and failover authorization can be reached" % usable)


def failover(session: Session, args: list[bytes]) -> Reply:
    watched = watched_as(session, args[2])
    if watched.is_failing_over:
        raise CommandError(errors.SENTINEL_BUSY)
    if not watched.good_replicas:
        raise CommandError(errors.NO_GOOD_REPLICA)
    watched.is_failing_over = True
    watched.listener.fail_over_soon(here(session).peer)
    return OK


SUBCOMMANDS: Final[dict[str, tuple[int, Handler]]] = {
    "ckquorum": (3, check_quorum),
    "failover": (3, failover),
    "get-master-addr-by-name": (3, get_master_addr),
    "master": (3, master),
    "masters": (2, masters),
    "myid": (2, myid),
    "replicas": (3, replicas),
    "sentinels": (3, sentinels),
    "slaves": (3, replicas),
}
"""By name, the arity and the function."""


def role(session: Session, _: list[bytes]) -> Reply:
    return [b"sentinel", [here(session).watched.name]]


def publish(_: Session, args: list[bytes]) -> Reply:
    if args[1] != HELLO_CHANNEL:
        raise CommandError(errors.ONLY_HELLO)
    return 1  # sentinels here know each other already


def info(session: Session, args: list[bytes]) -> Reply:
    engine = session.engine
    names = {word.decode("latin-1").lower() for word in args[1:]} or {"default"}
    shown = {"server", "clients", "stats", "cpu", "sentinel"}
    wanted = shown if names & {"default", "all", "everything"} else shown & names
    texts = [section(name, SECTIONS[name](engine)) for name in SECTIONS if name in wanted]
    if "sentinel" in wanted:
        texts.append(section("sentinel", sentinel_section(here(session).watched)))
    text = "\r\n".join(texts).replace("redis_mode:standalone", "redis_mode:sentinel")
    return Verbatim(text.encode("utf-8", "surrogateescape"))


def sentinel_section(watched: Watched) -> dict[str, object]:
    status = "odown" if watched.master.is_down else "ok"
    about = f"name={watched.name.decode()},status={status},address={watched.master.address.decode()}"
    return {
        "sentinel_masters": 1,
        "sentinel_tilt": 0,
        "sentinel_tilt_since_seconds": -1,
        "sentinel_running_scripts": 0,
        "sentinel_scripts_queue_length": 0,
        "sentinel_simulate_failure_flags": 0,
        "master0": f"{about},slaves={len(watched.replicas)},sentinels={len(watched.sentinels)}",
    }


def hello(ordinary: Handler) -> Handler:
    """HELLO of a sentinel, which has no role."""

    def answer(session: Session, args: list[bytes]) -> Reply:
        reply = ordinary(session, args)
        assert isinstance(reply, Map)
        facts = {**reply, b"mode": b"sentinel"}
        del facts[b"role"]
        return Map(facts)

    return answer


OWN: Final[dict[str, Handler | None]] = {"info": info, "publish": publish, "role": role}
"""The commands that a sentinel answers in its own way."""


class SentinelTable(CommandTable):
    """The commands of a sentinel."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.lookup: dict[bytes, Command] = {}
        self.plain: dict[bytes, Command] = {}
        self.by_value = self.plain
        declare_rest()
        ordinary = table_of(version).lookup
        for name in SHARED:
            found = ordinary[name.encode()]
            handler = OWN.get(name, found.handler)
            if name == "hello":
                assert handler is not None
                handler = hello(handler)
            self._add(self.lookup, replace(found, handler=handler))
        self._add(self.lookup, of_sentinel("sentinel", -2, None))
        for name, (arity, handler) in SUBCOMMANDS.items():
            self._add(self.lookup[b"sentinel"].subcommands, of_sentinel(f"sentinel|{name}", arity, handler))
        self.plain[b"ping"] = self.plain[b"PING"] = self.lookup[b"ping"]

    @staticmethod
    def _add(table: dict[bytes, Command], command: Command) -> None:
        name = command.name.rpartition(b"|")[2]
        table[name] = table[name.upper()] = command


def of_sentinel(name: str, arity: int, handler: Handler | None) -> Command:
    return Command(name.encode(), arity, ("admin",), (), (), (), handler)


sentinel_table: Final[Callable[[Version], SentinelTable]] = cache(SentinelTable)
"""The commands of the sentinels of a version."""
