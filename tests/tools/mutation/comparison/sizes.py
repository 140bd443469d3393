"""Small faults that show in large requests only."""

from __future__ import annotations

from typing import Final

from .fault import fault

__all__ = ["SIZES"]

SIZES: Final = (
    fault(
        "a push to a new list keeps ten thousand elements",
        "commands/lists.py",
        "        EXTEND[end](values, elements)\n        db.create(",
        "        EXTEND[end](values, elements[:10_000])\n        db.create(",
    ),
    fault(
        "an argument ends after sixty thousand bytes",
        "requests.py",
        "            argument = bytes(view[self._at : end])\n",
        "            argument = bytes(view[self._at : min(end, self._at + 60_000)])\n",
    ),
    fault(
        "APPEND adds three hundred bytes at most",
        "commands/strings.py",
        "    changed += args[2]\n",
        "    changed += args[2][:300]\n",
    ),
    fault(
        "a long double may have nine thousand digits",
        "longdouble.py",
        "LONGEST: Final = 5 * 1024 - 1\n",
        "LONGEST: Final = 9000\n",
    ),
    fault(
        "an id of a stream may have a thousand digits",
        "stream_ids.py",
        "    if len(text) > LONGEST:\n",
        "    if len(text) > 1000:\n",
    ),
)
