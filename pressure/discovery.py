"""Finding the server that has a queue, before each new connection: written once, without I/O.

Sentinels are asked which server is the master, and that server whether it knows. In a cluster the node that
has the keys is found by following redirections, since all keys of a queue are in one slot.

Rules:
    - Everything is asked anew for every connection, so that after a failover the next operation finds the new
      master.
    - Whoever is asked is asked once, and where there are others to ask has ``NODE_TIMEOUT`` to answer. Nobody
      waits for a failover to end: what cannot be found is an error.
    - A server that cannot do the work (it is loading, its cluster is down) is one that cannot be used.

A flavour connects to the server of ``Discovery.query``, asks, and hands in the result, for as long as there
is a query. The connection of the last one is the one to keep.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from pressure.errors import ConnectionFailedError, ServerReplyError
from pressure.keys import QueueKeys
from pressure.protocol.operation import Command, Reply, needs_hash_tag
from pressure.settings import Settings
from pressure.text import printable

#: How many redirections are followed; a cluster at rest needs one.
_HOPS: Final = 5

#: Error codes of a server that cannot do the work at the moment.
_UNFIT: Final = frozenset({"LOADING", "MASTERDOWN", "CLUSTERDOWN"})

#: Error codes by which a server says that it is not, or no longer, the one to ask.
WRONG_SERVER: Final = frozenset({*_UNFIT, "MOVED", "ASK", "READONLY", "UNBLOCKED", "NOAUTH"})


@dataclass(frozen=True, slots=True)
class ServerQuery:
    """Somebody to connect to, and what to ask.

    Attributes:
        where: Who.
        ask: What, in one round trip.
    """

    where: Settings
    ask: tuple[Command, ...]


#: What a query gives: the replies, or why there are none.
QueryResult: TypeAlias = "list[Reply] | ConnectionFailedError"
#: In the end: our number, and which of the nodes has named the server.
_Queries: TypeAlias = Generator[ServerQuery, QueryResult, "tuple[int | None, Settings | None]"]


class Discovery:
    """The way to the server.

    Args:
        where: What is known.
        keys: The queue; None where any node of a cluster will do.

    Attributes:
        query: Whom to ask next; None when the last one is the server.
        where: What to begin the next search with: the node that has named the server is asked first.
        number: Its number of our connection, by which another one can end a wait; None if it does not tell.

    Raises:
        ConnectionFailedError: There is none that can be used; ``receive`` raises it.
        ClusterError: It is a cluster, and the queue's name has no hash tag; ``receive`` raises it.
    """

    __slots__ = ("_queries", "number", "query", "where")

    def __init__(self, where: Settings, keys: QueueKeys | None) -> None:
        self._queries = _discovered(where, keys)
        self.where = where
        self.number: int | None = None
        self.query: ServerQuery | None = next(self._queries)

    def receive(self, result: QueryResult) -> None:
        """Hand in what became of ``query``."""
        try:
            self.query = self._queries.send(result)
        except StopIteration as stop:
            self.query = None
            self.number, first = stop.value
            if first is not None and first is not self.where.nodes[0]:
                others = (node for node in self.where.nodes if node is not first)
                self.where = replace(self.where, nodes=(first, *others))


#: What redis-py and Redis say where a connection fails, and words that say what to do.
_CAUSES: Final = (
    (
        re.compile(r"Error -?\d+ connecting to \S+\. (Connection refused)\.?").fullmatch,
        r"\1; is a server running there?",
    ),
    (re.compile(r"Error -?\d+ connecting to \S+\. (.+?)\.?").fullmatch, r"\1"),
    (
        re.compile(
            r"(NOAUTH )?"
            r"(HELLO must be called with the client already authenticated|Authentication required).*"
        ).fullmatch,
        "it wants a password; put it into the URL, as in redis://:PASSWORD@HOST:PORT/0",
    ),
    (
        re.compile(r"(WRONGPASS )?invalid username-password pair or user is disabled.*").fullmatch,
        "it does not accept this user name and password",
    ),
)


#: How the text of such an error begins.
_FAILED: Final = "cannot use the Redis server at "


def failed(where: Settings, error: BaseException | str) -> ConnectionFailedError:
    """The error for a server that cannot be reached, or does not let us in."""
    why = printable(str(error))
    for fits, words in _CAUSES:
        if found := fits(why):
            why = found.expand(words)
            break
    return ConnectionFailedError(f"{_FAILED}{where.address}: {why}")


def _discovered(where: Settings, keys: QueueKeys | None) -> _Queries:
    if not where.nodes:
        return (yield from _reached(where, keys)), None
    problems: dict[str, ConnectionFailedError] = {}
    for node in where.nodes:
        server = node
        try:
            if where.service is not None:
                server = where.at(*(yield from _master(node, where.service)))
            if server.address in problems:  # another sentinel has named it
                continue
            return (yield from _reached(server, keys, where.service)), node
        except ConnectionFailedError as error:
            problems[server.address] = error
    first = next(iter(problems.values()))
    if list(problems) == [where.address]:
        raise first
    raise failed(where, "; ".join(str(error).removeprefix(_FAILED) for error in problems.values())) from first


def _master(sentinel: Settings, service: str) -> Generator[ServerQuery, QueryResult, tuple[str, int]]:
    """Where a sentinel says that the master is."""
    (reply,) = _replies(
        (yield ServerQuery(sentinel, ((b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", service.encode()),)))
    )
    if isinstance(reply, ServerReplyError):
        raise failed(sentinel, reply)
    if reply is None:
        raise failed(sentinel, f"this sentinel knows no master of the name {service!r}")
    host, port = reply
    return host.decode(), int(port)


def _reached(
    where: Settings, keys: QueueKeys | None, service: str | None = None
) -> Generator[ServerQuery, QueryResult, int | None]:
    """The server, or the node of its cluster that has the keys."""
    for hop in range(_HOPS):
        result = yield ServerQuery(where, _questions(keys, service))
        if where.directory and hop < _HOPS - 1 and isinstance(result, ConnectionFailedError):
            continue  # its process has ended, and another one runs the server by now
        number, present, role = _replies(result)
        if code := _code(present):
            if code in _UNFIT:
                raise failed(where, present)
            if code == "CROSSSLOT" and keys is not None and not keys.has_hash_tag:
                raise needs_hash_tag(keys, code)
        if isinstance(role, list) and role[0] != b"master":
            raise failed(where, f"the sentinels call it the master, but its role is {printable(role[0])}")
        if code != "MOVED":
            return number if isinstance(number, int) else None
        where = _redirected(where, str(present))
    raise failed(where, f"the nodes of the cluster redirected us {_HOPS} times; is the cluster changing?")


def _questions(keys: QueueKeys | None, service: str | None) -> tuple[Command, ...]:
    """What tells our number, whether the keys are here, and whether this is a master."""
    nothing: Command = (b"CLIENT", b"ID")
    present: Command = nothing if keys is None else (b"EXISTS", *keys.all)
    return nothing, present, nothing if service is None else (b"ROLE",)


def _redirected(where: Settings, moved: str) -> Settings:
    """Follow ``MOVED slot host:port``; no host, or a question mark, is the same host at another port."""
    host, _, port = moved.split(" ")[2].rpartition(":")
    if "path" in where.kwargs:
        raise failed(where, f"the queue is on another node of the cluster; connect to {host}:{port} by a URL")
    return where.at(host.strip("[]").strip("?") or where.kwargs.get("host", "localhost"), int(port))


def _replies(result: QueryResult) -> list[Any]:
    if isinstance(result, ConnectionFailedError):
        raise result
    return result


def _code(reply: Reply) -> str | None:
    return reply.code if isinstance(reply, ServerReplyError) else None
