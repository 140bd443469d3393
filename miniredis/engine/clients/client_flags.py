"""Client flags: one bit for each special state of a client. Most clients have none set.

To add a flag, define it here, decide whether ``SPECIAL`` includes it, and set and clear it in the method of
``Session`` that changes the state.
"""

from __future__ import annotations

from typing import Final

UNAUTHENTICATED: Final = 1 << 0
"""The default user had a password, or was off, when it connected, and it is no other user yet."""

IN_MULTI: Final = 1 << 1
"""MULTI queues its commands until EXEC."""

EXECUTING: Final = 1 << 2
"""EXEC is running its queued commands."""

WATCH_BROKEN: Final = 1 << 3
"""A watched key has changed, so EXEC will run nothing."""

BLOCKED: Final = 1 << 4
"""It is blocked; its input stays unread."""

POSTPONED: Final = 1 << 5
"""CLIENT PAUSE holds up its command."""

UNREAD: Final = 1 << 6
"""It has sent requests, or a part of one, that have not run."""

MONITORS: Final = 1 << 7
"""MONITOR: it gets every command of every client."""

LISTENS: Final = 1 << 8
"""It gets pushes about what other clients do: some before its reply, some after."""

HEARS_FOR_OTHERS: Final = 1 << 9
"""It is or was the target of another client's CLIENT TRACKING REDIRECT."""

REPLIES_OFF: Final = 1 << 10
"""CLIENT REPLY OFF."""

SKIPS_REPLY: Final = 1 << 11
"""CLIENT REPLY SKIP: the current reply is not sent."""

SKIPS_NEXT: Final = 1 << 12
"""CLIENT REPLY SKIP: the reply to the next command is not sent."""

NO_EVICT: Final = 1 << 13
"""CLIENT NO-EVICT ON: never disconnect it for its memory."""

CLOSING: Final = 1 << 14
"""No more input is read; it is disconnected once its output is sent."""

GONE: Final = 1 << 15
"""It is disconnected."""

REPLICA: Final = 1 << 16
"""It is a replica: it gets the replication stream, and no replies."""

MASTER: Final = 1 << 17
"""It is this server's master; its replication stream arrives as commands."""

TRICKLES: Final = 1 << 18
"""A fault on demand: its output goes out a few bytes at a time."""

READS_REPLICA: Final = 1 << 19
"""READONLY: on a replica of a cluster, it reads what may be stale."""

ASKS: Final = 1 << 20
"""ASKING: its next request may be for a slot that is still on its way here."""

LIMITED: Final = 1 << 21
"""Its user may not do everything: each of its requests is checked."""

NO_TOUCH: Final = 1 << 22
"""CLIENT NO-TOUCH ON: its commands leave the times at which keys were last used as they are."""

REDIRECTS: Final = 1 << 23
"""CLIENT CAPA REDIRECT: a replica refuses to serve it, and tells it where the primary is."""

MUTE: Final = REPLIES_OFF | SKIPS_REPLY
"""Its replies are not sent."""

SPECIAL: Final = ~(WATCH_BROKEN | NO_EVICT | READS_REPLICA)
"""If any of these is set, its commands go through the gate one by one."""
