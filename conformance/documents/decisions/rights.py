"""A user who may not run every command that a client sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from pressure import PressureError, QueueInUseError, ServerReplyError

from ...judging.environment import Environment, expect, expect_error
from ..large import IN_PARTS, gist
from ..registry import check
from ..state import PRODUCER, counters, length, our_own, text, values
from . import HOLD
from .attempts import OPERATIONS, THERE, Attempt, attempted, described, elements, expect_lawful
from .roles import impatient, take


@check("decided.refused")
def what_a_user_may_not_run(env: Environment) -> None:
    """A message that the server refuses is not counted, though a script has counted it; without DEL all is done."""
    queue: Any = env.queue()
    for command, stored in (("LPUSH", []), ("INCRBY", []), ("DEL", [b"v"])):
        with without(env, command) as theirs:
            for name, some in (("put", b"v"), ("put_many", [b"v"])):
                queue.create(3)
                queue.put_many(THERE)
                error = env.start(partial(getattr(theirs, name), some)).error(
                    "a Put by a user without rights"
                )
                what = f"{name} by a user who may not {command}, {error!r}"
                seen = (error is None, isinstance(error, ServerReplyError), elements(env, ""))
                expect(seen, (bool(stored), not stored, THERE + stored), what)
                expect(counters(env), [2 + len(stored), 3 + len(stored), 0, 0], f"counters after {what}")
                if stored:
                    expect(length(env, ":not_full"), 0, f"tokens of a full queue after {what}")
                queue.repair(force=True)
                queue.delete()


@check("decided.refused")
def values_that_cannot_go_back(env: Environment) -> None:
    """A run of Gets that popped more bytes than it takes at a time, and may not put them back, returns them."""
    queue: Any = env.queue()
    queue.create()
    queue.put_many(IN_PARTS)
    with without(env, "RPUSH") as theirs:
        got: list[bytes] = []
        while values(env):
            got += theirs.get_many(len(IN_PARTS))
    expect(list(map(gist, got)), list(map(gist, IN_PARTS)), "what a user who may not RPUSH got")
    expect(counters(env)[2:], [len(IN_PARTS), sum(map(len, IN_PARTS))], "messages and bytes consumed")


@check("decided.refused")
def without_transactions(env: Environment) -> None:
    """The commands of a transaction run one by one, and all is done; if a holder may not write its id, nothing is lost."""
    for commands in (("MULTI",), ("MULTI", "SET")):
        is_named = "SET" not in commands
        for name, attempt in attempts_without(env, *commands):
            with described(f"{name} by a user who may not {commands}", attempt):
                expect_lawful(env, OPERATIONS[name], attempt, None, is_freed=not is_named)
                if is_named:
                    expect(isinstance(attempt.error, PressureError), False, "whether it fails")


@check("decided.refused")
def tells_that_a_role_is_stuck(env: Environment) -> None:
    for name, attempt in attempts_without(env, "MULTI", "LPUSH"):
        if OPERATIONS[name].puts:
            is_stuck, is_told = not length(env, PRODUCER), "could not be given back" in attempt.told
            expect(
                is_told, is_stuck, f"whether a {name} tells that it could not give its role back: {attempt}"
            )


def attempts_without(env: Environment, *commands: str) -> Iterator[tuple[str, Attempt]]:
    """What came of each operation of a user who may not run these commands."""
    queue: Any = env.queue()
    with without(env, *commands) as theirs:
        for name, operation in OPERATIONS.items():
            queue.create()
            queue.put_many(THERE)
            yield name, attempted(operation, theirs)
            queue.repair(force=True)
            queue.delete()


@check("decided.heals")
def spares_whose_connection_it_may_not_see(env: Environment) -> None:
    """Who may not list the clients does not know that a holder is dead."""
    for role in ("producer", "consumer"):
        with impatient(), without(env, "CLIENT", but=("CLIENT|SETNAME", "CLIENT|ID")) as theirs:
            theirs.create()
            take(env, role, HOLD)
            work = partial(theirs.put, b"v") if role == "producer" else theirs.get
            with expect_error(QueueInUseError, f"a client that waits for the {role} role"):
                work(timeout=0.1)
            expect(text(env, f":{role}"), HOLD, "the holder")
            told = theirs.repair().left
            expect("does not tell who is connected" in str(told), True, f"what a repair tells: {told}")
            theirs.repair(force=True)
            theirs.delete()


@contextmanager
def without(env: Environment, *commands: str, but: tuple[str, ...] = ()) -> Iterator[Any]:
    """Our client as a user who may not run some commands, but some of their subcommands.

    Before Redis 7.0 a single subcommand can be allowed, but not refused.
    """
    redis: Any = env.redis
    user, at = env.prefix.replace(":", "-"), env.address
    try:
        rules = [*(f"-{command}" for command in commands), *(f"+{command}" for command in but)]
        redis.execute_command("ACL", "SETUSER", user, "on", "nopass", "~*", "&*", "+@all", *rules)
        with our_own(
            env, "jobs", url=f"redis://{user}:x@{at.host}:{at.port}/{at.db}", prefix=env.prefix
        ) as theirs:
            yield theirs
    finally:
        redis.execute_command("ACL", "DELUSER", user)
