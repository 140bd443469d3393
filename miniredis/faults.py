"""Faults on demand: what a test has go wrong between a server and its clients.

``server.faults`` holds the rules of a server. The functions of this module say what happens to a request that
meets one::

    from miniredis import faults

    with server.faults.add(command="LPUSH", times=1, then=faults.lose_reply()) as rule:
        ...
    assert rule.met == 1

Other processes add rules by the command DEBUG FAULT, if ``enable-debug-command`` allows it.

To add a fault: a class in ``engine/faults/fault_kinds.py``, and a function here.
"""

from __future__ import annotations

from typing import Literal, TypeVar

from .arguments import kind
from .engine.faults.fault_kinds import Cut, Delay, ErrorReply, LostReply, RefusedConnection, Restart, Trickle
from .engine.faults.fault_rules import Fault
from .testing.fault_handles import Faults, Rule

__all__ = [
    "Fault",
    "Faults",
    "Rule",
    "cut",
    "delay",
    "error",
    "lose_reply",
    "read_slowly",
    "refuse_connection",
    "restart",
    "send_in_pieces",
]

Number = TypeVar("Number", int, float)


def error(text: str) -> Fault:
    """An error reply; the command does not run, and a transaction that it belongs to is aborted.

    Args:
        text: the error's code and message, such as ``"LOADING Redis is loading the dataset in memory"``.

    Raises:
        ValueError: it is empty, or has more than one line.
    """
    return ErrorReply(text.encode())


def delay(seconds: float) -> Fault:
    """The command runs later, by the server's clock: with a held one, after ``server.fast_forward``.

    Args:
        seconds: more than 0; fractions count, down to a millisecond.

    Raises:
        TypeError: it is no number.
        ValueError: it is not more than 0.
    """
    return Delay(number("seconds", seconds))


def cut(when: Literal["before", "middle", "after"] = "before") -> Fault:
    """The connection ends.

    Args:
        when: ``"before"`` the command runs; in the ``"middle"`` of its reply, of which half is sent; or
            ``"after"`` the reply.

    Raises:
        ValueError: it is none of these.
    """
    return Cut(when)


def lose_reply(*, closes: bool = True) -> Fault:
    """The command runs, and its client is not told.

    Args:
        closes: whether the connection ends then. Otherwise it stays, and the client waits for a reply that
            does not come.
    """
    return LostReply(closes)


def restart(*, keeps_data: bool = True) -> Fault:
    """All connections end, as if the server had been started again; the command does not run.

    Args:
        keeps_data: whether the keys are still there then. Scripts and functions are in either case.
    """
    return Restart(keeps_data)


def send_in_pieces(size: int = 1, seconds: float = 0.001) -> Fault:
    """The reply goes out in pieces, by the server's clock: with a held one, after ``server.fast_forward``.

    Replies that come behind it wait, and go out in pieces, too, until all is sent.

    Args:
        size: the bytes of a piece.
        seconds: between two pieces; more than 0.

    Raises:
        ValueError: one of them is too small.
    """
    return Trickle(number("size", size), number("seconds", seconds), lasts=False)


def read_slowly(size: int = 1024, seconds: float = 0.1) -> Fault:
    """As if the client read slowly from this request on: it gets so many bytes in so many seconds.

    What waits for it grows, and ``client-output-buffer-limit`` may end its connection.

    Args:
        size: bytes.
        seconds: of the server's clock; more than 0.

    Raises:
        ValueError: one of them is too small.
    """
    return Trickle(number("size", size), number("seconds", seconds), lasts=True)


def refuse_connection() -> Fault:
    """New clients are turned away; ``after``, ``times`` and ``probability`` count them.

    A client without a socket gets redis-py's ``ConnectionError`` at once. Without these three, the system
    refuses TCP connections (on Linux), as if no server listened, and ``met`` does not count them. Any other
    connection over a socket is accepted and closed.
    """
    return RefusedConnection()


def number(name: str, value: Number) -> Number:
    if not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {kind(value)}")
    return value
