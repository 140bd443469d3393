"""What there is to send: the commands of the real server, as its COMMAND DOCS tells of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import hiredis

from miniredis.testing.real_servers import NotInstalledError

from ..wire import RawConnection

__all__ = ["GROUPS", "LEFT_OUT", "Argument", "Form", "read_forms"]

GROUPS: Final = (
    "list", "hash", "set", "sorted-set", "geo", "stream", "string", "bitmap", "hyperloglog", "generic",
    "transactions", "connection", "server", "pubsub", "scripting",
)  # fmt: skip
"""The groups of commands that are compared."""

OF_ACL: Final = "cat deluser dryrun genpass getuser help list load log save setuser users whoami".split()

OF_CLUSTER: Final = (
    "addslots addslotsrange bumpepoch count-failure-reports countkeysinslot delslots delslotsrange failover "
    "flushslots forget getkeysinslot help info keyslot links meet myid nodes replicas replicate reset "
    "saveconfig set-config-epoch setslot shards slaves slots".split()
)

LEFT_OUT: Final = {
    **dict.fromkeys(
        ("acl", *map("acl|{}".format, OF_ACL)),
        "users outlive a conversation; tests/miniredis/commands/test_acl.py compares it",
    ),
    "bgrewriteaof": "it writes a file; tests/miniredis/persistence compares it",
    "bgsave": "it writes a file; tests/miniredis/persistence compares it",
    **dict.fromkeys(
        ("asking", "readonly", "readwrite", "cluster", *map("cluster|{}".format, OF_CLUSTER)),
        "it is for clusters; tests/miniredis/topologies compares it",
    ),
    "failover": "it changes the server's role; tests/miniredis/replication compares it",
    "latency|histogram": "it tells how long commands took",
    "lolwut": "a real server draws, for versions 5 and 6",
    "memory|doctor": "it tells how much memory a server takes, and took",
    "memory|malloc-stats": "it tells of a real server's allocator",
    "memory|stats": "it tells how much memory a real server takes",
    "migrate": "it connects to any address; tests/miniredis/commands/test_migrate.py compares it",
    "monitor": "it prints times; tests/miniredis/commands/test_monitor_and_slowlog.py compares it",
    "pfselftest": "it takes a real server seconds",
    "psync": "it makes its connection one to a replica; tests/miniredis/replication compares it",
    "replicaof": "it makes the server a replica; tests/miniredis/replication compares it",
    "replconf": "what replicas say; tests/miniredis/replication compares it",
    "save": "it writes a file; tests/miniredis/persistence compares it",
    "script|debug": "it makes a real server fork, and wait for a debugger",
    "shutdown": "it ends the server",
    "slaveof": "as replicaof",
    "sync": "it makes its connection one to a replica; tests/miniredis/replication compares it",
}
"""Commands that miniredis has and that are not sent, each with the reason."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, as COMMAND DOCS describes it.

    Attributes:
        name: such as ``numkeys``.
        kind: string, integer, double, key, pattern, unix-time, pure-token, oneof or block.
        token: the word in front of it, if any.
        optional: whether it may be left out.
        multiple: whether it may be repeated.
        parts: of a block, or the choices of a oneof.
    """

    name: str
    kind: str
    token: str = ""
    optional: bool = False
    multiple: bool = False
    parts: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """One command or subcommand, and what it takes.

    Attributes:
        words: its name, ``("CLIENT", "KILL")`` for a subcommand.
        arguments: in order.
        group: of Redis's commands.
    """

    words: tuple[str, ...]
    arguments: tuple[Argument, ...]
    group: str

    @property
    def name(self) -> str:
        """As COMMAND INFO has it: ``client|kill``."""
        return "|".join(self.words).lower()

    @property
    def has_keys(self) -> bool:
        """Whether it is about keys."""
        return any(argument.kind == "key" for argument in self.arguments) or self.name in {"mset", "msetnx"}


def read_forms(server: RawConnection, names: Iterable[str]) -> list[Form]:
    """The forms of the commands of those names, ``client|kill`` for a subcommand, that the server knows.

    Raises:
        NotInstalledError: the server does not describe its commands.
    """
    wanted = set(names)
    server.command("HELLO", "3")
    reader = hiredis.Reader(encoding="utf-8")
    reader.feed(server.command("COMMAND", "DOCS"))
    server.command("HELLO", "2")
    docs = reader.gets()
    if not isinstance(docs, dict):
        raise NotInstalledError(f"needs a Redis of 7.0 or later; this one answers COMMAND DOCS with: {docs}")
    known = (form for form in forms(docs) if form.name in wanted)
    return sorted(known, key=lambda form: form.name)  # the server tells of them in any order


def forms(docs: dict[str, Any]) -> Iterator[Form]:
    for name, about in docs.items():
        if about["group"] in GROUPS:
            arguments = tuple(map(read_argument, about.get("arguments", ())))
            yield Form(tuple(name.upper().split("|")), arguments, about["group"])
            yield from forms(about.get("subcommands", {}))


def read_argument(told: dict[str, Any]) -> Argument:
    flags = told.get("flags", ())
    return Argument(
        name=told["name"],
        kind=told["type"],
        token=told.get("token", ""),
        optional="optional" in flags,
        multiple="multiple" in flags,
        parts=tuple(map(read_argument, told.get("arguments", ()))),
    )
