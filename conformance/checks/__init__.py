"""The checks: plain functions that look at a server and a client, each naming the clauses it judges."""

from . import (
    backup,
    closing,
    decisions,
    deleting,
    getting,
    lifecycle,
    lists,
    messages,
    moments,
    putting,
    reliable,
    ring,
    rqueues,
    settings,
    together,
    waiting,
)
from .registry import CHECKS, Check, check

__all__ = [
    "CHECKS",
    "Check",
    "backup",
    "check",
    "closing",
    "decisions",
    "deleting",
    "getting",
    "lifecycle",
    "lists",
    "messages",
    "moments",
    "putting",
    "reliable",
    "ring",
    "rqueues",
    "settings",
    "together",
    "waiting",
]
