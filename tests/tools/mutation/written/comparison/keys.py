"""Small faults of what is done with keys of any type."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["KEYS"]

KEYS: Final = (
    Mutant(
        "a scan gives the last element of a step again in the next",
        "miniredis/engine/values/key_index.py",
        "bisect_left(self._numbers, cursor) if",
        "bisect_left(self._numbers, cursor + 1) if",
    ),
    Mutant(
        "SET keeps the time to live",
        "miniredis/engine/keyspace/keyspace.py",
        "        if key in self.deadlines and not keep_ttl:",
        "        if key in self.deadlines and keep_ttl:",
        (
            "recorded.floats",
            "recorded.sorting",
        ),
    ),
    Mutant(
        "EXPIRE with GT takes a key that never expires",
        "miniredis/engine/commands/keys/expiring.py",
        'b"GT": current is not None and when > current',
        'b"GT": current is None or when > current',
        ("recorded.keys",),
    ),
    Mutant(
        "EXPIRE in the past only sets the time",
        "miniredis/engine/commands/keys/expiring.py",
        "    if when <= session.engine.now.milliseconds and",
        "    if when <= 0 and",
    ),
    Mutant(
        "EXPIRETIME rounds down",
        "miniredis/engine/commands/keys/expiring.py",
        '(when + 500) // 1000\n\n\n@command("PEXPIRETIME"',
        '(when + 0) // 1000\n\n\n@command("PEXPIRETIME"',
        ("recorded.moving",),
    ),
    Mutant(
        "RENAME forgets the time to live",
        "miniredis/engine/commands/keys/generic.py",
        "new, value, None, deadline=db.deadlines.get(old))",
        "new, value, None)",
    ),
    Mutant(
        "COPY shares what it copies",
        "miniredis/engine/keyspace/keyspace.py",
        "value if isinstance(value, bytes) else value.copy()",
        "value",
    ),
    Mutant(
        "MOVE looks for the key before the database",
        "miniredis/engine/commands/keys/generic.py",
        "    if to is db:\n"
        "        raise CommandError(errors.SAME_OBJECT)\n"
        "    value = db.lookup_write(key)\n"
        "    if value is None or",
        "    value = db.lookup_write(key)\n"
        "    if to is db and value is not None:\n"
        "        raise CommandError(errors.SAME_OBJECT)\n"
        "    if value is None or",
    ),
    Mutant(
        "an empty outcome leaves the key as it was",
        "miniredis/engine/keyspace/keyspace.py",
        "        else:\n            self.delete(key)  # an expired one, too, without saying so\n",
        "",
    ),
    Mutant(
        "SORT finds no fields of hashes",
        "miniredis/engine/commands/keys/sorting.py",
        "return value.fields.get(hash_field) if isinstance(value, HashValue) else None",
        "return None",
        ("recorded.sorting-others",),
    ),
    Mutant(
        "EXISTS counts one too many",
        "miniredis/engine/commands/keys/generic.py",
        "    return sum(session.db.lookup_read(key, flags=NO_TOUCH) is not None for key in args[1:])\n",
        "    return 1 + sum(session.db.lookup_read(key, flags=NO_TOUCH) is not None for key in args[1:])\n",
        ("wire.keys",),
    ),
    Mutant(
        "SWAPDB wakes the waiters of one database",
        "miniredis/engine/keyspace/keyspace.py",
        '        for db in (one, other):\n            self.tell(Change(db.index, None, None, "swap"))\n',
        '        self.tell(Change(one.index, None, None, "swap"))\n',
        ("wire.blocking",),
    ),
    Mutant(
        "RESTORE takes a time to live below 0",
        "miniredis/engine/commands/keys/dump.py",
        "    if ttl < 0:\n",
        "    if ttl < -(1 << 62):\n",
        ("recorded.dump",),
    ),
    Mutant(
        "SCAN takes a cursor that is no number for 0",
        "miniredis/engine/commands/keys/scanning.py",
        "    if match is None or (match[1] and not match[2]):\n        raise CommandError(errors.CURSOR)\n",
        "    if match is None or (match[1] and not match[2]):\n        return 0\n",
        ("recorded.scanning",),
    ),
)
