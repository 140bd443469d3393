"""List commands that wait: who is served, when, and with what."""

from __future__ import annotations

import time
from typing import Final

from ..judging.environment import Environment, Failure, expect
from .lists import NULL, NULL_ARRAY, OK, WRONG_TYPE, Talk, array, bulk, number
from .registry import check

WAITERS: Final = 10
NOT_A_FLOAT: Final = b"-ERR timeout is not a float or out of range\r\n"
NEGATIVE: Final = b"-ERR timeout is negative\r\n"


def waiters(env: Environment, *lines: str) -> list[Talk]:
    """Clients that have blocked one after the other, each with its command."""
    blocked = []
    for line in lines:
        blocked.append(Talk(env, "a", "b", "c"))
        blocked[-1].send(line)
        env.until_blocked(len(blocked))
    return blocked


def expect_served(talk: Talk, wanted: bytes, who: str = "the waiter") -> None:
    """Fails unless a client that waits gets this next, and nothing behind it."""
    expect(talk.raw.reply(), wanted, f"what {who} gets")
    expect(talk.ask("PING"), b"+PONG\r\n", f"what {who} gets next")


def expect_still_waiting(env: Environment, talk: Talk, count: int = 1) -> None:
    """Fails unless a client still waits, one of so many."""
    env.until_blocked(count)
    if not talk.raw.is_silent():
        raise Failure("a client that waits got something")


def seconds_until_null(talk: Talk, line: str) -> float:
    """How long a command waits for nothing."""
    start = time.monotonic()
    talk.expect(line, NULL_ARRAY)
    return time.monotonic() - start


@check("list.bpop.reply")
def bpop_reply(env: Environment) -> None:
    talk = Talk(env)
    talk.ask("RPUSH k 1 2")
    talk.expect("BLPOP k 0", array(talk.key("k"), b"1"))
    talk.expect("BRPOP k 0", array(talk.key("k"), b"2"))


@check("list.bpop.timeout-zero")
def bpop_timeout_zero(env: Environment) -> None:
    (waiter,) = waiters(env, "BRPOP k 0")
    Talk(env).ask("LPUSH k v")
    expect_served(waiter, array(waiter.key("k"), b"v"))


@check("list.bpop.timeout-fraction", "list.bpop.timed-out")
def bpop_timeout_fraction(env: Environment) -> None:
    talk = Talk(env)
    lines = ("BLPOP k 0.06", "BRPOP k t 0.06", "BLPOP k 0.06")
    shortest = min(seconds_until_null(talk, line) for line in lines)  # a slow machine is not late three times
    expect(0.05 <= shortest < 0.9, True, f"0.06 s lasting about so long, and not {shortest:.3f} s")


@check("list.bpop.timeout-bad")
def bpop_timeout_bad(env: Environment) -> None:
    talk = Talk(env)
    talk.ask("RPUSH k v")
    for key in ("none", "k"):
        for timeout in ("x", "1x", "nan", "1_0"):
            talk.expect(f"BLPOP {key} {timeout}", NOT_A_FLOAT)
        talk.expect(f"BRPOP {key} -1", NEGATIVE)
    talk.expect("LLEN k", number(1))


@check("list.blmove.immediate")
def blmove_immediate(env: Environment) -> None:
    talk = Talk(env)
    talk.ask("RPUSH k 1 2 3")
    talk.expect("BLMOVE k t RIGHT LEFT 0", bulk(b"3"))
    talk.expect("BLMOVE k t RIGHT LEFT 0", bulk(b"2"))
    talk.expect("BLMOVE k t LEFT RIGHT 0", bulk(b"1"))
    talk.expect("LRANGE t 0 -1", array(b"2", b"3", b"1"))
    talk.expect("EXISTS k", number(0))


@check("list.blmove.waits", "list.matrix.move-wakes")
def blmove_waits(env: Environment) -> None:
    (waiter,) = waiters(env, "BLMOVE k t RIGHT LEFT 0")
    other = Talk(env)
    other.expect("RPUSH t m", number(1))
    expect_still_waiting(env, waiter)
    other.expect("RPUSH k u v", number(2))
    other.expect("LRANGE t 0 -1", array(b"v", b"m"))
    other.expect("LRANGE k 0 -1", array(b"u"))
    expect_served(waiter, bulk(b"v"))


