"""How many messages are taken in several steps, so that no step has too many bytes (``protocol.sizes``).

Rules:
    - A message once taken is returned, whatever is refused after it; the next call is refused, too.
    - If the connection is lost, the error has what was taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pressure.errors import PressureError
from pressure.kinds.kind import KindContext
from pressure.protocol.operation import Operation, with_taken

T = TypeVar("T")


def collect(
    ctx: KindContext, most: int, take: Callable[[int], Operation[list[T]]], data: Callable[[T], bytes]
) -> Operation[list[T]]:
    """Collects up to ``most`` items. Calls ``take(n)`` again while it returns all ``n`` items and there are
    bytes left.

    All but the first time what ``take`` gives has to consist of Batches only.
    """  # noqa: D205, one sentence more than a line has room for
    sizes = ctx.server.sizes
    found: list[T] = []
    taken = 0
    while asked := sizes.bounded(most - len(found), taken):
        try:
            some = yield from (with_taken(list(map(data, found)), take(asked)) if found else take(asked))
        except PressureError:
            if found:
                break
            raise
        sizes.note(map(data, some))
        found += some
        taken += sum(len(data(each)) for each in some)
        if len(some) < asked:
            break
    return found
