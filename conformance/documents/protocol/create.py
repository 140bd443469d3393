"""Create, and the looks that take no role."""

from __future__ import annotations

from collections.abc import Callable

from pressure import QueueAlreadyExistsError, QueueDoesNotExistError

from ...judging.environment import Environment, expect, expect_error
from ..state import (
    CONSUMER,
    PRODUCER,
    count,
    counters,
    expect_no_queue,
    expect_roles_free,
    held,
    length,
    text,
    values,
)
from . import both, later


@both("create.refuses-existing", "Create")
def refuses_existing(env: Environment) -> None:
    """Creating a queue whose bound is set is an error, and changes nothing."""
    env.created(5).put(b"v")
    with expect_error(QueueAlreadyExistsError, "a second Create"):
        env.queue().create(7)
    expect((text(env, ":bound"), values(env)), (b"5", [b"v"]), "bound and values after it")
    expect_roles_free(env)


@both("create.saves-bound", "Create")
def saves_bound(env: Environment) -> None:
    """The bound is saved, and 0 as well."""
    for bound in (0, 1, 12345):
        queue = env.created(bound)
        expect(text(env, ":bound"), str(bound).encode(), "the bound")
        queue.delete()


@both("create.fills-roles", "Create")
def fills_roles(env: Environment) -> None:
    """Both role lists begin with one element."""
    env.created()
    expect_roles_free(env)


@both("create.fills-not-full", "Create")
def fills_not_full(env: Environment) -> None:
    """The not_full list begins with one element."""
    env.created(3)
    expect(length(env, ":not_full"), 1, "elements of not_full")


@both("create.starts-open", "Create")
def starts_open(env: Environment) -> None:
    """A queue begins open and empty, and with nothing counted."""
    queue = env.created(3)
    expect((queue.length(), queue.closed()), (0, False), "length and closed")
    expect(counters(env), [0, 0, 0, 0], "the counters")


@both("use.needs-create", "Create")
def needs_create(env: Environment) -> None:
    """A queue that was not created cannot be put to, got from, closed or deleted."""
    queue = env.queue()
    operations: dict[str, Callable[[], object]] = {
        "put": lambda: queue.put(b"v"), "get": queue.get, "close": queue.shutdown, "delete": queue.delete,
    }  # fmt: skip
    for name, operate in operations.items():
        with expect_error(QueueDoesNotExistError, f"{name} before Create"):
            operate()
    expect(count(env), 0, "keys that this left")


@later("exists.by-bound", "Exists")
def exists_by_bound(env: Environment) -> None:
    """A queue exists if, and only if, its bound is set."""
    queue = env.queue()
    expect(queue.exists(), False, "before Create")
    env.redis.set(env.queue_key(":bound"), 0)
    expect(queue.exists(), True, "with a bound alone")
    env.redis.delete(env.queue_key(":bound"))
    env.redis.lpush(env.queue_key(), "v")
    expect(queue.exists(), False, "with a value and no bound")


@later("length.needs-queue", "Length")
def length_needs_queue(env: Environment) -> None:
    """The length of a queue that does not exist is an error."""
    expect_no_queue(env, lambda queue: queue.length(), "length of")


@later("length.counts", "Length")
def length_counts(env: Environment) -> None:
    """The length is the number of elements waiting."""
    queue = env.created()
    for wanted in range(4):
        expect(queue.length(), wanted, "length")
        env.redis.lpush(env.queue_key(), "v")


@later("closed.needs-queue", "Closed")
def closed_needs_queue(env: Environment) -> None:
    """Whether a queue that does not exist is closed is an error."""
    expect_no_queue(env, lambda queue: queue.closed(), "closed of")


@later("closed.by-marks", "Closed")
def closed_by_marks(env: Environment) -> None:
    """A queue is closed if, and only if, its closed list has elements."""
    queue = env.created()
    expect(queue.closed(), False, "of an open queue")
    env.redis.lpush(env.queue_key(":closed"), "any")
    expect(queue.closed(), True, "with one mark")


@later("looks.take-no-role", "Exists, Length, Closed")
def looks_take_no_role(env: Environment) -> None:
    """To look at a queue takes no role: it works while both are held."""
    queue = env.created()
    with held(env, PRODUCER), held(env, CONSUMER):
        looks = env.start(lambda: (queue.exists(), queue.length(), queue.closed()))
        expect(looks.finish("looking while both roles are held"), (True, 0, False), "what is seen")
        expect((length(env, PRODUCER), length(env, CONSUMER)), (0, 0), "elements of the role lists")