@check("list.blmove.timed-out")
def blmove_timed_out(env: Environment) -> None:
    talk = Talk(env)
    lasted = seconds_until_null(talk, "BLMOVE k t LEFT LEFT 0.06")
    expect(lasted >= 0.05, True, f"0.06 s lasting so long, and not {lasted:.3f} s")
    talk.expect("RPUSH k v", number(1))
    talk.expect("EXISTS t", number(0))


@check("list.blmove.ends")
def blmove_ends(env: Environment) -> None:
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


@check("list.blmove.bad")
def blmove_bad(env: Environment) -> None:
    talk = Talk(env)
    talk.ask("RPUSH k v")
    for key in ("none", "k"):
        talk.expect(f"BLMOVE {key} t UP LEFT 0", b"-ERR syntax error\r\n")
        talk.expect(f"BLMOVE {key} t LEFT UP 0", b"-ERR syntax error\r\n")
        talk.expect(f"BLMOVE {key} t LEFT LEFT x", NOT_A_FLOAT)
        talk.expect(f"BLMOVE {key} t LEFT LEFT -1", NEGATIVE)
    talk.expect("LLEN k", number(1))
    talk.expect("EXISTS t", number(0))


@check("list.brpoplpush")
def brpoplpush(env: Environment) -> None:
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
    lasted = seconds_until_null(other, "BRPOPLPUSH k t 0.06")
    expect(lasted >= 0.05, True, f"0.06 s lasting so long, and not {lasted:.3f} s")


@check("list.block.at-once", "list.matrix.key-order")
def at_once(env: Environment) -> None:
    talk = Talk(env, "a", "b", "c")
    talk.ask("RPUSH c 3")
    talk.ask("RPUSH b 2")
    talk.expect("BLPOP a b c 0", array(talk.key("b"), b"2"))
    talk.expect("BRPOP a b c 0", array(talk.key("c"), b"3"))
    talk.ask("SET s v")
    talk.ask("RPUSH b 4")
    talk.expect("BLPOP a b s 0", array(talk.key("b"), b"4"))


@check("list.block.registers")
def registers(env: Environment) -> None:
    first, second = waiters(env, "BLPOP k 0", "BLPOP t 0")
    other = Talk(env)
    other.ask("RPUSH k v")
    expect_served(first, array(first.key("k"), b"v"))
    expect_still_waiting(env, second)


@check("list.block.holds-input")
def holds_input(env: Environment) -> None:
    (waiter,) = waiters(env, "BLPOP k 0")
    for line in ("RPUSH t v", "LLEN t"):
        waiter.send(line)
    expect_still_waiting(env, waiter)
    other = Talk(env)
    other.expect("EXISTS t", number(0))
    other.expect("RPUSH k v", number(1))
    expect(waiter.raw.reply(), array(waiter.key("k"), b"v"), "what the wait gets")
    expect((waiter.raw.reply(), waiter.raw.reply()), (number(1), number(1)), "what was sent meanwhile")


@check("list.block.inside-transaction")
def inside_transaction(env: Environment) -> None:
    talk = Talk(env)
    for line in (
        "MULTI",
        "BLPOP k t 0",
        "BRPOP k 0",
        "BRPOPLPUSH k t 0",
        "RPUSH k 1 2",
        "BRPOP t k 0",
        "BRPOPLPUSH k t 0",
    ):
        talk.ask(line)
    taken = array(talk.key("k"), b"2") + bulk(b"1")
    talk.expect("EXEC", b"*6\r\n" + NULL_ARRAY + NULL_ARRAY + NULL + number(2) + taken)


@check("list.block.wakes-on-push")
def wakes_on_push(env: Environment) -> None:
    for line in ("LPUSH k v", "RPUSH k v", "RPOPLPUSH a k"):
        (waiter,) = waiters(env, "BLPOP k 0")
        other = Talk(env, "a")
        other.ask("RPUSH a v")
        other.ask(line)
        expect_served(waiter, array(waiter.key("k"), b"v"))
        other.ask("DEL a")


