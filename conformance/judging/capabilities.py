"""What a server can do, found out by asking it, each thing by name; checks never look at version numbers.

A server lacks a capability only if it says so, by the very answer of those that do not have it. A wrong
answer, a hang or a hang-up is none of these: it leaves the capability in place, so that the clauses judge it,
and what is broken never counts as unsupported.

To add a capability, write a function that says whether it is lacking, with ``capability`` above it.
"""

from __future__ import annotations

import importlib.util
import uuid
from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias

from miniredis.testing.real_servers import NotInstalledError

from ..clients.flavours import FLAVOURS
from ..targets import real_redis
from .environment import Environment
from .limits import ended_by

__all__ = ["LACKS", "REASONS", "capabilities_of"]

PROBE_LIMIT: Final = 10.0
"""Seconds in which a server that lives shows what it can do."""

Lacks: TypeAlias = Callable[[Environment], bool]

LACKS: Final[dict[str, Lacks]] = {}
"""Every capability by the name that clauses use in ``needs``, with what tells that a server lacks it."""

REASONS: Final[dict[str, str]] = {}
"""The reason why a clause is ``not asked``, for each capability that a server can lack."""


def capability(name: str, reason: str) -> Callable[[Lacks], Lacks]:
    """Declares what tells that a server lacks a capability, and the reason that is given then."""

    def add(lacks: Lacks) -> Lacks:
        LACKS[name], REASONS[name] = lacks, reason
        return lacks

    return add


@capability("list-count", "the server's LPOP and RPOP take no count (Redis has it since 6.2)")
def pops_without_count(env: Environment) -> bool:
    """LPOP and RPOP take a count since 6.2; before, it is an argument too many."""
    return env.connect().command("LPOP", env.key("none"), "2").startswith(b"-ERR wrong number of arguments")


@capability("list-move", "the server has no LMOVE and BLMOVE (Redis has them since 6.2)")
def does_not_move(env: Environment) -> bool:
    """LMOVE and BLMOVE are there since 6.2."""
    reply = env.connect().command("LMOVE", env.key("none"), env.key("none"), "LEFT", "LEFT")
    return reply.lower().startswith(b"-err unknown command")


@capability(
    "order:ready",
    "the server serves a client that waits for several keys by the order of its arguments "
    "(Redis does since 7.2), not by which key was ready first",
)
def serves_in_order_of_arguments(env: Environment) -> bool:
    """A waiter for several keys gets the first of its arguments since 7.2; before, what was ready first."""
    first, second = env.key("first" + uuid.uuid4().hex), env.key("second" + uuid.uuid4().hex)
    waiter = env.connect()
    waiter.send("BLPOP", first, second, "5")
    env.until_blocked(1)
    with env.redis.pipeline() as pipeline:
        pipeline.rpush(second, "s")
        pipeline.rpush(first, "f")
        pipeline.execute()
    return waiter.reply().endswith(b"\r\nf\r\n")


@capability("blocked-count", "the server's INFO does not tell how many clients are blocked")
def does_not_count_blocked_clients(env: Environment) -> bool:
    """INFO tells how many clients are blocked, where there is an INFO."""
    return env.blocked() is None


@capability("databases", "the server has one database only")
def has_one_database(env: Environment) -> bool:
    """Some servers have a single database, as those of a cluster do."""
    return env.connect().command("SELECT", str(env.other_database)).startswith(b"-ERR")


@capability("no-password", "the server asks for a password, and the clause is about clients without one")
def wants_a_password(env: Environment) -> bool:
    """Host, port and database, which is all that the protocol configures, do not let anybody in there."""
    return bool(env.address.password)


@capability("reliable-queues", "the server has no MQ.* commands (miniredis and the module RedisMQ have them)")
def has_no_reliable_queues(env: Environment) -> bool:
    """MQ.* are commands of a module, and of miniredis."""
    return env.connect().command("MQ.QINFO", env.key("none")).lower().startswith(b"-err unknown command")


@capability("redis-7.0", "the server does not have the commands of Redis 7.0")
def is_no_redis_7_0(env: Environment) -> bool:
    """A Redis 7.0 has what came with it, and nothing of what came with 7.2; COMMAND INFO may be at fault."""
    connection = env.connect()
    replies = [connection.command(name).lower() for name in ("OBJECT", "LMPOP", "FUNCTION", "WAITAOF")]
    known = [reply.startswith(b"-err wrong number of arguments") for reply in replies]
    return known != [True, True, True, False]


@capability("scripts", "the server runs no Lua scripts")
def runs_no_scripts(env: Environment) -> bool:
    """Some servers know no EVAL; miniredis without lupa says that it needs it."""
    reply = env.connect().command("EVAL", "return 1", "0").lower()
    return reply.startswith(b"-err unknown command") or b"lupa" in reply


@capability(
    "reference",
    "replies are compared with those of a Redis 7.0 that may be emptied, and by hypothesis; "
    "one of the two is missing",
)
def has_no_reference(env: Environment) -> bool:
    """Bytes are compared on a Redis 7.0 that may be emptied: one of its own kind, or one beside miniredis."""
    if importlib.util.find_spec("hypothesis") is None:
        return True
    return not has_redis_7_0() if env.address.in_process else env.address.another is None


@capability(
    "spare",
    "the clause empties a server; a server that may be emptied is given as redis://HOST:PORT#may-be-emptied",
)
def has_no_spare(env: Environment) -> bool:
    """What is emptied must not be in use: one more of the kind is started, unless its owner allows it."""
    return env.address.another is None and env.address.emptied is None


@cache
def has_redis_7_0() -> bool:
    """Whether the real Redis of this machine is one of 7.0."""
    try:
        with real_redis() as address, Environment(address, FLAVOURS["sync"]) as env:
            return not is_no_redis_7_0(env)
    except NotInstalledError:
        return False


@capability("our-client", "the clause is about pressure alone, and another client is judged")
def is_judged_with_another_client(env: Environment) -> bool:
    """What is asked of our packages alone is not asked of a client that is another program."""
    return env.foreign


def capabilities_of(environment: Callable[[], Environment]) -> frozenset[str]:
    """The names of what the server does not say it cannot do."""
    return frozenset(name for name, lacks in LACKS.items() if not says_so(lacks, environment))


def says_so(lacks: Lacks, environment: Callable[[], Environment]) -> bool:
    told = False

    def ask() -> None:
        nonlocal told
        with environment() as env:
            told = lacks(env)

    ended_by(ask, PROBE_LIMIT)  # what goes wrong here, the clauses will tell
    return told
