"""Small faults of strings, and of the numbers and HyperLogLogs in them."""

from __future__ import annotations

from typing import Final

from .fault import fault

__all__ = ["STRINGS"]

STRINGS: Final = (
    fault(
        "SET with GET forgets the type of the old value",
        "commands/strings.py",
        "    old = db.lookup_read(key, STRING) if options.get else None\n",
        "    old = db.lookup_write(key) if options.get else None\n",
    ),
    fault(
        "GETEX with PERSIST keeps the time to live",
        "commands/strings.py",
        "        db.remove_deadline(key)\n",
        "        db.lookup_write(key)\n",
    ),
    fault(
        "SETRANGE of nothing creates a key",
        "commands/strings.py",
        "    if not part:\n",
        "    if not part and text is not None:\n",
    ),
    fault(
        "GETRANGE ends one too early",
        "commands/strings.py",
        "    return text[first : last + 1]\n",
        "    return text[first : last + (last < 100)]\n",
    ),
    fault(
        "MSETNX looks at its first key only",
        "commands/strings.py",
        "for key in args[1::2]):\n        return 0",
        "for key in args[1:2]):\n        return 0",
    ),
    fault(
        "INCR passes 64 bits",
        "commands/strings.py",
        "    if not MIN <= value <= MAX:\n",
        "    if not MIN <= value <= MAX + 1:\n",
    ),
    fault(
        "an integer may have leading zeros",
        "numbers.py",
        'b"%d" % value == text and MIN',
        'b"%d" % value == (text.lstrip(b"0") or b"0") and MIN',
    ),
    fault(
        "PFCOUNT keeps no HyperLogLog's number",
        "commands/hyperloglogs.py",
        "        hyperloglog.cache(mutable(db, key, text), number)\n",
        "",
    ),
    fault(
        "a HyperLogLog becomes dense a byte early",
        "hyperloglog.py",
        "len(text) + len(split) - run.size <= most",
        "len(text) + len(split) - run.size < most",
    ),
)