@check("list.block.fifo", "list.matrix.fifo")
def fifo(env: Environment) -> None:
    line = waiters(env, *["BLPOP k 0"] * WAITERS)
    other = Talk(env)
    for place in range(WAITERS):
        other.ask(f"RPUSH k {place}")  # what it answers is another clause's
    for place, waiter in enumerate(line):
        expect_served(waiter, array(waiter.key("k"), b"%d" % place), f"the waiter in place {place}")


@check("list.block.one-push-many")
def one_push_many(env: Environment) -> None:
    first, second, third = waiters(env, "BLPOP k 0", "BRPOP k 0", "BLPOP k 0")
    Talk(env).expect("LPUSH k 1 2 3", number(3))  # the list is 3 2 1
    for waiter, element in ((first, b"3"), (second, b"1"), (third, b"2")):
        expect_served(waiter, array(waiter.key("k"), element))


@check("list.block.push-reply")
def push_reply(env: Environment) -> None:
    waiter, *_ = waiters(env, "BLPOP k 0")
    other = Talk(env)
    other.expect("RPUSH k 1 2 3", number(3))
    expect_served(waiter, array(waiter.key("k"), b"1"))
    other.expect("LLEN k", number(2))


@check("list.block.atomic")
def atomic(env: Environment) -> None:
    (waiter,) = waiters(env, "BLPOP k 0")
    other = Talk(env)
    other.raw.socket.sendall(b"RPUSH %b v\r\nEXISTS %b\r\n" % (other.key("k"), other.key("k")))
    expect((other.raw.reply(), other.raw.reply()), (number(1), number(0)), "length and EXISTS behind it")
    expect_served(waiter, array(waiter.key("k"), b"v"))


@check("list.block.after-transaction")
def after_transaction(env: Environment) -> None:
    (waiter,) = waiters(env, "BLPOP k 0")
    other = Talk(env)
    for line in ("MULTI", "RPUSH k 1", "DEL k"):
        other.ask(line)
    other.expect("EXEC", b"*2\r\n" + number(1) + number(1))
    expect_still_waiting(env, waiter)
    for line in ("MULTI", "RPUSH k 1", "LPUSH k 2", "LLEN k"):
        other.ask(line)
    expect_still_waiting(env, waiter)
    other.expect("EXEC", b"*3\r\n" + number(1) + number(2) + number(2))
    expect_served(waiter, array(waiter.key("k"), b"2"))


@check("list.block.several-keys")
def several_keys(env: Environment) -> None:
    first, second = waiters(env, "BLPOP a b 0", "BLPOP b 0")
    other = Talk(env, "a", "b", "c")
    other.ask("RPUSH a 1")
    expect_served(first, array(first.key("a"), b"1"))
    other.ask("RPUSH b 2")
    expect_served(second, array(second.key("b"), b"2"))
    for key in ("a", "b", "c"):
        (third,) = waiters(env, "BRPOP a b a c 0")  # to name a key twice is to wait for it once
        other.ask(f"RPUSH {key} 3")
        expect_served(third, array(third.key(key), b"3"), f"who waits for {key} too")
        for each in ("a", "b", "c"):
            other.expect(f"RPUSH {each} 4", number(1))
            other.expect(f"LLEN {each}", number(1))
        other.ask("DEL a b c")


@check("list.block.first-ready")
def first_ready(env: Environment) -> None:
    (waiter,) = waiters(env, "BLPOP a b 0")
    other = Talk(env, "a", "b")
    for line in ("MULTI", "RPUSH b 2", "RPUSH a 1", "EXEC"):
        other.ask(line)
    expect_served(waiter, array(waiter.key("b"), b"2"))
    other.expect("LLEN a", number(1))


