"""What 6.0 and 6.2 checked in another order than 7.0 does, or refused in other words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..cluster import cluster_errors
from ..commands.expiry import too_far
from ..commands.server.introspection import command_info
from ..commands.server.watching import slowlog_get
from ..commands.streams.pending import MOST_CLAIMED
from ..commands.strings.strings import increment
from ..declarations.registry import (
    DECLARED,
    Handler,
    chosen,
    in_versions,
    instead_of,
    variant,
    wrap_in_versions,
)
from ..keyspace.events import LETTERS
from ..keyspace.keyspace import SORTED_SET, STREAM, STRING
from ..numbers.numbers import MAX, MIN, parse_integer, read_integer
from ..protocol import errors
from ..protocol.errors import CommandError
from ..scripts import script_errors
from ..values.entry_ranges import read_members, read_scores
from ..values.stream_nodes import wrapped
from .variants import OLD, always, old_unknown_subcommand, reworded
from .version import versions_in

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..protocol.replies import Reply

RANK_ZERO: Final = b"ERR RANK can't be zero: use 1 to start from the first match, 2 from the second, ..."
SCRIPT_DEBUG: Final = b"ERR Use SCRIPT DEBUG yes/sync/no"
NO_INPUT_KEY: Final = b"ERR at least 1 input key is needed for "
BAD_PROTOCOL: Final = b"NOPROTO unsupported protocol version"
BAD_DB: Final = b"ERR invalid DB index"
BAD_GEOADD: Final = errors.SYNTAX + b". Try GEOADD key [x1] [y1] [name1] [x2] [y2] [name2] ... "

RADIUS: Final = "georadius georadiusbymember"
STORED, STORED_SEARCH = errors.stored_details(is_search=False), errors.stored_details(is_search=True)


def unless_integer(text: bytes, at: int) -> Callable[[list[bytes]], bytes]:
    """What is said of a word: one that is no integer is refused as such."""
    return lambda args: text if parse_integer(args[at]) is not None else errors.NOT_AN_INTEGER


def unless_index(text: bytes, at: int) -> Callable[[list[bytes]], bytes]:
    """What is said of a word: an integer is refused because there is no such database."""
    return lambda args: text if parse_integer(args[at]) is None else errors.DB_INDEX


INDEX: Final = (errors.NOT_AN_INTEGER, errors.outside(-(2**31), 2**31 - 1), errors.DB_INDEX)

for versions, names, words in (
    (OLD, "lpos", {errors.RANK_ZERO: always(RANK_ZERO)}),
    (OLD, RADIUS, {STORED: always(STORED.replace(b"COORD ", b"COORDS "))}),
    (OLD, "geosearchstore", {STORED_SEARCH: always(STORED.replace(b"COORD ", b"COORDS "))}),
    ("6.0", "lpos", {errors.MAXLEN_NEGATIVE: lambda args: negative(args, b"MAXLEN")}),
    ("6.0", "lpos", {errors.COUNT_NEGATIVE: lambda args: negative(args, b"COUNT")}),
    ("6.0", "script|debug", {script_errors.SCRIPT_DEBUG: always(SCRIPT_DEBUG)}),
    ("6.0", "hello", {errors.PROTOCOL_NOT_AN_INTEGER: always(BAD_PROTOCOL)}),
    ("6.0", "select", {INDEX[0]: always(BAD_DB), INDEX[1]: always(errors.DB_INDEX)}),
    ("6.0", "move", dict.fromkeys(INDEX, always(errors.INDEX_OUT_OF_RANGE))),
    ("6.0", "swapdb", {errors.FIRST_DB_INDEX: unless_index(errors.FIRST_DB_INDEX, 1)}),
    ("6.0", "swapdb", {errors.SECOND_DB_INDEX: unless_index(errors.SECOND_DB_INDEX, 2)}),
    ("6.0", "geoadd", {errors.SYNTAX: always(BAD_GEOADD)}),
    ("6.0", "spop", {errors.NOT_POSITIVE: unless_integer(errors.INDEX_OUT_OF_RANGE, 2)}),
):  # fmt: skip
    reworded(versions, names, words)


def negative(args: list[bytes], option: bytes) -> bytes:
    """What 6.0 says of an option of LPOS."""
    place = next(at for at, word in enumerate(args) if at > 2 and word.upper() == option) + 1
    text = errors.MAXLEN_NEGATIVE if option == b"MAXLEN" else errors.COUNT_NEGATIVE
    return text if parse_integer(args[place]) is not None else errors.NOT_AN_INTEGER


for name in ("zunionstore", "zinterstore", "zunion", "zinter", "zdiff", "zdiffstore"):
    said = errors.no_input_key(name.encode())
    reworded("6.2", name, {said: always(NO_INPUT_KEY + name.encode())})
    reworded("6.0", name, {said: always(NO_INPUT_KEY + b"ZUNIONSTORE/ZINTERSTORE")})


# Subcommands, which their commands knew themselves

NOT_IN_CAPITALS: Final = b"ERR unknown subcommand or wrong number of arguments"

XGROUPS: Final = ("create", "setid", "destroy", "delconsumer", "createconsumer")
XINFOS: Final = ("groups", "consumers", "stream", "help")
ARITIES: Final = {
    "command|getkeys": -3,
    "config|get": 3,
    "config|set": 4,
    "script|exists": -2,
    "client|caching": -3,
    **dict.fromkeys(map("xgroup|{}".format, XGROUPS), -4),
}
"""How many words subcommands took where 7.0 takes others."""

OF_XINFO: Final = [f"xinfo|{name}" for name in XINFOS]
ARITIES_OF: Final = {
    "6.0": {**ARITIES, "client|pause": 3, "script|flush": 2, **dict.fromkeys(OF_XINFO, -2)},
    "6.2": {**ARITIES, **dict.fromkeys(OF_XINFO, -3), "xinfo|help": -2},
}


def refused_part(session: Session, args: list[bytes]) -> Reply:
    """A subcommand that there is not: its command refuses it when it runs, also in a transaction."""
    command = args[0].lower()
    if command == b"cluster" and session.engine.cluster is None:
        raise CommandError(cluster_errors.NO_CLUSTER)
    if (command, args[1].upper()) == (b"client", b"KILL"):
        raise CommandError(errors.SYNTAX)
    if command == b"xgroup" and len(args) > 3 and session.db.lookup_write(args[2], STREAM) is None:
        raise CommandError(errors.XGROUP_NO_KEY)
    raise CommandError(chosen(session.engine.version, errors.unknown_subcommand)(command, args[1]))


def counting_words(handler: Handler, arity: int) -> Handler:
    """A subcommand that counts its words, and refuses what it does not know, in the same words."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if len(args) < abs(arity) or len(args) > arity > 0:
            return refused_part(session, args)
        try:
            return handler(session, args)
        except CommandError as error:
            if not error.message.startswith(NOT_IN_CAPITALS):
                raise
            return refused_part(session, args)

    return run


