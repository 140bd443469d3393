"""What a replica and its master say before the data come: PING, AUTH, REPLCONF and PSYNC."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ..numbers.numbers import leading_long
from ..protocol.replies import pack
from ..rdb.position import NO_NAME, Position

if TYPE_CHECKING:
    from ..config import Config

__all__ = ["UNCOUNTED", "Agreed", "Handshake", "HandshakeError", "handshake"]

UNCOUNTED: Final = -1
"""The offset of a stream whose master did not say where it begins: SYNC, which is older than offsets."""

HARMLESS: Final = (b"+", b"-NOAUTH", b"-NOPERM", b"-ERR operation not permitted")
"""How replies to PING begin after which the handshake goes on."""

FOR_NOW: Final = (b"-NOMASTERLINK", b"-LOADING")
"""How replies to PSYNC begin of masters that will serve a replica later."""


class HandshakeError(Exception):
    """The master does not serve this replica now; the text is what Redis logs."""


class Agreed(NamedTuple):
    """What comes next from the master.

    Attributes:
        is_full: all data, and then the stream; else the stream goes on where this replica is.
        name: of the master's history.
        offset: where the stream begins; ``UNCOUNTED`` if the master did not say.
        last_word: what is to be sent first.
    """

    is_full: bool
    name: bytes
    offset: int
    last_word: bytes = b""


Handshake: TypeAlias = Generator[bytes, bytes, Agreed]
"""Yields what is to be sent, perhaps nothing, and is sent the master's next line, without its end."""


def text(line: bytes) -> str:
    return line.decode("latin-1")


def requests(config: Config) -> list[tuple[list[bytes], str]]:
    """What a replica tells of itself, with what is logged where the master does not want to hear it."""
    port = config["port"] if config["replica-announce-port"] == "0" else config["replica-announce-port"]
    told = [
        ([b"REPLCONF", b"listening-port", port.encode()], "listening-port"),
        ([b"REPLCONF", b"ip-address", config["replica-announce-ip"].encode()], "ip-address"),
        ([b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"], "capa"),
    ]
    return [each for each in told if each[0][2]]


def credentials(config: Config) -> list[bytes]:
    words = [b"AUTH", config["masteruser"].encode(), config["masterauth"].encode()]
    return [word for word in words if word] if config["masterauth"] else []


def handshake(
    config: Config, position: Position | None, log: Callable[[str], object], *, is_failover: bool = False
) -> Handshake:
    """The replica's side; raises ``HandshakeError``.

    Args:
        config: says who this replica is.
        position: what it has; None if that is worth nothing to the master.
        log: told of what is harmless.
        is_failover: whether the other server is a replica, and is to be the master from now on.
    """
    reply = yield pack((b"PING",))
    if not reply.startswith(HARMLESS):
        raise HandshakeError(f"Error reply to PING from master: '{text(reply)}'")
    log("Master replied to PING, replication can continue...")
    login, told = credentials(config), requests(config)
    words = [*([login] if login else []), *(request for request, _ in told)]
    reply = yield b"".join(pack(tuple(each)) for each in words)
    if login:
        if reply.startswith(b"-"):
            raise HandshakeError(f"Unable to AUTH to MASTER: {text(reply)}")
        reply = yield b""
    for number, (_, option) in enumerate(told, start=1):
        if reply.startswith(b"-"):
            log(f"(Non critical) Master does not understand REPLCONF {option}: {text(reply)}")
        if number < len(told):
            reply = yield b""
    return (yield from ask_for_data(position, log, is_failover=is_failover))


def ask_for_data(position: Position | None, log: Callable[[str], object], *, is_failover: bool) -> Handshake:
    if position is None:
        log("Partial resynchronization not possible (no cached master)")
        name, start = b"?", b"-1"
    else:
        name, start = position.name, b"%d" % (position.offset + 1)
        log(f"Trying a partial resynchronization (request {text(name)}:{text(start)}).")
    reply = yield pack((b"PSYNC", name, start, *((b"FAILOVER",) if is_failover else ())))
    while not reply:
        reply = yield b""  # a sign of life
    kind, *rest = reply.split(b" ")
    if kind == b"+FULLRESYNC":
        return full_sync(rest, log)
    if kind == b"+CONTINUE" and position is not None:
        log("Successful partial resynchronization with master.")
        is_new = bool(rest) and len(rest[0]) == len(NO_NAME) and rest[0] != position.name
        return Agreed(False, rest[0] if is_new else position.name, position.offset)
    if reply.startswith(FOR_NOW):
        raise HandshakeError(
            f"Master is currently unable to PSYNC but should be in the future: {text(reply)}"
        )
    if reply.startswith(b"-ERR"):
        log(f"Master does not support PSYNC or is in error state (reply: {text(reply)})")
    else:
        log(f"Unexpected reply to PSYNC from master: {text(reply)}")
    log("Retrying with SYNC...")
    return Agreed(True, NO_NAME, UNCOUNTED, last_word=b"SYNC\r\n")


def full_sync(words: list[bytes], log: Callable[[str], object]) -> Agreed:
    if len(words) < 2 or len(words[0]) != len(NO_NAME):
        log("Master replied with wrong +FULLRESYNC syntax.")
        return Agreed(True, NO_NAME, UNCOUNTED)
    offset = leading_long(words[1])
    log(f"Full resync from master: {text(words[0])}:{offset}")
    return Agreed(True, words[0], offset)
