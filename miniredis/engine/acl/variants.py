"""What users, their rules and what they are told are like in other versions than the default one.

6.0 knew no channels and no subcommands, 6.2 no subcommands, and neither had selectors. Since 7.2 a server
shows rules about commands as they were given, and says who may not do what.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ..commands.server.acl import acl_getuser, facts
from ..declarations.registry import Command, in_versions, instead_of
from ..protocol import errors
from ..protocol.replies import Map, Reply, Set
from . import acl_errors
from .catalog import ABSENT, Catalog, absent, is_refused, name_in_rules, parts_of, split_rule
from .log import LogEntry
from .rights import Denial, dry_run_refusal, script_refusal
from .selector import Selector, channels_in_rules, rules_that_fit
from .user import User, merge_selectors, shown_sanitizing
from .users import Users, hears_all, may_read_all

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..config import Config

OLD: Final = "6.0-6.2"
NEW: Final = "7.2+"

# What clients are told


@instead_of(acl_errors.no_command_right, OLD)
def old_no_command_right(user: bytes, name: bytes) -> bytes:  # noqa: ARG001
    return b"NOPERM this user has no permissions to run the '%b' command or its subcommand" % name


@instead_of(errors.wrong_password, "6.0")
def wrong_password_in_6_0() -> bytes:
    return b"WRONGPASS invalid username-password pair"


@instead_of(acl_errors.no_command_right, NEW)
def named_no_command_right(user: bytes, name: bytes) -> bytes:
    return b"NOPERM User %b has no permissions to run the '%b' command" % (user, name)


@instead_of(acl_errors.no_key_right, NEW)
def short_no_key_right(user: bytes, key: bytes) -> bytes:  # noqa: ARG001
    return b"NOPERM No permissions to access a key"


@instead_of(acl_errors.no_channel_right, NEW)
def short_no_channel_right(user: bytes, channel: bytes) -> bytes:  # noqa: ARG001
    return b"NOPERM No permissions to access a channel"


@instead_of(script_refusal, NEW)
def named_script_refusal(found: Denial, user: bytes) -> bytes:
    said = NEW_ERRORS[found.kind.reason](user, found.about)
    return b"ERR ACL failure in script: " + said.removeprefix(b"NOPERM ")


NEW_ERRORS: Final = {
    b"command": named_no_command_right,
    b"key": short_no_key_right,
    b"channel": short_no_channel_right,
}


@instead_of(dry_run_refusal, NEW)
def named_dry_run_refusal(found: Denial, user: bytes) -> bytes:
    return b"User " + user + dry_run_refusal(found, user).removeprefix(b"This user")


@instead_of(acl_errors.no_acl_file, "valkey-8.1+")
def no_acl_file_of_valkey() -> bytes:
    said = acl_errors.no_acl_file().replace(b"This Redis instance", b"This instance")
    return said.replace(b"a Redis configuration", b"a configuration").replace(b"the Redis conf", b"the conf")


@instead_of(errors.subcommand_or_arity, OLD)
def old_subcommand_or_arity(subcommand: bytes, command: bytes) -> bytes:
    return errors.subcommand_or_arity(subcommand, command).replace(b"unknown", b"Unknown", 1)


# What rules can name


@instead_of(parts_of, OLD)
def no_parts(parent: Command) -> list[Command]:  # noqa: ARG001
    return []


@instead_of(name_in_rules, OLD)
def name_of_container(command: Command) -> bytes:
    return command.name.partition(b"|")[0]


@instead_of(absent, OLD)
def absent_without_parts() -> dict[str, str]:
    return {words: names for words, names in ABSENT.items() if "|" not in names}


@instead_of(split_rule, OLD)
def split_at_first(rule: bytes) -> tuple[bytes, bytes, bytes]:
    return rule.partition(b"|")


@instead_of(merge_selectors, OLD)
def no_selectors(words: Iterable[bytes]) -> tuple[list[bytes], bytes | None]:
    return list(words), None


CAME_WITH_6_2: Final = re.compile(rb"&|(?:all|reset)channels$|(?:skip-)?sanitize-payload$", re.IGNORECASE)
CAME_WITH_7_0: Final = re.compile(rb"[%(]|clearselectors$", re.IGNORECASE)


@instead_of(is_refused, "6.0")
def is_refused_in_6_0(rule: bytes) -> bool:
    return bool(CAME_WITH_6_2.match(rule) or CAME_WITH_7_0.match(rule))


@instead_of(is_refused, "6.2")
def is_refused_in_6_2(rule: bytes) -> bool:
    return bool(CAME_WITH_7_0.match(rule))


@instead_of(hears_all, OLD)
def always_hears_all(config: Config) -> bool:  # noqa: ARG001
    return True


@instead_of(may_read_all, OLD)
def always_may_read_all(users: Users, session: Session, args: list[bytes]) -> bool:  # noqa: ARG001
    return True


# How users are shown


@instead_of(channels_in_rules, "6.0")
def no_channels(selector: Selector) -> list[bytes]:  # noqa: ARG001
    return []


@instead_of(rules_that_fit, NEW)
def rules_as_given(selector: Selector, catalog: Catalog) -> list[bytes]:  # noqa: ARG001
    return [b"+@all" if selector.commands < 0 else b"-@all", *selector.said]


@instead_of(shown_sanitizing, "7.2 7.4 8.0 valkey-8.1")
def always_sanitizing(user: User) -> bytes:
    return user.sanitizing or b"sanitize-payload"


@instead_of(shown_sanitizing, "6.0 valkey-9.1+")
def never_sanitizing(user: User) -> bytes:  # noqa: ARG001
    return b""


def old_getuser(session: Session, args: list[bytes]) -> Map | None:
    """What 6.0 and 6.2 say of a user: patterns without signs, and flags where all is allowed."""
    user = session.engine.users.by_name.get(args[2])
    if user is None:
        return None
    selector, catalog = user.selectors[0], session.engine.users.catalog
    state, *others = user.flags(catalog)
    everything = {
        b"allkeys": selector.all_keys,
        b"allchannels": selector.all_channels,
        b"allcommands": selector.all_commands,
    }
    return Map(
        {
            b"flags": Set([state, *(word for word, holds in everything.items() if holds), *others]),
            b"passwords": list(user.passwords),
            b"commands": b" ".join(selector.command_rules(catalog)),
            b"keys": [each[1:] for each in selector.key_rules()],
            b"channels": [each[1:] for each in selector.channel_rules()],
        }
    )


@in_versions("6.2", "acl|getuser")
def acl_getuser_in_6_2(session: Session, args: list[bytes]) -> Reply:
    return old_getuser(session, args)


@in_versions("6.0", "acl|getuser")
def acl_getuser_in_6_0(session: Session, args: list[bytes]) -> Reply:
    told = old_getuser(session, args)
    if told is not None:
        told[b"flags"].remove(b"allchannels")
        del told[b"channels"]
    return told


@in_versions("valkey-9.1+", "acl|getuser")
def acl_getuser_of_valkey(session: Session, args: list[bytes]) -> Reply:
    told = acl_getuser(session, args)
    if not isinstance(told, Map):
        return told
    selectors = told.pop(b"selectors")
    return Map({**told, b"databases": b"alldbs", b"selectors": selectors})


# ACL LOG


@instead_of(facts, NEW)
def numbered_facts(entry: LogEntry, now: int) -> dict[bytes, Reply]:
    return {
        **facts(entry, now),
        b"entry-id": entry.number,
        b"timestamp-created": entry.created,
        b"timestamp-last-updated": entry.when,
    }