@in_versions(OLD, "command|info")
def named_commands(session: Session, args: list[bytes]) -> Reply:
    """COMMAND INFO, which without a name describes none."""
    return command_info(session, args) if len(args) > 2 else []


@in_versions(OLD, "slowlog|get")
def slowlog_get_of_6(session: Session, args: list[bytes]) -> Reply:
    """SLOWLOG GET, to which every negative number means all."""
    shown = args
    if len(args) == 3 and read_integer(args[2]) < 0:
        shown = [*args[:2], b"-1"]
    return slowlog_get(session, shown)


@in_versions(OLD, "decrby")
def decrby_of_6(session: Session, args: list[bytes]) -> Reply:
    """DECRBY, to which the lowest number is its own opposite."""
    amount = read_integer(args[2])
    return increment(session, args[1], -amount if amount != MIN else MIN)


# CONFIG SET

FAILED: Final = re.compile(rb"ERR CONFIG SET failed \(possibly related to argument '[^']*'\) - (.*)", re.S)
UNEXPLAINED: Final = {b"notify-keyspace-events", b"save"}


def one_directive(handler: Handler) -> Handler:
    """CONFIG SET in the words of 6.x; keyspace events have no class ``n``."""

    def run(session: Session, args: list[bytes]) -> Reply:
        name = args[2].lower()
        refusal = b"ERR Invalid argument '%b' for CONFIG SET '%b'" % (args[3], args[2])
        if name == b"notify-keyspace-events" and not set(args[3].decode("latin-1")) <= LETTERS - {"n"}:
            raise CommandError(refusal)
        try:
            return handler(session, args)
        except CommandError as error:
            if error.message.startswith(b"ERR Unknown option or number of arguments for CONFIG SET"):
                raise CommandError(b"ERR Unsupported CONFIG parameter: " + args[2]) from None
            if found := FAILED.fullmatch(error.message):
                reason = b"" if name in UNEXPLAINED else b" - " + found[1]
                raise CommandError(refusal + reason) from None
            raise

    return run


