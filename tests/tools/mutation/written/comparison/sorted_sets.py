"""Small faults of sorted sets, and of places in them."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["SORTED_SETS"]

SORTED_SETS: Final = (
    Mutant(
        "ZADD with GT takes the same score again",
        "miniredis/engine/commands/sorted_sets/sorted_sets.py",
        '(b"GT" in options and score <= old)',
        '(b"GT" in options and score < old)',
        ("recorded.sorted-sets",),
    ),
    Mutant(
        "ZADD counts what it did not change",
        "miniredis/engine/commands/sorted_sets/sorted_sets.py",
        "    if score == old:\n        return\n",
        "",
        ("recorded.events-sorted-sets",),
    ),
    Mutant(
        "ZREVRANK counts from 1",
        "miniredis/engine/commands/sorted_sets/sorted_sets.py",
        "rank is None else len(values) - 1 - rank",
        "rank is None else len(values) - rank",
    ),
    Mutant(
        "a range has its upper end though told not to",
        "miniredis/engine/values/entry_ranges.py",
        "self.part(entry) < high if without_high",
        "self.part(entry) <= high if without_high",
    ),
    Mutant(
        "a negative offset counts as 0",
        "miniredis/engine/values/entry_ranges.py",
        "    if not 0 <= offset < end - first:\n",
        "    offset = max(offset, 0)\n    if not 0 <= offset < end - first:\n",
        ("recorded.sorted-set-ranges",),
    ),
    Mutant(
        "ZPOPMAX pops the lowest of the highest first",
        "miniredis/engine/commands/sorted_sets/pops.py",
        "values.remove_between(len(values) - number, len(values))[::-1]",
        "values.remove_between(len(values) - number, len(values))",
    ),
    Mutant(
        "BZMPOP reads its timeout first",
        "miniredis/engine/commands/sorted_sets/pops.py",
        "    wanted = AnySortedSet(*read_keys_and_end(args, 2, ENDS))\n    timeout = read_timeout(args[1])\n",
        "    timeout = read_timeout(args[1])\n    wanted = AnySortedSet(*read_keys_and_end(args, 2, ENDS))\n",
        ("recorded.sorted-set-pops",),
    ),
    Mutant(
        "ZINTERCARD takes a limit of 0 for a limit",
        "miniredis/engine/commands/sorted_sets/algebra.py",
        "return min(common, limit) if limit else common",
        "return min(common, limit) if words else common",
        (
            "recorded.types",
            "recorded.sorted-set-algebra",
        ),
    ),
    Mutant(
        "SORT leaves a sorted set packed",
        "miniredis/engine/commands/keys/sorting.py",
        "value.unpack()",
        "False",
        ("recorded.sorted-sets",),
    ),
    Mutant(
        "GEODIST is half as far",
        "miniredis/engine/values/geohash.py",
        "    return 2.0 * RADIUS *",
        "    return 1.0 * RADIUS *",
    ),
    Mutant(
        "COUNT takes the first, not the nearest",
        "miniredis/engine/commands/geo/search.py",
        "NEAREST_FIRST if options.count and not options.any else 0",
        "NEAREST_FIRST if options.count and options.any else 0",
        ("recorded.geo",),
    ),
    Mutant(
        "a search in nothing leaves the key as it was",
        "miniredis/engine/commands/geo/search.py",
        '    event = "geosearchstore"',
        '    if options.values is None:\n        return 0\n    event = "geosearchstore"',
    ),
    Mutant(
        "ZCARD counts one too many",
        "miniredis/engine/commands/sorted_sets/sorted_sets.py",
        "    return len(session.db.lookup_read(args[1], SORTED_SET) or ())\n",
        "    return len(session.db.lookup_read(args[1], SORTED_SET) or ()) + 1\n",
        ("wire.sorted-sets",),
    ),
)
