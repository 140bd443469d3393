"""A snapshot is loaded in short steps, also where most of it is one large key."""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise

import pytest

from conformance.wire import encode
from miniredis import Engine
from miniredis.engine import Instant
from miniredis.engine.rdb import snapshot
from miniredis.engine.rdb.loading import load_in_steps
from miniredis.engine.rdb.reader import FileReader

NOW = Instant(1_700_000_000_000_000, 0)

COUNT = 20_000

MOST = 32 * 1024
"""Bytes that one step may read."""

LARGE_KEYS = {
    "list": [encode("RPUSH", "k", *(f"{number:x}" * 3 for number in range(COUNT)))],
    "set": [encode("SADD", "k", *(f"member:{number}" for number in range(COUNT)))],
    "hash": [encode("HSET", "k", *(f"field:{number}" for number in range(COUNT)))],
    "sorted set": [encode("ZADD", "k", *(str(number // 2) for number in range(COUNT)))],
    "stream": [encode("XADD", "k", "*", "field", "x" * 20) for _ in range(5000)],
}


@pytest.mark.parametrize("commands", LARGE_KEYS.values(), ids=LARGE_KEYS)
def test_a_large_key_is_loaded_in_short_steps(commands: list[bytes]) -> None:
    engine, again = Engine(now=NOW), Engine(now=NOW)
    session = engine.connect(NOW)
    for command in commands:
        engine.receive(session, command, NOW)
    assert not session.take_output().startswith(b"-")
    data = b"".join(snapshot.write(engine.keyspace, []))

    reader = FileReader(BytesIO(data).read, len(data))
    steps = load_in_steps(reader, again.keyspace, again.libraries, again.packing)
    ends = [0, *(reader.at for _ in steps)]
    assert max(end - start for start, end in pairwise(ends)) < MOST < len(data) // 3
    assert b"".join(snapshot.write(again.keyspace, [])) == data