wrap_in_versions(OLD, "config|set", one_directive)


# Streams

INCOMPLETE: Final = re.compile(rb"\d+-\*")
OPERANDS: Final = {b"NOMKSTREAM": 0, b"LIMIT": 1, b"MAXLEN": 1, b"MINID": 1}


def without_partial_ids(handler: Handler) -> Handler:
    """XADD, which makes whole ids only."""

    def run(session: Session, args: list[bytes]) -> Reply:
        at = 2
        while at < len(args) and (operands := OPERANDS.get(args[at].upper())) is not None:
            at += 1 + operands + (operands > 0 and args[at + 1 : at + 2] in ([b"="], [b"~"]))
        if at < len(args) and INCOMPLETE.fullmatch(args[at]):
            args = [*args[:at], b"-", *args[at + 1 :]]  # the handler refuses it, once it has read the options
        return handler(session, args)

    return run


def with_lengths_only(handler: Handler) -> Handler:
    """XADD, which knows no option but MAXLEN; the last one counts."""

    def run(session: Session, args: list[bytes]) -> Reply:
        at, option, is_right = 2, args[2:2], True
        while is_right and at < len(args) and args[at].upper() == b"MAXLEN":
            end = at + (3 if args[at + 1 : at + 2] in ([b"="], [b"~"]) else 2)
            option, at = args[at:end], end
            is_right = (parse_integer(option[-1]) or 0) >= 0 and option[-1].isdigit()
        if is_right and at < len(args) and args[at].upper() in OPERANDS:
            raise CommandError(errors.INVALID_STREAM_ID)
        return handler(session, [*args[:2], *option, *args[at:]])

    return run


def with_closed_bounds(handler: Handler, first: int, count_at: int = 0) -> Handler:
    """A command without bounds that leave their entry out; a count, if it needs one, is looked at first."""

    def run(session: Session, args: list[bytes]) -> Reply:
        has_count = not count_at or parse_integer(args[count_at] if count_at < len(args) else b"") is not None
        if has_count and any(bound.startswith(b"(") for bound in args[first : first + 2]):
            raise CommandError(errors.INVALID_STREAM_ID)
        return handler(session, args)

    return run


