"""The errors and warnings that several operations share, and refusals among the replies to a batch."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from pressure.connections.identity import is_released
from pressure.errors import (
    PressureWarning,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
    ServerReplyError,
)
from pressure.protocol.numbers import how_to_set_bound, malformed
from pressure.protocol.operation import Context, Reply
from pressure.protocol.role import CONSUMER, Role
from pressure.text import printable

if TYPE_CHECKING:
    from pressure.protocol.lua import ScriptReply


def holder_text(holder: bytes | None) -> str:
    """The holder of a role, for people. A released id is that of an earlier holder."""
    if not holder or is_released(holder):
        return "a client that has not written its id"
    return printable(holder)


def does_not_exist(ctx: Context) -> QueueDoesNotExistError:
    """The error of an operation that needs the queue, whose ``:bound`` is gone."""
    return _no_queue(ctx.keys, "create it first")


def no_such_queue(keys: object) -> QueueDoesNotExistError:
    """The error of delete, doctor and the like, for which creating the queue is no help."""
    return _no_queue(keys, "check its name, its prefix and the server")


def _no_queue(keys: object, advice: str) -> QueueDoesNotExistError:
    why = "it was never created, or it has been deleted"
    return QueueDoesNotExistError(f"queue {keys} does not exist: {why}; {advice}")


def is_closed(ctx: Context, role: Role) -> QueueClosedError:
    """The error of a Put, or of a Get, on a closed queue."""
    why = " and empty" if role is CONSUMER else ": nothing can be put into it any more"
    return QueueClosedError(f"queue {ctx.keys} is closed{why}")


def is_closed_already(ctx: Context) -> QueueClosedError:
    """The error of a Close on a closed queue."""
    return QueueClosedError(f"queue {ctx.keys} is closed already")


def in_use(ctx: Context, role: Role, holder: bytes | None) -> QueueInUseError:
    """The error for a role that another client holds."""
    return QueueInUseError(
        f"queue {ctx.keys}: the {role.name} role is held by {holder_text(holder)}; if that client is dead, "
        "clients that try for some seconds free the role, and so does repair",
        role.name,
        None if holder is None or is_released(holder) else holder,
    )


def not_ours(ctx: Context, role: Role, holder: bytes | None) -> QueueInUseError:
    """The error for a role that this client held and has lost."""
    if holder and not is_released(holder):
        why = f"it was freed, and is held by {printable(holder)} now"
    elif ctx.lease and not holder:
        why = f"its lease of {ctx.lease:g} s ran out"
    else:
        late = f", maybe since its lease of {ctx.lease:g} s ran out" if ctx.lease else ""
        why = f"it was freed, by a repair or by a client that waited for it{late}"
    return QueueInUseError(
        f"queue {ctx.keys}: this client has lost the {role.name} role: {why}", role.name, holder
    )


def first_error(replies: list[Reply]) -> ServerReplyError | None:
    """The first error among the replies to a batch, also inside the reply to EXEC."""
    for reply in replies:
        if isinstance(reply, ServerReplyError):
            return reply
        if isinstance(reply, list) and (inner := first_error(reply)):
            return inner
    return None


def warn(text: str, taken: Sequence[bytes] = ()) -> None:
    """Emit a ``PressureWarning``. If warnings are turned into errors, its ``taken`` has the taken values."""
    try:
        warnings.warn(text, PressureWarning, stacklevel=3)
    except PressureWarning as error:
        error.taken = list(taken)
        raise


def note_uncounted(
    ctx: Context,
    what: str,
    refused: object,
    stuck: Role | None = None,
    taken: Sequence[bytes] = (),
) -> None:
    """Warn that an operation succeeded, but counting it, or freeing the role ``stuck``, was ``refused``."""
    if refused:
        released = f" and to free the {stuck.name} role" if stuck else ""
        warn(
            f"queue {ctx.keys}: {what}, but the server refused to count it{released} ({refused}); "
            "repair mends that",
            taken,
        )


def note_failure(error: BaseException, ctx: Context, replies: list[Reply]) -> None:
    """Add a note to an error if these replies say that the role could not be given back."""
    if refused := first_error(replies):
        error.add_note(f"a role of queue {ctx.keys} could not be given back ({refused}); repair frees it")


#: The error for each status that a script answers, by the queue, the role and the answer's detail.
_PROBLEMS: Final[dict[bytes, Callable[[Context, Role, bytes], Exception]]] = {
    b"gone": lambda ctx, _role, _detail: does_not_exist(ctx),
    b"closed": lambda ctx, role, _detail: is_closed(ctx, role),
    b"busy": lambda ctx, role, holder: in_use(ctx, role, holder or None),
    b"lost": lambda ctx, role, holder: not_ours(ctx, role, holder or None),
    b"full": lambda ctx, _role, _detail: QueueFullError(f"queue {ctx.keys} is full"),
    b"empty": lambda ctx, _role, _detail: QueueEmptyError(f"queue {ctx.keys} is empty"),
    b"bound": lambda ctx, _role, value: malformed(ctx.keys, "bound", value, how_to_set_bound(ctx.keys)),
}


def problem(ctx: Context, role: Role, answer: ScriptReply, *, closing: bool = False) -> Exception | None:
    """The error that a script's answer stands for, if any; ``closing`` says that the script was CLOSE."""
    if answer.status in (b"ok", b"wait"):
        return None
    if closing and answer.status == b"closed":
        error: Exception = is_closed_already(ctx)
    elif of_status := _PROBLEMS.get(answer.status):
        error = of_status(ctx, role, answer.detail)
    else:
        error = ServerReplyError(plain_refusal(answer.detail))
    if answer.stuck:
        stuck = plain_refusal(answer.stuck)
        error.add_note(f"a role of queue {ctx.keys} could not be given back ({stuck}); repair frees it")
    return error


def plain_refusal(error_reply: bytes | ServerReplyError) -> str:
    """The text of an error in a script, without what Redis adds because of the script."""
    return plain_text(printable(error_reply) if isinstance(error_reply, bytes) else str(error_reply))


#: Where a script failed: Redis 6.2 says it before an error's text, 7.0 after it. And what 7.0 says instead of
#: NOPERM.
_BEFORE: Final = re.compile(r"^((ERR )?Error running script \(call to f_\w+\): )?(@user_script: ?\d+: ?-?)+")
_AFTER: Final = re.compile(r" script: \w+, on @user_script:\d+\.$")
_NOT_ALLOWED: Final = re.compile(r"^(ERR )?The user executing the script")


def plain_text(text: str) -> str:
    """``plain_refusal`` of a text: the text that the command alone would get."""
    return _NOT_ALLOWED.sub("NOPERM the user", _AFTER.sub("", _BEFORE.sub("", text)))
