"""Small faults of sorted sets, and of places in them."""

from __future__ import annotations

from typing import Final

from .fault import fault

__all__ = ["SORTED_SETS"]

SORTED_SETS: Final = (
    fault(
        "ZADD with GT takes the same score again",
        "commands/sorted_sets.py",
        '(b"GT" in options and score <= old)',
        '(b"GT" in options and score < old)',
    ),
    fault(
        "ZADD counts what it did not change",
        "commands/sorted_sets.py",
        "    if score == old:\n        return\n",
        "",
    ),
    fault(
        "ZREVRANK counts from 1",
        "commands/sorted_sets.py",
        "len(values) - 1 - rank",
        "len(values) - rank",
    ),
    fault(
        "a range has its upper end though told not to",
        "entry_ranges.py",
        "self.part(entry) < high if without_high",
        "self.part(entry) <= high if without_high",
    ),
    fault(
        "a negative offset counts as 0",
        "entry_ranges.py",
        "    if not 0 <= offset < end - first:\n",
        "    offset = max(offset, 0)\n    if not 0 <= offset < end - first:\n",
    ),
    fault(
        "ZPOPMAX pops the lowest of the highest first",
        "commands/sorted_set_pops.py",
        "values.remove_between(len(values) - number, len(values))[::-1]",
        "values.remove_between(len(values) - number, len(values))",
    ),
    fault(
        "BZMPOP reads its timeout first",
        "commands/sorted_set_pops.py",
        "    wanted = AnySortedSet(*read_keys_and_end(args, 2, ENDS))\n    timeout = read_timeout(args[1])\n",
        "    timeout = read_timeout(args[1])\n    wanted = AnySortedSet(*read_keys_and_end(args, 2, ENDS))\n",
    ),
    fault(
        "ZINTERCARD takes a limit of 0 for a limit",
        "commands/sorted_set_algebra.py",
        "return min(common, limit) if limit else common",
        "return min(common, limit) if words else common",
    ),
    fault(
        "SORT leaves a sorted set packed",
        "commands/sorting.py",
        "value.unpack()",
        "False",
    ),
    fault(
        "GEODIST is half as far",
        "geohash.py",
        "    return 2.0 * RADIUS *",
        "    return 1.0 * RADIUS *",
    ),
    fault(
        "COUNT takes the first, not the nearest",
        "commands/geo_search.py",
        "NEAREST_FIRST if options.count and not options.any else 0",
        "NEAREST_FIRST if options.count and options.any else 0",
    ),
    fault(
        "a search in nothing leaves the key as it was",
        "commands/geo_search.py",
        '    event = "geosearchstore"',
        '    if options.values is None:\n        return 0\n    event = "geosearchstore"',
    ),
)
