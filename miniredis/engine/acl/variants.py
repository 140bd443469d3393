"""What users, their rules and what they are told are like in other versions than the default one.

6.0 knew no channels and no subcommands, 6.2 no subcommands, and neither had selectors. Since 7.2 a server
shows rules about commands as they were given, and says who may not do what.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..commands.server.acl import facts
from ..declarations.registry import by_version, completed_in, in_versions, instead_of
from ..protocol.replies import Map, Reply, Set
from ..versions.version import OLD, Version
from .catalog import ABSENT, absent, is_refused, name_in_rules, parts_of, split_rule
from .rights import Denial, dry_run_refusal, script_refusal
from .selector import channels_in_rules, rules_that_fit
from .user import merge_selectors, shown_sanitizing
from .users import hears_all, may_read_all

if TYPE_CHECKING:
    from ..clients.session import Session

NEW: Final = "7.2+"

# What clients are told besides the errors of ``versions/wordings.py``


@instead_of(script_refusal, NEW)
def named_script_refusal(found: Denial, user: bytes, version: Version) -> bytes:
    return b"ERR ACL failure in script: " + found.error(version, user).removeprefix(b"NOPERM ")


@instead_of(dry_run_refusal, NEW)
def named_dry_run_refusal(found: Denial, user: bytes) -> bytes:
    return b"User " + user + dry_run_refusal(found, user).removeprefix(b"This user")


CAME_WITH_7_0: Final = re.compile(rb"[%(]|clearselectors$", re.IGNORECASE).match
CAME_SINCE_6_0: Final = re.compile(
    rb"[&%(]|(?:all|reset)channels$|(?:skip-)?sanitize-payload$|clearselectors$", re.IGNORECASE
).match

OTHERS: Final[tuple[tuple[str, Any, Callable[..., object]], ...]] = (
    # What rules can name
    (OLD, parts_of, lambda parent: []),
    (OLD, name_in_rules, lambda command: command.name.partition(b"|")[0]),
    (OLD, absent, lambda: {words: names for words, names in ABSENT.items() if "|" not in names}),
    (OLD, split_rule, lambda rule: rule.partition(b"|")),
    (OLD, merge_selectors, lambda words: (list(words), None)),
    ("6.0", is_refused, lambda rule: bool(CAME_SINCE_6_0(rule))),
    ("6.2", is_refused, lambda rule: bool(CAME_WITH_7_0(rule))),
    (OLD, hears_all, lambda config: True),
    (OLD, may_read_all, lambda *about: True),
    # How users are shown
    ("6.0", channels_in_rules, lambda selector: []),
    (NEW, rules_that_fit, lambda selector, catalog: (
        [b"+@all" if selector.commands < 0 else b"-@all", *selector.said]
    )),
    ("7.2 7.4 8.0 valkey-8.1", shown_sanitizing, lambda user: user.sanitizing or b"sanitize-payload"),
    ("6.0 valkey-9.1+", shown_sanitizing, lambda user: b""),
)  # fmt: skip
"""Versions, the function of 7.0, and what stands in for it."""

for versions, function, other in OTHERS:
    instead_of(function, versions)(other)

# How users are shown


not_told: Final = by_version(frozenset[bytes](), {"6.0": frozenset((b"channels",))})
"""What ACL GETUSER of 6.x does not say of a user."""


@in_versions(OLD, "acl|getuser")
def old_getuser(session: Session, args: list[bytes]) -> Reply:
    """ACL GETUSER, which tells patterns without signs, and flags where all is allowed."""
    user = session.engine.users.by_name.get(args[2])
    if user is None:
        return None
    selector, catalog = user.selectors[0], session.engine.users.catalog
    hidden = not_told(session.engine.version)
    state, *others = user.flags(catalog)
    everything = {
        b"allkeys": selector.all_keys,
        b"allchannels": selector.all_channels and not hidden,
        b"allcommands": selector.all_commands,
    }
    told = {
        b"flags": Set([state, *(word for word, holds in everything.items() if holds), *others]),
        b"passwords": list(user.passwords),
        b"commands": b" ".join(selector.command_rules(catalog)),
        b"keys": [each[1:] for each in selector.key_rules()],
        b"channels": [each[1:] for each in selector.channel_rules()],
    }
    return Map({name: value for name, value in told.items() if name not in hidden})


@completed_in("valkey-9.1+", "acl|getuser")
def with_databases(_: Session, __: list[bytes], told: Reply) -> Reply:
    if not isinstance(told, Map):
        return told
    selectors = told.pop(b"selectors")
    return Map({**told, b"databases": b"alldbs", b"selectors": selectors})


# ACL LOG


instead_of(facts, NEW)(
    lambda entry, now: {
        **facts(entry, now),
        b"entry-id": entry.number,
        b"timestamp-created": entry.created,
        b"timestamp-last-updated": entry.when,
    }
)
