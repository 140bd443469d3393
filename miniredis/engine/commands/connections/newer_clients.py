"""Settings of connections since 7.2: NO-TOUCH; CAPA, IMPORT-SOURCE and READONLY of Valkey."""

from __future__ import annotations

from ...clients.client_flags import NO_EVICT, NO_TOUCH, READS_REPLICA, REDIRECTS
from ...clients.session import Session
from ...declarations.registry import command, in_versions, prepared_in, variant
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply
from ..replication.waitaof import read_timeout
from .clients import OWN

ON_OFF = {b"ON": True, b"OFF": False}


def switch(session: Session, flag: int, word: bytes) -> None:
    """Sets or clears a flag of a client as ``ON`` or ``OFF`` says."""
    is_on = ON_OFF.get(word.upper())
    if is_on is None:
        raise CommandError(errors.SYNTAX)
    session.flags = session.flags | flag if is_on else session.flags & ~flag


@command("CLIENT NO-TOUCH", 3, OWN, acl="connection", since="7.2.0", syntax="enabled(ON|OFF)")
def client_no_touch(session: Session, args: list[bytes]) -> Reply:
    """Says whether keys count as used that this connection uses: not with ON."""
    switch(session, NO_TOUCH, args[2])
    return OK


@command("CLIENT CAPA", -3, OWN, acl="connection", since="valkey-8.0.0", syntax="capability...")
def client_capa(session: Session, args: list[bytes]) -> Reply:
    """Says what this connection understands: with REDIRECT, a replica tells it where the primary is."""
    if b"redirect" in map(bytes.lower, args[2:]):
        session.flags |= REDIRECTS
    return OK


@command("CLIENT IMPORT-SOURCE", 3, OWN, acl="connection", since="valkey-8.1.0", syntax="enabled(ON|OFF)")
def client_import_source(session: Session, args: list[bytes]) -> Reply:
    """Marks this connection as one that imports data; the directive that it needs is not here."""
    if args[2].upper() != b"OFF":
        raise CommandError(errors.NO_IMPORT_MODE)
    return OK


variant("valkey-9.1+", "client|no-touch client|capa", flags="+allow_busy")


@prepared_in("7.2+", "reset")
def forgets_settings(session: Session, args: list[bytes]) -> None:
    """RESET also ends NO-EVICT and NO-TOUCH."""
    session.flags &= ~(NO_EVICT | NO_TOUCH)


@prepared_in("7.2+", "client|pause")
def pauses_in_time(session: Session, args: list[bytes]) -> None:
    """CLIENT PAUSE refuses a time that is too late."""
    if len(args) == 3 or args[3].upper() in {b"WRITE", b"ALL"}:
        read_timeout(session, args[2])


@in_versions("valkey-8.1+", "readonly")
def readonly_anywhere(session: Session, args: list[bytes]) -> Reply:
    """READONLY, which also a replica outside a cluster takes."""
    session.flags |= READS_REPLICA
    return OK


@in_versions("6.0-6.2 valkey-8.1+", "readwrite")
def readwrite_anywhere(session: Session, args: list[bytes]) -> Reply:
    """READWRITE, which any server takes."""
    session.flags &= ~READS_REPLICA
    return OK
