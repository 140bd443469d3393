"""Operations where the server runs scripts: one round trip where nothing has to be waited for.

Where it runs none (see ``evaluating``) each function here returns None, and plain batches do the same work.

Rules:
    - A script that would have to wait for the role touches nothing. One that would have to wait for room or
      for a value keeps the role, if we are to wait, and what is waited for is waited for by plain commands.
    - What comes after a wait is a script again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pressure.errors import QueueEmptyError, QueueFullError, ServerReplyError
from pressure.protocol.evaluating import NO_SCRIPTS, evaluated, plain_text
from pressure.protocol.healing import heal
from pressure.protocol.lua import CLOSE, GET, PUT, SETTLE, Script
from pressure.protocol.numbers import by_hand, malformed
from pressure.protocol.problems import (
    does_not_exist,
    in_use,
    is_closed,
    is_closed_already,
    not_ours,
    note_uncounted,
)
from pressure.protocol.role import CONSUMER, PRODUCER, Hold, Role
from pressure.protocol.roles import take_role
from pressure.protocol.sizes import MOST_BYTES
from pressure.protocol.steps import Context, Operation, Patience, carrying
from pressure.protocol.waits import Popped, wait_for_room, wait_for_value
from pressure.text import printable

#: Most values, and most bytes of several, that one script is sent: others wait while it runs.
_MOST_VALUES: Final = 1000
_MOST_PUT_BYTES: Final = 1 << 20


class Settlement(Enum):
    """What becomes of a message that was received."""

    BACK = 0
    DONE = 1
    REJECTED = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """What a script answered; see ``lua``."""

    status: bytes
    stored: int
    detail: bytes
    uncounted: bytes
    stuck: bytes | ServerReplyError
    values: list[bytes]


def ask(
    ctx: Context, hold: Hold, script: Script, keys: Sequence[bytes], mode: bytes, *args: bytes | int
) -> Operation[Answer | None]:
    """Run a script; None if the server runs none for us.

    Raises:
        ServerReplyError: It was refused as a whole; nothing was done.
    """
    expected = (mode != b"free" and hold.expected) or b""
    reply = yield from evaluated(ctx.server, script, keys, hold.id, mode, ctx.lease_ms, expected, *args)
    return None if reply is NO_SCRIPTS else Answer(*reply)


def problem(ctx: Context, role: Role, answer: Answer, *, closing: bool = False) -> Exception | None:
    """The error that an answer, of a Close or of another operation, stands for, if any."""
    error: Exception
    if answer.status in (b"ok", b"wait"):
        return None
    if answer.status == b"gone":
        error = does_not_exist(ctx)
    elif answer.status == b"closed":
        error = is_closed_already(ctx) if closing else is_closed(ctx, role)
    elif answer.status == b"busy":
        error = in_use(ctx, role, answer.detail or None)
    elif answer.status == b"lost":
        error = not_ours(ctx, role, answer.detail or None)
    elif answer.status == b"full":
        error = QueueFullError(f"queue {ctx.keys} is full")
    elif answer.status == b"empty":
        error = QueueEmptyError(f"queue {ctx.keys} is empty")
    elif answer.status == b"bound":
        error = malformed(ctx.keys, "bound", answer.detail, by_hand(ctx.keys))
    else:
        error = ServerReplyError(_plain(answer.detail))
    if answer.stuck:
        stuck = _plain(answer.stuck)
        error.add_note(f"a role of queue {ctx.keys} could not be given back ({stuck}); repair frees it")
    return error


def _plain(refusal: bytes | ServerReplyError) -> str:
    """What a refusal in a script says, as the command itself would be answered."""
    return plain_text(printable(refusal) if isinstance(refusal, bytes) else str(refusal))


def note_refused(ctx: Context, role: Role, answer: Answer, what: str, taken: Sequence[bytes] = ()) -> None:
    """Warn of what was refused after the operation was done."""
    refused = answer.stuck or answer.uncounted
    if refused:
        note_uncounted(ctx, what, _plain(refused), role if answer.stuck else None, taken)


def _taken(
    ctx: Context, hold: Hold, answer: Answer, patience: Patience, *, refuse_closed: bool = False
) -> Operation[bytes | None]:
    """A script found the role taken: free it if its holder is dead, or wait for it.

    How the next script is to begin; None if there is no time left to wait.
    """
    if (yield from heal(ctx, hold.role, answer.detail or None)):
        return b"free"
    if not patience.waits:
        return None
    yield from take_role(ctx, hold, patience, refuse_closed=refuse_closed)
    return b"popped"


# Put


@dataclass(slots=True)
class Run:
    """Values that are to be put, and how many of them the queue has."""

    values: Sequence[bytes]
    stored: int = 0

    def next(self) -> Sequence[bytes]:
        """The values to send next."""
        size, last = 0, self.stored
        for value in self.values[self.stored : self.stored + _MOST_VALUES]:
            size += len(value)
            if size > _MOST_PUT_BYTES and last > self.stored:
                break
            last += 1
        return self.values[self.stored : last]


def put(ctx: Context, hold: Hold, run: Run, patience: Patience, overfill: bool) -> Operation[bool | None]:
    """Put all values; None if the server runs no scripts, or the next value is too long for one.

    ``hold`` says what is held at each moment.
    """
    keys = ctx.keys
    names = (
        keys.bound, keys.closed, keys.producer_free, keys.producer, keys.not_full, keys.queue,
        keys.produced_messages, keys.produced_bytes,
    )  # fmt: skip
    mode = b"free"
    while True:
        chunk = run.next()
        more = run.stored + len(chunk) < len(run.values)
        flags = (int(overfill), int(patience.waits), int(more))
        answer = yield from ask(ctx, hold, PUT, names, mode, *flags, *chunk)
        if answer is None:
            return None
        run.stored += answer.stored
        kept = (answer.status == b"ok" and more) or (answer.status == b"full" and bool(flags[1]))
        hold.held, hold.claimed, hold.token = kept, kept, False
        if answer.stored:
            note_refused(ctx, PRODUCER, answer, "the value is stored")
        if answer.status == b"ok" and not more:
            return True
        mode = yield from _after_put(ctx, hold, answer, patience)


def _after_put(ctx: Context, hold: Hold, answer: Answer, patience: Patience) -> Operation[bytes]:
    """Wait for what a script did not find; how the next one is to begin."""
    if answer.status == b"busy":
        mode = yield from _taken(ctx, hold, answer, patience, refuse_closed=True)
        if mode is not None:
            return mode
    if answer.status == b"full" and hold.held:
        yield from wait_for_room(ctx, hold, patience)
        return b"token"
    if error := problem(ctx, PRODUCER, answer):
        raise error
    return b"role"


# Get


def get(ctx: Context, hold: Hold, patience: Patience, most: int) -> Operation[list[bytes] | Popped | None]:
    """Get up to so many values, but one at least; None if the server runs no scripts.

    A value that was waited for is not lost if the script after the wait is refused: it is returned as
    ``Popped``, and neither counted nor the role given back.
    """
    answer = yield from _begin(ctx, hold, patience, most, reliable=False)
    if answer is None:
        return None
    if answer.values:
        return answer.values
    popped = yield from wait_for_value(ctx, patience)
    values = list(popped.values)
    args = (most - len(values) if popped.size < MOST_BYTES else 0, 0, len(values), popped.size, 0)
    try:
        answer = yield from carrying(values, ask(ctx, hold, GET, _consumer_keys(ctx), b"role", *args))
    except ServerReplyError:
        return popped
    if answer is None:
        return popped
    hold.held = False
    if answer.status != b"lost":
        _note_delivered(ctx, answer, values)
    return values + answer.values


def _begin(
    ctx: Context, hold: Hold, patience: Patience, most: int, *, reliable: bool
) -> Operation[Answer | None]:
    """Take the role, and what there is; no values if there are none and the role is ours to wait."""
    mode = b"free"
    while True:
        wait = patience.waits
        args = (most, int(wait), 0, 0, int(reliable))
        answer = yield from ask(ctx, hold, GET, _consumer_keys(ctx), mode, *args)
        if answer is None:
            return None
        kept = answer.status == b"wait" or (reliable and answer.status == b"ok")
        hold.held = hold.claimed = kept
        if answer.values:
            _note_delivered(ctx, answer)
            return answer
        again = (yield from _taken(ctx, hold, answer, patience)) if answer.status == b"busy" else None
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


def _note_delivered(ctx: Context, answer: Answer, taken: Sequence[bytes] = ()) -> None:
    if answer.status == b"error":
        answer = Answer(answer.status, 0, b"", answer.uncounted or answer.detail, answer.stuck, answer.values)
    note_refused(ctx, CONSUMER, answer, "the value was taken", (*taken, *answer.values))


def receive(ctx: Context, hold: Hold, patience: Patience) -> Operation[list[bytes] | None]:
    """Take the role and move a value to unacked, if there is one; None if the server runs no scripts."""
    answer = yield from _begin(ctx, hold, patience, 1, reliable=True)
    return None if answer is None else answer.values


def settle(ctx: Context, hold: Hold, outcome: Settlement, size: int) -> Operation[Answer | None]:
    """Settle the message in unacked; None if the server runs no scripts."""
    keys = (*_consumer_keys(ctx), ctx.keys.rejected)
    return (yield from ask(ctx, hold, SETTLE, keys, b"role", outcome.value, size))


# Close


def close(ctx: Context, hold: Hold, patience: Patience) -> Operation[bool | None]:
    """Close the queue; None if the server runs no scripts."""
    keys = ctx.keys
    names = (keys.bound, keys.closed, keys.producer_free, keys.producer, keys.not_full)
    mode = b"free"
    while True:
        answer = yield from ask(ctx, hold, CLOSE, names, mode)
        if answer is None:
            return None
        hold.held = False
        again = (yield from _taken(ctx, hold, answer, patience)) if answer.status == b"busy" else None
        if again is None:
            if error := problem(ctx, PRODUCER, answer, closing=True):
                raise error
            return True
        mode = again


__all__ = ["Answer", "Run", "Settlement", "close", "get", "put", "receive", "settle"]
