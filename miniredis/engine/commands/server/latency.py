"""LATENCY: spikes of commands, and how long commands take."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import Command, by_version, command, commands, container
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Map, Reply, Verbatim
from ...statistics.histograms import Histogram
from ...statistics.latency import DISABLED

ADMIN: Final = "admin noscript loading stale"
EVERY_NODE: Final = "request_policy:all_nodes response_policy:special"
TOLD: Final = f"nondeterministic_output {EVERY_NODE}"

container("LATENCY", -2, module=__name__, summary="Shows what takes long.", since="2.8.13")


def seconds_now(session: Session) -> int:
    return session.engine.now.wall // 1_000_000


@command("LATENCY LATEST", 2, ADMIN, acl="", tips=TOLD, since="2.8.13")
def latency_latest(session: Session, args: list[bytes]) -> Reply:
    """Lists for each event the latest spike and the worst of all."""
    return [
        [event.encode(), *spikes.kept[-1], spikes.worst]
        for event, spikes in session.engine.statistics.latency.events.items()
    ]


@command("LATENCY HISTORY", 3, ADMIN, acl="", tips=TOLD, since="2.8.13", syntax="event")
def latency_history(session: Session, args: list[bytes]) -> Reply:
    """Lists the latest spikes of an event: when, and how many milliseconds."""
    spikes = session.engine.statistics.latency.events.get(event_of(args[2]))
    return [list(spike) for spike in spikes.kept] if spikes else []


def event_of(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")


@command(
    "LATENCY RESET",
    -2,
    ADMIN,
    acl="",
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="2.8.13",
    syntax="[event...]",
)
def latency_reset(session: Session, args: list[bytes]) -> Reply:
    """Forgets the spikes of some events, or of all; returns of how many."""
    return session.engine.statistics.latency.reset([event_of(word) for word in args[2:]])


@command("LATENCY GRAPH", 3, ADMIN, acl="", tips=TOLD, since="2.8.13", syntax="event")
def latency_graph(session: Session, args: list[bytes]) -> Reply:
    """Draws the spikes of an event."""
    event = event_of(args[2])
    spikes = session.engine.statistics.latency.events.get(event)
    if spikes is None:
        raise CommandError(errors.no_samples(args[2]))
    return Verbatim(spikes.graph(event, seconds_now(session)).encode())


@command("LATENCY DOCTOR", 2, ADMIN, acl="", tips=TOLD, since="2.8.13")
def latency_doctor(session: Session, args: list[bytes]) -> Reply:
    """Says what the spikes may come from."""
    slower_than = session.engine.config.integer("slowlog-log-slower-than")
    disabled = disabled_monitor(session.engine.version)
    paragraphs = session.engine.statistics.latency.report(seconds_now(session), slower_than, disabled)
    return Verbatim("".join(paragraphs).encode())


PAGE: Final = "topics/latency-monitor"
PAGE_OF_8_0: Final = "docs/latest/operate/oss_and_stack/management/optimization/latency-monitor"
disabled_monitor: Final = by_version(
    DISABLED,
    {
        "6.0": DISABLED.replace("https:", "http:"),
        "8.0": DISABLED.replace(PAGE, PAGE_OF_8_0),
        "valkey-8.1+": DISABLED.replace("Redis", "Valkey").partition(" If we")[0] + "\n",
    },
)
"""What is said where nothing is watched."""


@command("LATENCY HISTOGRAM", -2, ADMIN, acl="", tips=TOLD, since="7.0.0", syntax="[command...]")
def latency_histogram(session: Session, args: list[bytes]) -> Reply:
    """Tells for commands how many calls took up to how many microseconds."""
    engine = session.engine
    asked = (each for name in args[2:] for each in named(session, name))
    wanted = asked if len(args) > 2 else list(engine.statistics)
    found = ((each, engine.statistics.get(each)) for each in wanted)
    return Map((each.name, shown(calls)) for each, calls in found if calls and calls.timed())


def shown(calls: Histogram) -> Reply:
    return Map({b"calls": calls.timed(), b"histogram_usec": Map(calls.cumulative())})


def named(session: Session, name: bytes) -> list[Command]:
    """The command of that name, or the subcommands of a container."""
    found = session.engine.commands.look_up(name.split(b"|", 1))
    if found is None:
        return []
    return list(commands(found.subcommands)) if found.subcommands else [found]


@command("LATENCY HELP", 2, "loading stale", acl="", since="2.8.13")
def latency_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"latency"))
