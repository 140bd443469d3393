"""Commands with odd arguments: patterns, options, payloads, keys of any bytes, and very many of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conformance.wire import encode

from ..case import Case, commands, from_bytes, from_text

__all__ = ["VALUES"]

LONG: Final = "a" * 5000

PATTERNS: Final = {
    "many stars": "a*" * 30 + "b",
    "many stars, and a question mark": "a*" * 30 + "?b",
    "stars in a row": "*" * 200 + "b",
    "a class not closed": "[abc",
    "a class closed at once": "[]a",
    "a class that is negated and not closed": "[^",
    "a range backwards": "[z-a]*",
    "a range without an end": "[a-",
    "a backslash at the end": "aaa\\",
    "a backslash in a class": "[\\]a]*",
    "nested classes": "[[a]]*",
    "a class of many": "[" + "b" * 1000 + "a]*",
    "a caret alone": "[^]*",
    "nothing": "",
}
KEYS: Final = encode("SET", "a" * 40, "x") + encode("SET", "[abc", "x") + encode("SET", "aaa\\", "x")

GLOBS: Final = {
    f"KEYS with {name}": KEYS + encode("KEYS", pattern) + commands("DBSIZE")
    for name, pattern in PATTERNS.items()
}

KEYED: Final = {
    "a key of all bytes": encode("SET", bytes(range(256)), "x") + encode("GET", bytes(range(256))),
    "an empty key": encode("SET", "", "") + encode("GET", "") + encode("EXISTS", ""),
    "an empty key of a list": encode("RPUSH", "", "") + encode("BLPOP", "", "0"),
    "a key with line ends": encode("RPUSH", "a\r\nb", "c\r\nd") + encode("BLPOP", "a\r\nb", "0"),
    "a key of a megabyte": encode("SET", "k" * (1 << 20), "x") + encode("STRLEN", "k" * (1 << 20)),
    "a value of four megabytes": encode("SET", "k", "v" * (4 << 20)) + encode("GET", "k"),
    "DEL of ten thousand keys": encode("DEL", *map(str, range(10_000))),
    "MSET of ten thousand keys": encode("MSET", *map(str, range(20_000))) + commands("DBSIZE"),
    "MSET of an odd number": encode("MSET", *map(str, range(9_999))),
    "MSETNX of one key, a thousand times": encode("MSETNX", *["k"] * 2000) + commands("GET k"),
    "MGET of a thousand keys that are not there": encode("MGET", *map(str, range(1000))),
    "RPUSH of ten thousand": encode("RPUSH", "l", *["x"] * 10_000) + commands("LPOP l 9999 | LLEN l"),
    "LCS of long strings": encode("SET", "a", LONG[:2000]) + encode("SET", "b", "b" + LONG[:2000]) + commands("LCS a b LEN"),
    "LCS of long strings that share nothing": encode("SET", "a", LONG[:2000]) + encode("SET", "b", "b" * 2000) + commands("LCS a b | LCS a b IDX"),
    "BITOP of a thousand keys": encode("SET", "k", "\xff") + encode("BITOP", "XOR", "to", *["k"] * 1001) + commands("GET to"),
    "BITFIELD of a thousand operations": encode("BITFIELD", "k", *["INCRBY", "u1", "9", "1"] * 1000),
    "SORT BY with a thousand stars": commands("RPUSH l 2 1") + encode("SORT", "l", "BY", "*" * 1000),
    "SORT GET a thousand times": commands("RPUSH l 2 1") + encode("SORT", "l", *["GET", "#"] * 1000),
    "SET with ten thousand options": encode("SET", "k", "v", *["NX"] * 10_000),
    "EXPIRE with a thousand options": commands("SET k v") + encode("EXPIRE", "k", "10", *["NX"] * 1000),
    "SCAN with a thousand options": encode("SCAN", "0", *["COUNT", "1"] * 1000),
    "COMMAND INFO of a thousand": encode("COMMAND", "INFO", *["nosuch"] * 1000),
    "an option with a NUL": commands("SET k v") + encode("EXPIRE", "k", "10", b"N\x00X"),
    "an option with line ends": commands("SET k v") + encode("EXPIRE", "k", "10", b"\r\nN\r\nX\r\n"),
    "an integer with a line end": encode("INCRBY", "k", b"1\r\n"),
    "a float with a NUL": encode("INCRBYFLOAT", "k", b"1\x00"),
    "a float of ten thousand digits": encode("INCRBYFLOAT", "k", "1" * 10_000),
    "a timeout of ten thousand digits": encode("BLPOP", "k", "0" * 10_000),
    "a value that looks like a reply": encode("SET", "k", b"+OK\r\n$-1\r\n") + encode("GET", "k"),
}  # fmt: skip

TIMEOUTS: Final = {
    f"BLPOP for {timeout} seconds": f"BLPOP empty {timeout}"
    for timeout in "-1 -0 -0.0001 inf -inf infinity nan 1e400 1e18 1e15 9223372036854775 0x10 0x1p70 0x1p-70000".split()
}

FLOATS: Final = {
    f"INCRBYFLOAT by {number}": f"SET k 1 | INCRBYFLOAT k {number} | GET k"
    for number in "inf -inf nan 1e400 -1e400 1e4931 1e-4960 5e-324 1e308 0x1p10 0x1p16383 .5 5. . +1 --1 1e 1e+ 1d".split()
}

ODD: Final = {
    "COPY to itself": "SET k v | COPY k k | COPY k k REPLACE",
    "COPY to itself in its own database": "SET k v | COPY k k DB 0 REPLACE",
    "RENAME to itself": "SET k v | RENAME k k | RENAMENX k k | GET k",
    "RENAME of nothing to itself": "RENAME k k",
    "MOVE to where it is": "SET k v | MOVE k 0",
    "SWAPDB with itself": "SET k v | SWAPDB 0 0 | GET k",
    "LMOVE to itself": "RPUSH l a b c | LMOVE l l LEFT RIGHT | LMOVE l l LEFT LEFT | LRANGE l 0 -1",
    "RPOPLPUSH to a string": "RPUSH l a | SET s x | RPOPLPUSH l s | LLEN l",
    "BLMOVE to a string, waiting": "SET s x | BLMOVE empty s LEFT LEFT 0",
    "LINSERT without a pivot": "RPUSH l a | LINSERT l BEFORE nosuch x | LINSERT l BETWEEN a x",
    "LPOS with everything": "RPUSH l a b a | LPOS l a RANK -1 COUNT 0 MAXLEN 2 RANK 1 COUNT 1",
    "LPOS with an option alone": "RPUSH l a | LPOS l a RANK",
    "LMPOP of a string": "SET s x | LMPOP 2 nosuch s LEFT",
    "LMPOP without a side": "LMPOP 1 l",
    "LMPOP with fewer keys than it says": "LMPOP 3 a b LEFT",
    "BLPOP of a string": "SET s x | BLPOP s 0",
    "BLPOP of a list behind a string": "SET s x | RPUSH l a | BLPOP empty s l 0",
    "BLPOP in a transaction": "MULTI | BLPOP empty 0 | EXEC",
    "SORT of a string": "SET s x | SORT s",
    "SORT of words by number": "RPUSH l a b | SORT l",
    "SORT to itself": "RPUSH l 2 1 | SORT l STORE l | LRANGE l 0 -1",
    "SORT BY itself": "RPUSH l 2 1 | SORT l BY l",
    "SORT with LIMIT alone": "RPUSH l 2 1 | SORT l LIMIT 1",
    "SORT of infinities": "RPUSH l inf -inf nan 1e400 0x10 | SORT l",
    "OBJECT of nothing": "OBJECT ENCODING k | OBJECT REFCOUNT k | OBJECT IDLETIME k | OBJECT FREQ k",
    "OBJECT with junk": "OBJECT | OBJECT NOSUCH k | OBJECT ENCODING | OBJECT ENCODING a b | OBJECT HELP x",
    "OBJECT FREQ without its policy": "SET k v | OBJECT FREQ k",
    "DEBUG, not allowed": "DEBUG SLEEP 1000 | DEBUG SEGFAULT | DEBUG JMAP | DEBUG",
    "MEMORY with junk": "MEMORY | MEMORY NOSUCH | MEMORY USAGE | MEMORY USAGE k SAMPLES",
    "DUMP of nothing": "DUMP k | DUMP",
    "RESTORE of junk": "RESTORE k 0 junk | RESTORE k -1 junk | RESTORE k x junk",
    "RESTORE of nothing": "RESTORE k 0  | EXISTS k",
    "RESTORE with junk options": "RESTORE k 0 junk NOSUCH | RESTORE k 0 junk IDLETIME | RESTORE k 0 junk FREQ 256",
    "HELLO with junk": "HELLO x | HELLO 1 | HELLO 4 | HELLO 2 NOSUCH | HELLO 3 SETNAME | HELLO 3 AUTH a | HELLO -2",
    "HELLO with a bad name": "HELLO 3 SETNAME a\nb | PING",
    "AUTH without a password set": "AUTH x | AUTH default x | AUTH nobody x | AUTH a b c | AUTH",
    "RESET within a transaction": "MULTI | SET k v | RESET | EXEC | EXISTS k",
    "SELECT within a transaction": "MULTI | SELECT 3 | SET k v | EXEC | EXISTS k | SELECT 0 | EXISTS k",
    "MULTI within MULTI": "MULTI | MULTI | PING | EXEC",
    "EXEC without MULTI": "EXEC | DISCARD | UNWATCH",
    "EXEC with arguments": "MULTI | EXEC now | PING | EXEC",
    "WATCH within MULTI": "MULTI | WATCH k | EXEC",
    "WATCH of what one changes": "WATCH k | SET k v | MULTI | PING | EXEC",
    "WATCH, and FLUSHALL": "SET k v | WATCH k | FLUSHALL | MULTI | PING | EXEC",
    "WATCH, and SWAPDB": "WATCH k | SELECT 1 | SET k v | SWAPDB 0 1 | MULTI | PING | EXEC",
    "CLIENT KILL of oneself in MULTI, by an address that is not there": "MULTI | CLIENT KILL 1.2.3.4:5 | EXEC",
    "CLIENT with junk": "CLIENT | CLIENT NOSUCH | CLIENT KILL | CLIENT KILL TYPE nosuch | CLIENT KILL ID | CLIENT REPLY",
    "CLIENT SETNAME with a space": "CLIENT SETNAME \x7f | CLIENT SETNAME \x01 | CLIENT GETNAME",
    "CLIENT UNBLOCK with junk": "CLIENT UNBLOCK 0 | CLIENT UNBLOCK x | CLIENT UNBLOCK 999999 NOSUCH",
    "CONFIG SET of what is not there": "CONFIG SET nosuch 1 | CONFIG SET nosuch | CONFIG SET",
    "CONFIG SET of one twice": "CONFIG SET maxclients 100 maxclients 200",
    "CONFIG SET of what is fixed": "CONFIG SET databases 3",
    "CONFIG GET of nothing": "CONFIG GET nosuch | CONFIG GET | CONFIG GET [",
    "CONFIG RESETSTAT with junk": "CONFIG RESETSTAT x",
    "FLUSHALL with junk": "FLUSHALL NOW | FLUSHALL SYNC ASYNC | FLUSHDB x",
    "SHUTDOWN with junk": "SHUTDOWN PERHAPS | SHUTDOWN NOSAVE SAVE | SHUTDOWN ABORT",
    "SET with options that exclude each other": "SET k v NX XX | SET k v EX 1 PX 1 | SET k v KEEPTTL EX 1 | SET k v EX",
    "SET NX GET of a list": "RPUSH k a | SET k v NX GET | SET k v GET",
    "GETEX with options that exclude each other": "SET k v | GETEX k PERSIST EX 1 | GETEX k EX | GETEX k NOSUCH",
    "EXPIRE with options that exclude each other": "SET k v | EXPIRE k 1 NX XX | EXPIRE k 1 GT LT | EXPIRE k x NX XX",
    "APPEND to a list": "RPUSH k a | APPEND k x | SETRANGE k 0 x | GETRANGE k 0 1 | STRLEN k",
    "INCR of a list, and of no number": "RPUSH l a | INCR l | SET s x | INCR s | SET s 01 | INCR s | SET t ' | INCR t",
    "INCR of a number with a space": "SET s  1 | INCR s",
    "SETBIT and BITPOS of a list": "RPUSH l a | SETBIT l 0 1 | GETBIT l 0 | BITCOUNT l | BITPOS l 1 | BITFIELD l GET u8 0",
    "BITOP with junk": "BITOP NOT to a b | BITOP NOSUCH to a | BITOP AND to | BITOP NOT to",
    "BITFIELD with junk": "BITFIELD k GET u64 0 | BITFIELD k GET i65 0 | BITFIELD k GET x8 0 | BITFIELD k OVERFLOW NOSUCH | BITFIELD k GET u8",
    "BITFIELD_RO that writes": "BITFIELD_RO k SET u8 0 1 | BITFIELD_RO k GET u8 0",
    "LCS with junk": "LCS a | LCS a b LEN IDX | LCS a b NOSUCH | LCS a b MINMATCHLEN",
    "LCS of lists": "RPUSH a x | LCS a b",
    "SCAN with junk": "SCAN x | SCAN -1 | SCAN 0 COUNT | SCAN 0 COUNT 0 | SCAN 0 NOSUCH 1 | SCAN 0 TYPE nosuch",
    "RANDOMKEY and TYPE of nothing": "RANDOMKEY | TYPE k | TTL k | PERSIST k | TOUCH k | UNLINK k",
    "COMMAND with junk": "COMMAND NOSUCH | COMMAND GETKEYS | COMMAND GETKEYS nosuch | COMMAND GETKEYS GET | COMMAND LIST FILTERBY",
    "TIME and ECHO with junk": "TIME x | ECHO | ECHO a b | PING a b | DBSIZE x",
}  # fmt: skip

VALUES: Final[list[Case]] = [
    *(replace(case, in_order=False) for case in from_bytes("pattern", GLOBS)),
    *from_bytes("value", KEYED),
    *from_text("timeout", TIMEOUTS),
    *from_text("float", FLOATS),
    *from_text("odd", ODD),
]