def with_key_first(handler: Handler, sizes: range, *, needs_group: bool) -> Handler:
    """A subcommand of XGROUP, which looks at the key and the group before it counts its words."""

    def run(session: Session, args: list[bytes]) -> Reply:
        stream: Any = session.db.lookup_write(args[2], STREAM)
        makes = len(args) == 6 and args[1].upper() == b"CREATE"
        if makes and args[5].upper() != b"MKSTREAM":
            raise CommandError(old_unknown_subcommand(b"xgroup", args[1]))
        if stream is None and not makes:
            raise CommandError(errors.XGROUP_NO_KEY)
        if needs_group and args[3] not in stream.groups:
            raise CommandError(errors.no_group_of_key(args[2], args[3]))
        if len(args) not in sizes:
            raise CommandError(old_unknown_subcommand(b"xgroup", args[1]))
        return handler(session, args)

    return run


def with_stream_first(handler: Handler, sizes: range) -> Handler:
    """A subcommand of XINFO, which does the same."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if len(args) < 3:
            raise CommandError(errors.SYNTAX + b", try 'XINFO HELP'")
        if session.db.lookup_read(args[2], STREAM) is None:
            raise CommandError(errors.NO_SUCH_KEY)
        if len(args) not in sizes:
            raise CommandError(old_unknown_subcommand(b"xinfo", args[1]))
        return handler(session, args)

    return run


wrap_in_versions(OLD, "xadd", without_partial_ids)
for name, sizes, needs_group in (
    ("create", range(5, 7), False),
    ("setid", range(5, 6), True),
    ("destroy", range(4, 5), False),
    ("delconsumer", range(5, 6), True),
    ("createconsumer", range(5, 6), True),
):
    wrap_in_versions(OLD, f"xgroup|{name}", partial(with_key_first, sizes=sizes, needs_group=needs_group))
for name, sizes in (("groups", range(3, 4)), ("consumers", range(4, 5)), ("stream", range(3, 99))):
    wrap_in_versions(OLD, f"xinfo|{name}", partial(with_stream_first, sizes=sizes))
wrap_in_versions("6.0", "xadd", with_lengths_only)
wrap_in_versions("6.0", "xrange xrevrange", partial(with_closed_bounds, first=2))
wrap_in_versions("6.0", "xpending", partial(with_closed_bounds, first=3, count_at=5))


def if_there(handler: Handler, kind: object, nothing: object) -> Handler:
    """A command that looks at its key before it looks at the rest of its request."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if session.db.lookup_read(args[1], kind) is None:  # type: ignore[call-overload]
            return nothing  # type: ignore[return-value]
        return handler(session, args)

    return run


wrap_in_versions("6.0", "xtrim", partial(if_there, kind=STREAM, nothing=0))
wrap_in_versions(OLD, "bitcount", partial(if_there, kind=STRING, nothing=0))
for name in ("georadius", "georadius_ro", "georadiusbymember", "georadiusbymember_ro"):
    wrap_in_versions("6.0", name, partial(if_there, kind=SORTED_SET, nothing=[]))


def bitpos_of_nothing(handler: Handler) -> Handler:
    """BITPOS, which looks at nothing behind the bit if there is no such key."""

    def run(session: Session, args: list[bytes]) -> Reply:
        is_bit = args[2] in {b"0", b"1"}
        is_there = not is_bit or session.db.lookup_read(args[1], STRING) is not None
        return handler(session, args if is_bit and is_there else args[:3])

    return run


wrap_in_versions(OLD, "bitpos", bitpos_of_nothing)


SHAPES: Final = {b"BYRADIUS": 2, b"BYBOX": 3}
"""How far behind these words units are."""


def with_small_units(handler: Handler, at: int) -> Handler:
    """A command that knows its unit, here or behind a shape, in small letters only."""

    def run(session: Session, args: list[bytes]) -> Reply:
        shapes = (place + SHAPES[word.upper()] for place, word in enumerate(args) if word.upper() in SHAPES)
        place = at or next(shapes, len(args))
        unit = args[place : place + 1]
        return handler(
            session, [*args[:place], *(each if each.islower() else b"-" for each in unit), *args[place + 1 :]]
        )

    return run


