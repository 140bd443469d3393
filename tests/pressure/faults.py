"""A table of what can go wrong with a server in the middle of an operation, and a server on which it does.

To add a fault: a row in ``FAULTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import redis

from conformance.targets import Address
from conformance.wire.gate import Act, Gate, Instead, loading
from tests.servers import RealServer, start_redis

from .conftest import execute, until

#: Whom the client under test logs in as.
WORKER: Final = "worker"


class Patient:
    """A server of our own, and how it is made to refuse; nothing is refused at first."""

    def __init__(self, server: RealServer, store: Path) -> None:
        self.server = server
        self.raw = redis.Redis(port=self.server.port)
        self.allow_all()
        # From here on the server knows that it could not write to its disk; whether it minds is a setting.
        store.rmdir()
        self.raw.config_set("stop-writes-on-bgsave-error", "no")
        self.raw.config_set("save", "1000000 1000000")
        self.raw.bgsave()
        until(lambda: self.raw.info("persistence")["rdb_last_bgsave_status"] == "err", "did the save fail")

    @property
    def address(self) -> Address:
        """As the client under test is to log in."""
        return Address(f"redis://{WORKER}:pw@127.0.0.1:{self.server.port}/0", "a server of the test's own")

    def allow(self, *words: str) -> None:
        execute(self.raw, "ACL", "SETUSER", WORKER, *words)

    def allow_all(self) -> None:
        self.allow("on", ">pw", "~*", "&*", "+@all")

    def set(self, directive: str, value: str) -> Callable[[], None]:
        return self.run("CONFIG", "SET", directive, value)

    def run(self, *words: str) -> Callable[[], None]:
        def act() -> None:
            execute(self.raw, *words)

        return act

    def kill(self) -> None:
        """Hang up on the client under test."""
        execute(self.raw, "CLIENT", "KILL", "USER", WORKER)


@contextmanager
def patient(folder: Path) -> Iterator[Patient]:
    store = folder / "store"
    store.mkdir()
    with start_redis(store) as server:
        made = Patient(server, store)
        with made.raw:
            yield made


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at one message of a client.

    Attributes:
        begin: What happens.
        end: What makes it good again; None if there is nothing to make good.
        lost: Whether the connection is.
    """

    begin: Callable[[Patient], Act]
    end: Callable[[Patient], Callable[[], None]] | None = None
    lost: bool = False

    def arm(self, gate: Gate, server: Patient, at: int, *, lasts: bool) -> None:
        """Have it happen at a message, and be over at the next one if it does not last."""
        gate.arm(at, self.begin(server), *([self.end(server)] if self.end and not lasts else []))

    def over(self, server: Patient) -> None:
        """It is over, at the latest."""
        if self.end:
            self.end(server)()


def forbidden(*words: str) -> Fault:
    """The right to something is taken away."""
    return Fault(lambda server: lambda: server.allow(*words), lambda server: server.allow_all)


FAULTS: Final[dict[str, Fault]] = {
    "message lost": Fault(lambda _: "lose-message", lost=True),
    "message cut": Fault(lambda _: "cut-message", lost=True),
    "reply lost": Fault(lambda _: "lose-reply", lost=True),
    "reply cut": Fault(lambda _: "cut-reply", lost=True),
    "client killed": Fault(lambda server: server.kill, lost=True),
    "scripts forgotten": Fault(lambda server: server.run("SCRIPT", "FLUSH")),
    "out of memory": Fault(
        lambda server: server.set("maxmemory", "1"), lambda server: server.set("maxmemory", "0")
    ),
    "disk full": Fault(
        lambda server: server.set("stop-writes-on-bgsave-error", "yes"),
        lambda server: server.set("stop-writes-on-bgsave-error", "no"),
    ),
    "replica": Fault(
        lambda server: server.run("REPLICAOF", "127.0.0.1", "1"),
        lambda server: server.run("REPLICAOF", "NO", "ONE"),
    ),
    "too few replicas": Fault(
        lambda server: server.set("min-replicas-to-write", "1"),
        lambda server: server.set("min-replicas-to-write", "0"),
    ),
    "loading": Fault(lambda _: Instead(loading)),
    "no writing": forbidden("-@write"),
    "no reading": forbidden("-@read"),
    "no scripts": forbidden("-@scripting"),
    "no transactions": forbidden("-@transaction"),
    "no names": forbidden("-set"),
    "no trimming": forbidden("-ltrim"),
    "nothing": forbidden("-@all"),
    "no keys": forbidden("resetkeys"),
}

#: Every command that operations send or scripts run.
COMMANDS: Final = (
    "blmove brpop brpoplpush client config del eval evalsha exec exists get incrby info llen lmove "
    "lpush lrange ltrim mget multi object rpop set unwatch watch"
).split()


def states(raw: Any) -> dict[bytes, Any]:
    """What all keys hold, except those that name holders, which are stale while the roles are free."""
    keys = [key for key in raw.scan_iter() if not key.endswith((b":producer", b":consumer"))]
    return {key: raw.lrange(key, 0, -1) if raw.type(key) == b"list" else raw.get(key) for key in keys}
