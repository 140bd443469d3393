"""The gate: every check that comes before a command runs, in Redis's order, and the running itself.

Only what the gate refuses makes EXEC refuse the transaction; what a command itself refuses does not.

Most requests are for data, from clients about whom nothing is special. They stand in the open: ``run_plain``
runs one after the other without asking again what cannot have changed. All else goes through ``execute``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from . import errors
from .errors import CommandError
from .registry import AT_ONCE, LOOKUP, PLAIN, Command, declare_rest, find
from .replies import ENCODERS, NO_REPLY, QUEUED, Reply
from .script_flags import may_write

if TYPE_CHECKING:
    from .engine import Pause
    from .requests import Request
    from .session import Session

__all__ = ["call", "execute", "run_plain"]

OF_BROWSERS: Final = {b"post", b"host:"}
"""The words by which a request of HTTP is known: what follows them may be commands that a page made up."""

OF_LISTENERS: Final = frozenset(
    b"ping subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe quit reset".split()
)
"""What a client that is subscribed may say in RESP2, where a reply would look like a message."""


READING_SCRIPTS: Final = {b"eval_ro", b"evalsha_ro", b"fcall_ro"}
"""Commands that read nothing themselves: the commands of their scripts do."""


def run_plain(session: Session, requests: Iterable[Request]) -> bool:
    """Runs requests for data as long as there are any, for a client about whom nothing is special.

    It stops in front of a request that has to go through the gate, and behind one that waits; those left are
    the parser's again.

    Returns:
        Whether it ran them all, and the client waits for nothing.
    """
    engine, say, encoders = session.engine, session.outgoing.append, ENCODERS[session.resp]
    ready, statistics, slow = engine.waiting.ready, engine.statistics, engine.slow
    stopwatch = engine.facts.stopwatch
    last = stopwatch()
    reply: Reply
    rest = iter(requests)
    for args in rest:
        command = PLAIN.get(args[0])
        if command is None or not command.least <= len(args) <= command.most:
            session.parser.ready.append(args)
            break
        session.last_command = command
        calls = statistics[command]
        try:
            reply = command.handler(session, args)  # type: ignore[misc]  # no container is plain
        except CommandError as error:
            engine.count_error(error)
            calls.failed += 1
            reply = error.with_traceback(None)  # its frames would hold this reply, and what they work on
        if reply is NO_REPLY:
            assert session.waiter is not None
            session.waiter.args = args
            calls.count += 1
            break
        say(encoders[type(reply)](reply))
        lap = stopwatch()
        seconds, last = lap - last, lap
        calls.count += 1
        calls.seconds += seconds
        if seconds >= slow:
            engine.log_slow(session, command, args, seconds)
        if ready:
            engine.lap = last
            engine.waiting.serve_ready()
            last = engine.lap
    else:
        engine.outbox[session] = None
        return True
    session.parser.ready.extend(rest)
    if session.outgoing:
        engine.outbox[session] = None
    return False


def execute(session: Session, args: list[bytes]) -> None:
    """Runs, queues, postpones or refuses one request, and serves whoever waited for what it did."""
    engine = session.engine
    engine.news.running = session
    command = session.last_command = look_up(args)
    if command is not None:
        engine.news.tracking.forget_surplus(session)
    if command is None:
        turn_away(session, args)
    elif refusal := objection(session, command, args):
        refuse(session, refusal)
    elif engine.pause is not None and is_held_up(session, command, args, engine.pause):
        engine.postpone(session, args)
    elif session.transaction is not None and command.in_transaction != AT_ONCE:
        if not (session.transaction.aborted or session.watch_broken):  # else EXEC will run nothing
            session.transaction.queued.append((command, args))
            session.transaction.may_write |= may_write(engine, command, args)
        session.reply(QUEUED)
    else:
        call(session, command, args)
    engine.news.running = None
    engine.waiting.serve_ready()
    if session.waiter is None and (session.skipping or session.skip_next or session.tracker):
        session.end_command()


def look_up(args: list[bytes]) -> Command | None:
    """The command that a request names, or its subcommand."""
    name = args[0]
    command = LOOKUP.get(name) or find(LOOKUP, name)
    if command is not None and command.subcommands and len(args) > 1:
        command = find(command.subcommands, args[1])
    if command is None and declare_rest():
        return look_up(args)
    return command


def turn_away(session: Session, args: list[bytes]) -> None:
    """There is no such command; a browser that was led here to do harm is not even told so."""
    if errors.until_nul(args[0]).lower() in OF_BROWSERS:
        session.engine.hang_up(session)
    else:
        refuse(session, unknown(args))


def unknown(args: list[bytes]) -> bytes:
    """What Redis says of a command, or a subcommand, that is not there."""
    command = find(LOOKUP, args[0])
    return errors.unknown_subcommand(command.name, args[1]) if command else errors.unknown_command(args)


def objection(session: Session, command: Command, args: list[bytes]) -> bytes | None:
    """Why a command may not run now; None if it may."""
    if not command.least <= len(args) <= command.most:
        return errors.wrong_arity(command.name)
    if command.allowed_by and not is_allowed(session, command.allowed_by):
        return errors.not_allowed(command.name, command.allowed_by)
    if not session.authenticated and "no_auth" not in command.flags and session.must_authenticate:
        return errors.NO_AUTH
    if session.transaction is not None and "no_multi" in command.flags:
        return errors.NOT_IN_TRANSACTION
    if session.subscriptions and session.resp == 2 and command.name not in OF_LISTENERS:
        return errors.only_for_listeners(command.name)
    if session.engine.busy and "allow_busy" not in command.flags:
        return session.engine.scripts.busy_text
    if session.monitoring and does(session, command, {"write", "readonly", "may_replicate"}):
        return errors.MONITOR_OF_KEYS
    return None


def is_allowed(session: Session, directive: str) -> bool:
    verdict = session.engine.config[directive]
    return verdict == "yes" or (verdict == "local" and session.is_local)


def does(session: Session, command: Command, kinds: set[str]) -> bool:
    """Whether a command, or one of those that an EXEC would run, has one of some flags."""
    if command.name == b"exec" and session.transaction is not None:
        return any(not kinds.isdisjoint(queued.flags) for queued, _ in session.transaction.queued)
    return not kinds.isdisjoint(command.flags)


def is_held_up(session: Session, command: Command, args: list[bytes], pause: Pause) -> bool:
    if session.monitoring or not pause.writes_only:
        return not session.monitoring
    if command.name == b"exec" and session.transaction is not None:
        return session.transaction.may_write
    return may_write(session.engine, command, args)


def refuse(session: Session, reason: bytes) -> None:
    """The gate's answer to what may not run."""
    refusal = CommandError(reason)
    session.engine.count_error(refusal)
    command = session.last_command
    if command is not None:
        session.engine.statistics[command].rejected += 1
    if command is not None and command.name == b"exec":
        session.leave_transaction()
        refusal = CommandError(errors.exec_aborted(reason))
    elif session.transaction is not None:
        session.transaction.aborted = True
    session.reply(refusal)


def call(session: Session, command: Command, args: list[bytes]) -> None:
    """Runs one command that passed the gate and replies; its errors are its reply."""
    assert command.handler is not None
    failed, hears = False, not session.closing  # in a transaction, it may have killed itself before
    session.engine.lap = session.engine.facts.stopwatch()
    listens = session.listens
    if listens:
        session.begin_reply(command, args)
    try:
        reply: Reply = command.handler(session, args)
    except CommandError as error:
        session.engine.count_error(error)
        reply, failed = error.with_traceback(None), True
    if hears and session.connected:
        session.reply(reply)
    if listens or session.listens:
        session.end_reply()
        end_tracked(session, command, args)
    session.engine.ran(session, command, args, failed=failed)


def end_tracked(session: Session, command: Command, args: list[bytes]) -> None:
    """Keeps in mind what a client read that tracks keys, and tells it what it changed itself."""
    tracking = session.engine.news.tracking
    if session.tracker is not None and "readonly" in command.flags and command.name not in READING_SCRIPTS:
        tracking.remember(session, command, args)
    if not session.running_exec:
        tracking.command_over()
