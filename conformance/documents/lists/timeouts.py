"""Pops and moves that wait: what they answer, and how long they wait."""

from __future__ import annotations

from ...judging.environment import Environment, expect
from . import MOVE, notes
from .talk import (
    NEGATIVE,
    NOT_A_FLOAT,
    Talk,
    array,
    bulk,
    exchange,
    expect_lasting,
    expect_served,
    number,
    waiters,
)

exchange(
    "list.bpop.reply", "2, BLPOP / BRPOP", "A blocking pop answers the key and the element.",
    "RPUSH k 1 2 3 => 3", "BLPOP k 0 => [k 1]", "BRPOP k 0 => [k 3]",
)  # fmt: skip
exchange(
    "list.bpop.timeout-zero", "2, BLPOP / BRPOP", "A timeout of 0 waits until there is an element.",
    "first: BRPOP k 0", "LPUSH k v", "first <= [k v]",
)  # fmt: skip
exchange(
    "list.bpop.timed-out", "2, BLPOP / BRPOP", "When the time is over the reply is a null array.",
    "BLPOP k 0.02 => nil array", "BRPOP k t 0.02 => nil array", "EXISTS k t => 0",
)  # fmt: skip


@notes("list.bpop.timeout-fraction", "2, BLPOP / BRPOP")
def bpop_timeout_fraction(env: Environment) -> None:
    """A timeout may be a fraction of a second."""
    for pop in ("BLPOP", "BRPOP"):
        expect_lasting(Talk(env), f"{pop} k t 0.06")


@notes("list.bpop.timeout-bad", "2, BLPOP / BRPOP")
def bpop_timeout_bad(env: Environment) -> None:
    """A timeout that is negative or no number is an error at once."""
    talk = Talk(env)
    talk.ask("RPUSH k v")
    for key in ("none", "k"):
        for timeout in ("x", "1x", "nan", "1_0"):
            talk.expect(f"BLPOP {key} {timeout}", NOT_A_FLOAT)
        talk.expect(f"BRPOP {key} -1", NEGATIVE)
    talk.expect("LLEN k", number(1))


exchange(
    "list.blmove.immediate", "2, LMOVE / BLMOVE", "BLMOVE moves at once when there is something.",
    "RPUSH k 1 2 3 => 3", "BLMOVE k t RIGHT LEFT 0 => '3'", "BLMOVE k t RIGHT LEFT 0 => '2'",
    "BLMOVE k t LEFT RIGHT 0 => '1'", "LRANGE t 0 -1 => [2 3 1]", "EXISTS k => 0", needs=MOVE,
)  # fmt: skip
exchange(
    "list.blmove.waits", "2, LMOVE / BLMOVE", "BLMOVE waits when the source is empty.",
    "first: BLMOVE k t RIGHT LEFT 0", "RPUSH t m => 1", "first waits", "RPUSH k u v => 2",
    "LRANGE t 0 -1 => [v m]", "LRANGE k 0 -1 => [u]", "first <= 'v'", needs=MOVE,
)  # fmt: skip


@notes("list.blmove.timed-out", "2, LMOVE / BLMOVE", needs=MOVE)
def blmove_timed_out(env: Environment) -> None:
    """When its time is over BLMOVE answers null: in Redis a null array, unlike LMOVE."""
    talk = Talk(env)
    expect_lasting(talk, "BLMOVE k t LEFT LEFT 0.06")
    talk.expect("RPUSH k v", number(1))
    talk.expect("EXISTS t", number(0))


@notes("list.blmove.ends", "2, LMOVE / BLMOVE", needs=MOVE)
def blmove_ends(env: Environment) -> None:
    """After a wait, too, BLMOVE takes from the end and gives to the end it is told."""
    cases = (
        ("LEFT LEFT", b"1", (b"1", b"m")),
        ("LEFT RIGHT", b"1", (b"m", b"1")),
        ("RIGHT LEFT", b"2", (b"2", b"m")),
        ("RIGHT RIGHT", b"2", (b"m", b"2")),
    )
    other = Talk(env)
    for ends, moved, target in cases:
        other.ask("RPUSH t m")
        (waiter,) = waiters(env, f"BLMOVE k t {ends} 0")
        other.expect("RPUSH k 1 2", number(2))
        expect_served(waiter, bulk(moved), f"BLMOVE {ends}")
        expect(other.ask("LRANGE t 0 -1"), array(*target), f"target of BLMOVE {ends}")
        other.ask("DEL k t")


@notes("list.blmove.bad", "2, LMOVE / BLMOVE", needs=MOVE)
def blmove_bad(env: Environment) -> None:
    """A BLMOVE with a wrong end or timeout is an error at once, and moves nothing."""
    talk = Talk(env)
    talk.ask("RPUSH k v")
    for key in ("none", "k"):
        talk.expect(f"BLMOVE {key} t UP LEFT 0", b"-ERR syntax error\r\n")
        talk.expect(f"BLMOVE {key} t LEFT UP 0", b"-ERR syntax error\r\n")
        talk.expect(f"BLMOVE {key} t LEFT LEFT x", NOT_A_FLOAT)
        talk.expect(f"BLMOVE {key} t LEFT LEFT -1", NEGATIVE)
    talk.expect("LLEN k", number(1))
    talk.expect("EXISTS t", number(0))


@notes("list.brpoplpush", "2, LMOVE / BLMOVE", level="may")
def brpoplpush(env: Environment) -> None:
    """BRPOPLPUSH moves from the right of one list to the left of another, and waits when the first is empty."""
    (waiter,) = waiters(env, "BRPOPLPUSH k t 0")
    other = Talk(env)
    other.ask("RPUSH t m")
    other.expect("RPUSH k 1 2", number(2))
    expect_served(waiter, bulk(b"2"))
    other.expect("LRANGE t 0 -1", array(b"2", b"m"))
    other.expect("BRPOPLPUSH k t 0", bulk(b"1"))
    other.expect("LRANGE t 0 -1", array(b"1", b"2", b"m"))
    other.expect("BRPOPLPUSH k t x", NOT_A_FLOAT)
    other.expect("BRPOPLPUSH k t -1", NEGATIVE)
    expect_lasting(other, "BRPOPLPUSH k t 0.06")
