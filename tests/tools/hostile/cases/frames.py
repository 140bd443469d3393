"""Frames that are malformed, and frames that lie about what follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conformance.wire import encode

from ..case import Case, from_bytes

__all__ = ["FRAMES"]

PING: Final = encode("PING")

NUMBERS: Final = {
    "nothing": b"",
    "a plus sign": b"+1",
    "a minus alone": b"-",
    "minus zero": b"-0",
    "two minus signs": b"--1",
    "a leading zero": b"01",
    "many leading zeros": b"0" * 40 + b"1",
    "a space before": b" 1",
    "a space behind": b"1 ",
    "a tab behind": b"1\t",
    "letters": b"one",
    "a digit, then a letter": b"1a",
    "hexadecimal": b"0x1",
    "a fraction": b"1.0",
    "an exponent": b"1e0",
    "an underscore": b"1_0",
    "a comma": b"1,0",
    "digits of another script": "\u0661".encode(),
    "a NUL inside": b"1\x00",
    "a byte above ASCII": b"1\xff",
    "infinity": b"inf",
    "minus one": b"-1",
    "minus two": b"-2",
    "2^31 - 1": b"2147483647",
    "2^31": b"2147483648",
    "-2^31 - 1": b"-2147483649",
    "2^32 + 1": b"4294967297",
    "2^63 - 1": b"9223372036854775807",
    "2^63": b"9223372036854775808",
    "-2^63": b"-9223372036854775808",
    "-2^63 - 1": b"-9223372036854775809",
    "2^64 + 1": b"18446744073709551617",
    "a number of 1000 digits": b"1" * 1000,
    "a line feed inside": b"1\n",
}
"""What may stand where a length should; what the frame goes on with has one argument of 1 byte."""

COUNTS: Final = {
    f"an array's length: {name}": b"*%b\r\n$4\r\nPING\r\n" % text for name, text in NUMBERS.items()
}
LENGTHS: Final = {
    f"an argument's length: {name}": b"*2\r\n$4\r\nECHO\r\n$%b\r\nx\r\n" % text
    for name, text in NUMBERS.items()
}

TYPES: Final = {
    "a status": b"+PING\r\n",
    "an error": b"-PING\r\n",
    "an integer": b":1\r\n",
    "a null": b"_\r\n",
    "a boolean": b"#t\r\n",
    "a double": b",1.5\r\n",
    "a big number": b"(123456789012345678901234567890\r\n",
    "a verbatim string": b"=8\r\ntxt:PING\r\n",
    "a bulk error": b"!4\r\nPING\r\n",
    "a set": b"~1\r\n$4\r\nPING\r\n",
    "a map": b"%1\r\n$4\r\nPING\r\n$1\r\nx\r\n",
    "a push": b">1\r\n$4\r\nPING\r\n",
    "an attribute": b"|1\r\n$1\r\na\r\n$1\r\nb\r\n",
    "a bulk string": b"$4\r\nPING\r\n",
    "a streamed string": b"$?\r\n;4\r\nPING\r\n;0\r\n",
    "a streamed array": b"*?\r\n$4\r\nPING\r\n.\r\n",
    "a carriage return": b"\r\n",
    "a line feed": b"\n\r\n",
    "a NUL": b"\x00\r\n",
    "a byte above ASCII": b"\xff\r\n",
    "an empty array": b"*0\r\n",
    "a null array": b"*-1\r\n",
}
AS_REQUEST: Final = {f"{name} as a request": data + PING for name, data in TYPES.items()}
AS_NAME: Final = {f"{name} as a command's name": b"*1\r\n" + data + PING for name, data in TYPES.items()}
AS_ARGUMENT: Final = {
    f"{name} as an argument": b"*2\r\n$4\r\nECHO\r\n" + data + PING for name, data in TYPES.items()
}

LIES: Final[dict[str, bytes | tuple[bytes, ...]]] = {
    "an argument longer than it says": b"*1\r\n$4\r\nPINGS\r\n" + PING,
    "an argument longer by two": b"*2\r\n$4\r\nECHO\r\n$1\r\nabc\r\n" + PING,
    "an argument shorter than it says": b"*1\r\n$6\r\nPING\r\n" + PING,
    "an argument shorter by one, and no more": b"*1\r\n$5\r\nPING\r\n",
    "an argument that swallows the next request": b"*2\r\n$4\r\nECHO\r\n$20\r\nx\r\n*1\r\n$4\r\nPING\r\n"
    + PING,
    "fewer arguments than announced": b"*3\r\n$4\r\nECHO\r\n$1\r\nx\r\n" + PING,
    "more arguments than announced": b"*1\r\n$4\r\nPING\r\n$1\r\nx\r\n" + PING,
    "an empty name": b"*1\r\n$0\r\n\r\n" + PING,
    "an empty name and arguments": b"*3\r\n$0\r\n\r\n$0\r\n\r\n$1\r\nx\r\n",
    "a thousand arrays within arrays": b"*1\r\n" * 1000,
    "a hundred thousand arrays within arrays": b"*1\r\n" * 100_000,
    "a thousand empty arrays": b"*0\r\n" * 1000 + PING,
    "a thousand null arrays": b"*-1\r\n" * 1000 + PING,
    "a billion arguments, one there": b"*1000000000\r\n$4\r\nPING\r\n",
    "arrays that each announce much": b"*99999999\r\n*99999999\r\n",
    "half a gigabyte announced, none sent": b"*2\r\n$4\r\nECHO\r\n$536870912\r\n",
    "half a gigabyte announced, little sent": b"*2\r\n$4\r\nECHO\r\n$536870912\r\n" + b"x" * 100_000,
    "one more than half a gigabyte": b"*2\r\n$4\r\nECHO\r\n$536870913\r\n",
    "a name of 64 KiB": encode(b"x" * 65536),
    "a name of 1 MiB": encode(b"x" * (1 << 20)),
    "ten thousand arguments to a name that is not there": encode("nosuch", *["x"] * 10_000),
    "ten thousand arguments to PING": encode("PING", *["x"] * 10_000),
    "a count without its line's end": b"*1",
    "a count and half of its line's end": b"*1\r",
    "a count ended by a line feed": b"*1\n$4\nPING\n",
    "a count ended by a line feed, a line later": b"*1\n$4\r\nPING\r\n",
    "a count ended by two carriage returns": b"*1\r\r$4\r\nPING\r\n",
    "a count ended by a carriage return and a letter": b"*1\rx$4\rxPING\r\n",
    "a length ended by a line feed": b"*1\r\n$4\nPING\r\n",
    "an argument not ended": b"*1\r\n$4\r\nPING",
    "an argument ended by two letters": b"*1\r\n$4\r\nPINGxx" + PING,
    "an argument ended by the next request": b"*1\r\n$4\r\nPING" + PING,
    "a count of 64 KiB and more": b"*" + b"1" * 70_000,
    "a count of 64 KiB and more, cut": (b"*" + b"1" * 35_000, b"1" * 35_000),
    "a count of 64 KiB": b"*" + b"1" * 65_535,
    "a count of 64 KiB, then one byte": (b"*" + b"1" * 65_535, b"1"),
    "a length of 64 KiB and more": b"*1\r\n$" + b"1" * 70_000,
    "a length of 64 KiB": b"*1\r\n$" + b"1" * 65_535,
    "a length of 64 KiB, then its end": (b"*1\r\n$" + b"1" * 65_535, b"\r\n"),
    "64 KiB that are no length": b"*1\r\n" + b"x" * 70_000,
    "a length hidden by a NUL": (b"*1\r\n\x00$4\r\nPING\r\n", PING),
    "a length hidden by a NUL, and 64 KiB": b"*1\r\n\x00$4\r\n" + b"x" * 70_000,
    "a count hidden by a NUL": (b"*\x001\r\n$4\r\nPING\r\n", PING),
    "a count hidden by a NUL, and 64 KiB": b"*\x001\r\n" + b"x" * 70_000,
    "replies before the error": PING * 3 + b"*1\r\n:1\r\n" + PING,
    "an error within a transaction": encode("MULTI") + PING + b"*1\r\n:1\r\n",
    "an error in RESP3": encode("HELLO", "3") + b"*1\r\n,1\r\n",
    "an error behind a reply that is skipped": encode("CLIENT", "REPLY", "SKIP") + b"*1\r\n:1\r\n" + PING,
    "an error where replies are off": (encode("CLIENT", "REPLY", "OFF") + b"*1\r\n:1\r\n", PING),
    "an error behind a command that blocks": encode("BLPOP", "empty", "0") + b"*1\r\n:1\r\n",
    "an error behind QUIT": encode("QUIT") + b"*1\r\n:1\r\n",
    "requests behind QUIT": encode("QUIT") + PING * 10,
    "QUIT with arguments": encode("QUIT", "now", "please") + PING,
    "QUIT within a transaction": encode("MULTI") + encode("QUIT") + PING,
    "QUIT where replies are off": (encode("CLIENT", "REPLY", "OFF") + encode("QUIT"), PING),
    "all bytes there are, as an argument": encode("ECHO", bytes(range(256))),
    "all bytes there are, as a name": encode(bytes(range(256)), bytes(range(256))),
    "line ends in a name and its arguments": encode(b"no\r\nsuch", b"a\nb\r\n", b"\r\n"),
    "NULs in a name and its arguments": encode(b"no\x00such", b"a\x00b", b"\x00", b"c"),
    "a name of 127 bytes": encode(b"x" * 127, b"y" * 127),
    "a name of 128 bytes": encode(b"x" * 128, b"y" * 128),
    "a name of 129 bytes": encode(b"x" * 129, b"y" * 129),
    "arguments of 128 bytes in all": encode("nosuch", b"a" * 61, b"b" * 61, "c"),
    "arguments of 125 bytes and one more": encode("nosuch", b"a" * 125, "b", "c"),
    "a hundred empty arguments": encode("nosuch", *[""] * 100),
    "a subcommand with line ends": encode("CLIENT", b"no\r\nsuch"),
    "a subcommand of 200 bytes": encode("client", b"x" * 200),
    "an empty subcommand": encode("Config", ""),
    "a container alone": encode("CONFIG"),
    "a pipeline of ten thousand": PING * 10_000,
    "a pipeline of ten thousand errors": encode("nosuch") * 10_000,
    "a pipeline of ten thousand, the last one wrong": PING * 10_000 + b"*1\r\n:1\r\n",
}

BY_CHANCE: Final = {
    "a name that begins as another, then a NUL": encode(b"PING\x00", b"x"),
    "a subcommand that begins as another, then a NUL": encode("CLIENT", b"ID\x00"),
}
CHANCE: Final = "Redis looks no further than the NUL if both names happen to share a bucket of its table"

FRAMES: Final[list[Case]] = [
    *from_bytes("frame", {**COUNTS, **LENGTHS, **AS_REQUEST, **AS_NAME, **AS_ARGUMENT, **LIES}),
    *(replace(case, may_differ=CHANCE) for case in from_bytes("frame", BY_CHANCE)),
]
