"""Brokers, clients and keys."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from unittest import mock

from pressure import PressureError

from ...judging.environment import Environment, Failure, expect, expect_error
from ..state import SUFFIXES, count, length, only, our_own, text, whose
from . import OPEN, both


@both("broker.host-and-port", "Message Brokers", needs=OPEN)
def host_and_port(env: Environment) -> None:
    """A queue can be pointed at any server by host and port."""
    to = env.address
    with our_own(env, "jobs", host=to.host, port=to.port, db=to.db, prefix=env.prefix) as queue:
        queue.create()
    expect(text(env, ":bound"), b"0", "the bound")


@both("broker.database", "Message Brokers", needs=(*OPEN, "databases"))
def database(env: Environment) -> None:
    """The number of the database can be chosen."""
    where = {"host": env.address.host, "port": env.address.port, "prefix": env.prefix}
    with our_own(env, "jobs", db=env.other_database, **where) as queue:
        queue.create()
        try:
            expect(text(env, ":bound"), None, "the bound in a database that was not chosen")
            expect(queue.exists(), True, "the queue in the database that was chosen")
        finally:
            queue.delete()


@both("broker.prefix", "Message Brokers")
def prefix(env: Environment) -> None:
    """The prefix of all keys can be chosen."""
    env.created()
    expect(count(env), 4, "keys with the prefix")
    expect(env.redis.exists(f"{env.prefix}:jobs:bound"), 1, "the bound under the prefix")


@both("broker.default-prefix", "Message Brokers")
def default_prefix(env: Environment) -> None:
    """Without a prefix of their own, keys start with __pressure__."""
    name = f"{env.prefix}:default"
    with mock.patch.dict(os.environ), our_own(env, name, url=env.address.url) as queue:
        os.environ.pop("PRESSURE_PREFIX", None)
        queue.create()
        try:
            expect(env.redis.exists(f"__pressure__:{name}:bound"), 1, "the bound under the default prefix")
        finally:
            queue.delete()


@both("broker.environment", "Message Brokers", level="may", needs=(*OPEN, "databases"))
def environment(env: Environment) -> None:
    """The connection may come from environment variables."""
    where = {"host": env.address.host, "port": env.address.port, "prefix": env.prefix}
    settings = {
        "REDIS_SERVER": env.address.host, "REDIS_PORT": str(env.address.port),
        "REDIS_DB": str(env.other_database), "PRESSURE_PREFIX": env.prefix,
    }  # fmt: skip
    with (
        mock.patch.dict(os.environ, only(**settings), clear=True),
        our_own(env, "jobs") as queue,
        our_own(env, "jobs", db=env.other_database, **where) as same,
    ):
        queue.create(3)
        try:
            seen = text(env, ":bound"), same.exists()
            expect(seen, (None, True), "the queue in the usual database, and where the environment points")
        finally:
            queue.delete()


@both("broker.down", "Message Brokers")
def down(env: Environment) -> None:
    """With no working server every operation fails and says so."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens there
        with our_own(env, "jobs", host="127.0.0.1", port=unused.getsockname()[1]) as queue:
            operations: dict[str, Callable[[], object]] = {
                "create": queue.create, "exists": queue.exists, "length": queue.length,
                "closed": queue.closed, "put": lambda: queue.put(b"v"), "get": queue.get,
                "close": queue.shutdown, "delete": queue.delete,
            }  # fmt: skip
            for name, operate in operations.items():
                with expect_error(PressureError, f"{name} without a server"):
                    operate()


@both("client.identifier", "Clients")
def identifier(env: Environment) -> None:
    """Each client has a value of its own that stays the same over its operations: its identifier, or what
    stands before the first slash in its identifiers."""
    queue = env.created()
    queue.put(b"1")
    first = whose(env, ":producer")
    queue.put(b"2")
    queue.get()
    expect(bool(first), True, "an identifier is left")
    expect((whose(env, ":producer"), whose(env, ":consumer")), (first, first), "whose identifiers these are")


@both("client.identifiers-differ", "Clients")
def identifiers_differ(env: Environment) -> None:
    """Two clients never leave the same identifier."""
    env.created().put(b"1")
    first = text(env, ":producer")
    env.start(lambda: env.queue().put(b"2")).finish("a put on another thread")
    if text(env, ":producer") == first:
        raise Failure(f"two clients share the identifier {first!r}")


@both("keys.twelve", "Queues")
def twelve(env: Environment) -> None:
    """A queue has its twelve keys and no others, each of its type, prefix and name in front."""
    queue = env.created(1)
    queue.put(b"value")
    queue.get()
    queue.put(b"value")
    queue.shutdown()
    expected = {env.queue_key(suffix).encode() for suffix in SUFFIXES} - {env.queue_key(":not_full").encode()}
    expect(set(env.redis.keys(f"{env.prefix}*")), expected, "keys of a full and closed queue")
    queue.get()
    expect(length(env, ":not_full"), 1, "elements of not_full")


@both("keys.any-name", "Queues")
def any_name(env: Environment) -> None:
    """Any name that a Redis key may have will do: spaces, colons, non-ASCII letters."""
    for name in ("with spaces", "a:b:c", "schlüssel", "{tag}", "*", "line\nend"):
        queue = env.queue(name)
        queue.create()
        queue.put(b"v")
        expect(env.redis.lrange(f"{env.prefix}:{name}", 0, -1), [b"v"], f"the list of {name!r}")
        queue.delete()


@both("keys.left-in-right-out", "Queues")
def left_in_right_out(env: Environment) -> None:
    """Elements go in on the left and come out on the right."""
    queue = env.created()
    queue.put(b"first")
    queue.put(b"second")
    expect(env.redis.lrange(env.queue_key(), 0, -1), [b"second", b"first"], "the list from its left")
    expect(queue.get(), b"first", "what a Get takes")
    expect(env.redis.lrange(env.queue_key(), 0, -1), [b"second"], "what it leaves")
