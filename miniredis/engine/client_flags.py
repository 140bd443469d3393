"""What is special about a client: flags in one number, as Redis keeps them. Most clients have none.

To add one, add it here and to ``SPECIAL`` or not, and set and clear it in the method of ``Session`` that
changes the state.
"""

from __future__ import annotations

from typing import Final

UNAUTHENTICATED: Final = 1 << 0
"""A password was set when it came, and it has not told it."""

IN_MULTI: Final = 1 << 1
"""Its commands are queued until EXEC."""

EXECUTING: Final = 1 << 2
"""EXEC runs what was queued."""

WATCH_BROKEN: Final = 1 << 3
"""A key of WATCH has changed, so EXEC will run nothing."""

BLOCKED: Final = 1 << 4
"""It waits for something; its input stays unread."""

POSTPONED: Final = 1 << 5
"""CLIENT PAUSE holds its command up."""

UNREAD: Final = 1 << 6
"""It has sent more than was run, or the beginning of a request."""

MONITORS: Final = 1 << 7
"""It is shown every command of every client."""

LISTENS: Final = 1 << 8
"""It is told of what others do: some of that comes before its reply, some after."""

HEARS_FOR_OTHERS: Final = 1 << 9
"""Some client that tracks keys has it hear in its place, or had."""

REPLIES_OFF: Final = 1 << 10
"""CLIENT REPLY OFF was said."""

SKIPS_REPLY: Final = 1 << 11
"""The reply at hand is not to be sent."""

SKIPS_NEXT: Final = 1 << 12
"""Nor is that of the next command, as CLIENT REPLY SKIP said."""

NO_EVICT: Final = 1 << 13
"""CLIENT NO-EVICT asked that it never be hung up on for its memory."""

CLOSING: Final = 1 << 14
"""Nothing more is read from it, and it is to be hung up once its output is sent."""

GONE: Final = 1 << 15
"""It is connected no more."""

REPLICA: Final = 1 << 16
"""It is a replica: what it is sent is the stream of effects, and nothing answers it."""

MASTER: Final = 1 << 17
"""It is the master, whose stream of effects comes as commands."""

MUTE: Final = REPLIES_OFF | SKIPS_REPLY
"""Its replies are not sent."""

SPECIAL: Final = ~(WATCH_BROKEN | NO_EVICT)
"""With any of these, its commands go through the gate one by one."""
