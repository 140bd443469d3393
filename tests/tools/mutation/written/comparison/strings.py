"""Small faults of strings, and of the numbers and HyperLogLogs in them."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["STRINGS"]

STRINGS: Final = (
    Mutant(
        "SET with GET forgets the type of the old value",
        "miniredis/engine/commands/strings/strings.py",
        "    old = db.lookup_read(key, STRING) if options.get else None\n",
        "    old = db.lookup_write(key) if options.get else None\n",
    ),
    Mutant(
        "GETEX with PERSIST keeps the time to live",
        "miniredis/engine/commands/strings/strings.py",
        "        db.remove_deadline(key)\n",
        "        db.lookup_write(key)\n",
    ),
    Mutant(
        "SETRANGE of nothing creates a key",
        "miniredis/engine/commands/strings/strings.py",
        "    if not part:\n",
        "    if not part and text is not None:\n",
    ),
    Mutant(
        "GETRANGE ends one too early",
        "miniredis/engine/commands/strings/strings.py",
        "    return text[first : last + 1]\n",
        "    return text[first : last + (last < 100)]\n",
        ("recorded.string-parts",),
    ),
    Mutant(
        "MSETNX looks at its first key only",
        "miniredis/engine/commands/strings/strings.py",
        "for key in args[1::2]):\n        return 0",
        "for key in args[1:2]):\n        return 0",
        ("recorded.string-parts",),
    ),
    Mutant(
        "INCR passes 64 bits",
        "miniredis/engine/commands/strings/strings.py",
        "    if not MIN <= value <= MAX:\n",
        "    if not MIN <= value <= MAX + 1:\n",
        ("recorded.strings",),
    ),
    Mutant(
        "an integer may have leading zeros",
        "miniredis/engine/numbers/numbers.py",
        'b"%d" % value == text and MIN',
        'b"%d" % value == (text.lstrip(b"0") or b"0") and MIN',
    ),
    Mutant(
        "PFCOUNT keeps no HyperLogLog's number",
        "miniredis/engine/commands/strings/hyperloglogs.py",
        "        hyperloglog.cache(mutable(db, key, text), number)\n",
        "",
        ("recorded.hyperloglogs",),
    ),
    Mutant(
        "a HyperLogLog becomes dense a byte early",
        "miniredis/engine/values/hyperloglog.py",
        "len(text) + len(split) - run.size <= most",
        "len(text) + len(split) - run.size < most",
    ),
    Mutant(
        "STRLEN counts one too many",
        "miniredis/engine/commands/strings/strings.py",
        '    return len(session.db.lookup_read(args[1], STRING) or b"")\n',
        '    return len(session.db.lookup_read(args[1], STRING) or b"") + 1\n',
        ("wire.strings", "recorded.bitmaps"),
    ),
)
