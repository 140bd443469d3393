"""Two queues of different kinds never share keys: an operation on the keys of another kind is refused.

Rules:
    - The types of the keys tell most: only a reliable queue has a stream, or the sorted set of delayed
      messages; only a backup queue has a list of what is in progress. A list alone may be of a backup queue
      or of a ring. So the first client of this package that adds to it, or takes from it, writes which it is
      into ``<main key>:kind``, and that stays. Programs without this package need not; a list without such
      keys is of whatever kind it is called.
    - Each queue object looks until it knows, which is usually once, in one or two round trips before its
      first operation. Who only looks at a queue writes nothing.
    - A name that ends as the keys of another queue do is refused before anything is sent.

To add a kind: a row in ``_SIGNS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from pressure.errors import QueueAlreadyExistsError
from pressure.protocol import operation as steps
from pressure.protocol.operation import Batch, Command, Operation, Reply
from pressure.text import printable

if TYPE_CHECKING:
    from pressure.kinds.kind import KindContext

T = TypeVar("T")
P = ParamSpec("P")

#: What the name of the key that says which kind a list is ends in.
MARK: Final = b":kind"

#: The main key's type, or what a key beside it ends in and its type, and the kind that has it.
_SIGNS: Final = (
    (b"", b"stream", "reliable"),
    (b"", b"Queue-EDU", "reliable"),
    (b":delayed", b"zset", "reliable"),
    (b":processing", b"list", "backup"),
    (b":claims", b"zset", "backup"),
)
_BESIDE: Final = tuple(dict.fromkeys(suffix for suffix, _, _ in _SIGNS))

_RESERVED: Final = re.compile(
    rb":(?:processing|claims|delayed|due|deliveries|beats|notes|kind)\Z|:(?:lock|delayed|due):"
)


@dataclass(slots=True)
class KindCheck:
    """What one queue object knows of its keys.

    Attributes:
        kind: The kind of the object.
        is_known: Whether the keys are known to be of this kind.
    """

    kind: str
    is_known: bool = False


def check_name(name: bytes) -> None:
    """Raises ValueError for a name whose key would be a key of another queue."""
    if found := _RESERVED.search(name):
        raise ValueError(
            f"the name {printable(name)} has {printable(found[0])} in it, as the keys beside another queue's "
            "main key; choose another name"
        )


def kind_of(types: list[Reply], mark: Reply) -> tuple[str, bytes] | None:
    """The kind that keys are of, and what the key that says so ends in; None if they may be of any.

    Args:
        types: Those of the main key and of each in ``_BESIDE`` behind it.
        mark: What the key says that names the kind.
    """
    of = dict(zip(_BESIDE, types, strict=True))
    known = {b"backup": "backup", b"ring": "ring"}.get(mark) if isinstance(mark, bytes) else None
    if known and of[b""] in (b"list", b"none", None):
        return known, MARK
    return next(((kind, suffix) for suffix, type_, kind in _SIGNS if of[suffix] == type_), None)


def kind_commands(main: bytes) -> tuple[Command, ...]:
    """What is asked of the server for ``kind_of``, the mark last."""
    return (*((b"TYPE", main + suffix) for suffix in _BESIDE), (b"GET", main + MARK))


def check_kind(ctx: KindContext, *, changes: bool = True, makes: bool = False) -> Operation[None]:
    """Find out whether the keys are of the kind that they are taken for, unless that is known.

    Args:
        ctx: The queue.
        changes: Whether something is added or taken afterwards.
        makes: Whether the queue is made if there is none.

    Raises:
        QueueAlreadyExistsError: They are of another kind.
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


def operation(
    function: Callable[Concatenate[KindContext, P], Operation[T]],
    /,
    *,
    changes: bool = False,
    makes: bool = False,
) -> Callable[Concatenate[KindContext, P], Operation[T]]:
    """Mark a generator as a whole operation on a queue of a kind, which begins with a look at the keys' kind.

    Args:
        function: The generator.
        changes: Whether it adds or takes something.
        makes: Whether it makes the queue if there is none.
    """
    whole = steps.operation(function)

    @wraps(function)
    def guarded(ctx: KindContext, /, *args: P.args, **kwargs: P.kwargs) -> Operation[T]:
        yield from check_kind(ctx, changes=changes, makes=makes)
        return (yield from whole(ctx, *args, **kwargs))

    return guarded


def modifying(
    function: Callable[Concatenate[KindContext, P], Operation[T]], /
) -> Callable[Concatenate[KindContext, P], Operation[T]]:
    """Mark an operation that takes something, or changes what is there."""
    return operation(function, changes=True)


def creating(
    function: Callable[Concatenate[KindContext, P], Operation[T]], /
) -> Callable[Concatenate[KindContext, P], Operation[T]]:
    """Mark an operation that adds something."""
    return operation(function, changes=True, makes=True)
