"""MIGRATE: sends keys to another server, and removes them here.

As in Redis, the server does nothing else meanwhile: no client changes a key between copy and removal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ...clients.session import Session
from ...declarations.registry import Keys, KeywordKeys, command
from ...numbers.numbers import leading_integer, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply, status
from ...protocol.requests import REDACTED
from ...rdb.payload import dump

if TYPE_CHECKING:
    from ...environment import PeerConnection


PATIENCE: Final = 1000
"""Milliseconds to wait for the other server where the request says none."""

PIECE: Final = 1 << 16
"""How many bytes are read at a time; a line that is longer is no reply."""


class Options(NamedTuple):
    """What a request says behind the timeout.

    Attributes:
        keys: those that are to go.
        flags: which of COPY and REPLACE it has.
        credentials: what AUTH is to send to the other server; empty for no AUTH.
    """

    keys: Sequence[bytes]
    flags: frozenset[bytes]
    credentials: Sequence[bytes]


@command(
    "MIGRATE", -6, "write movablekeys", acl="keyspace dangerous",
    keys=(Keys(3, "RW access delete"), KeywordKeys("KEYS", -2, "RW access delete incomplete", last=-1)),
    tips="nondeterministic_output", since="2.6.0",
    syntax=(
        'host port:integer key_or_empty_string(key#0|""~empty_string) destination-db:integer timeout:integer '
        "[COPY@3.0.0] [REPLACE@3.0.0] "
        "[authentication([AUTH password@4.0.7]|[AUTH2 username_password@6.0.0{username password}])] "
        "[KEYS key#1@3.0.6...]"
    ),
)  # fmt: skip
def migrate(session: Session, args: list[bytes]) -> Reply:
    """Sends keys to another server, and removes them here unless COPY asks to keep them."""
    options = read_options(args)
    timeout, database = read_integer(args[5]), read_integer(args[4])
    found = [key for key in options.keys if session.db.lookup_read(key) is not None]
    if not found:
        return status(b"NOKEY")
    seconds = (timeout if timeout > 0 else PATIENCE) / 1000
    connection = dial(session, args[1], args[2], seconds)
    try:
        send(session, connection, options, database, found)
        return receive(session, Lines(connection), options, found)
    finally:
        connection.close()


def read_options(args: list[bytes]) -> Options:
    flags: set[bytes] = set()
    credentials: Sequence[bytes] = ()
    at = 6
    while at < len(args):
        word = args[at].upper()
        operands = OPERANDS.get(word)
        if operands is None or at + operands >= len(args):
            raise CommandError(errors.SYNTAX)
        if word == b"KEYS":
            if args[3]:
                raise CommandError(errors.KEYS_BESIDE_A_KEY)
            return Options(args[at + 1 :], frozenset(flags), credentials)
        if operands:
            credentials = args[at + 1 : at + 1 + operands]
            args[at + 1 : at + 1 + operands] = [REDACTED] * operands
        else:
            flags.add(word)
        at += 1 + operands
    return Options([args[3]], frozenset(flags), credentials)


OPERANDS: Final = {b"COPY": 0, b"REPLACE": 0, b"AUTH": 1, b"AUTH2": 2, b"KEYS": 0}
"""How many arguments an option needs behind it, at least."""


def dial(session: Session, host: bytes, port: bytes, seconds: float) -> PeerConnection:
    """A connection to the other server."""
    connect = session.engine.environment.dial
    if connect is None:
        raise CommandError(errors.NO_TARGET)
    try:
        return connect(host.decode(errors="replace"), leading_integer(port), seconds)
    except (ConnectionRefusedError, OverflowError):  # which Redis notices when it writes
        raise CommandError(errors.TARGET_WRITES) from None
    except (OSError, UnicodeError):
        raise CommandError(errors.NO_TARGET) from None


def send(
    session: Session, connection: PeerConnection, options: Options, database: int, keys: list[bytes]
) -> None:
    """Sends what makes the keys on the other server; removes from ``keys`` those that expire just now."""
    requests = [[b"AUTH", *options.credentials]] if options.credentials else []
    requests.append([b"SELECT", b"%d" % database])
    requests += restores(session, keys, [b"REPLACE"] if b"REPLACE" in options.flags else [])
    try:
        connection.sendall(b"".join(map(packed, requests)))
    except OSError:
        raise CommandError(errors.TARGET_WRITES) from None


def restores(session: Session, keys: list[bytes], options: list[bytes]) -> Iterator[list[bytes]]:
    engine, db = session.engine, session.db
    name = b"RESTORE" if engine.cluster is None else b"RESTORE-ASKING"
    for key in keys:
        ttl = max(db.deadlines[key] - engine.now.milliseconds, 1) if key in db.deadlines else 0
        yield [name, key, b"%d" % ttl, dump(db.values[key], engine.version.rdb), *options]


def packed(request: list[bytes]) -> bytes:
    words = b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in request)
    return b"*%d\r\n%b" % (len(request), words)


class Lines:
    """The replies of the other server, each of which is a line."""

    def __init__(self, connection: PeerConnection) -> None:
        self._connection = connection
        self._read = bytearray()

    def next(self) -> bytes | None:
        """The next one; None if it does not come, or does not end."""
        while (end := self._read.find(b"\r\n")) < 0:
            if len(self._read) > PIECE:
                return None
            try:
                piece = self._connection.recv(PIECE)
            except OSError:
                return None
            if not piece:
                return None
            self._read += piece
        line = bytes(self._read[:end])
        del self._read[: end + 2]
        return line


def receive(session: Session, lines: Lines, options: Options, keys: list[bytes]) -> Reply:
    """Hears what became of each key, and removes here those that are there now."""
    first = [lines.next() for _ in range(2 if options.credentials else 1)]  # of AUTH and SELECT
    if None in first:
        raise CommandError(errors.TARGET_READS)
    refusals = [line for line in first if line is not None and line.startswith(b"-")]
    moved: list[bytes] = []
    may_move, is_cut = not refusals, False
    for key in keys:
        line = lines.next()
        if line is None:
            is_cut = True
            break
        if not may_move or line.startswith(b"-"):
            refusals.append(line)
        elif b"COPY" not in options.flags and session.db.delete(key):
            moved.append(key)
    if moved:
        session.also_propagate(lambda: [b"DEL", *moved])
    if refusals:
        raise CommandError(errors.refused_by_target(refusals[0][1:]))
    if is_cut:
        raise CommandError(errors.TARGET_READS)
    return OK
