"""What stands for an argument: a valid value, and how its text or its magnitude can grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from miniredis.engine.declarations.syntax import Argument

__all__ = ["NAMED", "contents", "magnitudes", "value"]

Value = Callable[[int, int], bytes]
"""A value from which one it is of several, and how many elements the key has."""

Content = Callable[[int], bytes]
"""A text of so many bytes, or a number of that size."""


def element(i: int, n: int) -> bytes:
    return b"e%d" % i


def name_of_key(i: int, n: int) -> bytes:
    return b"k%d" % i if i else b"k"


def always(word: bytes) -> Value:
    return lambda i, n: word


def number(i: int, n: int) -> bytes:
    return b"%d" % i


def entry(i: int, n: int) -> bytes:
    return b"%d-1" % (i + 1)


def longitude(i: int, n: int) -> bytes:
    return b"%.6f" % (i * 7919 % 3599 / 10 - 179.9)


def latitude(i: int, n: int) -> bytes:
    return b"%.6f" % (i * 104729 % 1699 / 10 - 84.9)


BY_KIND: Final[Mapping[str, Value]] = {
    "key": name_of_key,
    "string": element,
    "integer": always(b"1"),
    "double": always(b"1"),
    "pattern": always(b"*"),
    "unix-time": always(b"4000000000"),
}

SCORES: Final = {"min": always(b"-inf"), "max": always(b"+inf")}
MEMBERS: Final = {"min": always(b"-"), "max": always(b"+")}
IDS: Final = {"start": always(b"-"), "end": always(b"+"), "id": entry}

BY_NAME: Final[Mapping[str, Value]] = {
    "auto_id": always(b"*"),
    "category": always(b"list"),
    "client-id": lambda i, n: b"%d" % (i + 1_000_000),
    "command-name": always(b"get"),
    "consumer": always(b"c0"),
    "consumername": always(b"c0"),
    "count": always(b"10"),
    "cursor": always(b"0"),
    "destination": always(b"d"),
    "destination-db": always(b"0"),
    "destkey": always(b"d"),
    "dst": always(b"d"),
    "encoding": always(b"u8"),
    "end": always(b"-1"),
    "function-code": always(b"#!lua name=l\nredis.register_function('f', function() return 1 end)"),
    "group": always(b"g"),
    "groupname": always(b"g"),
    "height": always(b"40000"),
    "index": lambda i, n: b"%d" % (n // 2),
    "index1": always(b"0"),
    "index2": always(b"1"),
    "ip:port": always(b"1.2.3.4:5"),
    "latitude": latitude,
    "lex-max": always(b"+"),
    "lex-min": always(b"-"),
    "limit": always(b"0"),
    "longitude": longitude,
    "min-idle-time": always(b"0"),
    "milliseconds": always(b"100000"),
    "unix-time-milliseconds": always(b"4000000000000"),
    "newkey": always(b"d"),
    "num-matches": always(b"0"),
    "numreplicas": always(b"0"),
    "operation": always(b"AND"),
    "parameter": always(b"slowlog-max-len"),
    "protover": always(b"2"),
    "radius": always(b"20000"),
    "score": number,
    "score-max": always(b"+inf"),
    "score-min": always(b"-inf"),
    "script": always(b"return 1"),
    "seconds": always(b"100000"),
    "section": always(b"server"),
    "start": always(b"0"),
    "stop": always(b"-1"),
    "sha1": lambda i, n: b"%040x" % i,
    "threshold": lambda i, n: b"%d" % (n // 2),
    "timeout": always(b"1"),
    "ttl": always(b"0"),
    "type": always(b"list"),
    "username": always(b"default"),
    "width": always(b"40000"),
    "yes/no": always(b"yes"),
}
"""Valid values by the name of an argument, where its kind tells too little."""

BY_SCOPE: Final[Mapping[str, Mapping[str, Value]]] = {
    "stream": IDS,
    "config|set": {"value": always(b"100")},
    "setbit": {"value": always(b"1")},
    "bitfield": {"value": always(b"1"), "operation": always(b"GET")},
    "xreadgroup": {"id": always(b">"), "milliseconds": always(b"1")},
    "xread": {"id": always(b"0"), "milliseconds": always(b"1")},
    "xautoclaim": {"start": always(b"-")},
    "xgroup|create": {"id": always(b"0"), "groupname": always(b"new")},
    "xgroup|setid": {"id": always(b"0")},
    "xadd": {"id": always(b"99999999-1")},
    "xsetid": {"last-id": always(b"99999999-1"), "max_deleted_entry_id": always(b"0-1")},
    "zrangebylex": MEMBERS,
    "zrevrangebylex": MEMBERS,
    "zlexcount": MEMBERS,
    "zremrangebylex": MEMBERS,
    "zrangebyscore": SCORES,
    "zrevrangebyscore": SCORES,
    "zcount": SCORES,
    "zremrangebyscore": SCORES,
    "zrangestore": {"min": always(b"0"), "max": always(b"-1")},
    "wait": {"timeout": always(b"1")},
    "pfdebug": {"subcommand": always(b"getreg")},
    "sort": {"pattern": always(b"e*")},
    "sort_ro": {"pattern": always(b"e*")},
    "lpos": {"len": always(b"0")},
    "lcs": {"len": always(b"1")},
    "hello": {"password": always(b"p"), "username": always(b"default")},
    "client|kill": {"username": always(b"nobody")},
    "eval": {"numkeys": always(b"0")},
}
"""The same where a command, or a group of commands, means something else by the name."""


def value(argument: Argument, command: str, group: str, i: int, n: int) -> bytes:
    """A valid value of an argument: the ``i``-th of several, for a key of ``n`` elements."""
    for scope in (command, group):
        if found := BY_SCOPE.get(scope, {}).get(argument.name):
            return found(i, n)
    return (BY_NAME.get(argument.name) or BY_KIND[argument.kind])(i, n)


def repeated(word: bytes) -> Content:
    return lambda n: (word * (n // len(word) + 1))[:n]


def around(before: bytes, word: bytes, after: bytes = b"") -> Content:
    return lambda n: before + word * n + after


TEXTS: Final[dict[str, Content]] = {
    "letters": repeated(b"x"),
    "zero bytes": repeated(b"\0"),
}
CONTENTS: Final[dict[str, Content]] = {
    **TEXTS,
    "digits and a letter": around(b"", b"9", b"x"),
    "stars": repeated(b"*"),
    "like JSON": repeated(b'{"a": [1, '),
}
NUMBERS: Final[dict[str, Content]] = {
    "digits": repeated(b"9"),
    "digits and a letter": around(b"", b"9", b"x"),
    "zeros and a one": around(b"", b"0", b"1"),
    "spaces": around(b"", b" ", b"1"),
}
DECIMALS: Final[dict[str, Content]] = {
    **NUMBERS,
    "a fraction": around(b"0.", b"3"),
    "an exponent": around(b"1e", b"9"),
    "hexadecimal digits": around(b"0x", b"f"),
    "signs": repeated(b"-"),
    "points": repeated(b"1."),
}
PATTERNS: Final[Mapping[str, Content]] = {
    "letters": repeated(b"x"),
    "stars": repeated(b"*"),
    "stars and letters": repeated(b"*a"),
    "stars before a letter": around(b"", b"*", b"b"),
    "question marks": repeated(b"?"),
    "brackets": repeated(b"["),
    "a class": around(b"[", b"a-"),
    "backslashes": repeated(b"\\"),
}
IDENTIFIERS: Final[dict[str, Content]] = {
    "digits": repeated(b"9"),
    "two numbers": lambda n: b"9" * (n // 2) + b"-" + b"9" * (n // 2),
    "digits and a letter": around(b"", b"9", b"x"),
    "hyphens": repeated(b"-"),
}
ENDS: Final[dict[str, Content]] = {
    **DECIMALS,
    "an open end of digits": around(b"(", b"9"),
    "a member": around(b"[", b"x"),
}

KINDS: Final[Mapping[str, Mapping[str, Content]]] = {
    "key": TEXTS,
    "string": CONTENTS,
    "integer": NUMBERS,
    "unix-time": NUMBERS,
    "double": DECIMALS,
    "pattern": PATTERNS,
}

NAMED: Final[Mapping[str, Mapping[str, Content]]] = {
    "id": IDENTIFIERS,
    "last-id": IDENTIFIERS,
    "max_deleted_entry_id": IDENTIFIERS,
    "threshold": IDENTIFIERS,
    "min-idle-time": NUMBERS,
    "start": ENDS | IDENTIFIERS,
    "end": IDENTIFIERS,
    "stop": ENDS,
    "min": ENDS,
    "max": ENDS,
    "lex-min": ENDS,
    "lex-max": ENDS,
    "score-min": ENDS,
    "score-max": ENDS,
    "weight": DECIMALS,
    "increment": DECIMALS,
    "offset": NUMBERS | {"a sharp and digits": around(b"#", b"9")},
    "encoding": {"a type of digits": around(b"u", b"9"), "letters": repeated(b"x")},
    "parameter": PATTERNS,
    "command-name": CONTENTS,
    "module-name": CONTENTS,
    "library-name-pattern": PATTERNS,
    "ip:port": CONTENTS,
}
"""How an argument's text grows where its name tells more than its kind."""


def contents(argument: Argument) -> Mapping[str, Content]:
    """The texts that an argument can be, of any length."""
    if argument.kind in {"integer", "unix-time"}:
        return NAMED.get(argument.name, NUMBERS)
    return NAMED.get(argument.name) or KINDS[argument.kind]


MAGNITUDES: Final[Mapping[str, Content]] = {
    "magnitude": lambda n: b"%d" % n,
    "magnitude, negative": lambda n: b"-%d" % n,
    "magnitude, squared": lambda n: b"%d" % (n * n),
}

NUMERIC: Final = {"integer", "double", "unix-time"}


def magnitudes(argument: Argument) -> Mapping[str, Content]:
    """The numbers that an argument can be, of any size; nothing for what is no number."""
    numeric = argument.kind in NUMERIC or NAMED.get(argument.name) in (NUMBERS, DECIMALS, ENDS, IDENTIFIERS)
    return MAGNITUDES if numeric or argument.name == "start" else {}
