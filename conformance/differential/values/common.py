"""Values by the kind or the name of an argument, and whole argument lists."""

from __future__ import annotations

from typing import Final

from .dumps import DUMPS
from .messages import ASKED_FOR_EVENTS, TRACKING

__all__ = [
    "BY_KIND",
    "BY_NAME",
    "ELEMENTS",
    "FIXED",
    "INSTEAD",
    "KEYS",
    "MILLISECOND_TIMES",
    "ODD",
    "PLACES",
    "SOME_CLIENT",
    "TIMES",
]

SOME_CLIENT: Final = "<id:{}>"
"""Stands for the number of a client, which each server gives out by itself."""

KEYS: Final = ("a", "b", "c", "l")
INTEGERS: Final = (
    "0", "1", "-1", "2", "3", "-2", "-3", "5", "10", "100", "-100", "+1", "01", "-0", "1_0", " 1", "1 ",
    "1.0",
    "0x10", "1e3", "x", "", "2147483647", "2147483648", "-2147483649", "4294967296", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616",
)  # fmt: skip
DOUBLES: Final = (
    "0", "1", "-1", "0.1", "0.2", "1.5", "3.0e3", "1e5", "-1e-7", "1e17", "1e300", "1e400", "1e-5000",
    "5e-324",
    "0x1p3", "0x.8", "inf", "-inf", "+inf", "nan", "infinity", " 1", "1 ", "+1", "01", ".5", "5.", ".", "-",
    "1_0",
    "x", "", "9223372036854775807", "123456789012345678901234567890", "0.30000000000000000001",
)  # fmt: skip
STRINGS: Final = (
    "a", "b", "c", "", "5", "10", "-3", "007", "hello world", "x" * 45, "y" * 200, "1.5", "3.0", " 1", "nan",
    "9223372036854775807", "a\x00b", "a\r\nb", "\xff\xfe", "a", "b", "1", "2",
)  # fmt: skip
TIMES: Final = ("4000000000", "4000000001", "3999999999", "1", "0", "-1", "x", "9223372036854775807")
MILLISECOND_TIMES: Final = (
    "4000000000000", "4000000000500", "3999999999999", "1", "0", "-1", "x", "9223372036854775807",
)  # fmt: skip
SPANS: Final = (
    *map(str, range(100_000, 5_100_000, 10_000)),  # hardly any twice: the same again is a moment later
    *("0", "-1", "x", "9223372036854775807", "-9223372036854775808", "") * 150,
)
DATABASES: Final = (*("0", "1") * 5, "15", "16", "-1", "x", "2147483648", "9223372036854775808")
TIMEOUTS: Final = ("0", "0", "0", "0", "-0.0001", "-1", "x", "inf", "nan", "1e300", "", "9223372036854775807")

PLACES: Final = (
    "0", "1", "2", "-1", "-2", "-3", "100", "-100", "0", "-1", "x", "9223372036854775807",
    "-9223372036854775808",
)  # fmt: skip

ELEMENTS: Final = (
    *("a", "b") * 6, "c", "1", "10", "-3", "1.5", "", " 1", "nan", "x" * 65, "a\x00b", "\xff\xfe",
)  # fmt: skip

INSTEAD: Final = {"*": "4-*"}
"""What is sent in place of a word that asks for the time."""

BY_KIND: Final = {
    "key": KEYS,
    "integer": INTEGERS,
    "double": DOUBLES,
    "string": STRINGS,
    "pattern": (
        "*", "a*", "?", "[ab]", "[^a]", "\\*", "", "x", "*b*", "a[", "[a-c]", "w_*", "w_*->f",
        "*->f", "*", "#",
    ),
    "unix-time": TIMES,
}  # fmt: skip
"""Values by the kind of an argument."""

BY_NAME: Final = {
    "bit": ("0", "1", "1", "2", "-1", "x"),
    "category": ("list", "string", "LIST", "dangerous", "nosuch"),
    "client-id": (*map(SOME_CLIENT.format, range(3)), "0", "-1", "x", "99999999"),
    "clientname": ("me", "", "a b", "a\n"),
    "command": ("GET", "SET", "LMPOP", "nosuch", "MSET"),
    "command-name": ("get", "SET", "nosuch", "client|id", "client"),
    "connection-name": ("me", "", "a b", "a\n"),
    "count": ("1", "2", "3", "0", "-1", "x", "100", "9223372036854775807", "1", "2"),
    "cursor": ("0", "0", "0", "x", "-1", "18446744073709551615", "18446744073709551616", " 0", ""),
    "db": DATABASES,
    "destination-db": DATABASES,
    "element": ELEMENTS,
    "encoding": ("u8", "i8", "u1", "i64", "u63", "u64", "i65", "u0", "x", "i5", "U8"),
    "frequency": ("0", "255", "256", "-1", "x"),
    "index": ("0", "1", "-1", "-2", "2", "5", "-100", "x", "9223372036854775807"),
    "index1": DATABASES,
    "index2": DATABASES,
    "message": ("hello", ""),
    "milliseconds": SPANS,
    "unix-time-milliseconds": MILLISECOND_TIMES,
    "increment": INTEGERS + DOUBLES,
    "operation": ("AND", "OR", "XOR", "NOT", "not", "x"),
    "offset": tuple("0 1 7 8 5 100 -1 x #1 #0 4294967296 536870912".split()),
    "parameter": ("slowlog-max-len", "databases", "nosuch", "SLOWLOG-MAX-LEN"),
    "password": ("secret", "", "wrong"),
    "pivot": ELEMENTS,
    "protover": ("2", "3", "2", "3", "1", "4", "x", ""),
    "section": ("server", "CLIENTS", "nosuch", "everything"),
    "end": PLACES,
    "limit": ("0", "1", "2", "3", "100", "-1", "x", "9223372036854775807"),
    "len": ("0", "1", "2", "3", "100", "-1", "x", "9223372036854775807"),
    "num-matches": ("0", "0", "1", "2", "-1", "x", "9223372036854775807"),
    "rank": ("1", "-1", "2", "-2", "3", "-3", "0", "x", "9223372036854775807", "-9223372036854775808"),
    "seconds": SPANS,
    "serialized-value": DUMPS,
    "start": PLACES,
    "stop": PLACES,
    "timeout": TIMEOUTS,
    "ttl": ("0", "0", "100000", "-1", "x", "4100000000000", "9223372036854775807"),
    "type": ("string", "list", "hash", "set", "zset", "stream", "LIST", "nosuch"),
    "username": ("default", "nobody"),
}
"""Values by the name of an argument, where its kind tells too little."""

