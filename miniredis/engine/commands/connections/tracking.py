"""CLIENT TRACKING and related commands, for clients that cache what they read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from ...clients.client_list import redirection
from ...clients.session import Session
from ...clients.tracking import Tracker
from ...declarations.registry import chosen, command, instead_of
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Map, Reply, Set
from .clients import OWN

SWITCHES: Final = {
    b"BCAST": "broadcasts",
    b"OPTIN": "opt_in",
    b"OPTOUT": "opt_out",
    b"NOLOOP": "no_loop",
}
"""The options without an argument, and the attribute that each sets."""


@command(
    "CLIENT TRACKING",
    -3,
    OWN,
    acl="connection",
    since="6.0.0",
    syntax=(
        "status(ON|OFF) [REDIRECT client-id:integer] [PREFIX prefix...!] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]"
    ),
)
def client_tracking(session: Session, args: list[bytes]) -> Reply:
    """Turns on or off notifications about changes to keys that this connection has read."""
    tracker, prefixes = read_options(session, args[3:])
    status = args[2].upper()
    if status == b"ON":
        check_options(session.tracker, tracker, prefixes)
        had = session.tracker.prefixes if session.tracker else ()
        chosen(session.engine.version, check_overlaps)(sorted(had), prefixes)
        tracker.prefixes = set(prefixes)
        session.engine.notifier.start_tracking(session, tracker)
    elif status == b"OFF":
        session.engine.notifier.stop_tracking(session)
    else:
        raise CommandError(errors.SYNTAX)
    return OK


def read_options(session: Session, words: list[bytes]) -> tuple[Tracker, list[bytes]]:
    """The options, and the prefixes in the order in which they were sent."""
    tracker, prefixes = Tracker(), list[bytes]()
    rest = iter(range(len(words)))
    for at in rest:
        option, has_more = words[at].upper(), at + 1 < len(words)
        if option == b"REDIRECT" and has_more:
            if tracker.redirect:
                raise CommandError(errors.REDIRECTED_TWICE)
            tracker.redirect = client_number(session, words[next(rest)])
        elif option == b"PREFIX" and has_more:
            prefixes.append(words[next(rest)])
        elif option in SWITCHES:
            setattr(tracker, SWITCHES[option], True)
        else:
            raise CommandError(errors.SYNTAX)
    return tracker, prefixes


def client_number(session: Session, text: bytes) -> int:
    number = read_integer(text)
    if number not in session.engine.sessions:
        raise CommandError(errors.NO_CLIENT_TO_REDIRECT_TO)
    return number


def check_options(before: Tracker | None, tracker: Tracker, prefixes: list[bytes]) -> None:
    """Raises ``CommandError`` for options that contradict each other or the current ones."""
    had = before or Tracker(broadcasts=tracker.broadcasts)
    if prefixes and not tracker.broadcasts:
        raise CommandError(errors.PREFIX_WITHOUT_BCAST)
    if had.broadcasts != tracker.broadcasts:
        raise CommandError(errors.BCAST_SWITCHED)
    if tracker.broadcasts and (tracker.opt_in or tracker.opt_out):
        raise CommandError(errors.BCAST_WITH_OPTION)
    if tracker.opt_in and tracker.opt_out:
        raise CommandError(errors.OPTIN_WITH_OPTOUT)
    if (tracker.opt_in and had.opt_out) or (tracker.opt_out and had.opt_in):
        raise CommandError(errors.OPTION_SWITCHED)


def check_overlaps(existing: list[bytes], given: list[bytes]) -> None:
    """Raises ``CommandError`` for the first prefix that overlaps with an existing or a later one."""
    first = next(iter(sorted(overlapping(given))), len(given))
    for at, prefix in enumerate(given[: first + 1]):
        place = bisect_left(existing, prefix)  # of those that do not overlap only neighbours can
        neighbours = existing[max(place - 1, 0) : place + 1]
        for other in existing[:1] if b"" in existing[:1] else neighbours:  # BCAST alone adds b"" unchecked
            if overlap(prefix, other):
                raise CommandError(errors.overlapping_prefixes(prefix, other, is_given=False))
        if at == first:
            other = next(each for each in given[at + 1 :] if overlap(prefix, each))
            raise CommandError(errors.overlapping_prefixes(prefix, other, is_given=True))


@instead_of(check_overlaps, "6.0")
def any_prefixes(existing: list[bytes], given: list[bytes]) -> None:
    """Takes all prefixes; a key that has several of them is told several times."""


def overlapping(given: list[bytes]) -> Iterator[int]:
    """Yields the indexes of prefixes that overlap with another one."""
    beginnings: list[int] = []  # each begins with the one before it
    for at in sorted(range(len(given)), key=given.__getitem__):
        while beginnings and not given[at].startswith(given[beginnings[-1]]):
            beginnings.pop()
        if beginnings:
            yield at
            yield beginnings[-1]
        beginnings.append(at)


def overlap(one: bytes, other: bytes) -> bool:
    return one.startswith(other) or other.startswith(one)


@command("CLIENT CACHING", 3, OWN, acl="connection", since="6.0.0", syntax="mode(YES|NO)")
def client_caching(session: Session, args: list[bytes]) -> Reply:
    """Sets whether the keys of the next command are tracked, in the mode OPTIN or OPTOUT."""
    tracker, mode = session.tracker, args[2].upper()
    if tracker is None:
        raise CommandError(errors.NOT_TRACKING)
    if mode not in {b"YES", b"NO"}:
        raise CommandError(errors.SYNTAX)
    if mode == b"YES" and not tracker.opt_in:
        raise CommandError(errors.CACHING_YES)
    if mode == b"NO" and not tracker.opt_out:
        raise CommandError(errors.CACHING_NO)
    tracker.caching = True
    return OK


@command("CLIENT GETREDIR", 2, OWN, acl="connection", since="6.0.0")
def client_getredir(session: Session, args: list[bytes]) -> Reply:
    """Returns the id of the connection that gets the notifications; 0 for this one, -1 if off."""
    return redirection(session)


@command("CLIENT TRACKINGINFO", 2, OWN, acl="connection", since="6.2.0")
def client_trackinginfo(session: Session, args: list[bytes]) -> Reply:
    """Shows whether and how this connection tracks keys."""
    prefixes = sorted(session.tracker.prefixes) if session.tracker else []
    flags = Set(flag for flag, holds in told(session.tracker) if holds)
    return Map({b"flags": flags, b"redirect": redirection(session), b"prefixes": prefixes})


def told(tracker: Tracker | None) -> list[tuple[bytes, bool]]:
    """Redis's flags for tracking, and whether each is set."""
    if tracker is None:
        return [(b"off", True)]
    return [
        (b"on", True),
        (b"bcast", tracker.broadcasts),
        (b"optin", tracker.opt_in),
        (b"caching-yes", tracker.opt_in and tracker.caching),
        (b"optout", tracker.opt_out),
        (b"caching-no", tracker.opt_out and tracker.caching),
        (b"noloop", tracker.no_loop),
        (b"broken_redirect", tracker.is_broken),
    ]
