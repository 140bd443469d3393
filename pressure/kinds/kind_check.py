"""Refuses an operation on the keys of a queue of another kind.

Rules:
    - The types of the keys show most kinds: only a reliable queue has a stream or a sorted set of delayed
      messages; only a backup queue has a list of items in progress or a sorted set of claims. A single list
      may be a backup queue or a ring. So the first client of this package that adds to it or takes from it
      writes the kind into ``<main key>:kind``, and that key stays. Other programs need not write it: a list
      without such keys is accepted as either kind.
    - Each queue object checks its keys until it knows their kind: usually once, in one or two round trips
      before its first operation. An operation that only reads the queue writes nothing.

To add a kind: a row in ``_SIGNS``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from pressure.errors import QueueAlreadyExistsError
from pressure.kinds.kind import KindCheck, KindContext
from pressure.protocol.operation import Batch, Command, Operation, Reply, operation
from pressure.text import printable

T = TypeVar("T")
P = ParamSpec("P")

#: The suffix of the key that names the kind of a list.
MARK: Final = b":kind"

#: The suffix of a key (empty for the main key), its type, and the kind of queue that has such a key.
_SIGNS: Final = (
    (b"", b"stream", "reliable"),
    (b"", b"Queue-EDU", "reliable"),
    (b":delayed", b"zset", "reliable"),
    (b":processing", b"list", "backup"),
    (b":claims", b"zset", "backup"),
)
_BESIDE: Final = tuple(dict.fromkeys(suffix for suffix, _, _ in _SIGNS))


def kind_of(types: list[Reply], mark: Reply) -> tuple[str, bytes] | None:
    """The kind of a queue, and the suffix of the key that shows it; None if the keys fit several kinds.

    Args:
        types: The reply to TYPE for the key with each suffix in ``_BESIDE``.
        mark: The value of the key that names the kind.
    """
    of = dict(zip(_BESIDE, types, strict=True))
    known = {b"backup": "backup", b"ring": "ring"}.get(mark) if isinstance(mark, bytes) else None
    if known and of[b""] in (b"list", b"none", None):
        return known, MARK
    return next(((kind, suffix) for suffix, type_, kind in _SIGNS if of[suffix] == type_), None)


def kind_commands(main: bytes) -> tuple[Command, ...]:
    """The commands whose replies ``kind_of`` takes, that for the mark last."""
    return (*((b"TYPE", main + suffix) for suffix in _BESIDE), (b"GET", main + MARK))


def check_kind(ctx: KindContext, *, changes: bool = True, makes: bool = False) -> Operation[None]:
    """Check that the keys are of the expected kind, unless that is known.

    Args:
        ctx: The queue.
        changes: Whether the operation adds or takes items.
        makes: Whether the operation creates the queue if it does not exist.

    Raises:
        QueueAlreadyExistsError: The keys are of another kind.
    """
    kind_check, main = ctx.kind_check, ctx.keys.main
    if kind_check is None or kind_check.is_known:
        return
    *types, mark = yield Batch(kind_commands(main))
    _compare(ctx, kind_check, kind_of(types, mark))
    is_there = types[0] in (b"list", b"stream", b"Queue-EDU")
    if not changes or not (is_there or makes):
        return
    if kind_check.kind != "reliable" and mark is None:
        wanted: Command = (b"SET", main + MARK, kind_check.kind.encode(), b"NX")
        _, mark = yield Batch((wanted, (b"GET", main + MARK)))
        _compare(ctx, kind_check, kind_of([None] * len(types), mark))
    kind_check.is_known = True


def _compare(ctx: KindContext, kind_check: KindCheck, found: tuple[str, bytes] | None) -> None:
    if found is None or found[0] == kind_check.kind:
        return
    kind, suffix = found
    key = printable(ctx.keys.main + suffix)
    wrong = f"; if that is wrong, delete {key}" if suffix == MARK else ""
    raise QueueAlreadyExistsError(
        f"queue {ctx.keys} is a {kind} queue, not a {kind_check.kind} queue, as the key {key} shows: "
        f"queues of different kinds need different names{wrong}"
    )


def _checked(
    function: Callable[Concatenate[KindContext, P], Operation[T]],
    *,
    changes: bool = False,
    makes: bool = False,
) -> Callable[Concatenate[KindContext, P], Operation[T]]:
    """An operation that begins with ``check_kind``, which gets these options."""
    whole = operation(function)

    @wraps(function)
    def guarded(ctx: KindContext, /, *args: P.args, **kwargs: P.kwargs) -> Operation[T]:
        yield from check_kind(ctx, changes=changes, makes=makes)
        return (yield from whole(ctx, *args, **kwargs))

    return guarded


def reading(
    function: Callable[Concatenate[KindContext, P], Operation[T]], /
) -> Callable[Concatenate[KindContext, P], Operation[T]]:
    """Decorate an operation that neither adds nor takes items."""
    return _checked(function)


def modifying(
    function: Callable[Concatenate[KindContext, P], Operation[T]], /
) -> Callable[Concatenate[KindContext, P], Operation[T]]:
    """Decorate an operation that takes or changes items."""
    return _checked(function, changes=True)


def creating(
    function: Callable[Concatenate[KindContext, P], Operation[T]], /
) -> Callable[Concatenate[KindContext, P], Operation[T]]:
    """Decorate an operation that adds items, and so may create the queue."""
    return _checked(function, changes=True, makes=True)