FIXED: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "client|kill": (
        ("ID", SOME_CLIENT.format(1)), ("ID", SOME_CLIENT.format(2), "SKIPME", "no"), ("ID", "0"), ("ID",
        "x"),
        ("TYPE", "pubsub"), ("TYPE", "nosuch"), ("USER", "nobody"), ("SKIPME", "maybe"), ("1.2.3.4:5",),
        ("ADDR", "1.2.3.4:5", "LADDR", "1.2.3.4:5"), ("ID",), ("MAXAGE", "100000"),
        ("ID", "99999999", "TYPE"),
    ),
    "client|pause": (
        ("100000", "WRITE"), ("100000", "write"), ("-1",), ("x",), ("1.5",), ("x", "ALL"), ("0", "maybe"),
        ("0", "WRITE", "x"), ("9223372036854775807", "WRITE"), ("0", "WRITE"),
    ),
    "client|reply": (("ON",), ("OFF",), ("SKIP",), ("maybe",), ()),
    "client|tracking": TRACKING,
    "command": ((), ("nosuch", "x"), ("nosuch",)),
    "command|getkeys": (
        ("GET", "a"), ("nosuch", "a"), ("GET", "a", "b"), ("MSET", "a", "1", "b"), ("LMPOP", "2", "a", "b",
        "LEFT"),
        ("LMPOP", "9", "a", "b", "LEFT"), ("LMPOP", "x", "a", "LEFT"), ("SORT", "a", "STORE", "b"), ("PING",
        "x"),
        ("SORT", "a", "GET", "STORE", "STORE", "b"), ("BITOP", "AND", "a", "b"), ("OBJECT", "ENCODING",
        "a"), (),
    ),
    "command|getkeysandflags": (
        ("SET", "a", "b"), ("SET", "a", "b", "get"), ("BITFIELD", "a", "GET", "u8", "0"), ("BITFIELD", "a",
        "x"),
        ("SORT", "a", "STORE", "b"), ("BLMPOP", "0", "1", "a", "LEFT"), ("COPY", "a", "b"), ("nosuch", "a"),
    ),
    "command|docs": (("nosuch",), ("get",), ("nosuch", "SET", "client|id")),
    "command|info": (("get",), ("nosuch",), ("SET", "nosuch", "client|id", "client")),
    "command|list": (("FILTERBY", "ACLCAT", "nosuch"), ("FILTERBY", "PATTERN", "l*"), ("FILTERBY",), ("x",)),
    "config|set": (
        ("slowlog-max-len", "64"), ("slowlog-max-len", "x"), ("slowlog-max-len", "1", "slowlog-max-len", "2"),
        ("nosuch", "1"), ("databases", "1"), ("slowlog-max-len",), ("requirepass", "secret"),
        ("requirepass", ""),
        ("maxclients", "0"), *ASKED_FOR_EVENTS,
    ),
    "debug": (
        ("SLEEP", "0"), ("OBJECT", "a"), ("OBJECT", "l"), ("OBJECT", "nokey"), ("SET-ACTIVE-EXPIRE", "0"),
        ("SET-ACTIVE-EXPIRE", "1"), ("NOSUCH",), ("SLEEP",), ("OBJECT", "a", "b"),
    ),
    "hello": (
        (), ("2",), ("3",), ("3",), ("2",), ("4",), ("x",), ("3", "AUTH", "default", "secret"), ("2",
        "SETNAME", "me"),
        ("3", "AUTH", "nobody", "x"), ("2", "AUTH", "default"), ("2", "NOSUCH"), ("3", "SETNAME", "a b"),
        ("2", "AUTH", "default", "wrong", "SETNAME", "you"), ("3", "SETNAME", "you", "AUTH", "default",
        "wrong"),
    ),
    "object|freq": (("a",), ("nokey",), ()),
    "pfdebug": (
        ("getreg", "a"), ("DECODE", "a"), ("decode", "b"), ("encoding", "a"), ("ENCODING", "c"),
        ("nosuch", "a"), ("nosuch", "nokey"), ("decode",), ("encoding", "l"), ("todense", "a"),
        ("todense", "b"), ("getreg", "nokey"),
    ),
    "quit": ((), ("now",)),
    "wait": (("0", "0"), ("1", "0"), ("x", "0"), ("0", "x"), ("0", "-1"), ("-1", "0"), ("1",)),
}  # fmt: skip
"""All argument lists of the commands that cannot be put together freely: they would stop the comparison."""

ODD: Final = ("x", "", "0", "a", "\x00")
"""What is added where nothing belongs."""