for names, at in (
    ("geodist georadiusbymember georadiusbymember_ro", 4),
    ("georadius georadius_ro", 5),
    ("geosearch geosearchstore", 0),
):
    wrap_in_versions(OLD, names, partial(with_small_units, at=at))


def with_any_batch(handler: Handler) -> Handler:
    """XAUTOCLAIM, which takes any positive COUNT."""

    def run(session: Session, args: list[bytes]) -> Reply:
        counts = [at for at in range(7, len(args)) if args[at - 1].upper() == b"COUNT"]
        large = [at for at in counts if (parse_integer(args[at]) or 0) > MOST_CLAIMED]
        return handler(
            session, [b"%d" % MOST_CLAIMED if at in large else word for at, word in enumerate(args)]
        )

    return run


wrap_in_versions("6.2", "xautoclaim", with_any_batch)


# Sorted sets


def with_early_bounds(handler: Handler, read: Callable[[bytes, bytes], object]) -> Handler:
    """A command that looks at its bounds before it looks at its options."""

    def run(session: Session, args: list[bytes]) -> Reply:
        read(args[2], args[3])
        return handler(session, args)

    return run


def read_ranks(start: bytes, stop: bytes) -> None:
    read_integer(start)
    read_integer(stop)


for names, read in (
    ("zrange zrevrange", read_ranks),
    ("zrangebyscore", read_scores),
    ("zrevrangebyscore", lambda stop, start: read_scores(start, stop)),
    ("zrangebylex", read_members),
    ("zrevrangebylex", lambda stop, start: read_members(start, stop)),
):
    wrap_in_versions("6.0", names, partial(with_early_bounds, read=read))


def with_any_count(handler: Handler) -> Handler:
    """ZPOPMIN and ZPOPMAX, which take a negative count for none."""

    def run(session: Session, args: list[bytes]) -> Reply:
        return [] if len(args) == 3 and read_integer(args[2]) <= 0 else handler(session, args)

    return run


wrap_in_versions(OLD, "zpopmin zpopmax", with_any_count)


def with_comparisons_as_scores(handler: Handler) -> Handler:
    """ZADD without GT and LT, which are scores that are no numbers."""

    def run(session: Session, args: list[bytes]) -> Reply:
        first = next((at for at in range(2, len(args)) if args[at].upper() not in OF_ZADD), len(args))
        pairs, odd = divmod(len(args) - first, 2)
        options = {word.upper() for word in args[2:first]}
        if pairs and not odd and args[first].upper() in {b"GT", b"LT"} and not {b"NX", b"XX"} <= options:
            is_too_much = b"INCR" in options and pairs > 1
            raise CommandError(errors.INCR_OF_SEVERAL if is_too_much else errors.NOT_A_FLOAT)
        return handler(session, args)

    return run


OF_ZADD: Final = {b"NX", b"XX", b"CH", b"INCR"}
wrap_in_versions("6.0", "zadd", with_comparisons_as_scores)


# Times


@instead_of(too_far, "6.0")
def wraps(session: Session, command: bytes, milliseconds: int, relative: bool) -> int:
    """A time beyond 64 bits, which 6.0 wraps; what SET and the like wrap into the past never expires."""
    when = wrapped(wrapped(milliseconds) + (session.engine.now.milliseconds if relative else 0))
    return when if when > 0 or command.rstrip(b"at").endswith(b"expire") else MAX


# Last: subcommands count their words before they do anything else

wrap_in_versions(OLD, "debug", partial(counting_words, arity=-2))
for version in versions_in(OLD):
    for declared in tuple(DECLARED.values()):
        container, bar, _ = declared.name.decode().partition("|")
        if bar and declared.is_in(version):
            arity = ARITIES_OF[version.name].get(declared.name.decode(), declared.arity)
            wrap_in_versions(version.name, declared.name.decode(), partial(counting_words, arity=arity))
            variant(version.name, declared.name.decode(), arity=-2)
            variant(version.name, container, unknown_part=refused_part)
