"""What a server propagates: the commands in a real Redis's append-only file, beside miniredis's effects.

Both are streams of commands. ``differences`` compares them one by one; what may differ has a reason in
``TOLERATED``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

import hiredis

__all__ = ["TOLERATED", "Effect", "appended_to", "commands_in", "differences"]

Effect = Sequence[bytes]


def appended_to(folder: Path) -> list[list[bytes]]:
    """The commands in the increments of an append-only file, of Redis 7.0 and later."""
    files = sorted(folder.glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))
    return commands_in(b"".join(file.read_bytes() for file in files))


def commands_in(data: bytes) -> list[list[bytes]]:
    """The commands in the bytes of an append-only file."""
    reader = hiredis.Reader()
    reader.feed(data)
    found: list[list[bytes]] = []
    while (command := reader.gets()) is not False:
        found.append(command)
    return found


NEAR: Final = 60_000
"""Milliseconds between the same moment on two servers that are asked one after the other."""


def is_clock(ours: bytes, theirs: bytes) -> bool:
    """Two times, or ids of entries that begin with one."""
    mine, _, my_rest = ours.partition(b"-")
    real, _, real_rest = theirs.partition(b"-")
    if not (mine.isdigit() and real.isdigit()) or int(mine) < 10**12:
        return False
    return abs(int(mine) - int(real)) < NEAR and (not my_rest or my_rest.isdigit() == real_rest.isdigit())


def is_draw(ours: Effect, theirs: Effect) -> bool:
    """Members of one set, each drawn by lot."""
    return ours[0].upper() == theirs[0].upper() == b"SREM" and ours[1] == theirs[1]


def are_near(ours: Effect, theirs: Effect) -> bool:
    """The same words, but for times."""
    return all(
        mine.upper() == real.upper() or is_clock(mine, real) for mine, real in zip(ours, theirs, strict=True)
    )


TOLERATED: Final[Mapping[str, Callable[[Effect, Effect], bool]]] = {
    "Redis writes some names and options in lower case, and was asked at another time": are_near,
    "SPOP draws by lot": is_draw,
}
"""What may differ between two effects, each by the reason."""


def same(ours: Effect, theirs: Effect) -> bool:
    return len(ours) == len(theirs) and any(allows(ours, theirs) for allows in TOLERATED.values())


def without_expiry(effects: Sequence[Effect]) -> list[Effect]:
    """Without the ends of keys that had a time to end at: each server looks for them when it likes.

    A server that finds such a key in a command puts its end and the command between MULTI and EXEC. These go,
    too, if they have only one command between them then.
    """
    timed: set[bytes] = set()
    kept: list[Effect] = []
    begin = -1  # of the transaction from which an end was taken
    for effect in effects:
        words = [word.upper() for word in effect]
        if words[0] == b"PEXPIREAT" or b"PXAT" in words:
            timed.add(effect[1])
        if words[0] == b"DEL" and len(effect) == 2 and effect[1] in timed:
            begin = max((at for at, each in enumerate(kept) if each[0] == b"MULTI"), default=-1)
        elif words[0] == b"EXEC" and begin >= 0 and len(kept) - begin <= 2:
            del kept[begin]
            begin = -1
        else:
            kept.append(effect)
            begin = -1 if words[0] == b"EXEC" else begin
    return kept


def differences(ours: Sequence[Effect], theirs: Sequence[Effect]) -> Iterator[str]:
    """The first place where two streams differ, with what is around it."""
    ours, theirs = without_expiry(ours), without_expiry(theirs)
    for at, (mine, real) in enumerate(zip_longest(ours, theirs)):
        if mine is None or real is None or not same(mine, real):
            around = [f"  both:  {shown(each)}" for each in ours[max(at - 2, 0) : at]]
            yield "\n".join([*around, f"  ours:  {shown(mine)}", f"  Redis: {shown(real)}"])
            return


def shown(effect: Effect | None) -> str:
    return "nothing" if effect is None else b" ".join(effect)[:200].decode("latin-1")
