"""Takes many messages in several steps, so that no reply has too many bytes (``protocol.sizes``).

Rules:
    - Messages that were taken are returned even if the server refuses a later step.
    - If the connection is lost, the error has the messages that were taken.
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
    """Take up to ``most`` items, by calls of ``take(n)`` while it returns ``n`` items and bytes are left.

    From its second call on, the operation that ``take`` returns must consist of batches only.
    """
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
