"""What commands are like in other versions than the default one, where only their description differs.

A row has versions, names of commands, and what is not as declared; ``registry.variant`` explains it. A
command that does something else in another version says so beside itself, with ``in_versions``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from ..commands.keys.scanning import read_cursor, with_cursor_of_7_4
from ..commands.server.introspection import details, words
from ..declarations.registry import (
    Command,
    Handler,
    Keys,
    KeySpecification,
    KeywordKeys,
    instead_of,
    variant,
    wrap_in_versions,
)
from ..keyspace.keyspace import TYPE_NAMES
from ..numbers.numbers import parse_integer, read_integer
from ..protocol.errors import (
    ARGUMENTS_SHOWN,
    INVALID_STREAM_ID,
    NO_MATCHING_SCRIPT,
    NO_PLACE,
    NOT_A_SCORE_RANGE,
    PLUS_IN_GROUP,
    SYNTAX,
    TIMEOUT_NEGATIVE,
    TIMEOUT_OUT_OF_RANGE,
    UNBALANCED_STREAMS,
    UNIT,
    WRONG_TYPE,
    CommandError,
    invalid_expire,
    no_member,
    not_in_transaction,
    only_for_listeners,
    unbalanced_streams,
    unknown_command,
    unknown_subcommand,
    unknown_type,
    until_nul,
)
from ..protocol.errors import wrong_arity as wrong_arity_of
from ..replication.replication_errors import WAIT_ON_REPLICA, WAIT_ON_VALKEY_REPLICA
from ..scripts.script_errors import NO_SCRIPT

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..keyspace.keyspace import Database
    from ..protocol.replies import Reply

OLD: Final = "6.0-6.2"
"""The versions in which a command knew its subcommands itself, and COMMAND told less of it."""

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
    (OLD, "cluster", {"categories": "+admin +dangerous"}),
    (OLD, "role", {"categories": "-admin -dangerous +dangerous"}),
    (OLD, "pfdebug", {"arity": -3}),
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


# What clients heard until 6.2

NOT_YET: Final = {
    "6.0": {"allow_busy", "blocking", "may_replicate", "no_async_loading", "no_mandatory_keys", "no_multi"},
    "6.2": {"allow_busy", "blocking", "no_async_loading", "no_mandatory_keys", "no_multi"},
}
"""Flags that these versions did not tell of, although they did what the flags say."""


@instead_of(unknown_command, OLD)
def old_unknown_command(args: Sequence[bytes]) -> bytes:
    shown = b""
    for argument in args[1:]:
        if len(shown) >= ARGUMENTS_SHOWN:
            break
        shown += b"`%b`, " % until_nul(argument)[: ARGUMENTS_SHOWN - len(shown)]
    return b"ERR unknown command `%b`, with args beginning with: %b" % (until_nul(args[0]), shown)


@instead_of(unknown_subcommand, "6.2")
def old_unknown_subcommand(command: bytes, subcommand: bytes) -> bytes:
    name = until_nul(subcommand)[:ARGUMENTS_SHOWN]
    text = b"ERR Unknown subcommand or wrong number of arguments for '%b'. Try %b HELP."
    return text % (name, command.upper())


@instead_of(unknown_subcommand, "6.0")
def unknown_subcommand_of_6_0(command: bytes, subcommand: bytes) -> bytes:
    text = old_unknown_subcommand(command, subcommand)
    return text.removesuffix(b".") if command in {b"client", b"memory"} else text


@instead_of(not_in_transaction, "valkey-9.1+")
def named_in_transaction(command: bytes) -> bytes:
    return b"ERR Command '%b' not allowed inside a transaction" % command


@instead_of(invalid_expire, OLD)
def old_invalid_expire(command: bytes) -> bytes:
    return b"ERR invalid expire time in %b" % command


@instead_of(only_for_listeners, "6.2")
def old_only_for_listeners(command: bytes) -> bytes:
    name = command.partition(b"|")[0]
    return only_for_listeners(name).replace(b"(P|S)", b"(P)")


@instead_of(only_for_listeners, "6.0")
def only_for_listeners_of_6_0(command: bytes) -> bytes:
    return old_only_for_listeners(command).replace(b" / RESET", b"")


def described(hidden: set[str], declared: Command) -> list[object]:
    name, arity, _, *rest = details(declared)
    return [name, arity, words([flag for flag in declared.flags if flag not in hidden]), *rest[:4]]


@instead_of(details, "6.0")
@cache
def details_of_6_0(declared: Command) -> list[object]:
    return described(NOT_YET["6.0"], declared)


@instead_of(details, "6.2")
@cache
def details_of_6_2(declared: Command) -> list[object]:
    return described(NOT_YET["6.2"], declared)


# Other words for errors


def reworded(versions: str, names: str, words: dict[bytes, Callable[[list[bytes]], bytes]]) -> None:
    """Declares other texts for errors of commands, each made from the request."""

    def saying(handler: Handler) -> Handler:
        def run(session: Session, args: list[bytes]) -> Reply:
            try:
                return handler(session, args)
            except CommandError as error:
                if error.message in words:
                    raise CommandError(words[error.message](args)) from None
                raise

        return run

    wrap_in_versions(versions, names, saying)


def always(text: bytes) -> Callable[[list[bytes]], bytes]:
    return lambda _: text


def timeout_at(place: int) -> Callable[[list[bytes]], bytes]:
    """What is said of a timeout: 7.0 takes one that is too large for a negative one."""
    return lambda args: TIMEOUT_NEGATIVE if args[place].startswith(b"-") else TIMEOUT_OUT_OF_RANGE


def block_timeout(args: list[bytes]) -> bytes:
    """The same of XREAD's and XREADGROUP's BLOCK."""
    place = next(at for at, word in enumerate(args) if word.upper() == b"BLOCK") + 1
    return timeout_at(place)(args)


def unbalanced(ids: bytes) -> Callable[[list[bytes]], bytes]:
    return lambda args: unbalanced_streams(args[0].lower(), ids)


reworded("7.2+", "blpop brpop bzpopmin bzpopmax blmove brpoplpush", {TIMEOUT_NEGATIVE: timeout_at(-1)})
reworded("7.2+", "blmpop bzmpop", {TIMEOUT_NEGATIVE: timeout_at(1)})
for versions, name, ids in (
    ("7.2+", "xreadgroup", b"an ID or '>'"),
    ("7.2 7.4 valkey-8.1+", "xread", b"an ID or '$'"),
    ("8.0", "xread", b"an ID, '+', or '$'"),
):
    reworded(versions, name, {TIMEOUT_NEGATIVE: block_timeout, UNBALANCED_STREAMS: unbalanced(ids)})
reworded("valkey-9.1+", "georadiusbymember georadiusbymember_ro", {NO_PLACE: lambda args: no_member(args[2])})
reworded(
    "7.4+ valkey-8.1+",
    "xreadgroup",
    {INVALID_STREAM_ID: lambda args: PLUS_IN_GROUP if b"+" in args[4:] else INVALID_STREAM_ID},
)
reworded("valkey-8.1+", "wait", {WAIT_ON_REPLICA: always(WAIT_ON_VALKEY_REPLICA)})
reworded("valkey-8.1+", "evalsha evalsha_ro", {NO_SCRIPT: always(NO_MATCHING_SCRIPT)})
for name, word in (("mset", b"MSET"), ("msetnx", b"MSET"), ("xadd", b"XADD")):
    reworded(OLD, name, {wrong_arity_of(name.encode()): always(b"ERR wrong number of arguments for " + word)})
reworded(
    OLD,
    "geodist georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch geosearchstore",
    {UNIT: always(b"ERR unsupported unit provided. please use m, km, ft, mi")},
)


# Checks that came earlier


OF_RANGES: Final = {b"WITHSCORES": 0, b"REV": 0, b"BYSCORE": 0, b"LIMIT": 2}
"""The options of ranges of scores, each with the number of integers behind it."""


def strict_bounds(handler: Handler, first: int, *, is_of_scores: bool = True) -> Handler:
    """A command that takes bounds of scores only without spaces, and only as decimal numbers."""

    def run(session: Session, args: list[bytes]) -> Reply:
        options = args[first + 2 :]
        if are_of_range(options) and (is_of_scores or b"BYSCORE" in map(bytes.upper, options)):
            for bound in args[first : first + 2]:
                number = until_nul(bound).removeprefix(b"(")
                if number[:1].isspace() or b"x" in number.lower():
                    raise CommandError(NOT_A_SCORE_RANGE)
        return handler(session, args)

    return run


def are_of_range(words: list[bytes]) -> bool:
    """Whether nothing is wrong with these options, which are looked at before the bounds."""
    rest = iter(words)
    for word in rest:
        integers = [parse_integer(next(rest, b"")) for _ in range(OF_RANGES.get(word.upper(), 0))]
        if word.upper() not in OF_RANGES or None in integers:
            return False
    return True


STRICT: Final = "8.0 valkey-9.1+"

for name in ("zcount", "zrangebyscore", "zrevrangebyscore", "zremrangebyscore"):
    wrap_in_versions(STRICT, name, partial(strict_bounds, first=2))
wrap_in_versions(STRICT, "zrange", partial(strict_bounds, first=2, is_of_scores=False))
wrap_in_versions(STRICT, "zrangestore", partial(strict_bounds, first=3, is_of_scores=False))


def checks_before_key(handler: Handler) -> Handler:
    """BITPOS, which looks at all its words before it looks at the key."""

    def run(session: Session, args: list[bytes]) -> Reply:
        is_bit, has_unit = args[2] in {b"0", b"1"}, len(args) == 6
        if is_bit and len(args) > 6:
            raise CommandError(SYNTAX)
        if is_bit and len(args) > 3:
            read_integer(args[3])
            if has_unit and args[5].upper() not in {b"BIT", b"BYTE"}:
                raise CommandError(SYNTAX)
            read_integer(args[4] if len(args) > 4 else b"-1")
        return handler(session, args)

    return run


def counts_after_checks(handler: Handler, least: int) -> Handler:
    """BITCOUNT, which does the same; with a range it has at least so many words."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if len(args) > 5 or 2 < len(args) < least:
            raise CommandError(SYNTAX)
        for place in args[2:4]:
            read_integer(place)
        if len(args) == 5 and args[4].upper() not in {b"BIT", b"BYTE"}:
            raise CommandError(SYNTAX)
        return handler(session, [*args, b"-1"] if len(args) == 3 else args)

    return run


