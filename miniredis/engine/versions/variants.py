"""What commands are like in other versions than the default one, where only their description differs.

A row has versions, names of commands, and what is not as declared; ``registry.variant`` explains it. A
command that does something else in another version says so beside itself, with ``in_versions``; other texts
of errors are in ``wordings.py``, other checks in ``older_checks.py`` and ``newer_checks.py``.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Final

from ..commands.server.introspection import details, words
from ..declarations.registry import Command, Keys, KeySpecification, KeywordKeys, instead_of, variant
from .version import OLD

POPS: Final = "blpop brpop brpoplpush blmove bzpopmin bzpopmax"
EXPIRES: Final = "expire expireat pexpire pexpireat"

RANDOM: Final = (
    "client command dump hgetall hrandfield hscan info lastsave memory migrate object pttl pubsub randomkey "
    "scan sscan zscan slowlog spop srandmember time ttl xack xadd xautoclaim xclaim xinfo xpending xtrim "
    "zrandmember"
)


def tips(policy: str) -> tuple[str, ...]:
    return ("nondeterministic_output", f"request_policy:{policy}", "response_policy:special")


ON_ALL_NODES: Final = "acl|setuser acl|deluser acl|save client|setname config|resetstat config|rewrite"
SUCCEEDS_ON_ALL: Final = ("request_policy:all_nodes", "response_policy:all_succeeded")
OF_CLIENT: Final = (
    "client|id client|getname client|setname client|setinfo client|no-evict client|caching client|getredir"
)
LAST_WINS: Final = "Incomplete because duplicate {} options use last-wins; fall back to georadiusGetKeys"


def radius(start: int, flags: str, notes: str = "") -> tuple[KeySpecification, ...]:
    """The keys of GEORADIUS: what it reads, then where it stores."""
    stores = (KeywordKeys(word, start, flags, notes=notes.format(word)) for word in ("STORE", "STOREDIST"))
    return (Keys(1, "RO access"), *stores)


def streams(start: int, what: str, function: str) -> KeySpecification:
    """The keys of XREAD, as 8.0 remarks on them."""
    notes = f"Incomplete because {what} can shift the STREAMS keyword; fall back to {function}GetKeys"
    return KeywordKeys("STREAMS", start, "RO access incomplete", last=-1, limit=2, notes=notes)


for versions, names, changes in (
    # Flags, categories and arities until 6.2
    (OLD, RANDOM, {"flags": "+random"}),
    (OLD, "hkeys hvals keys sdiff sinter smembers sunion", {"flags": "+sort_for_script"}),
    (OLD, f"{EXPIRES} xsetid", {"arity": 3}),
    ("6.0", "psync", {"arity": 3}),
    (OLD, "quit", {"flags": "+unlisted"}),
    (OLD, "eval evalsha", {"flags": "-stale"}),
    ("6.2", "script", {"flags": "+may_replicate"}),
    (OLD, "acl", {"flags": "+admin +noscript +loading +stale"}),
    ("6.0", "acl", {"flags": "+skip_slowlog"}),
    (OLD, "latency", {"flags": "+admin +noscript +loading +stale"}),
    (OLD, "module", {"flags": "+admin +noscript"}),
    (OLD, "client", {"flags": "+admin +noscript +loading +stale", "categories": "+connection"}),
    (OLD, "config", {"flags": "+admin +noscript +loading +stale"}),
    (OLD, "slowlog", {"flags": "+admin +loading +stale"}),
    (OLD, "pubsub", {"flags": "+pubsub +loading +stale"}),
    (OLD, "script", {"flags": "+noscript", "categories": "+scripting"}),
    (OLD, "memory", {"flags": "+readonly +movablekeys"}),
    (OLD, "object", {"flags": "+readonly", "categories": "+keyspace", "keys": (Keys(2, ""),)}),
    (OLD, "xgroup", {"flags": "+write +denyoom", "categories": "+stream", "keys": (Keys(2, ""),)}),
    (OLD, "xinfo", {"flags": "+readonly", "categories": "+stream", "keys": (Keys(2, ""),)}),
    (OLD, "ping", {"flags": "+stale"}),
    (OLD, "echo", {"flags": "-loading -stale"}),
    (OLD, "select wait asking readonly readwrite", {"categories": "-connection +keyspace"}),
    (OLD, "cluster", {"flags": "+admin +random +stale", "categories": "+admin +dangerous"}),
    (OLD, "readonly readwrite", {"flags": "-loading -stale"}),
    (OLD, "role", {"categories": "-admin -dangerous +dangerous"}),
    (OLD, "pfdebug", {"arity": -3}),
    (OLD, "debug", {"allowed_by": ""}),
    ("7.2+", "command|getkeys command|getkeysandflags", {"arity": -3}),
    ("6.2", "reset", {"flags": "-no_auth"}),
    ("6.0", "echo lastsave role time", {"flags": "+readonly"}),
    ("6.0", "auth hello", {"flags": "+skip_monitor +skip_slowlog"}),
    ("6.0", "eval evalsha", {"flags": "-skip_monitor"}),
    ("6.0", "exec", {"flags": "+skip_monitor"}),
    ("6.0", "hello", {"arity": -2}),
    ("6.0", "lpop rpop", {"arity": 2}),
    ("6.0", "migrate", {"keys": ()}),
    ("6.0", "pfdebug", {"flags": "-denyoom", "categories": "-hyperloglog", "keys": ()}),
    ("6.0", "xtrim", {"arity": -2}),
    # Since 7.2
    ("7.2+", f"{POPS} wait", {"flags": "-noscript"}),
    ("7.2+", "msetnx", {"tips": ()}),
    ("7.2+", "randomkey", {"tips": tips("all_shards")}),
    ("7.2+", "scan", {"tips": tips("special")}),
    ("7.2+", "zrank zrevrank", {"arity": -3}),
    ("7.4+ valkey-8.1+", "sinterstore", {"keys": (Keys(1, "OW update"), Keys(2, "RO access", last=-1))}),
    ("7.2", "waitaof", {"flags": "-blocking +noscript"}),
    ("7.4+ valkey-8.1+", "wait", {"flags": "+blocking"}),
    ("8.0", "georadius", {"keys": radius(6, "OW update incomplete", LAST_WINS)}),
    ("8.0", "georadiusbymember", {"keys": radius(5, "OW update incomplete", LAST_WINS)}),
    ("8.0", "xread", {"keys": (streams(1, "a stream key named STREAMS (or options before it)", "xread"),)}),
    ("8.0", "xreadgroup", {
        "keys": (streams(4, "a consumer/group named STREAMS (or options before GROUP)", "xread"),)
    }),
    ("valkey-9.1+", "georadius", {"keys": radius(6, "OW update variable_flags")}),
    ("valkey-9.1+", "georadiusbymember", {"keys": radius(5, "OW update variable_flags")}),
    ("valkey-8.1+", "exec", {"flags": "-skip_slowlog +skip_commandlog"}),
    ("valkey-8.1+", "multi watch", {"flags": "+no_multi"}),
    ("valkey-9.1+", "select", {"flags": "+allow_busy"}),
    # Subcommands since 7.2
    ("7.2+", ON_ALL_NODES, {"tips": SUCCEEDS_ON_ALL}),
    ("7.2+", "latency|reset", {"tips": ("request_policy:all_nodes", "response_policy:agg_sum")}),
    ("7.2+", "cluster|shards cluster|slots", {"flags": "-stale +loading +stale"}),
    ("valkey-8.1+", "cluster|info cluster|myid cluster|nodes", {"flags": "-stale +loading +stale"}),
    ("valkey-8.1+", "memory|malloc-stats memory|purge", {"flags": "+loading"}),
    ("valkey-9.1+", OF_CLIENT, {"flags": "+allow_busy"}),
    ("valkey-9.1+", "client|reply", {"flags": "+no_multi +allow_busy"}),
    ("valkey-9.1+", "cluster|replicate script|debug", {"arity": -3}),
    ("valkey-9.1+", "script|exists script|flush", {"flags": "+stale"}),
):  # fmt: skip
    variant(versions, names, **changes)

NOT_YET: Final = {
    "6.0": {"allow_busy", "blocking", "may_replicate", "no_async_loading", "no_mandatory_keys", "no_multi"},
    "6.2": {"allow_busy", "blocking", "no_async_loading", "no_mandatory_keys", "no_multi"},
}
"""Flags that these versions did not tell of, although they did what the flags say."""


def described(hidden: set[str], declared: Command) -> list[object]:
    name, arity, _, *rest = details(declared)
    return [name, arity, words([flag for flag in declared.flags if flag not in hidden]), *rest[:4]]


for versions, hidden in NOT_YET.items():
    instead_of(details, versions)(cache(partial(described, hidden)))
