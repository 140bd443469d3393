"""Small faults of what clients hear of others: messages, keyspace events, keys that changed."""

from __future__ import annotations

from typing import Final

from .fault import fault

__all__ = ["MESSAGES"]

MESSAGES: Final = (
    fault(
        "patterns are counted by themselves",
        "publishing.py",
        "    PATTERNS: (CHANNELS, PATTERNS),\n",
        "    PATTERNS: (PATTERNS,),\n",
    ),
    fault(
        "a message to several patterns is sent once",
        "publishing.py",
        "[PATTERNS.message, pattern, channel, message], event)\n        return times\n",
        "[PATTERNS.message, pattern, channel, message], event)\n                break\n"
        "        return times\n",
    ),
    fault(
        "UNSUBSCRIBE from nothing says nothing",
        "publishing.py",
        "        if not names:\n            session.push(",
        "        if names:\n            session.push(",
    ),
    fault(
        "who listens in RESP2 may say anything",
        "gate.py",
        "not session.subscriptions or session.resp > 2 or",
        "not session.subscriptions or session.resp > 1 or",
    ),
    fault(
        "PING is answered as ever while listening",
        "commands/connection.py",
        "    if session.subscriptions and session.resp == 2:",
        "    if session.subscriptions and session.resp == 1:",
    ),
    fault(
        "CLIENT REPLY OFF silences messages",
        "session.py",
        "        if self.flags & CLOSING:\n            return\n        if self",
        "        if self.flags & (CLOSING | REPLIES_OFF):\n            return\n        if self",
    ),
    fault(
        "RENAME tells of the new name first",
        "commands/generic.py",
        '    db.announce(old, "rename_from")\n    db.announce(new, "rename_to")\n',
        '    db.announce(new, "rename_to")\n    db.announce(old, "rename_from")\n',
    ),
    fault(
        "INCR is an event of its own",
        "commands/strings.py",
        '    put(key, b"%d" % value, "incrby")\n',
        '    put(key, b"%d" % value, "set")\n',
    ),
    fault(
        "a list that is emptied is not told to be gone",
        "keyspace.py",
        '            self.delete(key, event + " del")\n',
        "            self.delete(key, event)\n",
    ),
    fault(
        "an event comes before the reply to LPUSH",
        "notifications.py",
        '    "lpush lpushx": "lpush",',
        '    "lpushx": "lpush",',
    ),
    fault(
        "A stands for misses, too",
        "notifications.py",
        'letters.replace("A", ALL)',
        'letters.replace("A", ALL + "m")',
    ),
    fault(
        "a client hears at once of what it changed itself",
        "tracking.py",
        "            if session is running and not at_once:\n",
        "            if session is running and at_once:\n",
    ),
    fault(
        "a key that was told of stays in mind",
        "tracking.py",
        "        readers = self.readers.pop(key)\n",
        "        readers = self.readers.get(key, set()) or self.readers.pop(key)\n",
    ),
    fault(
        "NOLOOP holds for nothing",
        "tracking.py",
        "            if session is running and tracker.no_loop:\n",
        "            if session is None and tracker.no_loop:\n",
    ),
    fault(
        "OPTIN remembers everything",
        "tracking.py",
        "        return self.caching if self.opt_in else",
        "        return True if self.opt_in else",
    ),
    fault(
        "CLIENT CACHING holds for ever",
        "session.py",
        "                self.tracker.caching = False\n",
        "                self.tracker.caching = self.tracker.caching\n",
    ),
    fault(
        "FLUSHALL is told to nobody",
        "change_notifier.py",
        "                self.tracking.flushed(self.running)\n",
        "                pass\n",
    ),
    fault(
        "broadcasts come for any key",
        "tracking.py",
        "if key.startswith(beginning)]",
        "if beginning is not None]",
    ),
)
