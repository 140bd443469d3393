"""ACL: users, what they may do, and what they were refused."""

from __future__ import annotations

from typing import Final

from ...acl import acl_errors
from ...acl.log import LogEntry
from ...acl.rights import denial
from ...acl.selector import SPACES, RuleError, Selector
from ...acl.user import DEFAULT_NAME, merge_selectors
from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import CATEGORIES, chosen, command, container
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Map, Reply, Set
from ...protocol.requests import REDACTED

OPEN: Final = "noscript loading stale"
ADMIN: Final = "admin noscript loading stale"
MOST_BITS: Final = 4096
LOGGED: Final = 10
"""How many entries ACL LOG shows if it is not told a number."""

container("ACL", -2, module=__name__, summary="Manages users and their rights.", since="6.0.0")


# Users


@command("ACL SETUSER", -3, ADMIN, acl="", since="6.0.0", syntax="username [rule...]")
def acl_setuser(session: Session, args: list[bytes]) -> Reply:
    """Makes a user, or changes one, by some rules: all of them, or none if one is refused."""
    name, words = args[2], args[3:]
    args[2:] = [REDACTED] * (len(args) - 2)
    if SPACES(name):
        raise CommandError(acl_errors.USER_NAME)
    users = session.engine.users
    changed, before = users.new(name), users.by_name.get(name)
    if before is not None:
        changed.take_from(before)
    rules, unmatched = chosen(session.engine.version, merge_selectors)(words)
    if unmatched is not None:
        raise CommandError(acl_errors.unmatched_parenthesis(unmatched))
    for rule in rules:
        try:
            changed.apply(rule, users.catalog)
        except RuleError as refusal:
            raise CommandError(acl_errors.bad_rule(rule, refusal.reason)) from None
    users.put(changed)
    return OK


@command("ACL DELUSER", -3, ADMIN, acl="", since="6.0.0", syntax="username...")
def acl_deluser(session: Session, args: list[bytes]) -> Reply:
    """Removes users, and hangs up on their clients; returns how many there were."""
    removed = 0
    for name in args[2:]:
        if name == DEFAULT_NAME:
            raise CommandError(acl_errors.DEFAULT_USER_STAYS)
        removed += session.engine.users.remove(name)
    return removed


@command("ACL GETUSER", 3, ADMIN, acl="", since="6.0.0", syntax="username")
def acl_getuser(session: Session, args: list[bytes]) -> Reply:
    """Returns what a user is and may do; null if there is none of that name."""
    user = session.engine.users.by_name.get(args[2])
    if user is None:
        return None
    first, *others = (rights(session, selector) for selector in user.selectors)
    return Map(
        {
            b"flags": Set(user.flags(session.engine.users.catalog)),
            b"passwords": list(user.passwords),
            **first,
            b"selectors": [Map(each) for each in others],
        }
    )


def rights(session: Session, selector: Selector) -> dict[bytes, bytes]:
    commands = selector.command_rules(session.engine.users.catalog)
    return {
        b"commands": b" ".join(commands),
        b"keys": b" ".join(selector.key_rules()),
        b"channels": b" ".join(selector.channel_rules()),
    }


@command("ACL LIST", 2, ADMIN, acl="", since="6.0.0")
def acl_list(session: Session, args: list[bytes]) -> Reply:
    """Lists all users with the rules that make them, one line each."""
    users = session.engine.users
    return [b"user %b %b" % (user.name, user.rules(users.catalog)) for user in users.in_order()]


@command("ACL USERS", 2, ADMIN, acl="", since="6.0.0")
def acl_users(session: Session, args: list[bytes]) -> Reply:
    """Lists the names of all users."""
    return [user.name for user in session.engine.users.in_order()]


@command("ACL WHOAMI", 2, OPEN, acl="", since="6.0.0")
def acl_whoami(session: Session, args: list[bytes]) -> Reply:
    """Returns the name of the user that this connection is."""
    return session.user.name


# Categories, passwords and trials


