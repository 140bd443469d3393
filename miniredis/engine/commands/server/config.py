"""CONFIG: reads and changes directives at runtime."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...config import ConfigurationError, UnknownDirectiveError
from ...config.values import canonical, changeable, directive_named, names_matching
from ...declarations.help import help_on
from ...declarations.registry import command, container
from ...gate import is_allowed
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Map, Reply
from ...protocol.requests import REDACTED

GLOB: Final = set(b"*?[")
ADMIN: Final = "admin noscript loading stale"

NOT_WHILE_LOADING: Final = {"appendonly", "dir"}
"""The directives that say where the data to load are."""

container("CONFIG", -2, module=__name__, summary="Shows and changes the configuration.", since="2.0.0")


@command("CONFIG GET", -3, ADMIN, acl="", since="2.0.0", syntax="parameter{parameter}...")
def config_get(session: Session, args: list[bytes]) -> Reply:
    """Returns the directives whose names match some glob patterns."""
    config = session.engine.config
    found: dict[bytes, bytes] = {}  # by name in lower case, the name as it is returned
    for pattern in args[2:]:
        if not GLOB.isdisjoint(pattern):
            found.update((name, name) for name in names_matching(pattern, left_out=found))
        elif directive_named(read(pattern)):
            found.setdefault(pattern.lower(), pattern)  # a plain name is returned as it was sent
    return Map((shown, written(config[name.decode()])) for name, shown in found.items())


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
    """Changes directives: all of them or, after an error, none."""
    if len(args) % 2:
        raise CommandError(errors.SYNTAX)
    words = [read(word) for word in args[2:]]
    hide_secrets(args)
    names, protected_too = words[::2], is_allowed(session, "enable-protected-configs")
    try:
        changeable(names, protected_too=protected_too)
        if session.engine.conditions.loading and not NOT_WHILE_LOADING.isdisjoint(map(canonical, names)):
            raise CommandError(errors.LOADING)
        session.engine.config.change(list(zip(names, words[1::2], strict=True)), protected_too=protected_too)
    except UnknownDirectiveError as refusal:
        raise CommandError(errors.unknown_option(written(refusal.directive))) from None
    except ConfigurationError as refusal:
        name, reason = written(refusal.directive), written(refusal.reason)
        raise CommandError(errors.config_set_failed(name, reason)) from None
    return OK


def hide_secrets(args: list[bytes]) -> None:
    """Redacts the values of secret directives in the arguments, which the slow log may keep."""
    for at in range(2, len(args), 2):
        directive = directive_named(read(args[at]))
        if directive is not None and "secret" in directive.traits:
            args[at + 1] = REDACTED


def read(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")


def written(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


@command("CONFIG RESETSTAT", 2, ADMIN, acl="", since="2.0.0")
def config_resetstat(session: Session, args: list[bytes]) -> Reply:
    """Sets the statistics in INFO back to zero."""
    session.engine.statistics.reset()
    session.engine.keyspace.reset_statistics()
    session.engine.saves.reset_statistics()
    session.engine.replication.replicas.reset_statistics()
    return OK


@command("CONFIG REWRITE", 2, ADMIN, acl="", since="2.8.0")
def config_rewrite(session: Session, args: list[bytes]) -> Reply:
    """Replies with an error: this server does not rewrite its configuration file."""
    raise CommandError(errors.NOT_REWRITTEN if session.engine.config.file else errors.NO_CONFIG_FILE)


@command("CONFIG HELP", 2, "loading stale", acl="", since="5.0.0")
def config_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"config"))
