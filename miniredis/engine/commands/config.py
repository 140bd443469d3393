"""CONFIG: the directives while the server runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .. import errors
from ..config import ConfigurationError, is_directive
from ..errors import CommandError
from ..help import help_on
from ..registry import command, container
from ..replies import OK, Map, Reply
from ..session import Session

GLOB: Final = set(b"*?[")
ADMIN: Final = "admin noscript loading stale"

container("CONFIG", -2, module=__name__, summary="Shows and changes directives.", since="2.0.0")


@command("CONFIG GET", -3, ADMIN, acl="", since="2.0.0", syntax="parameter{parameter}...")
def config_get(session: Session, args: list[bytes]) -> Reply:
    """The directives whose names fit one of some glob patterns."""
    found = Map()
    for pattern in args[2:]:
        for name, value in session.engine.config.matching(pattern).items():
            shown = name.encode() if GLOB & set(pattern) else pattern  # a plain name comes back as it came
            found[shown] = value.encode()
    return found


@command(
    "CONFIG SET",
    -4,
    ADMIN,
    acl="",
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="2.0.0",
    syntax="parameter_value{parameter value}...",
)
def config_set(session: Session, args: list[bytes]) -> Reply:
    """Changes directives, all of them or none."""
    if len(args) % 2:
        raise CommandError(errors.wrong_arity(b"config|set"))
    try:
        session.engine.config.change(read_directives(args[2:]))
    except ConfigurationError as refusal:
        name, reason = refusal.directive.encode(), refusal.reason.encode()
        raise CommandError(errors.config_set_failed(name, reason)) from None
    return OK


def read_directives(words: list[bytes]) -> Mapping[str, str]:
    values: dict[str, str] = {}
    for name, value in zip(words[::2], words[1::2], strict=True):
        directive = name.decode("latin-1").lower()
        if not is_directive(directive):
            raise CommandError(errors.unknown_option(name))
        if directive in values:
            raise CommandError(errors.config_set_failed(name, errors.DUPLICATE_PARAMETER))
        values[directive] = errors.until_nul(value).decode("utf-8", "surrogateescape")
    return values


@command("CONFIG RESETSTAT", 2, ADMIN, acl="", since="2.0.0")
def config_resetstat(session: Session, args: list[bytes]) -> Reply:
    """Counts from zero again what INFO tells of commands, connections and keys."""
    session.engine.reset_statistics()
    return OK


@command("CONFIG REWRITE", 2, ADMIN, acl="", since="2.8.0")
def config_rewrite(session: Session, args: list[bytes]) -> Reply:
    """Writes the configuration to its file, which this server has none of."""
    raise CommandError(errors.NO_CONFIG_FILE)


@command("CONFIG HELP", 2, "loading stale", acl="", since="5.0.0")
def config_help(session: Session, args: list[bytes]) -> Reply:
    """Prints these lines."""
    return list(help_on(b"config"))
