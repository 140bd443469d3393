"""Small faults of what is done with keys of any type."""

from __future__ import annotations

from typing import Final

from .fault import fault

__all__ = ["KEYS"]

KEYS: Final = (
    fault(
        "a scan gives the last element of a step again in the next",
        "key_index.py",
        "bisect_left(self._numbers, cursor) if",
        "bisect_left(self._numbers, cursor + 1) if",
    ),
    fault(
        "SET keeps the time to live",
        "keyspace.py",
        "        if not keep_ttl:\n            self.deadlines",
        "        if keep_ttl:\n            self.deadlines",
    ),
    fault(
        "EXPIRE with GT takes a key that never expires",
        "commands/expiring.py",
        'b"GT": current is not None and when > current',
        'b"GT": current is None or when > current',
    ),
    fault(
        "EXPIRE in the past only sets the time",
        "commands/expiring.py",
        "    if when <= session.engine.now.milliseconds and",
        "    if when <= 0 and",
    ),
    fault(
        "EXPIRETIME rounds down",
        "commands/expiring.py",
        '(when + 500) // 1000\n\n\n@command("PEXPIRETIME"',
        '(when + 0) // 1000\n\n\n@command("PEXPIRETIME"',
    ),
    fault(
        "RENAME forgets the time to live",
        "commands/generic.py",
        "new, value, None, deadline=db.deadlines.get(old))",
        "new, value, None)",
    ),
    fault(
        "COPY shares what it copies",
        "keyspace.py",
        "value if isinstance(value, bytes) else value.copy()",
        "value",
    ),
    fault(
        "MOVE looks for the key before the database",
        "commands/generic.py",
        "    if to is db:\n"
        "        raise CommandError(errors.SAME_OBJECT)\n"
        "    value = db.lookup_write(key)\n"
        "    if value is None or",
        "    value = db.lookup_write(key)\n"
        "    if to is db and value is not None:\n"
        "        raise CommandError(errors.SAME_OBJECT)\n"
        "    if value is None or",
    ),
    fault(
        "an empty outcome leaves the key as it was",
        "keyspace.py",
        "        elif self.lookup_write(key) is not None:\n            self.delete(key)\n",
        "",
    ),
    fault(
        "SORT finds no fields of hashes",
        "commands/sorting.py",
        "return value.fields.get(hash_field) if isinstance(value, HashValue) else None",
        "return None",
    ),
)
