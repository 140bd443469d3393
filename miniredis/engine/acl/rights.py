"""Whether a user may run a request: the check that the gate, EXEC, scripts and ACL DRYRUN make.

If no selector of the user allows it, the denial is about the command, unless a selector allows that: then it
is about the last key or channel at which one of them stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from ..declarations.key_positions import known_keys
from ..declarations.registry import chosen
from ..protocol import errors
from . import acl_errors
from .selector import READ, WRITE

if TYPE_CHECKING:
    from ..declarations.registry import Command
    from ..versions.version import Version
    from .catalog import Catalog
    from .selector import Selector
    from .user import User

__all__ = [
    "COMMAND",
    "Denial",
    "DenialKind",
    "denial",
    "dry_run_refusal",
    "may_use_all_keys",
    "script_refusal",
]


class DenialKind(NamedTuple):
    """What a user may not do, in the words of each place that says so.

    Attributes:
        rank: of several denials, the one with the highest counts.
        reason: in ACL LOG.
        error: makes the error that a client gets, from the names of the user and of what this is about.
        later: in the error for a command of a transaction.
        in_script: in the error for a command of a script.
    """

    rank: int
    reason: bytes
    error: Callable[[bytes, bytes], bytes]
    later: bytes
    in_script: bytes


COMMAND: Final = DenialKind(
    1,
    b"command",
    acl_errors.no_command_right,
    b"no permission to execute the command or subcommand",
    b"run this command or subcommand",
)
KEY: Final = DenialKind(
    2,
    b"key",
    acl_errors.no_key_right,
    b"no permission to touch the specified keys",
    b"access at least one of the keys mentioned in the command arguments",
)
CHANNEL: Final = DenialKind(
    4,
    b"channel",
    acl_errors.no_channel_right,
    b"no permission to access one of the channels used as arguments",
    b"publish to the channel mentioned in the command",
)


class Denial(NamedTuple):
    """Why a user may not run a request.

    Attributes:
        kind: what it may not do.
        about: the command, the key or the channel.
        at: how many keys or channels of the request come before.
    """

    kind: DenialKind
    about: bytes
    at: int = 0

    def error(self, version: Version, user: bytes) -> bytes:
        """The error that a client of this user gets."""
        return chosen(version, self.kind.error)(user, self.about)

    def in_script(self, version: Version, user: bytes) -> bytes:
        """The error that a script gets."""
        return chosen(version, script_refusal)(self, user, version)

    def in_dry_run(self, version: Version, user: bytes) -> bytes:
        """The reply of ACL DRYRUN."""
        return chosen(version, dry_run_refusal)(self, user)


def script_refusal(found: Denial, user: bytes, version: Version) -> bytes:  # noqa: ARG001
    """The error that a script gets whose user may not do something."""
    return acl_errors.no_right_of_scripts(found.kind.in_script)


def dry_run_refusal(found: Denial, user: bytes) -> bytes:  # noqa: ARG001
    """What ACL DRYRUN says of what a user may not do."""
    start = b"This user has no permissions to "
    if found.kind is COMMAND:
        return start + b"run the '%b' command" % found.about
    return start + b"access the '%b' %b" % (errors.until_nul(found.about), found.kind.reason)


def denial(user: User, command: Command, args: list[bytes], catalog: Catalog) -> Denial | None:
    """Why a user may not run a request; None if it may."""
    name = catalog.name_of(command)
    worst = Denial(COMMAND, name)
    keys: list[tuple[bytes, int]] | None = None
    for selector in user.selectors:
        if not may_run(selector, command, name, args, catalog):
            continue
        if keys is None:
            keys = [] if selector.all_keys else used_keys(command, args)
        found = denied_key(selector, keys) or denied_channel(selector, command, args)
        if found is None:
            return None
        if (found.kind.rank, found.at) > (worst.kind.rank, worst.at):
            worst = found
        if selector.all_keys:
            keys = None
    return worst


def may_run(selector: Selector, command: Command, name: bytes, args: list[bytes], catalog: Catalog) -> bool:
    if selector.all_commands or "no_auth" in command.flags or selector.commands & catalog.bits[name]:
        return True
    first_words = selector.first_words.get(name)
    return bool(first_words) and len(args) > 1 and args[1].lower() in map(bytes.lower, first_words or ())


USES: Final = {"access": READ, "update": WRITE, "insert": WRITE, "delete": WRITE}


def used_keys(command: Command, args: list[bytes]) -> list[tuple[bytes, int]]:
    """The keys of a request, each with what it does to their values: READ, WRITE, both or neither."""
    keys = known_keys(command, args)
    return [(key, uses(flags)) for key, flags in keys if "not_key" not in flags]


def uses(flags: str) -> int:
    access = 0
    for flag in flags.split():
        access |= USES.get(flag, 0)
    return access


def denied_key(selector: Selector, keys: list[tuple[bytes, int]]) -> Denial | None:
    if selector.all_keys:
        return None
    for at, (key, access) in enumerate(keys):
        if not any(
            pattern.access & access == access and pattern.fits(key) for pattern in selector.keys.values()
        ):
            return Denial(KEY, key, at)
    return None


SUBSCRIBES: Final = (b"subscribe", b"ssubscribe", b"psubscribe")
PUBLISHES: Final = (b"publish", b"spublish")


def denied_channel(selector: Selector, command: Command, args: list[bytes]) -> Denial | None:
    if selector.all_channels or command.name not in SUBSCRIBES + PUBLISHES:
        return None
    channels = args[1:] if command.name in SUBSCRIBES else args[1:2]
    fits = is_pattern_in if command.name == b"psubscribe" else is_channel_in
    for at, channel in enumerate(channels):
        if not fits(channel, selector.channels):
            return Denial(CHANNEL, channel, at)
    return None


def is_channel_in(channel: bytes, patterns: dict[bytes, Callable[[bytes], bool]]) -> bool:
    """Whether a channel matches one of some patterns."""
    return any(fits(channel) for fits in patterns.values())


def is_pattern_in(pattern: bytes, patterns: dict[bytes, Callable[[bytes], bool]]) -> bool:
    """Whether a pattern is one of them, letter for letter."""
    return errors.until_nul(pattern) in map(errors.until_nul, patterns)


def may_use_all_keys(user: User, command: Command, args: list[bytes], catalog: Catalog) -> bool:
    """Whether a selector that allows a request also allows to read every key."""
    name = catalog.name_of(command)
    return any(
        (
            selector.all_keys
            or any(pattern == b"*" and each.access & READ for pattern, each in selector.keys.items())
        )
        and may_run(selector, command, name, args, catalog)
        and denied_key(selector, used_keys(command, args)) is None
        for selector in user.selectors
    )
