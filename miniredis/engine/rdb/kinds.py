"""The types of the format: the first byte of a payload."""

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
