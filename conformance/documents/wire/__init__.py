"""The wire: conversations that nobody thought of, with every byte compared.

Miniredis is to answer as Redis 7.0.15 does, which decides every question of behaviour. A clause is a group of
commands: the same seeded conversations of several clients go to miniredis and to a real Redis of its own that may be
emptied, whichever of the two is judged. So the reference of miniredis is a real Redis, and that of any other server is
miniredis, whose fault convicts a server that is right: each violation names its reference. To have another group, add
a row to ``GROUPS``. What is slow to import is imported by the first check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import hiredis

from ...failure import Evidence
from ...judging.environment import Environment, Failure
from ...targets import Address, real_redis
from ...wire import RawConnection
from ..model import Clause
from ..registry import check, declare

if TYPE_CHECKING:
    from ...differential.grammar import Form
    from ...differential.search import Found

EXAMPLES: Final = 25
"""Conversations of a group, of 30 to 80 requests each."""

SHORTEN: Final = 10.0
"""Seconds in which a conversation that differs is made shorter."""

LIMIT: Final = 60.0
"""Seconds, some of them to make a conversation that differs shorter; without one it takes about one."""

GROUPS: Final[Mapping[str, tuple[str, str]]] = {
    "lists": ("List commands", "@list"),
    "strings": ("Strings, bits and HyperLogLogs", "@string @bitmap @hyperloglog"),
    "hashes": ("Hashes", "@hash"),
    "sets": ("Sets", "@set"),
    "sorted-sets": ("Sorted sets and places on a globe", "@sorted-set @geo"),
    "streams": ("Streams and their groups", "@stream"),
    "keys": ("Commands on keys of every type: expiry, copies, dumps, sorting", "@generic set rpush hset sadd zadd xadd"),
    "transactions": ("MULTI, EXEC and WATCH", "@transactions @list set get incr del select"),
    "blocking": ("Commands that wait, and what wakes them", "blpop brpop blmove blmpop brpoplpush bzpopmin bzpopmax bzmpop xread xreadgroup xgroup|create lpush rpush zadd xadd del rename lmove client|unblock"),
    "messages": ("Publishing, keyspace events and tracking", "@pubsub client|tracking client|caching config|set set get del lpush expire"),
    "scripts": ("Scripts and functions", "@scripting set get lpush"),
    "server": ("Commands about the server and its clients", "@server @connection set get"),
}  # fmt: skip
"""What each clause is about, in words and as commands and @groups of commands; by what follows ``wire.`` in its id."""


def declare_group(group: str) -> None:
    """Adds the clause of a group."""
    text = f"{GROUPS[group][0]}: every client hears the same bytes from miniredis and from Redis 7.0."
    needs = ("redis-7.0", "reference", *(["scripts"] if group == "scripts" else []))
    declare(Clause(f"wire.{group}", ("wire",), "Redis 7.0.15", "decided", text, needs, LIMIT))
    check(f"wire.{group}")(lambda env: compare(env, group))


for _group in GROUPS:
    declare_group(_group)


def decoded(reply: bytes) -> Any:
    """A reply as objects, flags and other statuses as bytes."""
    reader = hiredis.Reader()
    reader.feed(reply)
    return reader.gets()


def compare(env: Environment, group: str) -> None:
    """Fails if a conversation of the group differs."""
    from ...differential.coverage import Coverage
    from ...differential.pair import Pair
    from ...differential.rival import DEBUG, Rival
    from ...differential.search import converse, themed

    another = real_redis if env.address.in_process else env.address.another
    assert another is not None
    with another(*DEBUG) as address:
        forms = themed(all_forms(address), GROUPS[group][1].split())
        pair = Pair(Rival(address), Coverage(), Counter())
        try:
            found = converse(pair, forms, f"wire {group}", examples=EXAMPLES, shorten_for=SHORTEN)
        finally:
            pair.close()
    if found is not None:
        raise conviction(found, env)


def reference_of(env: Environment) -> str:
    """What the server that is judged is compared with, for people."""
    return "a real Redis" if env.address.in_process else "miniredis, which may itself be wrong"


FORMS: Final[dict[str, list[Form]]] = {}
"""What real servers were found to take, by their origin."""


def all_forms(address: Address) -> list[Form]:
    """What the real server takes and miniredis knows."""
    from ...differential.coverage import all_names
    from ...differential.grammar import LEFT_OUT, read_forms

    if address.origin not in FORMS:
        with RawConnection(address.host, address.port) as server:
            FORMS[address.origin] = read_forms(server, [each for each in all_names() if each not in LEFT_OUT])
    return FORMS[address.origin]


def conviction(found: Found, env: Environment) -> Failure:
    """What a difference says of the server that is judged."""
    from ...differential.report import line, shown

    difference = found.difference
    judged, reference = difference.ours, difference.theirs
    if not env.address.in_process:
        judged, reference = reference, judged
    *_, (client, step) = found.steps
    beside = reference_of(env)
    request = shown(" ".join(step.words).encode("latin-1"))
    return Failure(
        f"after '{request}' of client {client}, client {difference.client} heard "
        f"{shown(judged)}, and of {beside}: {shown(reference)}",
        Evidence("what was sent, and by which client", "\n".join(map(line, found.steps))),
        Evidence(f"what client {difference.client} heard of the server that is judged", shown(judged)),
        Evidence(f"what client {difference.client} heard of {beside}", shown(reference)),
    )
