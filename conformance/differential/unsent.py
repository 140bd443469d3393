"""Whether a request is sent at all: not where luck decides, a real server has a fault, or it would take long.

Luck that shows in the request and its key alone is in ``luck``; here is what depends on the other clients and
on the moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from miniredis.engine import Engine

from .faults import has_fault
from .luck import is_luck
from .replies import LISTENING
from .sizes import work_of
from .steps import Step, now

if TYPE_CHECKING:
    from .pair import Client

__all__ = ["has_expired_keys", "is_sent"]

MEETS_ANY: Final = {"scan", "randomkey"}
"""Commands that meet keys in the order of a hash table."""

MOST_WORK: Final = 20_000_000
"""Bytes and members at the keys of one request; what has more would keep both servers busy for seconds."""


def is_sent(engine: Engine, clients: Sequence[Client], client: Client, step: Step) -> bool:
    """Whether a client may send a request.

    Args:
        engine: of miniredis.
        clients: all.
        client: the one who is to send it.
        step: the request.
    """
    words = [word.encode("latin-1") for word in step.words]
    return not (
        meets_fault(engine, clients, client, step)
        or listens_oddly(client, step)
        or order_is_luck(engine, clients, client, step)
        or moment_is_luck(engine, client, step)
        or is_luck(engine, client.session, words)
        or is_long_work(client, words)
    )


def commands_run_by(client: Client, step: Step) -> list[str]:
    """The command, and with EXEC those of the transaction."""
    return [step.command, *(client.queued if step.command == "exec" else [])]


def meets_fault(engine: Engine, clients: Sequence[Client], client: Client, step: Step) -> bool:
    """Whether a real server has a fault that the request would show.

    One of ``faults``, or CLIENT UNBLOCK of a client that CLIENT PAUSE holds up: that crashes 7.0.15.
    """
    in_transaction = client.session.transaction is not None
    if has_fault(engine.version.name, step.words, in_transaction=in_transaction):
        return True
    held_up = any(each.session.postponed is not None for each in clients)
    return held_up and "client|unblock" in commands_run_by(client, step)


def listens_oddly(client: Client, step: Step) -> bool:
    """It ends all listening, in the order of a hash table, or spoils the array that EXEC has in RESP2."""
    if step.command not in LISTENING:
        return False
    in_exec = client.session.transaction is not None
    several = any(len(names) > 1 for names in client.session.subscriptions.values())
    several |= in_exec and not LISTENING.isdisjoint(client.queued)
    return (in_exec and client.session.resp == 2) or (len(step.words) == 1 and several)


def order_is_luck(engine: Engine, clients: Sequence[Client], client: Client, step: Step) -> bool:
    """When SWAPDB makes several keys ready at once, Redis serves them in the order of a hash table."""
    waiters = [each.session.waiter for each in clients if each.session.waiter is not None]
    awaited = {(waiter.database, key) for waiter in waiters for key in waiter.keys}
    if step.command == "exec":  # commands before it may make any key
        return "swapdb" in client.queued and len(awaited) > 1
    databases = engine.keyspace.databases
    there = [key for _, key in awaited if any(key in database.values for database in databases)]
    return step.command == "swapdb" and len(there) > 1


def moment_is_luck(engine: Engine, client: Client, step: Step) -> bool:
    """Somebody might hear of keys that expire by themselves, which they do when it suits each server."""
    if engine.timers.active_expire:
        return False
    if step.command == "debug":
        return "1" in step.words
    return not MEETS_ANY.isdisjoint(commands_run_by(client, step)) and has_expired_keys(engine)


def has_expired_keys(engine: Engine) -> bool:
    """Keys are there that have expired: who meets one of them deletes it."""
    moment = now().milliseconds
    databases = engine.keyspace.databases
    return any(when <= moment for database in databases for when in database.deadlines.values())


def is_long_work(client: Client, words: list[bytes]) -> bool:
    """It would have both servers go through large values again and again."""
    transaction = client.session.transaction
    whole = [words, *(request for _, request in transaction.queued)] if transaction else [words]
    return sum(work_of(client.session.db.values, each) for each in whole) > MOST_WORK
