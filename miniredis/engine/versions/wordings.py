"""What other versions than the default one say of errors, where they say it in other words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..acl import acl_errors
from ..declarations.registry import instead_of
from ..declarations.rewording import Made, Said, only_in, reworded
from ..numbers.numbers import parse_integer
from ..protocol import errors
from ..replication import replication_errors
from ..scripts import script_errors
from ..values.stream_ids import read_strict_id
from .version import OLD

# Errors that any command may have: the function that makes the text in 7.0, and what stands in for it


def old_unknown_subcommand(command: bytes, subcommand: bytes) -> bytes:
    text = b"ERR Unknown subcommand or wrong number of arguments for '%b'. Try %b HELP."
    return text % (errors.until_nul(subcommand), command.upper())


def unknown_subcommand_of_6_0(command: bytes, subcommand: bytes) -> bytes:
    text = old_unknown_subcommand(command, subcommand)
    return text.removesuffix(b".") if command in {b"client", b"memory"} else text


def old_unknown_command(args: list[bytes]) -> bytes:
    shown = errors.shown_arguments(args[1:], b"`%b`, ")
    return b"ERR unknown command `%b`, with args beginning with: %b" % (errors.until_nul(args[0]), shown)


def old_subcommand_or_arity(subcommand: bytes, command: bytes) -> bytes:
    return errors.subcommand_or_arity(subcommand, command).replace(b"unknown", b"Unknown", 1)


def old_only_for_listeners(command: bytes) -> bytes:
    return errors.only_for_listeners(command.partition(b"|")[0]).replace(b"(P|S)", b"(P)")


def no_acl_file_of_valkey() -> bytes:
    said = acl_errors.no_acl_file().replace(b"This Redis instance", b"This instance")
    return said.replace(b"a Redis configuration", b"a configuration").replace(b"the Redis conf", b"the conf")


OF_ANY: Final[tuple[tuple[str, Any, Callable[..., bytes]], ...]] = (
    (OLD, errors.unknown_command, old_unknown_command),
    ("6.2", errors.unknown_subcommand, old_unknown_subcommand),
    ("6.0", errors.unknown_subcommand, unknown_subcommand_of_6_0),
    (OLD, errors.subcommand_or_arity, old_subcommand_or_arity),
    (OLD, errors.invalid_expire, lambda command: b"ERR invalid expire time in " + command),
    ("6.2", errors.only_for_listeners, old_only_for_listeners),
    ("6.0", errors.only_for_listeners, lambda name: old_only_for_listeners(name).replace(b" / RESET", b"")),
    ("6.0", errors.wrong_password, lambda: b"WRONGPASS invalid username-password pair"),
    (OLD, acl_errors.no_command_right, lambda user, name: (
        b"NOPERM this user has no permissions to run the '%b' command or its subcommand" % name
    )),
    ("7.2+", acl_errors.no_command_right, lambda user, name: (
        b"NOPERM User %b has no permissions to run the '%b' command" % (user, name)
    )),
    ("7.2+", acl_errors.no_key_right, lambda user, key: b"NOPERM No permissions to access a key"),
    ("7.2+", acl_errors.no_channel_right, lambda *about: b"NOPERM No permissions to access a channel"),
    ("valkey-8.1+", acl_errors.no_acl_file, no_acl_file_of_valkey),
    ("valkey-9.1+", errors.not_in_transaction, lambda command: (
        b"ERR Command '%b' not allowed inside a transaction" % command
    )),
)  # fmt: skip
for versions, function, other in OF_ANY:
    instead_of(function, versions)(other)

# Errors of some commands


def timeout(place: int) -> Made:
    """What is said of a timeout: 7.0 takes one that is too large for a negative one."""
    texts = errors.TIMEOUT_OUT_OF_RANGE, errors.TIMEOUT_NEGATIVE
    return lambda args: texts[args[place].startswith(b"-")]


def if_integer(place: int, text: bytes) -> Made:
    """What is said of a word that is an integer."""
    return lambda args: errors.NOT_AN_INTEGER if parse_integer(args[place]) is None else text


def of_swapdb(args: list[bytes]) -> bytes:
    """What is said of two indexes: the first that is no integer is refused; otherwise one is out of range."""
    texts = zip((errors.FIRST_DB_INDEX, errors.SECOND_DB_INDEX), args[1:], strict=True)
    return next((text for text, word in texts if parse_integer(word) is None), errors.DB_INDEX)


def of_lpos(args: list[bytes]) -> bytes:
    """What is said of the first option of LPOS that is wrong: it is no integer, or negative."""
    texts = {b"MAXLEN": errors.MAXLEN_NEGATIVE, b"COUNT": errors.COUNT_NEGATIVE}
    options = zip(args[3::2], map(parse_integer, args[4::2]), strict=False)
    wrong = ((word.upper(), number) for word, number in options if number is None or number < 0)
    return next(
        errors.NOT_AN_INTEGER if number is None else texts[word]
        for word, number in wrong
        if number is None or word in texts
    )


def place_of(option: bytes, args: list[bytes]) -> int:
    """Where XREAD or XREADGROUP has an option; a group or a consumer may have the same name."""
    words = [word.upper() for word in args]
    group = words.index(b"GROUP") if words[0] == b"XREADGROUP" and b"GROUP" in words else len(words)
    return next(at for at, word in enumerate(words) if word == option and not group < at <= group + 2)


def of_streams(ids: bytes) -> dict[bytes, Said]:
    """What XREAD and XREADGROUP say of timeouts, and of keys without ids."""
    return {
        errors.TIMEOUT_NEGATIVE: lambda args: timeout(place_of(b"BLOCK", args) + 1)(args),
        errors.UNBALANCED_STREAMS: lambda args: errors.unbalanced_streams(args[0].lower(), ids),
    }


def plus_in_group(args: list[bytes]) -> bytes:
    """What XREADGROUP says of an id that is wrong; it may be ``+``, unless one before it is wrong, too."""
    places = args[place_of(b"STREAMS", args) + 1 :]
    for word in places[len(places) // 2 :]:
        if word == b"+":
            return errors.PLUS_IN_GROUP
        if word not in {b">", b"$"}:
            read_strict_id(word)
    return errors.INVALID_STREAM_ID


RADIUS: Final = "georadius georadiusbymember"
UNITED: Final = f"geodist {RADIUS} georadius_ro georadiusbymember_ro geosearch geosearchstore"
STORED, STORED_SEARCH = errors.stored_details(is_search=False), errors.stored_details(is_search=True)
OLD_STORED: Final = STORED.replace(b"COORD ", b"COORDS ")
OLD_ARITY: Final = b"ERR wrong number of arguments for "
INDEX: Final = (errors.NOT_AN_INTEGER, errors.outside(-(2**31), 2**31 - 1), errors.DB_INDEX)

for versions, names, words in (
    # Until 6.2
    (OLD, "mset", {errors.wrong_arity(b"mset"): OLD_ARITY + b"MSET"}),
    (OLD, "msetnx", {errors.wrong_arity(b"msetnx"): OLD_ARITY + b"MSET"}),
    (OLD, "xadd", {errors.wrong_arity(b"xadd"): OLD_ARITY + b"XADD"}),
    (OLD, UNITED, {errors.UNIT: b"ERR unsupported unit provided. please use m, km, ft, mi"}),
    (OLD, "lpos", {errors.RANK_ZERO: (
        b"ERR RANK can't be zero: use 1 to start from the first match, 2 from the second, ..."
    )}),
    (OLD, RADIUS, {STORED: OLD_STORED}),
    (OLD, "geosearchstore", {STORED_SEARCH: OLD_STORED}),
    ("6.0", "lpos", dict.fromkeys((errors.MAXLEN_NEGATIVE, errors.COUNT_NEGATIVE), of_lpos)),
    ("6.0", "script|debug", {script_errors.SCRIPT_DEBUG: b"ERR Use SCRIPT DEBUG yes/sync/no"}),
    ("6.0", "hello", {errors.PROTOCOL_NOT_AN_INTEGER: b"NOPROTO unsupported protocol version"}),
    ("6.0", "select", {INDEX[0]: b"ERR invalid DB index", INDEX[1]: errors.DB_INDEX}),
    ("6.0", "move", dict.fromkeys(INDEX, errors.INDEX_OUT_OF_RANGE)),
    ("6.0", "swapdb", {errors.FIRST_DB_INDEX: of_swapdb, errors.SECOND_DB_INDEX: of_swapdb}),
    ("6.0", "geoadd", {errors.SYNTAX: (
        errors.SYNTAX + b". Try GEOADD key [x1] [y1] [name1] [x2] [y2] [name2] ... "
    )}),
    ("6.0", "xtrim", {errors.STREAM_NO_STRATEGY: b"ERR XTRIM called without an option to trim the stream"}),
    ("6.0", "spop", {errors.NOT_POSITIVE: if_integer(2, errors.INDEX_OUT_OF_RANGE)}),
    # Since 7.2
    ("7.2+", "blpop brpop bzpopmin bzpopmax blmove brpoplpush", {errors.TIMEOUT_NEGATIVE: timeout(-1)}),
    ("7.2+", "blmpop bzmpop", {errors.TIMEOUT_NEGATIVE: timeout(1)}),
    ("7.2+", "xreadgroup", of_streams(b"an ID or '>'")),
    ("7.2 7.4 valkey-8.1+", "xread", of_streams(b"an ID or '$'")),
    ("8.0", "xread", of_streams(b"an ID, '+', or '$'")),
    ("7.4+ valkey-8.1+", "xreadgroup", {errors.INVALID_STREAM_ID: plus_in_group}),
    ("7.2+", "hello", {
        errors.HELLO_WITHOUT_AUTH: errors.HELLO_WITHOUT_AUTH.replace(b"HELLO AUTH", b"HELLO <proto> AUTH")
    }),
    ("7.4+ valkey-8.1+", "scan sscan zscan", {errors.SYNTAX: only_in(b"NOVALUES", b"HSCAN")}),
    ("valkey-8.1+", "scan sscan hscan", {errors.SYNTAX: only_in(b"NOSCORES", b"ZSCAN")}),
    ("valkey-8.1+", "wait", {replication_errors.WAIT_ON_REPLICA: replication_errors.WAIT_ON_VALKEY_REPLICA}),
    ("valkey-8.1+", "evalsha evalsha_ro", {script_errors.NO_SCRIPT: errors.NO_MATCHING_SCRIPT}),
    ("valkey-9.1+", "georadiusbymember georadiusbymember_ro", {
        errors.NO_PLACE: lambda args: errors.no_member(args[2])
    }),
):  # fmt: skip
    reworded(versions, names, words)

for name in ("zunionstore", "zinterstore", "zunion", "zinter", "zdiff", "zdiffstore"):
    for versions, shown in (("6.2", name), ("6.0", "ZUNIONSTORE/ZINTERSTORE")):
        said = b"ERR at least 1 input key is needed for " + shown.encode()
        reworded(versions, name, {errors.no_input_key(name.encode()): said})
