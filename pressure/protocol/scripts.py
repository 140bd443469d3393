"""Operations by Lua scripts: one round trip if nothing has to be waited for.

A script that the server does not know is sent whole (EVAL). A server that refuses scripts (no such command,
or no permission) is not asked again (``ServerFacts.scripts``). A value of more than ``MOST_BYTES`` is not
passed to a script, which would need memory for a second copy. In these cases each function here returns None,
and plain commands do the same work.

Rules:
    - A script that finds the role held changes nothing. A script that finds no room, or no value, keeps the
      role if the client is to wait. The wait itself is a plain command.
    - After a wait, another script goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pressure.errors import ServerReplyError
from pressure.protocol.healing import heal
from pressure.protocol.lua import CLOSE, GET, PUT, SETTLE, Script, ScriptReply
from pressure.protocol.operation import Batch, Context, Deadline, Operation, Reply, ServerFacts, with_taken
from pressure.protocol.problems import note_uncounted, plain_refusal, plain_text, problem
from pressure.protocol.role import CONSUMER, PRODUCER, Hold, Role
from pressure.protocol.roles import holding, let_close, take_role
from pressure.protocol.sizes import MOST_BYTES
from pressure.protocol.waits import Popped, wait_for_room, wait_for_value

#: The most values, and the most bytes of several values, for one script: other clients wait while it runs.
_MOST_VALUES: Final = 1000
_MOST_PUT_BYTES: Final = 1 << 20


class _Nothing:
    """The answer of a server that runs no scripts."""


NO_SCRIPTS: Final = _Nothing()


def eval_script(
    server: ServerFacts,
    script: Script,
    keys: Sequence[bytes],
    *args: bytes | int,
    chunk: Sequence[bytes] = (),
) -> Operation[Reply]:
    """Run a script; ``NO_SCRIPTS`` if the server refuses scripts, or an argument is too long for one.

    Args:
        server: What is known about the server.
        script: The script.
        keys: Its keys.
        args: Its first arguments.
        chunk: Its other arguments, none of which is too long.

    Raises:
        ServerReplyError: It was refused or failed.
    """
    if not server.scripts or max([len(arg) for arg in args if type(arg) is bytes], default=0) > MOST_BYTES:
        return NO_SCRIPTS
    operands = (len(keys), *keys, *args, *chunk)
    (reply,) = yield Batch(((b"EVALSHA", script.sha, *operands),))
    if isinstance(reply, ServerReplyError) and reply.code == "NOSCRIPT":
        (reply,) = yield Batch(((b"EVAL", script.text, *operands),))
    if isinstance(reply, ServerReplyError) and (reply.code == "NOPERM" or "unknown command" in str(reply)):
        server.scripts = False
        return NO_SCRIPTS
    if isinstance(reply, ServerReplyError):
        raise ServerReplyError(plain_text(str(reply)))
    return reply


def call_script(
    ctx: Context,
    hold: Hold,
    script: Script,
    keys: Sequence[bytes],
    mode: bytes,
    *args: bytes | int,
    chunk: Sequence[bytes] = (),
) -> Operation[ScriptReply | None]:
    """Run a script for a hold; None if the server refuses scripts, or an argument is too long for one.

    Raises:
        ServerReplyError: It was refused as a whole; nothing was done.
    """
    expected = (mode != b"free" and hold.expected) or b""
    head = (hold.id, mode, ctx.lease_ms, expected)
    reply = yield from eval_script(ctx.server, script, keys, *head, *args, chunk=chunk)
    return None if reply is NO_SCRIPTS else ScriptReply(*reply)


def note_refused(
    ctx: Context, role: Role, answer: ScriptReply, what: str, taken: Sequence[bytes] = ()
) -> None:
    """Warn if a script that did its work could not count it, or not give back the role."""
    refused = answer.stuck or answer.uncounted
    if refused:
        note_uncounted(ctx, what, plain_refusal(refused), role if answer.stuck else None, taken)


def _taken(
    ctx: Context, hold: Hold, answer: ScriptReply, deadline: Deadline, *, refuse_closed: bool = False
) -> Operation[bytes | None]:
    """After a script found the role held: free it if its holder is dead, or wait for it.

    Returns the mode of the next script; None if there is no time left to wait.
    """
    if (yield from heal(ctx, hold.role, answer.detail or None, deadline)):
        return b"free"
    if not deadline.waits:
        return None
    yield from take_role(ctx, hold, deadline, refuse_closed=refuse_closed)
    return b"popped"


# Put


@dataclass(slots=True)
class PutProgress:
    """Values to put, and how many of them are stored."""

    values: Sequence[bytes]
    stored: int = 0

    def next_values(self) -> Sequence[bytes]:
        """The values to send next."""
        some = self.values[self.stored : self.stored + _MOST_VALUES]
        if sum(map(len, some)) <= _MOST_PUT_BYTES:
            return some
        size, last = 0, self.stored
        for value in some:
            size += len(value)
            if size > _MOST_PUT_BYTES and last > self.stored:
                break
            last += 1
        return self.values[self.stored : last]


def put(
    ctx: Context, hold: Hold, progress: PutProgress, deadline: Deadline, overfill: bool
) -> Operation[bool | None]:
    """Put all values; None if the server runs no scripts, or the next value is too long for one.

    If the first script puts all values, nothing is held when it ends. Otherwise ``hold`` says at each moment
    what is held, and it is given back if anything fails.
    """
    answer = yield from _put_some(ctx, hold, progress, deadline, overfill, b"free")
    if answer is None:
        return None
    body = _put_on(ctx, hold, progress, deadline, overfill, answer)
    return (yield from holding(ctx, hold, body) if hold.held or answer.status != b"ok" else body)


def _put_some(
    ctx: Context, hold: Hold, progress: PutProgress, deadline: Deadline, overfill: bool, mode: bytes
) -> Operation[ScriptReply | None]:
    """Run one script, which puts as many values as it can."""
    keys = ctx.keys
    names = (
        keys.bound, keys.closed, keys.producer_free, keys.producer, keys.not_full, keys.queue,
        keys.produced_messages, keys.produced_bytes,
    )  # fmt: skip
    chunk = progress.next_values()
    if chunk and len(chunk[0]) > MOST_BYTES:  # of several, each is shorter
        return None
    more = progress.stored + len(chunk) < len(progress.values)
    flags = (int(overfill), int(deadline.waits), int(more))
    answer = yield from call_script(ctx, hold, PUT, names, mode, *flags, chunk=chunk)
    if answer is not None:
        progress.stored += answer.stored
        kept = (answer.status == b"ok" and more) or (answer.status == b"full" and bool(flags[1]))
        hold.held, hold.claimed, hold.token = kept, kept, False
    return answer


def _put_on(
    ctx: Context, hold: Hold, progress: PutProgress, deadline: Deadline, overfill: bool, answer: ScriptReply
) -> Operation[bool | None]:
    """Put the other values, after the first script."""
    while True:
        if answer.stored:
            note_refused(ctx, PRODUCER, answer, "the value is stored")
        if answer.status == b"ok" and not hold.held:
            return True
        mode = yield from _after_put(ctx, hold, progress, answer, deadline)
        found = yield from _put_some(ctx, hold, progress, deadline, overfill, mode)
        if found is None:
            return None
        answer = found


def _after_put(
    ctx: Context, hold: Hold, progress: PutProgress, answer: ScriptReply, deadline: Deadline
) -> Operation[bytes]:
    """Wait for the role or for the room that a script did not find; the mode of the next script."""
    if answer.status == b"busy":
        mode = yield from _taken(ctx, hold, answer, deadline, refuse_closed=True)
        if mode is not None:
            return mode
    if answer.status == b"full" and hold.held:
        if (yield from wait_for_room(ctx, hold, deadline, gives_way=not progress.stored)):
            return b"token"
        yield from let_close(ctx, hold, deadline)
        return b"popped"
    if error := problem(ctx, PRODUCER, answer):
        raise error
    return b"role"


# Get


def get(ctx: Context, hold: Hold, deadline: Deadline, most: int) -> Operation[list[bytes] | Popped | None]:
    """Take up to ``most`` values, at least one; None if the server runs no scripts.

    If the script after a wait is refused, the value that came is returned as ``Popped``: it is not counted
    yet, and the role is still held.
    """
    answer = yield from _begin(ctx, hold, deadline, most, reliable=False)
    if answer is None:
        return None
    if answer.values:
        return answer.values
    popped = yield from wait_for_value(ctx, hold, deadline)
    values = list(popped.values)
    args = (most - len(values) if popped.size < MOST_BYTES else 0, 0, len(values), popped.size, 0)
    try:
        answer = yield from with_taken(
            values, call_script(ctx, hold, GET, _consumer_keys(ctx), b"role", *args)
        )
    except ServerReplyError:
        return popped
    if answer is None:
        return popped
    hold.held = False
    if answer.status != b"lost":
        _note_delivered(ctx, answer, values)
    return values + answer.values


def _begin(
    ctx: Context, hold: Hold, deadline: Deadline, most: int, *, reliable: bool
) -> Operation[ScriptReply | None]:
    """Take the role, and values if there are any. If there are none, the role is held for a wait."""
    mode = b"free"
    while True:
        wait = deadline.waits
        args = (most, int(wait), 0, 0, int(reliable))
        answer = yield from call_script(ctx, hold, GET, _consumer_keys(ctx), mode, *args)
        if answer is None:
            return None
        kept = answer.status == b"wait" or (reliable and answer.status == b"ok")
        hold.held = hold.claimed = kept
        if answer.values:
            _note_delivered(ctx, answer)
            return answer
        again = (yield from _taken(ctx, hold, answer, deadline)) if answer.status == b"busy" else None
        if again is None:
            if error := problem(ctx, CONSUMER, answer):
                raise error
            return answer
        mode = again


def _consumer_keys(ctx: Context) -> tuple[bytes, ...]:
    keys = ctx.keys
    return (
        keys.bound, keys.closed, keys.consumer_free, keys.consumer, keys.not_full, keys.queue,
        keys.consumed_messages, keys.consumed_bytes, keys.unacked,
    )  # fmt: skip


def _note_delivered(ctx: Context, answer: ScriptReply, taken: Sequence[bytes] = ()) -> None:
    if answer.status == b"error":
        answer = answer._replace(uncounted=answer.uncounted or answer.detail)
    note_refused(ctx, CONSUMER, answer, "the value was taken", (*taken, *answer.values))


def receive(ctx: Context, hold: Hold, deadline: Deadline) -> Operation[list[bytes] | None]:
    """Take the role, and move a value to ``:unacked`` if there is one; None if the server runs no scripts."""
    answer = yield from _begin(ctx, hold, deadline, 1, reliable=True)
    return None if answer is None else answer.values


def settle(ctx: Context, hold: Hold, outcome: int, size: int) -> Operation[ScriptReply | None]:
    """Settle the message in ``:unacked`` (``outcome``: number of a ``Settlement``); None without scripts."""
    keys = (*_consumer_keys(ctx), ctx.keys.rejected)
    return (yield from call_script(ctx, hold, SETTLE, keys, b"role", outcome, size))


# Close


def close(ctx: Context, hold: Hold, deadline: Deadline) -> Operation[bool | None]:
    """Close the queue; None if the server runs no scripts."""
    keys = ctx.keys
    names = (keys.bound, keys.closed, keys.producer_free, keys.producer, keys.not_full)
    mode = b"free"
    while True:
        answer = yield from call_script(ctx, hold, CLOSE, names, mode)
        if answer is None:
            return None
        hold.held = False
        again = (yield from _taken(ctx, hold, answer, deadline)) if answer.status == b"busy" else None
        if again is None:
            if error := problem(ctx, PRODUCER, answer, closing=True):
                raise error
            return True
        mode = again
