"""RedisMQ's README: its messages, asked of any server, and its commands, of servers that have them.

A plain Redis has none of the commands. Decided is what the README leaves open; the published module and its later
versions say it.
"""

from __future__ import annotations

from ..registry import clauses_of

__all__ = ["commands", "module"]

module = clauses_of("redismq")
commands = clauses_of("redismq", needs=("reliable-queues",))
