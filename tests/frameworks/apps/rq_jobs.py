"""Jobs for RQ, which finds them by their names."""

from __future__ import annotations

from .effects import OnPurposeError, note, note_time, server, third_time, wait_for


def square(key: str, number: int) -> int:
    note(key, number)
    return number * number


def fail() -> None:
    raise OnPurposeError("as the test asked")


def come_around(key: str) -> int:
    return third_time(key)


def clock(key: str) -> None:
    note_time(key)


def hold(started: str, gate: str) -> str:
    note(started, "started")
    wait_for(gate)
    return "let go"


def most_at_once(key: str, gate: str) -> int:
    """How many of these jobs were at work when this one began, itself included."""
    running = int(server().incr(f"{key}:running"))
    note(key, running)
    wait_for(gate)
    server().decr(f"{key}:running")
    return running
