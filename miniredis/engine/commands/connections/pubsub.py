"""SUBSCRIBE, PUBLISH and related commands: messages between clients."""

from __future__ import annotations

from typing import Final

from ...clients.client_flags import EXECUTING
from ...clients.publishing import CHANNELS, PATTERNS, SHARDS, SubscriptionKind
from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import Keys, command, container, in_versions
from ...glob import compile_glob
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NO_REPLY, Reply

LISTENING: Final = "pubsub noscript loading stale"
SPEAKING: Final = "pubsub loading stale fast may_replicate"
ASKING: Final = "pubsub loading stale"


def begin(session: Session, kind: SubscriptionKind, names: list[bytes]) -> Reply:
    """Subscribes to some names; sends a confirmation for each instead of a reply."""
    session.engine.notifier.publishing.begin(session, kind, names)
    return NO_REPLY


def end(session: Session, kind: SubscriptionKind, names: list[bytes]) -> Reply:
    """Unsubscribes from some names, or from all if none is given."""
    publishing = session.engine.notifier.publishing
    if names:
        publishing.end(session, kind, names)
    else:
        publishing.end_all(session, kind)
    return NO_REPLY


@command("SUBSCRIBE", -2, LISTENING, acl="", since="2.0.0", syntax="channel...")
def subscribe(session: Session, args: list[bytes]) -> Reply:
    """Subscribes this connection to channels."""
    return begin(session, CHANNELS, args[1:])


@command("UNSUBSCRIBE", -1, LISTENING, acl="", since="2.0.0", syntax="[channel...]")
def unsubscribe(session: Session, args: list[bytes]) -> Reply:
    """Unsubscribes this connection from channels; from all if none is named."""
    return end(session, CHANNELS, args[1:])


@command("PSUBSCRIBE", -2, LISTENING, acl="", since="2.0.0", syntax="pattern{pattern:pattern}...")
def psubscribe(session: Session, args: list[bytes]) -> Reply:
    """Subscribes this connection to all channels that match glob patterns."""
    return begin(session, PATTERNS, args[1:])


@command("PUNSUBSCRIBE", -1, LISTENING, acl="", since="2.0.0", syntax="[pattern:pattern...]")
def punsubscribe(session: Session, args: list[bytes]) -> Reply:
    """Unsubscribes this connection from patterns; from all if none is named."""
    return end(session, PATTERNS, args[1:])


@command(
    "SSUBSCRIBE",
    -2,
    LISTENING,
    acl="",
    keys=Keys(1, "not_key", last=-1),
    since="7.0.0",
    syntax="shardchannel...",
)
def ssubscribe(session: Session, args: list[bytes]) -> Reply:
    """Subscribes this connection to shard channels."""
    if session.flags & EXECUTING:
        raise CommandError(errors.deny_blocking(b"SSUBSCRIBE"))
    return begin(session, SHARDS, args[1:])


@command(
    "SUNSUBSCRIBE",
    -1,
    LISTENING,
    acl="",
    keys=Keys(1, "not_key", last=-1),
    since="7.0.0",
    syntax="[shardchannel...]",
)
def sunsubscribe(session: Session, args: list[bytes]) -> Reply:
    """Unsubscribes this connection from shard channels; from all if none is named."""
    return end(session, SHARDS, args[1:])


@command("PUBLISH", 3, SPEAKING, acl="", since="2.0.0", syntax="channel message")
def publish(session: Session, args: list[bytes]) -> Reply:
    """Sends a message to a channel; returns how many subscriptions received it."""
    if session.engine.cluster is not None:
        session.engine.cluster.publish(args[1], args[2])
    return session.engine.notifier.publishing.publish(args[1], args[2])


@command(
    "SPUBLISH",
    3,
    SPEAKING,
    acl="",
    keys=Keys(1, "not_key"),
    since="7.0.0",
    syntax="shardchannel message",
)
def spublish(session: Session, args: list[bytes]) -> Reply:
    """Sends a message to a shard channel; returns how many subscribers received it."""
    if session.engine.cluster is not None:
        session.engine.cluster.publish(args[1], args[2], to_shard=True)
    return session.engine.notifier.publishing.publish_sharded(args[1], args[2])


# Subscriptions

container("PUBSUB", -2, module=__name__, summary="Shows what clients subscribe to.", since="2.8.0")


def names(session: Session, kind: SubscriptionKind, args: list[bytes]) -> Reply:
    """The names with subscribers that match a pattern."""
    if len(args) > 3:
        raise CommandError(errors.subcommand_or_arity(args[1], b"PUBSUB"))
    fits = compile_glob(args[2]) if len(args) == 3 else lambda _: True
    return [name for name in session.engine.notifier.publishing.listeners[kind] if fits(name)]


def numbers(session: Session, kind: SubscriptionKind, channels: list[bytes]) -> Reply:
    """Some names, each followed by its number of subscribers."""
    listeners = session.engine.notifier.publishing.listeners[kind]
    return [part for name in channels for part in (name, len(listeners.get(name, ())))]


@command("PUBSUB CHANNELS", -2, ASKING, acl="", since="2.8.0", syntax="[pattern:pattern]")
def pubsub_channels(session: Session, args: list[bytes]) -> Reply:
    """Lists the channels with subscribers, or those that match a glob pattern."""
    return names(session, CHANNELS, args)


@command("PUBSUB NUMSUB", -2, ASKING, acl="", since="2.8.0", syntax="[channel...]")
def pubsub_numsub(session: Session, args: list[bytes]) -> Reply:
    """Counts the subscribers of each named channel."""
    return numbers(session, CHANNELS, args[2:])


@command("PUBSUB NUMPAT", 2, ASKING, acl="", since="2.8.0")
def pubsub_numpat(session: Session, args: list[bytes]) -> Reply:
    """Counts the distinct patterns with subscribers."""
    return len(session.engine.notifier.publishing.listeners[PATTERNS])


@in_versions("6.0", "pubsub|numpat")
def pubsub_numpat_of_6_0(session: Session, args: list[bytes]) -> Reply:
    """Counts the subscriptions to patterns."""
    return sum(map(len, session.engine.notifier.publishing.listeners[PATTERNS].values()))


@command("PUBSUB SHARDCHANNELS", -2, ASKING, acl="", since="7.0.0", syntax="[pattern:pattern]")
def pubsub_shardchannels(session: Session, args: list[bytes]) -> Reply:
    """Lists the shard channels with subscribers, or those that match a glob pattern."""
    return names(session, SHARDS, args)


@command("PUBSUB SHARDNUMSUB", -2, ASKING, acl="", since="7.0.0", syntax="[shardchannel...]")
def pubsub_shardnumsub(session: Session, args: list[bytes]) -> Reply:
    """Counts the subscribers of each named shard channel."""
    return numbers(session, SHARDS, args[2:])


@command("PUBSUB HELP", 2, "loading stale", acl="", since="6.2.0")
def pubsub_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"pubsub"))
