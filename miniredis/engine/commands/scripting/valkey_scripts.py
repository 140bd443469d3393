"""Scripts as Valkey has them besides: SCRIPT SHOW, and scripts of other languages."""

from __future__ import annotations

from ...clients.session import Session
from ...declarations.registry import Handler, command, variant, wrap_in_versions
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from ...scripts.script_errors import no_scripting_engine, shebang_engine
from . import scripting as _container  # noqa: F401, whoever imports this module first


@command("SCRIPT SHOW", 3, "noscript", acl="scripting", since="valkey-8.0.0", syntax="sha1")
def script_show(session: Session, args: list[bytes]) -> Reply:
    """Returns the text of a stored script."""
    if not session.engine.scripts.has(args[2]):
        raise CommandError(errors.NO_MATCHING_SCRIPT)
    return session.engine.scripts.find(args[2]).body


variant("valkey-9.1+", "script|show", flags="+stale")


def without_engine(handler: Handler) -> Handler:
    """A command that names the language for which there is no engine."""

    def run(session: Session, args: list[bytes]) -> Reply:
        try:
            return handler(session, args)
        except CommandError as error:
            refusal = shebang_engine(b"#!")
            if not error.message.startswith(refusal):
                raise
            raise CommandError(no_scripting_engine(error.message.removeprefix(refusal))) from None

    return run


wrap_in_versions("valkey-8.1+", "eval eval_ro script|load", without_engine)
