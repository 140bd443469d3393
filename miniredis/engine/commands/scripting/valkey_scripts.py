"""Scripts as Valkey has them besides: SCRIPT SHOW."""

from __future__ import annotations

from ...clients.session import Session
from ...declarations.registry import command, variant
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from . import scripting as _container  # noqa: F401, whoever imports this module first


@command("SCRIPT SHOW", 3, "noscript", acl="scripting", since="valkey-8.0.0", syntax="sha1")
def script_show(session: Session, args: list[bytes]) -> Reply:
    """Returns the text of a stored script."""
    if not session.engine.scripts.has(args[2]):
        raise CommandError(errors.NO_MATCHING_SCRIPT)
    return session.engine.scripts.find(args[2]).body


variant("valkey-9.1+", "script|show", flags="+stale")