wrap_in_versions("7.4+ valkey-8.1+", "bitpos", checks_before_key)
wrap_in_versions("7.4+", "bitcount", partial(counts_after_checks, least=4))
wrap_in_versions("valkey-8.1+", "bitcount", partial(counts_after_checks, least=3))


def without_more_words(handler: Handler, most: int) -> Handler:
    """A command that has a syntax error with more words, whatever they are."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if len(args) > most:
            raise CommandError(SYNTAX)
        return handler(session, args)

    return run


wrap_in_versions(OLD, "info", partial(without_more_words, most=2))


# Numbers that are not decimal


def numbers_after_options(args: list[bytes], first: int, step: int) -> list[int]:
    """The places of numbers that come before each member."""
    options = {b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"}
    begin = next((at for at in range(first, len(args)) if args[at].upper() not in options), len(args))
    return [at for at in range(begin, len(args)) if (at - begin) % step < step - 1]


def weights(args: list[bytes], count_at: int) -> range:
    """The places behind the keys, where weights are."""
    return range(count_at + 1 + max(parse_integer(args[count_at]) or 0, 0), len(args))


NUMBERS: Final[dict[str, Callable[[list[bytes]], Iterable[int]]]] = {
    "zadd": partial(numbers_after_options, first=2, step=2),
    "zincrby": lambda _: (2,),
    "geoadd": partial(numbers_after_options, first=2, step=3),
    "georadius georadius_ro": lambda _: (2, 3, 4),
    "georadiusbymember georadiusbymember_ro": lambda _: (3,),
    "zunion zinter": partial(weights, count_at=1),
    "zunionstore zinterstore": partial(weights, count_at=2),
}
"""Where commands have numbers that Valkey 9.1 takes only if they are decimal."""


HEXADECIMAL: Final = re.compile(rb"[+-]?0[xX]").match


def decimal_only(handler: Handler, places: Callable[[list[bytes]], Iterable[int]]) -> Handler:
    """A command that takes ``0x10`` for no number."""

    def run(session: Session, args: list[bytes]) -> Reply:
        refused = [at for at in places(args) if HEXADECIMAL(args[at])]
        if refused:
            args = [b"x" if at in refused else word for at, word in enumerate(args)]
        return handler(session, args)

    return run


for names, places in NUMBERS.items():
    wrap_in_versions("valkey-9.1+", names, partial(decimal_only, places=places))


WITH_MODE: Final = 4
"""The words of CLIENT PAUSE with a mode."""


def with_more_words(handler: Handler) -> Handler:
    """CLIENT PAUSE, which looks neither at the mode nor behind it if there are more words."""
    return lambda session, args: handler(session, args if len(args) <= WITH_MODE else args[:3])


wrap_in_versions("valkey-8.1+", "client|pause", with_more_words)


# Words that Valkey looks at more closely

TYPES: Final = frozenset(TYPE_NAMES.values())


def with_known_types(handler: Handler) -> Handler:
    """SCAN, whose TYPE must be one that there is."""

    def run(session: Session, args: list[bytes]) -> Reply:
        read_cursor(args[1])
        for at in range(2, len(args) - 1, 2):
            word, operand = args[at].upper(), args[at + 1]
            if word == b"TYPE" and operand.lower() not in TYPES:
                raise CommandError(unknown_type(operand))
            if word not in {b"TYPE", b"MATCH"} and (word != b"COUNT" or (parse_integer(operand) or 0) < 1):
                break
        return handler(session, args)

    return run


wrap_in_versions("valkey-8.1+", "scan", with_known_types)
for name, at in (("scan", 1), ("hscan", 2), ("sscan", 2), ("zscan", 2)):
    wrap_in_versions("7.4+ valkey-8.1+", name, partial(with_cursor_of_7_4, at=at))


def pops_from_first_key(handler: Handler) -> Handler:
    """A blocking pop, which since 7.2 looks at all of its keys again, in their order, when one is ready."""

    def run(session: Session, args: list[bytes]) -> Reply:
        before = session.waiter
        reply = handler(session, args)
        waiter = session.waiter
        if waiter is not None and waiter is not before and len(waiter.keys) > 1:
            serve, keys, kind = waiter.serve, waiter.keys, waiter.waits_for

            def serve_first(db: Database, key: bytes, value: object) -> Reply:
                found = ((each, db.lookup_write(each)) for each in keys)
                key, value = next((pair for pair in found if pair[1] is not None), (key, value))
                if type(value) is not kind:
                    raise CommandError(WRONG_TYPE)
                return serve(db, key, value)

            waiter.serve = serve_first
        return reply

    return run


wrap_in_versions("7.2+", "blpop brpop blmpop bzpopmin bzpopmax bzmpop", pops_from_first_key)
