"""What clients send: takes their bytes in, cut anywhere, and runs the requests in them.

Each request passes the gate (``gate.py``), and the executor runs it (``call.py``). Requests behind a command
that blocks stay in the session's parser until the client is unblocked.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .call import answer, answer_plain
from .clients.client_flags import ASKS, BLOCKED, CLOSING, LISTENS, MUTE, NO_TOUCH, SKIPS_NEXT, SPECIAL, UNREAD
from .declarations.registry import AT_ONCE
from .faults.fault_rules import Request
from .gate import check_allowed, is_held_up, refuse, reject_unknown
from .protocol.errors import CommandError, ProtocolError
from .protocol.replies import QUEUED
from .protocol.requests import READ_SIZE

if TYPE_CHECKING:
    from .clients.session import Session
    from .declarations.registry import Command

__all__ = ["run_input", "take_in"]


def take_in(session: Session, data: bytes) -> None:
    """Takes bytes that a client sent, and runs the requests in them unless the client is blocked."""
    size = len(data)
    if size > READ_SIZE or size + len(session.parser) > session.engine.input_limit:
        take_in_steps(session, data)
    else:
        feed(session, data)


def take_in_steps(session: Session, data: bytes) -> None:
    """Reads as much at a time as Redis reads: a client whose unread input is over the limit is hung up on."""
    at, limit = 0, session.engine.input_limit
    while at < len(data) and not session.flags & CLOSING:
        piece = data[at : at + session.parser.appetite]
        at += len(piece)
        if len(piece) + len(session.parser) > limit:
            session.engine.hang_up(session)
        else:
            feed(session, piece)


def feed(session: Session, data: bytes) -> None:
    session.flags |= UNREAD
    session.parser.feed(data)
    if session.waiter is None:
        run_input(session)


def run_input(session: Session, size: int = 0) -> None:
    """Runs what a client has sent, until it is blocked, or has sent no more whole request.

    Args:
        session: the client's.
        size: the bytes that were read together, where the parser does not have them all; for CLIENT LIST.
    """
    parser, engine = session.parser, session.engine
    session.batch = size or len(parser)
    session.flags &= ~UNREAD
    one_by_one = False  # the last request was not plain; the next may be like it
    try:
        while not session.flags & (BLOCKED | CLOSING):
            if engine.conditions.asleep_until:
                engine.unblocked.append(session)
                break
            if (
                parser.read_ahead()
                and not session.flags & SPECIAL
                and engine.conditions.is_quiet
                and (not one_by_one or parser.ready[0][0] in engine.commands.plain)
            ):
                if answer_plain(session, *parser.take_ready()) and parser.is_between:
                    return
                if session.flags & BLOCKED:
                    break
            request = session.take_postponed() or parser.next()
            if request is None:
                break
            one_by_one = True
            if not request:
                session.end_command(empty=True)
            elif engine.scripts.only_quick and engine.scripts.defer(session, request):
                break
            else:
                run_request(session, request)
    except ProtocolError as error:
        session.reply(engine.statistics.count_error(CommandError(error.message)))
        session.close()  # where there are no replies, it never learns why, and stays
    except Exception as fault:
        engine.fail(session, fault)
    if not parser.is_between:
        session.flags |= UNREAD


def run_request(session: Session, args: list[bytes]) -> None:
    """Has one request pass the gate, and serves the clients blocked on what it changed."""
    engine, notifier = session.engine, session.engine.notifier
    before, notifier.client = notifier.client, session
    command = session.last_command = engine.commands.look_up(args)
    if command is not None and notifier.tracking.count:
        notifier.tracking.forget_surplus(session)
    try:
        if command is None:
            reject_unknown(session, args)
        elif engine.conditions.has_fault_rules or engine.recorders.are_on:
            engine.rules.run(Request(session, command, args, partial(pass_gate, session, command, args)))
        else:
            pass_gate(session, command, args)
    finally:
        notifier.client = before  # the client of a slow script, if this request came in its middle
    if engine.waiting.ready:
        engine.serve_ready()
    if session.flags & (MUTE | SKIPS_NEXT | LISTENS | ASKS) and not session.flags & BLOCKED:
        session.end_command()


def pass_gate(session: Session, command: Command, args: list[bytes]) -> None:
    """Runs, queues, postpones or refuses one request."""
    engine = session.engine
    if reason := check_allowed(session, command, args):
        refuse(session, command, args, reason)
    elif engine.conditions.pause is not None and is_held_up(session, command, args):
        session.postpone(args)
        engine.conditions.postponed[session] = None
    elif session.transaction is not None and command.in_transaction != AT_ONCE:
        session.transaction.queue(session, command, args)
        session.reply(QUEUED)
    elif session.flags & NO_TOUCH and command.name != b"touch":
        with engine.keyspace.keeping_times():
            answer(session, command, args)
    else:
        answer(session, command, args)
