"""Clients of a server that has a password, ``PASSWORD``, before they have told it: their requests must be small."""

from __future__ import annotations

from typing import Final

from conformance.wire import encode

from ..case import Case, commands, from_bytes

__all__ = ["PASSWORD", "STRANGERS"]

PASSWORD: Final = "word"  # noqa: S105  (it protects nothing)
AUTH: Final = encode("AUTH", PASSWORD)
LARGE: Final = encode("MGET", *["k"] * 19)

TABLE: Final[dict[str, bytes | tuple[bytes, ...]]] = {
    "ten arguments": encode("MGET", *["k"] * 9),
    "eleven arguments": encode("MGET", *["k"] * 10),
    "eleven arguments announced": b"*11\r\n",
    "ten arguments announced": b"*10\r\n",
    "2^31 arguments announced": b"*2147483648\r\n",
    "minus one arguments announced": b"*-1\r\n" + encode("PING"),
    "eleven arguments of PING": encode("PING", *["k"] * 10),
    "eleven arguments behind a reply": encode("PING") + encode("MGET", *["k"] * 10) + encode("PING"),
    "an argument of 16 KiB": encode("ECHO", "x" * 16384),
    "an argument of 16 KiB and one byte": encode("ECHO", "x" * 16385),
    "an argument of 16 KiB announced": b"*1\r\n$16384\r\n",
    "an argument of 16 KiB and one byte announced": b"*1\r\n$16385\r\n",
    "an argument beyond all limits announced": b"*1\r\n$536870913\r\n",
    "many words in a line": b"MGET" + b" k" * 2000 + b"\r\n",
    "a long word in a line": b"ECHO " + b"x" * 20_000 + b"\r\n",
    "a name that is not there": encode("NOSUCH", "x"),
    "a subcommand that is not there": encode("CLIENT", "NOSUCH"),
    "too few arguments": encode("GET"),
    "a command in a transaction": commands("MULTI | PING | EXEC"),
    "a POST": b"POST /\r\n",
    "QUIT": commands("QUIT | PING"),
    "RESET": commands("RESET | PING"),
    "HELLO": commands("HELLO 3 | HELLO 2 | HELLO 4"),
    "the wrong password": commands(f"AUTH wrong | PING | AUTH nobody {PASSWORD}"),
    "the password, then a large request": AUTH + LARGE,
    "the password, then a large argument": AUTH + encode("ECHO", "x" * 17_000),
    "the password, and a large request later": (AUTH, LARGE),
    "a large request, then the password": LARGE + AUTH,
    "the password, RESET, and a large request": AUTH + encode("RESET") + LARGE,
    "the password, RESET, and a large request later": (AUTH + encode("RESET"), LARGE),
    "the password, RESET, and a large argument": AUTH + encode("RESET") + encode("ECHO", "x" * 17_000),
    "the wrong password in a line of 16 KiB": b"AUTH " + b"x" * 16_384 + b"\r\n",
}

STRANGERS: Final[dict[str, Case]] = {case.name: case for case in from_bytes("not known yet", TABLE)}
"""By their names."""
