"""The one executor: what passed the gate runs here, whoever asked for it.

``call`` runs a command, and counts it, its errors and its time. Around it stand those who ask: ``answer`` for
requests and what EXEC runs, ``answer_plain`` for many requests for data at once, ``answer_alone``,
``answer_all`` and ``answer_transaction`` for requests that came as values, ``Scripts.call`` for scripts, and
``Waiting`` for what a blocked client waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from .clients.client_flags import CLOSING, EXECUTING, GONE, LISTENS
from .declarations.registry import Command, Handler
from .protocol.errors import CommandError
from .protocol.replies import (
    ENCODERS,
    NO_REPLY,
    NOT_ASKED,
    QUEUED,
    Encoded,
    NoReply,
    Reply,
    Value,
    as_value,
    joined,
)

if TYPE_CHECKING:
    from .clients.session import Session
    from .engine import Engine
    from .protocol.requests import Request

__all__ = ["answer", "answer_all", "answer_alone", "answer_plain", "answer_transaction", "call", "show"]

READING_SCRIPTS: Final = {b"eval_ro", b"evalsha_ro", b"fcall_ro"}
"""Commands that read nothing themselves: the commands of their scripts do."""

UNSEEN: Final = {"admin", "skip_monitor"}
"""The flags of commands that MONITOR does not show."""


def call(engine: Engine, session: Session, command: Command, args: list[bytes]) -> Reply:
    """Runs one command.

    Args:
        engine: the session's, which all callers have at hand.
        session: whose command it is.
        command: which one; no container.
        args: the request, its name included.

    Returns:
        Its reply, or its error. ``NO_REPLY`` if it has replied for itself, or its client waits.
    """
    statistics = engine.statistics
    began = statistics.lap
    handler: Handler = command.handler  # type: ignore[assignment]  # no container comes here
    try:
        if engine.effects is None:
            reply = handler(session, args)
        else:
            reply = engine.effects.record(session, command, args, handler)
            session.reached = engine.replication.history.offset
    except CommandError as error:
        reply = statistics.failed(command, error)
    stopwatch = statistics.stopwatch  # in a local name: Python takes it for a method otherwise
    statistics.lap = lap = stopwatch()
    seconds = lap - began
    calls = statistics[command]
    calls.seconds += seconds
    if seconds < statistics.quick and reply is not NO_REPLY:
        calls.quick += 1
    elif seconds < statistics.brief and reply is not NO_REPLY:  # as most in a pipeline
        calls.brief += 1
    elif seconds < statistics.short and reply is not NO_REPLY:
        calls.short[int(seconds * 1e6)] += 1
    else:
        statistics.count_call(calls, session, command, args, seconds)
    return reply


def keep_request(session: Session, args: list[bytes]) -> None:
    """Keeps the request of a client that waits: for the slow log, and for the effects of what serves it."""
    if session.waiter is not None:
        session.waiter.args = args


def answer(session: Session, command: Command, args: list[bytes]) -> None:
    """Runs a command of a request, or of a transaction, and queues its reply."""
    hears = not session.flags & CLOSING  # in a transaction, it may have killed itself before
    listens = session.flags & LISTENS
    if listens:
        session.begin_reply(command, args)
    engine = session.engine
    engine.statistics.start_lap()
    reply = call(engine, session, command, args)
    keep_request(session, args)
    if hears and not session.flags & GONE:
        session.reply(reply)
    if listens or session.flags & LISTENS:
        end_listening(session, command, args)
    if engine.conditions.monitors:
        show(session, command, args)


def end_listening(session: Session, command: Command, args: list[bytes]) -> None:
    """Keeps in mind what a client read that tracks keys, and tells it what it changed itself."""
    session.end_reply()
    tracking = session.engine.notifier.tracking
    if session.tracker is not None and "readonly" in command.flags and command.name not in READING_SCRIPTS:
        tracking.remember(session, command, args)
    if not session.flags & EXECUTING:
        tracking.command_over()


def show(session: Session, command: Command, args: list[bytes]) -> None:
    """Lets those who MONITOR see a command."""
    if UNSEEN.isdisjoint(command.flags):
        session.engine.conditions.show(session.engine.now, session, args)


def answer_plain(session: Session, requests: Sequence[Request], data: bytes, is_exact: bool = False) -> bool:
    """Runs requests for data as long as there are any, for a client about whom nothing is special.

    What the gate would ask of each is known of all of them. It stops in front of a request that has to go
    through the gate, and behind one that waits; those left are the parser's again.

    Args:
        session: the client's.
        requests: one or more.
        data: the bytes that they were read from.
        is_exact: whether ``few_requests`` read them.

    Returns:
        Whether it ran them all, and the client waits for nothing.
    """
    engine, say, encoders = session.engine, session.outgoing.append, ENCODERS[session.resp]
    ready, plain, run = engine.waiting.ready, engine.commands.plain, engine.recorders.call
    engine.statistics.start_lap()
    rest = iter(requests)
    for args in rest:
        command = plain.get(args[0])
        if command is None or not command.least <= len(args) <= command.most:
            session.parser.ready.append(args)
            break
        session.last_command = command
        reply = run(engine, session, command, args)
        if reply is NO_REPLY:
            keep_request(session, args)
            break
        say(encoders[type(reply)](reply))
        if ready:
            engine.serve_ready()
    else:
        engine.outbox[session] = None
        if engine.effects is not None:
            engine.effects.came_as(requests, data, is_exact=is_exact)
        return True
    session.parser.ready.extend(rest)
    if ready:  # a stream that it met had expired, for which others wait
        engine.serve_ready()
    if session.outgoing:
        engine.outbox[session] = None
    return False


def answer_alone(session: Session, args: Request) -> Value | Encoded | NoReply:
    """Runs one request for data or of a script, as ``answer_plain``, and returns its reply as a value.

    Returns:
        ``NOT_ASKED`` if the request has to go through the gate; then nothing was done.
    """
    engine = session.engine
    command = engine.commands.by_value.get(args[0])
    if command is None or not command.least <= len(args) <= command.most:
        return NOT_ASKED
    engine.statistics.start_lap()
    session.last_command = command
    reply = engine.recorders.call(engine, session, command, args)
    if reply is NO_REPLY:
        keep_request(session, args)
    value = NO_REPLY if reply is NO_REPLY else as_value(reply, session.resp)
    if engine.waiting.ready:
        engine.serve_ready()
    return value


def answer_all(session: Session, requests: Sequence[Request]) -> list[Value | Encoded] | NoReply:
    """Runs several requests for data that cannot block, and returns their replies.

    Returns:
        ``NOT_ASKED`` if there are others among them; then nothing was done.
    """
    commands = commands_for_data(session.engine, requests)
    if commands is None:
        return NOT_ASKED
    engine, resp, run = session.engine, session.resp, session.engine.recorders.call
    replies: list[Value | Encoded] = []
    ready = engine.waiting.ready
    engine.statistics.start_lap()
    for command, args in zip(commands, requests, strict=True):
        session.last_command = command
        replies.append(as_value(run(engine, session, command, args), resp))
        if ready:
            engine.serve_ready()
    return replies


def answer_transaction(session: Session, requests: Sequence[Request]) -> Encoded | NoReply:
    """Runs such requests as between MULTI and EXEC, and returns the reply to EXEC; else as ``answer_all``."""
    commands = commands_for_data(session.engine, requests)
    if commands is None:
        return NOT_ASKED
    engine, recorders = session.engine, session.engine.recorders
    engine.statistics.start_lap()
    recorders.call(engine, session, engine.commands.lookup[b"multi"], [b"MULTI"])
    assert session.transaction is not None
    for command, args in zip(commands, requests, strict=True):
        session.transaction.queue(session, command, args)
        if recorders.are_on:
            recorders.end(recorders.begin(session, args), QUEUED)
    session.last_command = engine.commands.lookup[b"exec"]
    if recorders.are_on:
        recorders.begin_waiting(session, [b"EXEC"])
    answer(session, session.last_command, [b"EXEC"])
    recorders.hear(session, 0)
    engine.serve_ready()
    reply = Encoded(bytes(joined(session.outgoing)))
    session.outgoing.clear()
    return reply


def commands_for_data(engine: Engine, requests: Sequence[Request]) -> list[Command] | None:
    """The commands of requests; None unless all are for data, have the right arity and cannot block."""
    commands = []
    for args in requests:
        command = engine.commands.plain.get(args[0])
        if command is None or not command.least <= len(args) <= command.most or "blocking" in command.flags:
            return None
        commands.append(command)
    return commands