@check("list.block.ready-in-order")
def ready_in_order(env: Environment) -> None:
    other = Talk(env, "a", "b")
    (waiter,) = waiters(env, "BLPOP a b 0")
    for line in ("MULTI", "RPUSH a 1", "RPUSH b 2", "EXEC"):
        other.ask(line)
    expect_served(waiter, array(waiter.key("a"), b"1"))
    other.ask("DEL b")
    for first, second in (("a", "b"), ("b", "a")):
        movers = waiters(env, "BRPOPLPUSH a t 0", "BRPOPLPUSH b t 0")
        for line in ("MULTI", f"RPUSH {first} from-{first}", f"RPUSH {second} from-{second}", "EXEC"):
            other.ask(line)
        for mover, element in zip(movers, (b"from-a", b"from-b"), strict=True):
            expect_served(mover, bulk(element))
        other.expect("LRANGE t 0 -1", array(b"from-" + second.encode(), b"from-" + first.encode()))
        other.ask("DEL t")


@check("list.block.timeout-clears")
def timeout_clears(env: Environment) -> None:
    talk = Talk(env)
    talk.expect("BLPOP k t 0.02", NULL_ARRAY)
    other = Talk(env)
    for key in ("k", "t"):
        other.expect(f"RPUSH {key} v", number(1))
        other.expect(f"LLEN {key}", number(1))
        other.ask(f"DEL {key}")
        (second,) = waiters(env, f"BLPOP {key} 0")
        other.expect(f"RPUSH {key} v", number(1))
        expect_served(second, array(second.key(key), b"v"), f"the next who waits for {key}")
    talk.expect("PING", b"+PONG\r\n")


@check("list.block.served-in-time")
def served_in_time(env: Environment) -> None:
    (waiter,) = waiters(env, "BLPOP k 0.5")
    other = Talk(env)
    other.expect("RPUSH k v", number(1))
    expect_served(waiter, array(waiter.key("k"), b"v"))
    waiter.send("BLPOP t 0")
    env.until_blocked(1)
    other.expect("BLPOP none 0.6", NULL_ARRAY)  # by now the first wait would be over
    expect_still_waiting(env, waiter)


@check("list.block.disconnect")
def disconnect(env: Environment) -> None:
    first, second, _ = waiters(env, "BLPOP a b 0", "BLPOP a 0", "BLPOP c 0")
    first.raw.close()
    env.until_blocked(2)
    other = Talk(env, "a", "b")
    other.ask("RPUSH a 1")
    expect_served(second, array(second.key("a"), b"1"))
    other.expect("RPUSH b 2", number(1))
    other.expect("LLEN b", number(1))


@check("list.block.other-type")
def other_type(env: Environment) -> None:
    first, second = waiters(env, "BLPOP k 0", "BLPOP k 0")
    other = Talk(env)
    other.expect("SET k v", OK)
    other.ask("DEL k")
    expect_still_waiting(env, first, 2)
    other.ask("RPUSH k 1 2")
    expect_served(first, array(first.key("k"), b"1"))
    expect_served(second, array(second.key("k"), b"2"))


@check("list.block.chain")
def chain(env: Environment) -> None:
    first, second, third = waiters(env, "BLMOVE a b LEFT LEFT 0", "BLMOVE b c LEFT LEFT 0", "BLPOP c 0")
    other = Talk(env, "a", "b", "c")
    other.expect("RPUSH a v", number(1))
    expect_served(first, bulk(b"v"))
    expect_served(second, bulk(b"v"))
    expect_served(third, array(third.key("c"), b"v"))
    other.expect("EXISTS a b c", number(0))


@check("list.block.wrong-target")
def wrong_target(env: Environment) -> None:
    Talk(env).expect("SET s v", OK)
    first, second = waiters(env, "BLMOVE k s LEFT LEFT 0", "BLPOP k 0")
    Talk(env).expect("RPUSH k 1", number(1))
    expect_served(first, WRONG_TYPE)
    expect_served(second, array(second.key("k"), b"1"))


@check("list.matrix.blocking")
def matrix_blocking(env: Environment) -> None:
    talk = Talk(env)
    talk.ask("RPUSH k 1")
    talk.expect("BLPOP k 0", array(talk.key("k"), b"1"))
    (waiter,) = waiters(env, "BLPOP k 0")
    talk.expect("RPUSH k 2", number(1))
    expect_served(waiter, array(waiter.key("k"), b"2"))
    talk.expect("BLPOP k 0.02", NULL_ARRAY)
