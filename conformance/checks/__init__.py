"""The checks: plain functions that look at a server and a client, each naming the clauses it judges."""

from . import (
    closing,
    decisions,
    deleting,
    getting,
    lifecycle,
    lists,
    moments,
    putting,
    reliable,
    settings,
    together,
    waiting,
)
from .registry import CHECKS, Check, check

__all__ = [
    "CHECKS",
    "Check",
    "check",
    "closing",
    "decisions",
    "deleting",
    "getting",
    "lifecycle",
    "lists",
    "moments",
    "putting",
    "reliable",
    "settings",
    "together",
    "waiting",
]
