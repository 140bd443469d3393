"""The types of the format: the first byte of a payload, and what stands before each key of a file."""

from __future__ import annotations

from typing import Final

STRING: Final = 0
LIST: Final = 1
SET: Final = 2
SORTED_SET: Final = 3
HASH: Final = 4
SORTED_SET_2: Final = 5
MODULE_2: Final = 7
HASH_ZIPMAP: Final = 9
LIST_ZIPLIST: Final = 10
INTSET: Final = 11
SORTED_SET_ZIPLIST: Final = 12
HASH_ZIPLIST: Final = 13
QUICKLIST: Final = 14
STREAM: Final = 15
HASH_LISTPACK: Final = 16
SORTED_SET_LISTPACK: Final = 17
QUICKLIST_2: Final = 18
STREAM_2: Final = 19

SET_LISTPACK: Final = 20
STREAM_3: Final = 21
"""Redis 7.2 and newer write these two; Redis 7.0 does not read them."""

VALKEY_HASH: Final = 22
"""Valkey 9 and newer write this: a hash whose fields may expire."""

HASH_EXPIRING: Final = 24
HASH_LISTPACK_EXPIRING: Final = 25
"""Redis 7.4 and newer write these two for the same."""

HAVE_DEADLINES: Final = frozenset((VALKEY_HASH, HASH_EXPIRING, HASH_LISTPACK_EXPIRING))

SLOT_INFO: Final = 0xF4
LIBRARY: Final = 0xF5
LIBRARY_BEFORE_7_0: Final = 0xF6
MODULE_AUX: Final = 0xF7
IDLE: Final = 0xF8
FREQUENCY: Final = 0xF9
AUX: Final = 0xFA
RESIZE: Final = 0xFB
EXPIRY_MILLISECONDS: Final = 0xFC
EXPIRY_SECONDS: Final = 0xFD
SELECT: Final = 0xFE
END: Final = 0xFF
"""No types, but opcodes: what else may stand in a file."""
