"""The wire: conversations that nobody thought of, with every byte compared.

Miniredis is to answer as Redis 7.0.15 does, which decides every question of behaviour. A clause is a group of
commands: the same seeded conversations of several clients go to miniredis and to a real Redis of its own that may be
emptied, whichever of the two is judged. To have another group, add a row to ``GROUPS`` and one to ``TITLES``. What is
slow to import is imported by the first check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ..failure import Evidence
from ..judging.environment import Environment, Failure
from ..targets import real_redis
from ..wire import RawConnection
from .model import Clause
from .registry import check, declare

if TYPE_CHECKING:
    from ..differential.grammar import Form
    from ..differential.search import Found

EXAMPLES: Final = 25
"""Conversations of a group, of 30 to 80 requests each."""

SHORTEN: Final = 10.0
"""Seconds in which a conversation that differs is made shorter."""

LIMIT: Final = 60.0
"""Seconds, some of them to make a conversation that differs shorter; without one it takes about one."""

GROUPS: Final[Mapping[str, str]] = {
    "lists": "@list",
    "strings": "@string @bitmap @hyperloglog",
    "hashes": "@hash",
    "sets": "@set",
    "sorted-sets": "@sorted-set @geo",
    "streams": "@stream",
    "keys": "@generic set rpush hset sadd zadd xadd",
    "transactions": "@transactions @list set get incr del select",
    "blocking": "blpop brpop blmove blmpop brpoplpush bzpopmin bzpopmax bzmpop xread xreadgroup xgroup|create "
    "lpush rpush zadd xadd del rename lmove client|unblock",
    "messages": "@pubsub client|tracking client|caching config|set set get del lpush expire",
    "scripts": "@scripting set get lpush",
    "server": "@server @connection set get",
}
"""The commands, and @groups of commands, of each clause by what follows ``wire.`` in its id."""

TITLES: Final[Mapping[str, str]] = {
    "lists": "List commands",
    "strings": "Strings, bits and HyperLogLogs",
    "hashes": "Hashes",
    "sets": "Sets",
    "sorted-sets": "Sorted sets and places on a globe",
    "streams": "Streams and their groups",
    "keys": "Commands on keys of every type: expiry, copies, dumps, sorting",
    "transactions": "MULTI, EXEC and WATCH",
    "blocking": "Commands that wait, and what wakes them",
    "messages": "Publishing, keyspace events and tracking",
    "scripts": "Scripts and functions",
    "server": "Commands about the server and its clients",
}
"""What each group is, in words."""


def declare_group(group: str) -> None:
    """Adds the clause of a group."""
    text = f"{TITLES[group]}: every client hears the same bytes from miniredis and from Redis 7.0."
    needs = ("redis-7.0", "reference", *(["scripts"] if group == "scripts" else []))
    declare(Clause(f"wire.{group}", ("wire",), "Redis 7.0.15", "decided", text, needs, LIMIT))
    check(f"wire.{group}")(lambda env: compare(env, group))


for _group in GROUPS:
    declare_group(_group)


def compare(env: Environment, group: str) -> None:
    """Fails if a conversation of the group differs."""
    from ..differential.coverage import Coverage
    from ..differential.pair import Pair
    from ..differential.rival import DEBUG, Rival
    from ..differential.search import converse, themed

    another = real_redis if env.address.in_process else env.address.another
    assert another is not None
    with another(*DEBUG) as address:
        forms = themed(all_forms(address.host, address.port), GROUPS[group].split())
        pair = Pair(Rival(address), Coverage(), Counter())
        try:
            found = converse(pair, forms, f"wire {group}", examples=EXAMPLES, shorten_for=SHORTEN)
        finally:
            pair.close()
    if found is not None:
        raise conviction(found, in_process=env.address.in_process)


def all_forms(host: str, port: int) -> list[Form]:
    """What the real server takes and miniredis knows."""
    from ..differential.coverage import all_names
    from ..differential.grammar import LEFT_OUT, read_forms

    with RawConnection(host, port) as server:
        return read_forms(server, [name for name in all_names() if name not in LEFT_OUT])


def conviction(found: Found, *, in_process: bool) -> Failure:
    """What a difference says of the server that is judged."""
    from ..differential.report import line, shown

    difference = found.difference
    judged, reference = difference.ours, difference.theirs
    if not in_process:
        judged, reference = reference, judged
    *_, (client, step) = found.steps
    return Failure(
        f"after {' '.join(step.words)!r} of client {client}, client {difference.client} heard "
        f"{shown(judged)}, and of the reference {shown(reference)}",
        Evidence("what was sent, and by which client", "\n".join(map(line, found.steps))),
        Evidence(f"what client {difference.client} heard of the server that is judged", shown(judged)),
        Evidence(f"what client {difference.client} heard of the reference", shown(reference)),
    )
