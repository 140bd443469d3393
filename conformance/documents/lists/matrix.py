"""The reliable queue, and the minimal test matrix."""

from __future__ import annotations

from ...judging.environment import Environment, expect
from . import COUNT, MOVE, notes
from .talk import (
    NULL,
    NULL_ARRAY,
    OK,
    WRONG_TYPE,
    Talk,
    array,
    bulk,
    expect_served,
    number,
    talk_all,
    waiters,
)


@notes("list.reliable.take", "5", needs=MOVE)
def reliable_take(env: Environment) -> None:
    """To take is to move an item to a processing list: it is always in one of the two."""
    talk = Talk(env)
    talk.ask("LPUSH k 1 2 3")
    for taken, left in ((b"1", 2), (b"2", 1), (b"3", 0)):
        talk.expect("LMOVE k t RIGHT LEFT", bulk(taken))
        talk.expect("LLEN k", number(left))
        talk.expect("LLEN t", number(3 - left))
    talk.expect("LRANGE t 0 -1", array(b"3", b"2", b"1"))


@notes("list.reliable.ack", "5")
def reliable_ack(env: Environment) -> None:
    """LREM with a count of 1 acknowledges one item, and only one of equal ones."""
    talk_all(
        env, ("LPUSH t job job other", number(3)), ("LREM t 1 job", number(1)), ("LLEN t", number(2)),
        ("LREM t 1 job", number(1)), ("LREM t 1 job", number(0)), ("LRANGE t 0 -1", array(b"other")),
    )  # fmt: skip


@notes("list.reliable.requeue", "5", needs=MOVE)
def reliable_requeue(env: Environment) -> None:
    """What was not acknowledged can be moved back to the end it is taken from."""
    talk_all(
        env, ("LPUSH k 1 2 3", number(3)), ("LMOVE k t RIGHT LEFT", bulk(b"1")), ("LMOVE t k RIGHT RIGHT", bulk(b"1")),
        ("EXISTS t", number(0)), ("LRANGE k 0 -1", array(b"3", b"2", b"1")),
    )  # fmt: skip


@notes("list.matrix.both-ends", "6", needs=COUNT)
def matrix_both_ends(env: Environment) -> None:
    """Pushes and pops at both ends, with and without a count."""
    talk_all(
        env, ("LPUSH k b a", number(2)), ("RPUSH k c d e", number(5)), ("LPOP k", bulk(b"a")), ("RPOP k", bulk(b"e")),
        ("LPOP k 2", array(b"b", b"c")), ("RPOP k 2", array(b"d")), ("LPOP k", NULL), ("RPOP k 2", NULL_ARRAY),
    )  # fmt: skip


@notes("list.matrix.pipeline", "6", needs=MOVE)
def matrix_pipeline(env: Environment) -> None:
    """An item goes from queue to processing list to acknowledgement, and nothing is left."""
    talk = Talk(env)
    for job in (b"1", b"2", b"3"):
        talk.ask(f"LPUSH k {job.decode()}")
    for job in (b"1", b"2", b"3"):
        talk.expect("LMOVE k t RIGHT LEFT", bulk(job))
        talk.expect(f"LREM t 1 {job.decode()}", number(1))
    talk.expect("EXISTS k t", number(0))


@notes("list.matrix.blocking", "6")
def matrix_blocking(env: Environment) -> None:
    """A blocking pop at once, after a push, and timed out."""
    talk = Talk(env)
    talk.ask("RPUSH k 1")
    talk.expect("BLPOP k 0", array(talk.key("k"), b"1"))
    (waiter,) = waiters(env, "BLPOP k 0")
    talk.expect("RPUSH k 2", number(1))
    expect_served(waiter, array(waiter.key("k"), b"2"))
    talk.expect("BLPOP k 0.02", NULL_ARRAY)


@notes("list.matrix.last-pop", "6")
def matrix_last_pop(env: Environment) -> None:
    """The last pop deletes the key."""
    talk = Talk(env)
    for pop in ("LPOP", "RPOP"):
        talk.expect("RPUSH k a b", number(2))
        for left in (1, 0):
            talk.ask(f"{pop} k")
            expect(talk.ask("EXISTS k"), number(left), f"EXISTS after {pop}")


@notes("list.matrix.cross-list", "6", needs=MOVE)
def matrix_cross_list(env: Environment) -> None:
    """A move between two lists happens wholly or not at all."""
    talk_all(
        env, ("SET s v", OK), ("RPUSH k 1 2", number(2)), ("LMOVE k t LEFT RIGHT", bulk(b"1")),
        ("LRANGE k 0 -1", array(b"2")), ("LRANGE t 0 -1", array(b"1")), ("LMOVE t s LEFT LEFT", WRONG_TYPE),
        ("LMOVE s t LEFT LEFT", WRONG_TYPE), ("LMOVE none t LEFT LEFT", NULL), ("LRANGE t 0 -1", array(b"1")),
        ("LRANGE k 0 -1", array(b"2")), ("EXISTS none", number(0)),
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


@notes("list.matrix.ack", "6")
def matrix_ack(env: Environment) -> None:
    """LREM acknowledges one item in the processing list."""
    talk_all(
        env, ("LPUSH t one two three", number(3)), ("LREM t 1 two", number(1)), ("LREM t 1 two", number(0)),
        ("LRANGE t 0 -1", array(b"three", b"one")),
    )  # fmt: skip


@notes("list.matrix.move-wakes", "6", needs=MOVE)
def matrix_move_wakes(env: Environment) -> None:
    """A BLMOVE from right to left waits, and moves what is pushed."""
    (waiter,) = waiters(env, "BLMOVE k t RIGHT LEFT 0")
    other = Talk(env)
    other.expect("LPUSH k job", number(1))
    expect_served(waiter, bulk(b"job"))
    other.expect("LRANGE t 0 -1", array(b"job"))
    other.expect("EXISTS k", number(0))


@notes("list.matrix.key-order", "6")
def matrix_key_order(env: Environment) -> None:
    """Of several keys with elements the first in the command serves."""
    talk = Talk(env)
    talk.ask("RPUSH k 1 2")
    talk.ask("RPUSH t 3 4")
    for line, key, element in (
        ("BLPOP t k 0", "t", b"3"),
        ("BRPOP k t 0", "k", b"2"),
        ("BLPOP k t 0", "k", b"1"),
    ):
        talk.expect(line, array(talk.key(key), element))
    talk.expect("LLEN t", number(1))


@notes("list.matrix.fifo", "6")
def matrix_fifo(env: Environment) -> None:
    """Several clients that wait for one list are served in the order in which they blocked."""
    line = waiters(env, *["BLPOP k 0", "BRPOP k 0"] * 4)
    other = Talk(env)
    for place, waiter in enumerate(line):
        other.ask(f"LPUSH k {place}")
        expect_served(waiter, array(waiter.key("k"), b"%d" % place), f"the waiter in place {place}")
