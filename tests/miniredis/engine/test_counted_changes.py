"""How many changes a command counts as, which is what save points wait for: on miniredis and a real Redis.

``test_effects.py`` and ``test_effects_at_random.py`` compare the count of whole conversations.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest

from conformance.documents.recorded.player import RawClient

from ...cases import check_each
from ...conftest import ANY_LOOP
from ...waiting import until

LIBRARY: Final = r'"#!lua name=lib\nredis.register_function(\"f\", function() return 1 end)"'

COUNTS: Final[dict[str, tuple[str, int]]] = {
    "each element that is pushed": ("RPUSH l a b c", 3),
    "one for a string with a time to live": ("SET k v PX 100000", 1),
    "each element that is popped": ("RPUSH l a b c; LPOP l 2", 3 + 2),
    "each element that is trimmed": ("RPUSH l a b c d; LTRIM l 1 1", 4 + 3),
    "one for a move from list to list": ("RPUSH l a; LMOVE l m LEFT LEFT", 1 + 1),
    "each field that is set, also to what it was": ("HSET h a 1 b 2; HSET h a 1 b 2", 2 + 2),
    "each member that is new": ("SADD s a b c; SADD s a d", 3 + 1),
    "each member that is drawn": ("SADD s a b c d; SPOP s 3; SPOP s 3", 4 + 3 + 1),
    "each score that is new or another": ("ZADD z 1 a 2 b; ZADD z 1 a 3 b 4 c", 2 + 2),
    "each member that is popped, and nothing for the key": ("ZADD z 1 a 2 b; ZPOPMIN z 5", 2 + 2),
    "one for a union": ("SADD s a b c; SUNIONSTORE t s", 3 + 1),
    "each element that a sort stores": ("RPUSH l 3 1 2; SORT l STORE m", 3 + 3),
    "each place that a search stores": ("GEOADD g 0 0 a 0 1 b; GEOSEARCHSTORE h g FROMLONLAT 0 0 BYRADIUS 500 km", 4),
    "one for a rename": ("SET k v; RENAME k j", 1 + 1),
    "one for databases that are swapped, also with themselves": ("SWAPDB 1 1", 1),
    "each entry that is trimmed, but not by XADD": (
        "XADD x 1-1 f v; XADD x MAXLEN 1 2-1 f v; XADD x 3-1 f v; XTRIM x MAXLEN 0", 1 + 1 + 1 + 2,
    ),
    "a history that is read": (
        "XGROUP CREATE x g 0 MKSTREAM; XGROUP CREATECONSUMER x g c; XREADGROUP GROUP g c STREAMS x 0", 3,
    ),
    "each entry that is acknowledged": (
        "XADD x 1-1 f v; XGROUP CREATE x g 0; XREADGROUP GROUP g c STREAMS x >; XACK x g 1-1 9-9", 2 + 2 + 1,
    ),
    "each register that is raised, and the new key": ("PFADD h a b; PFADD h a", 3),
    "each field of bits that is changed": ("BITFIELD b SET u8 0 1 SET u8 8 2 GET u8 0", 2),
    "libraries": (f"FUNCTION LOAD {LIBRARY}; FUNCTION DELETE lib; FUNCTION FLUSH; FUNCTION FLUSH", 4),
    "each command of a transaction": ("MULTI; SADD s a b; SET k v; EXEC", 3),
    "nothing that changes nothing": ("SADD s a; SADD s a; DEL k; LREM l 0 a; EXPIRE k 9; SETNX s v", 1),
}  # fmt: skip
"""Commands by what is counted, and the count of all of them."""


class Counting(RawClient):
    """A client that may ask for the count."""

    def changes(self) -> int:
        """How many changes there were since the last save."""
        _, found, rest = self.ask("INFO persistence").partition(b"rdb_changes_since_last_save:")
        assert found
        return int(rest.split(b"\r\n")[0])

    def sees_blocked(self, number: int) -> bool:
        """Whether so many clients are blocked."""
        return b"\r\nblocked_clients:%d\r\n" % number in self.ask("INFO clients")


@ANY_LOOP
@pytest.mark.usefixtures("as_redis_7_0")
def test_commands_count_as_many_changes_as_on_redis(address: tuple[str, int]) -> None:
    client = Counting(address)

    def check(case: tuple[str, int]) -> None:
        lines, count = case
        client.ask("FLUSHALL")
        before = client.changes()
        for line in lines.split("; "):
            assert not client.ask(line).startswith(b"-"), line
        assert client.changes() - before == count

    try:
        check_each(COUNTS, check)
    finally:
        client.close()


WAITED_FOR: Final = {
    "nothing for an element that is handed on": (("BLPOP k 0",), "RPUSH k a", 1),
    "nothing for a chain of moves": (("BLMOVE k l LEFT LEFT 0", "BRPOPLPUSH l m 0"), "RPUSH k a", 1),
    "each element of several": (("BLMPOP 0 1 k LEFT COUNT 5",), "RPUSH k a b", 2 + 2),
    "a member": (("BZPOPMIN k 0",), "ZADD k 1 a 2 b", 2 + 1),
}
"""By what is counted: what clients wait in, what wakes them, and the count."""


@ANY_LOOP
@pytest.mark.usefixtures("as_redis_7_0")
def test_what_blocked_clients_get_counts_as_on_redis(address: tuple[str, int]) -> None:
    def check(case: tuple[tuple[str, ...], str, int]) -> None:
        waits, wakes, count = case
        client = Counting(address)
        client.ask("FLUSHALL")
        waiters = [RawClient(address) for _ in waits]
        for number, (waiter, line) in enumerate(zip(waiters, waits, strict=True), start=1):
            waiter.send(line.encode() + b"\r\n")
            until(partial(client.sees_blocked, number))
        before = client.changes()
        assert client.ask(wakes).startswith(b":")
        assert client.changes() - before == count
        for each in (client, *waiters):
            each.close()

    check_each(WAITED_FOR, check)
