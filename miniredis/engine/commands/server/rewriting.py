"""BGREWRITEAOF: rewrites the append-only file."""

from __future__ import annotations

from typing import Final

from ...clients.client_flags import EXECUTING
from ...clients.session import Session
from ...declarations.registry import command
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply, status

STARTED: Final = status(b"Background append only file rewriting started")
SCHEDULED: Final = status(b"Background append only file rewriting scheduled")


@command("BGREWRITEAOF", 1, "admin noscript no_async_loading", acl="", since="1.0.0")
def bgrewriteaof(session: Session, args: list[bytes]) -> Reply:
    """Rewrites the append-only file in the background; while that is off, writes a base with all data."""
    journal = session.engine.environment.find_journal()
    if journal is None:
        raise CommandError(errors.NO_REWRITING)
    if not journal.rewrite():
        raise CommandError(errors.REWRITING)
    must_wait = session.flags & EXECUTING or session.engine.saves.began is not None
    return SCHEDULED if must_wait else STARTED