@command("ACL CAT", -2, OPEN, acl="", since="6.0.0", syntax="[categoryname]")
def acl_cat(session: Session, args: list[bytes]) -> Reply:
    """Lists the categories of commands, or the commands in one of them."""
    if len(args) > 3:
        raise CommandError(chosen(session.engine.version, errors.subcommand_or_arity)(args[1], b"ACL"))
    if len(args) == 2:
        return [name.encode() for name in CATEGORIES]
    if args[2].lower().decode("latin-1") not in CATEGORIES:
        raise CommandError(acl_errors.unknown_category(args[2]))
    return list(session.engine.users.catalog.names_in(args[2].lower()))


@command("ACL GENPASS", -2, OPEN, acl="", since="6.0.0", syntax="[bits:integer]")
def acl_genpass(session: Session, args: list[bytes]) -> Reply:
    """Returns random hexadecimal digits: as random as other replies, which is enough for tests."""
    if len(args) > 3:
        raise CommandError(chosen(session.engine.version, errors.subcommand_or_arity)(args[1], b"ACL"))
    bits = read_integer(args[2]) if len(args) == 3 else 256
    if not 0 < bits <= MOST_BITS:
        raise CommandError(acl_errors.GENPASS_BITS)
    digits = (bits + 3) // 4
    return b"%0*x" % (digits, session.engine.random.getrandbits(4 * digits))


@command("ACL DRYRUN", -4, ADMIN, acl="", since="7.0.0", syntax="username command [arg...]")
def acl_dryrun(session: Session, args: list[bytes]) -> Reply:
    """Returns whether a user may run a request, without running it."""
    users, request = session.engine.users, args[3:]
    user = users.by_name.get(args[2])
    if user is None:
        raise CommandError(acl_errors.dry_run_user(args[2]))
    wanted = session.engine.commands.look_up(request)
    if wanted is None:
        raise CommandError(acl_errors.dry_run_command(request[0]))
    if not wanted.least <= len(request) <= wanted.most:
        raise CommandError(errors.wrong_arity(wanted.name))
    found = denial(user, wanted, request, users.catalog)
    return OK if found is None else found.in_dry_run(session.engine.version, user.name)


# The log


@command("ACL LOG", -2, ADMIN, acl="", since="6.0.0", syntax="[operation(count:integer|RESET)]")
def acl_log(session: Session, args: list[bytes]) -> Reply:
    """Lists what users were refused lately, newest first, or forgets it."""
    if len(args) > 3:
        raise CommandError(chosen(session.engine.version, errors.subcommand_or_arity)(args[1], b"ACL"))
    log = session.engine.users.log
    if len(args) == 3 and args[2].lower() == b"reset":
        log.entries.clear()
        return OK
    count = read_integer(args[2]) if len(args) == 3 else LOGGED
    now = session.engine.now.milliseconds
    shown = chosen(session.engine.version, facts)
    return [Map(shown(entry, now)) for entry in list(log.entries)[: max(count, 0)]]


def facts(entry: LogEntry, now: int) -> dict[bytes, Reply]:
    """What ACL LOG says of an entry; ``now`` is in milliseconds."""
    return {
        b"count": entry.count,
        b"reason": entry.reason,
        b"context": entry.context,
        b"object": entry.about,
        b"username": entry.user,
        b"age-seconds": (now - entry.when) / 1000,
        b"client-info": entry.client,
    }


# The file


@command("ACL LOAD", 2, ADMIN, acl="", since="6.0.0")
def acl_load(session: Session, args: list[bytes]) -> Reply:
    """Replaces all users by those in the file that ``aclfile`` names."""
    session.engine.users.load()
    return OK


@command("ACL SAVE", 2, ADMIN, acl="", since="6.0.0")
def acl_save(session: Session, args: list[bytes]) -> Reply:
    """Writes all users to the file that ``aclfile`` names."""
    session.engine.users.save()
    return OK


@command("ACL HELP", 2, "loading stale", acl="", since="6.0.0")
def acl_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"acl"))
