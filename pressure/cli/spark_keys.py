"""``spark``: what queries in Spark have left on the server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pressure.cli import formatting
from pressure.cli.call import Call, answer, answer_json, write
from pressure.cli.status import DONE
from pressure.spark.cleaning import Left, clean, left_by_spark
from pressure.text import printable

_HEAD = ("WHAT", "QUEUE'S KEY", "KEYS", "BYTES")


def spark(call: Call) -> int:
    """Print what Spark has left, or drop what nothing needs any more, and print how much that was."""
    options, driver = call.arguments, call.driver()
    found = driver.run(left_by_spark())
    if options.clean:
        found = driver.run(clean(found, options.older))
        if not options.json:
            answer(f"dropped {len(found)} keys, {sum(each.bytes for each in found)} bytes")
            return DONE
    rows = _rows(found)
    if options.json:
        names = ("what", "queue", "keys", "bytes")
        answer_json(
            [dict(zip(names, (what, printable(queue), *more), strict=True)) for what, queue, *more in rows]
        )
    elif rows:
        text = [(what, printable(queue), str(keys), str(size)) for what, queue, keys, size in rows]
        write(formatting.table([_HEAD, *text]))
    return DONE


def _rows(found: Sequence[Left]) -> list[tuple[str, bytes, int, int]]:
    groups = defaultdict[tuple[str, bytes], list[Left]](list)
    for each in found:
        groups[each.what, each.queue].append(each)
    return [(*name, len(some), sum(each.bytes for each in some)) for name, some in sorted(groups.items())]
