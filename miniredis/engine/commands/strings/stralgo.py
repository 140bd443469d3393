"""STRALGO, which 6.x has in the place of LCS."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.registry import UnknownKeys, command
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from .lcs import as_text, compared, read_options

SOURCES: Final = (b"STRINGS", b"KEYS")


@command(
    "STRALGO", -2, "readonly movablekeys", acl="string", keys=UnknownKeys("RO access"), since="6.0.0",
    until="7.0.0",
    syntax="algorithm(LCS) algo-specific-argument...",
)  # fmt: skip
def stralgo(session: Session, args: list[bytes]) -> Reply:
    """Compares two strings: STRALGO LCS returns their longest common subsequence, or where it is."""
    if args[1].upper() != b"LCS":
        raise CommandError(errors.SYNTAX)
    words, pair, at = list(args[2:]), None, 0
    while at < len(words):
        source = words[at].upper()
        if source not in SOURCES or at + 2 >= len(words):
            at += 1 + (source == b"MINMATCHLEN")
            continue
        read_options(words[:at])
        if pair is not None:
            raise CommandError(errors.STRALGO_SOURCES)
        pair = words[at + 1 : at + 3]
        if source == b"KEYS":
            pair = [as_text(session.db.lookup_read(key)) for key in pair]
        del words[at : at + 3]
    options = read_options(words)
    if pair is None:
        raise CommandError(errors.STRALGO_NOTHING)
    one, other = pair
    return compared(session, one, other, options)
