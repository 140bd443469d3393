"""Small faults of hashes and sets."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["HASHES_AND_SETS"]

HASHES_AND_SETS: Final = (
    Mutant(
        "HSET answers how many fields it set",
        "miniredis/engine/commands/hashes/hashes.py",
        "        added += changed.put(args[at], args[at + 1], packing)\n",
        "        added += 1 + 0 * changed.put(args[at], args[at + 1], packing)\n",
        ("wire.hashes", "recorded.events-hashes"),
    ),
    Mutant(
        "HSETNX sets what is empty",
        "miniredis/engine/commands/hashes/hashes.py",
        "    if values is not None and field in values.fields:\n",
        "    if values is not None and values.fields.get(field):\n",
        ("recorded.hashes",),
    ),
    Mutant(
        "HINCRBY looks at the hash before its increment",
        "miniredis/engine/commands/hashes/members.py",
        "    increment = read_integer(args[3])\n    values = session.db.lookup_write(args[1], HASH)\n",
        "    values = session.db.lookup_write(args[1], HASH)\n    increment = read_integer(args[3])\n",
        ("recorded.hashes",),
    ),
    Mutant(
        "HSCAN of no hash reads its options",
        "miniredis/engine/commands/hashes/members.py",
        '    if values is None:\n        return [b"0", []]\n    cursor, found',
        '    if values is None:\n        return [b"0", read_options(args[3:], may_have_type=False) and []]\n'
        "    cursor, found",
        ("recorded.hash-members",),
    ),
    Mutant(
        "a hash may be one larger while packed",
        "miniredis/engine/values/hashes.py",
        "len(fields) > packing.hash_entries",
        "len(fields) > packing.hash_entries + 1",
    ),
    Mutant(
        "a set is packed again when it could be",
        "miniredis/engine/values/sets.py",
        "        del self.members[member]\n",
        "        del self.members[member]\n        self.is_packed = all(map(is_integer, self.members))\n",
    ),
    Mutant(
        "an empty set stays",
        "miniredis/engine/keyspace/keyspace.py",
        "        if value:\n            self.signal_modified(key, event, count)\n",
        "        if value or type(value) is SetValue:\n            self.signal_modified(key, event, count)\n",
    ),
    Mutant(
        "SMOVE looks at its target though there is no source",
        "miniredis/engine/commands/sets/sets.py",
        "    if sought is None:\n        return 0\n"
        "    giver, taker = db.lookup_write(source, SET), db.lookup_write(target, SET)\n"
        "    assert giver is not None\n",
        "    giver, taker = db.lookup_write(source, SET), db.lookup_write(target, SET)\n"
        "    if giver is None:\n        return 0\n",
        ("recorded.sets",),
    ),
    Mutant(
        "an intersection ends at the first missing key",
        "miniredis/engine/commands/sets/algebra.py",
        "    return [session.db.lookup_read(key, SET) for key in keys]\n",
        "    found: list[SetValue | None] = []\n"
        "    for key in keys:\n"
        "        found.append(session.db.lookup_read(key, SET))\n"
        "        if found[-1] is None:\n            break\n"
        "    return found\n",
        ("wire.sets", "recorded.events-sets"),
    ),
    Mutant(
        "SINTERCARD takes a limit of 0 for a limit",
        "miniredis/engine/commands/sets/algebra.py",
        "return min(size, limit) if limit else size",
        "return min(size, limit) if args[2 + number :] else size",
        ("recorded.set-algebra",),
    ),
)
