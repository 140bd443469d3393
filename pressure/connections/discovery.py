"""Find the server that has a queue, before each new connection: written once, without I/O.

Sentinels are asked for the master, and the master for its role. In a cluster, redirections lead to the node
that has the keys: all keys of a queue are in one slot.

Rules:
    - Each new connection asks anew, so that after a failover the next operation finds the new master.
    - Each server is asked once. If there are others to ask, it has ``NODE_TIMEOUT`` to answer. No operation
      waits for a failover to end: a server that cannot be found is an error.
    - A server that cannot do the work (it is loading, its cluster is down) cannot be used.

A flavour connects to the server of ``Discovery.query``, sends the commands, and hands in the result, for as
long as there is a query. It keeps the connection of the last query.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from pressure.connections.settings import Settings
from pressure.errors import ConnectionFailedError, ServerReplyError
from pressure.keys import QueueKeys
from pressure.protocol.operation import Command, Reply, needs_hash_tag
from pressure.text import printable

#: How many redirections are followed; a cluster at rest needs one.
_HOPS: Final = 5

#: Error codes of a server that cannot do the work at the moment.
_UNFIT: Final = frozenset({"LOADING", "MASTERDOWN", "CLUSTERDOWN"})

#: Most words of a command before the login has succeeded. At a longer one Redis closes the connection, and
#: the client does not learn why the login failed.
_MOST_WORDS: Final = 10

#: Error codes of a server that is not, or no longer, the one to ask.
WRONG_SERVER: Final = frozenset({*_UNFIT, "MOVED", "ASK", "READONLY", "UNBLOCKED", "NOAUTH"})


@dataclass(frozen=True, slots=True)
class ServerQuery:
    """A server to connect to, and the commands to send.

    Attributes:
        where: How to connect.
        ask: The commands, sent in one round trip.
    """

    where: Settings
    ask: tuple[Command, ...]


#: The result of a query: the replies, or why there are none.
QueryResult: TypeAlias = "list[Reply] | ConnectionFailedError"
#: Returns the connection's CLIENT ID, and the node that has named the server.
_Queries: TypeAlias = Generator[ServerQuery, QueryResult, "tuple[int | None, Settings | None]"]


class Discovery:
    """The search for the server.

    Args:
        where: The settings of the queue object.
        keys: The queue's keys; None if any node of a cluster will do.

    Attributes:
        query: The next query; None when the last one has reached the server.
        where: The settings for the next search, which begins with the node that has named the server.
        number: The connection's CLIENT ID, by which another one can end its wait; None if it is not known.

    Raises:
        ConnectionFailedError: No server can be used; ``receive`` raises it.
        ClusterError: It is a cluster, and the queue's name has no hash tag; ``receive`` raises it.
    """

    __slots__ = ("_queries", "number", "query", "where")

    def __init__(self, where: Settings, keys: QueueKeys | None) -> None:
        self._queries = _discovered(where, keys)
        self.where = where
        self.number: int | None = None
        self.query: ServerQuery | None = next(self._queries)

    def receive(self, result: QueryResult) -> None:
        """Hand in the result of ``query``."""
        try:
            self.query = self._queries.send(result)
        except StopIteration as stop:
            self.query = None
            self.number, first = stop.value
            if first is not None and first is not self.where.nodes[0]:
                others = (node for node in self.where.nodes if node is not first)
                self.where = replace(self.where, nodes=(first, *others))


#: Errors of redis-py and Redis when a connection fails, and texts that say what to do.
_CAUSES: Final = (
    (
        re.compile(
            r"(?:Error -?\d+ connecting to \S+\. |\[Errno -?\d+\] )?"
            r"(Connection refused|Connect call failed .+?|all attempts to connect to .+ failed)\.?"
        ).fullmatch,
        r"\1; is a server running there? (The URL miniredis:DIRECTORY needs none.)",
    ),
    (
        re.compile(
            r"(?:Error -?\d+ connecting to /\S*\. |\[Errno -?\d+\] )(No such file or directory)\.?"
        ).fullmatch,
        r"\1; is a server running there?",
    ),
    (re.compile(r"(?:Error -?\d+ connecting to \S+\. |\[Errno -?\d+\] )(.+?)\.?").fullmatch, r"\1"),
    (
        re.compile(
            r"(NOAUTH )?"
            r"(HELLO must be called with the client already authenticated|Authentication required).*"
        ).fullmatch,
        "it wants a password; put it into the URL, as in redis://:PASSWORD@HOST:PORT/0",
    ),
    (
        re.compile(r"([A-Z]+ )?invalid username-password pair or user is disabled.*").fullmatch,
        "it does not accept this user name and password",
    ),
)


#: How the text of such an error begins.
_FAILED: Final = "cannot use the Redis server at "


def failed(where: Settings, error: BaseException | str) -> ConnectionFailedError:
    """The error for a server that cannot be reached, or refuses the login."""
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
    """The address of the master, according to a sentinel."""
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
    """Reach the server, or the node of its cluster that has the keys; the connection's CLIENT ID there."""
    for hop in range(_HOPS):
        result = yield ServerQuery(where, _questions(keys, service))
        if where.directory and hop < _HOPS - 1 and isinstance(result, ConnectionFailedError):
            continue  # its process may have ended; the next query finds or starts another one
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
    """The commands for our CLIENT ID, whether this node has the keys, and whether it is a master."""
    nothing: Command = (b"CLIENT", b"ID")
    present: Command = nothing if keys is None else (b"EXISTS", *keys.all[: _MOST_WORDS - 1])
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
