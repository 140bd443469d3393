"""Small faults of what clients hear of others: messages, keyspace events, keys that changed."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["MESSAGES"]

MESSAGES: Final = (
    Mutant(
        "patterns are counted by themselves",
        "miniredis/engine/clients/publishing.py",
        "    PATTERNS: (CHANNELS, PATTERNS),\n",
        "    PATTERNS: (PATTERNS,),\n",
    ),
    Mutant(
        "a message to several patterns is sent once",
        "miniredis/engine/clients/publishing.py",
        "[PATTERNS.message, pattern, channel, message], event)\n        return times\n",
        "[PATTERNS.message, pattern, channel, message], event)\n                break\n"
        "        return times\n",
    ),
    Mutant(
        "UNSUBSCRIBE from nothing says nothing",
        "miniredis/engine/clients/publishing.py",
        "        if not names:\n            session.push(",
        "        if names:\n            session.push(",
        ("wire.messages",),
    ),
    Mutant(
        "who listens in RESP2 may say anything",
        "miniredis/engine/gate.py",
        "not session.subscriptions or session.resp > 2 or",
        "not session.subscriptions or session.resp > 1 or",
    ),
    Mutant(
        "PING is answered as ever while listening",
        "miniredis/engine/commands/connections/connection.py",
        "    if session.subscriptions and session.resp == 2:",
        "    if session.subscriptions and session.resp == 1:",
    ),
    Mutant(
        "CLIENT REPLY OFF silences messages",
        "miniredis/engine/clients/session.py",
        "        if self.flags & CLOSING:\n            return\n        if self",
        "        if self.flags & (CLOSING | REPLIES_OFF):\n            return\n        if self",
    ),
    Mutant(
        "RENAME tells of the new name first",
        "miniredis/engine/commands/keys/generic.py",
        '    db.announce(old, "rename_from")\n    db.announce(new, "rename_to")\n',
        '    db.announce(new, "rename_to")\n    db.announce(old, "rename_from")\n',
    ),
    Mutant(
        "INCR is an event of its own",
        "miniredis/engine/commands/strings/strings.py",
        '        db.change(key, b"%d" % value, "incrby")\n',
        '        db.change(key, b"%d" % value, "set")\n',
        ("recorded.events-strings",),
    ),
    Mutant(
        "a list that is emptied is not told to be gone",
        "miniredis/engine/keyspace/keyspace.py",
        '            self.delete(key, event + " del", count)\n',
        "            self.delete(key, event, count)\n",
    ),
    Mutant(
        "an event comes before the reply to LPUSH",
        "miniredis/engine/clients/notifications.py",
        '    "lpush lpushx": "lpush",',
        '    "lpushx": "lpush",',
    ),
    Mutant(
        "A stands for misses, too",
        "miniredis/engine/clients/notifications.py",
        'letters.replace("A", ALL)',
        'letters.replace("A", ALL + "m")',
        ("recorded.events-keys",),
    ),
    Mutant(
        "a client hears at once of what it changed itself",
        "miniredis/engine/clients/tracking.py",
        "            if not at_once and waits_for_reply(session, running):\n",
        "            if session is running and at_once:\n",
    ),
    Mutant(
        "a key that was told of stays in mind",
        "miniredis/engine/clients/tracking.py",
        "        readers = self.readers.pop(key)\n",
        "        readers = self.readers.get(key, set()) or self.readers.pop(key)\n",
    ),
    Mutant(
        "NOLOOP holds for nothing",
        "miniredis/engine/clients/tracking.py",
        "            if session is running and tracker.no_loop:\n",
        "            if session is None and tracker.no_loop:\n",
    ),
    Mutant(
        "OPTIN remembers everything",
        "miniredis/engine/clients/tracking.py",
        "        return self.caching if self.opt_in else",
        "        return True if self.opt_in else",
    ),
    Mutant(
        "CLIENT CACHING holds for ever",
        "miniredis/engine/clients/session.py",
        "            self.tracker.caching = False\n",
        "            self.tracker.caching = self.tracker.caching\n",
        ("recorded.tracking",),
    ),
    Mutant(
        "FLUSHALL is told to nobody",
        "miniredis/engine/clients/change_notifier.py",
        "                self.tracking.flushed(self.client)\n",
        "                pass\n",
    ),
    Mutant(
        "broadcasts come for any key",
        "miniredis/engine/clients/tracking.py",
        "if key.startswith(beginning)]",
        "if beginning is not None]",
    ),
    Mutant(
        "PUBSUB NUMSUB counts patterns",
        "miniredis/engine/commands/connections/pubsub.py",
        "    return numbers(session, CHANNELS, args[2:])\n",
        "    return numbers(session, PATTERNS, args[2:])\n",
        ("recorded.pubsub",),
    ),
)
