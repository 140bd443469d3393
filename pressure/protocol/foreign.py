"""Name the keys of a queue that have a wrong type, in place of the server's error WRONGTYPE."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from pressure.errors import MalformedQueueError, ServerReplyError
from pressure.protocol.operation import Batch, Context, Operation
from pressure.text import printable

T = TypeVar("T")
P = ParamSpec("P")


def naming_foreign_keys(
    function: Callable[Concatenate[Context, P], Operation[T]], /
) -> Callable[Concatenate[Context, P], Operation[T]]:
    """Make an operation name the keys that have a wrong type.

    Raises:
        MalformedQueueError: One of the keys has a wrong type; raised in place of WRONGTYPE.
    """

    @wraps(function)
    def whole(ctx: Context, /, *args: P.args, **kwargs: P.kwargs) -> Operation[T]:
        try:
            return (yield from function(ctx, *args, **kwargs))
        except ServerReplyError as error:
            if error.code != "WRONGTYPE":
                raise
            if problem := (yield from _foreign_keys(ctx)):
                raise MalformedQueueError(
                    f"queue {ctx.keys}: {problem}; another program wrote it: rename it or delete it"
                ) from error
            raise

    return whole


def _foreign_keys(ctx: Context) -> Operation[str]:
    keys = ctx.keys
    roles = (keys.producer_free, keys.consumer_free)
    lists = (keys.queue, keys.closed, keys.unacked, keys.rejected, keys.not_full, *roles)
    wanted = {key: b"list" if key in lists else b"string" for key in keys.all}
    types = yield Batch(tuple((b"TYPE", key) for key in wanted))
    foreign = [
        f"its key {printable(key)} holds a {printable(found)}, where a {printable(type_)} belongs"
        for (key, type_), found in zip(wanted.items(), types, strict=True)
        if isinstance(found, bytes) and found not in (type_, b"none")
    ]
    return ", and ".join(foreign)
