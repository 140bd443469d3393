"""Small faults that show in large requests only."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["SIZES"]

SIZES: Final = (
    Mutant(
        "a push to a new list keeps ten thousand elements",
        "miniredis/engine/commands/lists/lists.py",
        "        EXTEND[end](values, elements)\n        db.create(",
        "        EXTEND[end](values, elements[:10_000])\n        db.create(",
    ),
    Mutant(
        "an argument ends after sixty thousand bytes",
        "miniredis/engine/protocol/requests.py",
        "        argument = bytes(self.input[self._at : end])\n",
        "        argument = bytes(self.input[self._at : min(end, self._at + 60_000)])\n",
    ),
    Mutant(
        "APPEND adds three hundred bytes at most",
        "miniredis/engine/commands/strings/strings.py",
        "    changed += args[2]\n",
        "    changed += args[2][:300]\n",
    ),
    Mutant(
        "a long double may have nine thousand digits",
        "miniredis/engine/numbers/long_doubles.py",
        "LONGEST: Final = 5 * 1024 - 1\n",
        "LONGEST: Final = 9000\n",
    ),
    Mutant(
        "an id of a stream may have a thousand digits",
        "miniredis/engine/values/stream_ids.py",
        "    if len(text) > LONGEST:\n",
        "    if len(text) > 1000:\n",
    ),
)
