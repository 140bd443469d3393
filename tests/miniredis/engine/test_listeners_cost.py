"""Subscribers, monitors and tracking cost the engine nothing while there are none; every keyspace event is one of Redis's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import miniredis.engine
from miniredis.engine import Engine, Instant, Session
from miniredis.engine.clients.client_flags import SPECIAL
from miniredis.engine.clients.notifications import AFTER_REPLY, BEFORE_TRACKING
from miniredis.engine.declarations.registry import LOOKUP, commands
from miniredis.engine.keyspace.events import CLASSES

NOW = Instant(1_700_000_000_000_000, 1_000_000)
SOURCES = Path(miniredis.engine.__file__).parent


@pytest.fixture
def engine() -> Engine:
    return Engine(now=NOW)


def ask(engine: Engine, session: Session, *lines: bytes) -> bytes:
    engine.receive(session, b"".join(line + b"\r\n" for line in lines), NOW)
    engine.settle(NOW)
    return session.take_output()


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (b"SUBSCRIBE x", b"UNSUBSCRIBE"),
        (b"PSUBSCRIBE x*", b"PUNSUBSCRIBE x*"),
        (b"SSUBSCRIBE x", b"RESET"),
        (b"CLIENT TRACKING ON", b"CLIENT TRACKING OFF"),
        (b"CLIENT TRACKING ON BCAST", b"RESET"),
    ],
)
def test_only_listening_clients_leave_the_fast_path(engine: Engine, begin: bytes, end: bytes) -> None:
    listener, other = engine.connect(NOW), engine.connect(NOW)
    for session in (listener, other):
        ask(engine, session, b"SET k v", b"PING")
        assert not session.flags & SPECIAL
    ask(engine, listener, begin)
    ask(engine, other, b"SET k v", b"PING")
    assert listener.flags & SPECIAL
    assert not other.flags & SPECIAL
    assert engine.conditions.is_quiet
    ask(engine, listener, end)
    assert not listener.flags & SPECIAL


def test_key_changes_are_observed_only_while_a_client_listens(engine: Engine) -> None:
    client = engine.connect(NOW)
    db = engine.keyspace.databases[0]

    def is_observed() -> bool:
        return b"any key" in db.observed_keys

    assert not is_observed()
    for begin, end in (
        (b"CONFIG SET notify-keyspace-events KEA", b"CONFIG SET notify-keyspace-events KE"),
        (b"CONFIG SET notify-keyspace-events Eg", b"CONFIG SET notify-keyspace-events A"),
        (b"CLIENT TRACKING ON", b"CLIENT TRACKING OFF"),
    ):
        ask(engine, client, begin)
        assert is_observed()
        ask(engine, client, end)
        assert not is_observed()
    assert b"+OK" in ask(engine, client, b"WATCH k")
    assert b"k" in db.observed_keys


def test_a_disconnected_client_leaves_no_subscriptions_and_no_tracking_prefixes(engine: Engine) -> None:
    client = engine.connect(NOW)
    ask(engine, client, b"HELLO 3", b"SUBSCRIBE a b", b"PSUBSCRIBE c*", b"SSUBSCRIBE d")
    ask(engine, client, b"CLIENT TRACKING ON BCAST PREFIX e")
    engine.disconnect(client, NOW)
    assert not any(engine.notifier.publishing.listeners.values())
    assert not engine.notifier.publishing._fits
    assert not engine.notifier.tracking.prefixes
    assert not engine.notifier.tracking.is_awaited


def literals(methods: set[str]) -> Iterator[str]:
    """The texts among the arguments of calls of some methods, in all of the engine."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in methods:
                for each in (*node.args, *(keyword.value for keyword in node.keywords)):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield each.value


def test_every_event_has_a_class() -> None:
    told = literals(
        {
            "signal_modified", "signal_ready", "create", "store", "store_or_delete", "change", "changed_beside", "announce", "shrunk",
            "delete",
        }
    )  # fmt: skip
    events = {event for events in told for event in events.split()}
    assert events >= {"set", "append", "rename_from", "xgroup-create", "keymiss"}
    assert events <= CLASSES.keys()


def test_every_class_of_events_is_used() -> None:
    sources = "".join(path.read_text() for path in SOURCES.rglob("*.py") if path.name != "notifications.py")
    assert [event for event in CLASSES if f'"{event}' not in sources and f'{event}"' not in sources] == []


def test_the_tables_of_events_name_existing_commands() -> None:
    names = {each.name for parent in commands(LOOKUP) for each in (parent, *commands(parent.subcommands))}
    assert AFTER_REPLY.keys() - {b"set+get"} <= names
    assert set().union(BEFORE_TRACKING, *AFTER_REPLY.values()) <= CLASSES.keys()
