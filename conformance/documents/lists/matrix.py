"""The reliable queue, and the minimal test matrix."""

from __future__ import annotations

from ...judging.environment import Environment, expect
from . import COUNT, MOVE, notes
from .talk import Talk, array, exchange, expect_served, waiters

exchange(
    "list.reliable.take", "5", "To take is to move an item to a processing list: it is always in one of the two.",
    "LPUSH k 1 2 3 => 3", "LMOVE k t RIGHT LEFT => '1'", "LLEN k => 2", "LLEN t => 1", "LMOVE k t RIGHT LEFT => '2'",
    "LLEN k => 1", "LLEN t => 2", "LMOVE k t RIGHT LEFT => '3'", "EXISTS k => 0", "LRANGE t 0 -1 => [3 2 1]", needs=MOVE,
)  # fmt: skip
exchange(
    "list.reliable.ack", "5", "LREM with a count of 1 acknowledges one item, and only one of equal ones.",
    "LPUSH t job job other => 3", "LREM t 1 job => 1", "LLEN t => 2", "LREM t 1 job => 1",
    "LREM t 1 job => 0", "LRANGE t 0 -1 => [other]",
)  # fmt: skip
exchange(
    "list.reliable.requeue", "5", "What was not acknowledged can be moved back to the end it is taken from.",
    "LPUSH k 1 2 3 => 3", "LMOVE k t RIGHT LEFT => '1'", "LMOVE t k RIGHT RIGHT => '1'", "EXISTS t => 0",
    "LRANGE k 0 -1 => [3 2 1]", needs=MOVE,
)  # fmt: skip
exchange(
    "list.matrix.both-ends", "6", "Pushes and pops at both ends, with and without a count.",
    "LPUSH k b a => 2", "RPUSH k c d e => 5", "LPOP k => 'a'", "RPOP k => 'e'", "LPOP k 2 => [b c]",
    "RPOP k 2 => [d]", "LPOP k => nil", "RPOP k 2 => nil array", needs=COUNT,
)  # fmt: skip
exchange(
    "list.matrix.pipeline", "6", "An item goes from queue to processing list to acknowledgement, and nothing is left.",
    "LPUSH k 1 2 => 2", "LMOVE k t RIGHT LEFT => '1'", "LREM t 1 1 => 1", "LMOVE k t RIGHT LEFT => '2'", "LREM t 1 2 => 1",
    "EXISTS k t => 0", needs=MOVE,
)  # fmt: skip
exchange(
    "list.matrix.blocking", "6", "A blocking pop at once, after a push, and timed out.",
    "RPUSH k 1", "BLPOP k 0 => [k 1]", "first: BLPOP k 0", "RPUSH k 2 => 1", "first <= [k 2]",
    "BLPOP k 0.02 => nil array",
)  # fmt: skip
exchange(
    "list.matrix.last-pop", "6", "The last pop deletes the key.",
    "RPUSH k a b => 2", "LPOP k", "EXISTS k => 1", "LPOP k", "EXISTS k => 0", "RPUSH k a b => 2", "RPOP k",
    "EXISTS k => 1", "RPOP k", "EXISTS k => 0",
)  # fmt: skip
exchange(
    "list.matrix.cross-list", "6", "A move between two lists happens wholly or not at all.",
    "SET s v => +OK", "RPUSH k 1 2 => 2", "LMOVE k t LEFT RIGHT => '1'", "LRANGE k 0 -1 => [2]",
    "LRANGE t 0 -1 => [1]", "LMOVE t s LEFT LEFT => -WRONGTYPE", "LMOVE s t LEFT LEFT => -WRONGTYPE",
    "LMOVE none t LEFT LEFT => nil", "LRANGE t 0 -1 => [1]", "LRANGE k 0 -1 => [2]", "EXISTS none => 0",
    needs=MOVE,
)  # fmt: skip


@notes("list.matrix.types", "6")
def matrix_types(env: Environment) -> None:
    """List commands on a key of another type are errors."""
    talk = Talk(env)
    for kind in ("SADD s v", "HSET t f v"):
        talk.ask(kind)
        key = kind.split()[1]
        for line in (
            "LPUSH s v",
            "RPUSH s v",
            "LPOP s",
            "RPOP s",
            "LLEN s",
            "LRANGE s 0 -1",
            "LREM s 0 v",
            "BLPOP s 0",
        ):
            line = line.replace(" s", f" {key}")
            expect(talk.ask(line)[:1], b"-", f"{line} after {kind}")


exchange(
    "list.matrix.ack", "6", "LREM acknowledges one item in the processing list.",
    "LPUSH t one two three => 3", "LREM t 1 two => 1", "LREM t 1 two => 0", "LRANGE t 0 -1 => [three one]",
)  # fmt: skip
exchange(
    "list.matrix.move-wakes", "6", "A BLMOVE from right to left waits, and moves what is pushed.",
    "first: BLMOVE k t RIGHT LEFT 0", "LPUSH k job => 1", "first <= 'job'", "LRANGE t 0 -1 => [job]",
    "EXISTS k => 0", needs=MOVE,
)  # fmt: skip
exchange(
    "list.matrix.key-order", "6", "Of several keys with elements the first in the command serves.",
    "RPUSH k 1 2 => 2", "RPUSH t 3 4 => 2", "BLPOP t k 0 => [t 3]", "BRPOP k t 0 => [k 2]", "BLPOP k t 0 => [k 1]",
    "LLEN t => 1",
)  # fmt: skip


@notes("list.matrix.fifo", "6")
def matrix_fifo(env: Environment) -> None:
    """Several clients that wait for one list are served in the order in which they blocked."""
    line = waiters(env, *["BLPOP k 0", "BRPOP k 0"] * 4)
    other = Talk(env)
    for place, waiter in enumerate(line):
        other.ask(f"LPUSH k {place}")
        expect_served(waiter, array(waiter.key("k"), b"%d" % place), f"the waiter in place {place}")
