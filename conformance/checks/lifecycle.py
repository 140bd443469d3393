"""Brokers, clients, keys, Create, and the looks that take no role."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from pressure import PressureError, QueueAlreadyExistsError, QueueDoesNotExistError

from ..judging.environment import Environment, Failure, expect, expect_error
from .registry import check
from .state import (
    CONSUMER,
    PRODUCER,
    SUFFIXES,
    count,
    counters,
    expect_roles_free,
    held,
    length,
    text,
    values,
)

# Brokers


@contextmanager
def our_own(env: Environment, name: str | bytes, **settings: object) -> Iterator[Any]:
    """Our client with settings of its own; what another client calls them the documents do not say."""
    queue = env.ours(name, **settings)
    try:
        yield queue
    finally:
        queue.disconnect()


@check("broker.host-and-port")
def host_and_port(env: Environment) -> None:
    settings = {
        "host": env.address.host,
        "port": env.address.port,
        "db": env.address.db,
        "prefix": env.prefix,
    }
    with our_own(env, "jobs", **settings) as queue:
        queue.create()
    expect(text(env, ":bound"), b"0", "the bound")


@check("broker.database")
def database(env: Environment) -> None:
    where = {"host": env.address.host, "port": env.address.port, "prefix": env.prefix}
    with our_own(env, "jobs", db=env.other_database, **where) as queue:
        queue.create()
        try:
            expect(text(env, ":bound"), None, "the bound in a database that was not chosen")
            expect(queue.exists(), True, "the queue in the database that was chosen")
        finally:
            queue.delete()


@check("broker.prefix")
def prefix(env: Environment) -> None:
    env.created()
    expect(count(env), 4, "keys with the prefix")
    expect(env.redis.exists(f"{env.prefix}:jobs:bound"), 1, "the bound under the prefix")


@check("broker.default-prefix")
def default_prefix(env: Environment) -> None:
    name = f"{env.prefix}:default"
    with mock.patch.dict(os.environ), our_own(env, name, url=env.address.url) as queue:
        os.environ.pop("PRESSURE_PREFIX", None)
        queue.create()
        try:
            expect(env.redis.exists(f"__pressure__:{name}:bound"), 1, "the bound under the default prefix")
        finally:
            queue.delete()


@check("broker.environment")
def environment(env: Environment) -> None:
    settings = {
        "REDIS_SERVER": env.address.host, "REDIS_PORT": str(env.address.port),
        "REDIS_DB": str(env.address.db), "PRESSURE_PREFIX": env.prefix,
    }  # fmt: skip
    with mock.patch.dict(os.environ, settings):
        os.environ.pop("REDIS_URL", None)
        with our_own(env, "jobs") as queue:
            queue.create(3)
    expect(text(env, ":bound"), b"3", "the bound where the environment points")


@check("broker.down")
def down(env: Environment) -> None:
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


# Clients


@check("client.identifier")
def identifier(env: Environment) -> None:
    queue = env.created()
    queue.put(b"1")
    first = whose(env, ":producer")
    queue.put(b"2")
    queue.get()
    expect(bool(first), True, "an identifier is left")
    expect((whose(env, ":producer"), whose(env, ":consumer")), (first, first), "whose identifiers these are")


def whose(env: Environment, key: str) -> bytes:
    """What tells the client in its identifiers: each may say which role was held, and when."""
    return (text(env, key) or b"").partition(b"/")[0]


@check("client.identifiers-differ")
def identifiers_differ(env: Environment) -> None:
    env.created().put(b"1")
    first = text(env, ":producer")
    env.start(lambda: env.queue().put(b"2")).finish("a put on another thread")
    if text(env, ":producer") == first:
        raise Failure(f"two clients share the identifier {first!r}")


# Keys


@check("keys.twelve")
def twelve(env: Environment) -> None:
    queue = env.created(1)
    queue.put(b"value")
    queue.get()
    queue.put(b"value")
    queue.shutdown()
    expected = {env.queue_key(suffix).encode() for suffix in SUFFIXES} - {env.queue_key(":not_full").encode()}
    expect(set(env.redis.keys(f"{env.prefix}*")), expected, "keys of a full and closed queue")
    queue.get()
    expect(length(env, ":not_full"), 1, "elements of not_full")


@check("keys.any-name")
def any_name(env: Environment) -> None:
    for name in ("with spaces", "a:b:c", "schlüssel", "{tag}", "*", "line\nend"):
        queue = env.queue(name)
        queue.create()
        queue.put(b"v")
        expect(env.redis.lrange(f"{env.prefix}:{name}", 0, -1), [b"v"], f"the list of {name!r}")
        queue.delete()


@check("keys.left-in-right-out")
def left_in_right_out(env: Environment) -> None:
    queue = env.created()
    queue.put(b"first")
    queue.put(b"second")
    expect(env.redis.lrange(env.queue_key(), 0, -1), [b"second", b"first"], "the list from its left")
    expect(queue.get(), b"first", "what a Get takes")
    expect(env.redis.lrange(env.queue_key(), 0, -1), [b"second"], "what it leaves")


# Create


@check("create.refuses-existing")
def refuses_existing(env: Environment) -> None:
    env.created(5).put(b"v")
    with expect_error(QueueAlreadyExistsError, "a second Create"):
        env.queue().create(7)
    expect((text(env, ":bound"), values(env)), (b"5", [b"v"]), "bound and values after it")
    expect_roles_free(env)


@check("create.saves-bound")
def saves_bound(env: Environment) -> None:
    for bound in (0, 1, 12345):
        queue = env.created(bound)
        expect(text(env, ":bound"), str(bound).encode(), "the bound")
        queue.delete()


@check("create.fills-roles")
def fills_roles(env: Environment) -> None:
    env.created()
    expect_roles_free(env)


@check("create.fills-not-full")
def fills_not_full(env: Environment) -> None:
    env.created(3)
    expect(length(env, ":not_full"), 1, "elements of not_full")


@check("create.starts-open")
def starts_open(env: Environment) -> None:
    queue = env.created(3)
    expect((queue.length(), queue.closed()), (0, False), "length and closed")
    expect(counters(env), [0, 0, 0, 0], "the counters")


@check("use.needs-create")
def needs_create(env: Environment) -> None:
    queue = env.queue()
    operations: dict[str, Callable[[], object]] = {
        "put": lambda: queue.put(b"v"), "get": queue.get, "close": queue.shutdown, "delete": queue.delete,
    }  # fmt: skip
    for name, operate in operations.items():
        with expect_error(QueueDoesNotExistError, f"{name} before Create"):
            operate()
    expect(count(env), 0, "keys that this left")


# Exists, Length, Closed


@check("exists.by-bound")
def exists_by_bound(env: Environment) -> None:
    queue = env.queue()
    expect(queue.exists(), False, "before Create")
    env.redis.set(env.queue_key(":bound"), 0)
    expect(queue.exists(), True, "with a bound alone")
    env.redis.delete(env.queue_key(":bound"))
    env.redis.lpush(env.queue_key(), "v")
    expect(queue.exists(), False, "with a value and no bound")


@check("length.needs-queue")
def length_needs_queue(env: Environment) -> None:
    with expect_error(QueueDoesNotExistError, "length of no queue"):
        env.queue().length()


@check("length.counts")
def length_counts(env: Environment) -> None:
    queue = env.created()
    for wanted in range(4):
        expect(queue.length(), wanted, "length")
        env.redis.lpush(env.queue_key(), "v")


@check("closed.needs-queue")
def closed_needs_queue(env: Environment) -> None:
    with expect_error(QueueDoesNotExistError, "closed of no queue"):
        env.queue().closed()


@check("closed.by-marks")
def closed_by_marks(env: Environment) -> None:
    queue = env.created()
    expect(queue.closed(), False, "of an open queue")
    env.redis.lpush(env.queue_key(":closed"), "any")
    expect(queue.closed(), True, "with one mark")


@check("looks.take-no-role")
def looks_take_no_role(env: Environment) -> None:
    queue = env.created()
    with held(env, PRODUCER), held(env, CONSUMER):
        looks = env.start(lambda: (queue.exists(), queue.length(), queue.closed()))
        expect(looks.finish("looking while both roles are held"), (True, 0, False), "what is seen")
        expect((length(env, PRODUCER), length(env, CONSUMER)), (0, 0), "elements of the role lists")
