"""The blocking engine: who is served, when, and with what."""

from __future__ import annotations

from typing import Final

from ...judging.environment import Environment, expect
from ..large import LARGE, gist
from ..registry import check
from . import MOVE, notes
from .talk import (
    NULL,
    NULL_ARRAY,
    OK,
    WRONG_TYPE,
    Talk,
    array,
    bulk,
    expect_served,
    expect_still_waiting,
    number,
    waiters,
)

WAITERS: Final = 10


@notes("list.block.at-once", "4")
def at_once(env: Environment) -> None:
    """With an element there, the reply is at once, from the first key that has one in the command's
    order; keys behind it do not matter."""
    talk = Talk(env, "a", "b", "c")
    talk.ask("RPUSH c 3")
    talk.ask("RPUSH b 2")
    talk.expect("BLPOP a b c 0", array(talk.key("b"), b"2"))
    talk.expect("BRPOP a b c 0", array(talk.key("c"), b"3"))
    talk.ask("SET s v")
    talk.ask("RPUSH b 4")
    talk.expect("BLPOP a b s 0", array(talk.key("b"), b"4"))


@notes("list.block.registers", "4", needs=("blocked-count",))
def registers(env: Environment) -> None:
    """Otherwise the client is blocked, and INFO counts it."""
    first, second = waiters(env, "BLPOP k 0", "BLPOP t 0")
    other = Talk(env)
    other.ask("RPUSH k v")
    expect_served(first, array(first.key("k"), b"v"))
    expect_still_waiting(env, second)


@notes("list.block.holds-input", "4", level="decided")
def holds_input(env: Environment) -> None:
    """What a blocked client sends meanwhile is answered after its wait (the notes are silent)."""
    (waiter,) = waiters(env, "BLPOP k 0")
    for line in ("RPUSH t v", "LLEN t"):
        waiter.send(line)
    expect_still_waiting(env, waiter)
    other = Talk(env)
    other.expect("EXISTS t", number(0))
    other.expect("RPUSH k v", number(1))
    expect(waiter.raw.reply(), array(waiter.key("k"), b"v"), "what the wait gets")
    expect((waiter.raw.reply(), waiter.raw.reply()), (number(1), number(1)), "what was sent meanwhile")


@notes("list.block.inside-transaction", "4", level="decided")
def inside_transaction(env: Environment) -> None:
    """Inside MULTI nobody waits: with nothing to take a pop answers a null array, a move a null bulk
    string (the notes are silent)."""
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


@notes("list.block.wakes-on-push", "4")
def wakes_on_push(env: Environment) -> None:
    """A push wakes the client that waits, and so does a move to its list (the notes name LPUSH and RPUSH
    alone)."""
    for line in ("LPUSH k v", "RPUSH k v", "RPOPLPUSH a k"):
        (waiter,) = waiters(env, "BLPOP k 0")
        other = Talk(env, "a")
        other.ask("RPUSH a v")
        other.ask(line)
        expect_served(waiter, array(waiter.key("k"), b"v"))
        other.ask("DEL a")


@notes("list.block.fifo", "4")
def fifo(env: Environment) -> None:
    """Clients are served in the order in which they blocked, each with one element."""
    line = waiters(env, *["BLPOP k 0"] * WAITERS)
    other = Talk(env)
    for place in range(WAITERS):
        other.ask(f"RPUSH k {place}")  # what it answers is another clause's
    for place, waiter in enumerate(line):
        expect_served(waiter, array(waiter.key("k"), b"%d" % place), f"the waiter in place {place}")


@notes("list.block.one-push-many", "4")
def one_push_many(env: Environment) -> None:
    """One push of several elements serves as many clients, in order (the notes speak of one client)."""
    first, second, third = waiters(env, "BLPOP k 0", "BRPOP k 0", "BLPOP k 0")
    Talk(env).expect("LPUSH k 1 2 3", number(3))  # the list is 3 2 1
    for waiter, element in ((first, b"3"), (second, b"1"), (third, b"2")):
        expect_served(waiter, array(waiter.key("k"), element))


@notes("list.block.push-reply", "4")
def push_reply(env: Environment) -> None:
    """The pusher hears the length its push made, taken elements included."""
    waiter, *_ = waiters(env, "BLPOP k 0")
    other = Talk(env)
    other.expect("RPUSH k 1 2 3", number(3))
    expect_served(waiter, array(waiter.key("k"), b"1"))
    other.expect("LLEN k", number(2))


@notes("list.block.atomic", "4")
def atomic(env: Environment) -> None:
    """Nobody sees an element that is handed to a waiter."""
    (waiter,) = waiters(env, "BLPOP k 0")
    other = Talk(env)
    other.raw.socket.sendall(b"RPUSH %b v\r\nEXISTS %b\r\n" % (other.key("k"), other.key("k")))
    expect((other.raw.reply(), other.raw.reply()), (number(1), number(0)), "length and EXISTS behind it")
    expect_served(waiter, array(waiter.key("k"), b"v"))


@notes("list.block.after-transaction", "4")
def after_transaction(env: Environment) -> None:
    """Pushes inside MULTI serve when EXEC is done, not before; what is gone by then serves nobody."""
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


@notes("list.block.several-keys", "4")
def several_keys(env: Environment) -> None:
    """A client that waits for several keys is served by one of them, and is out of the others' queues."""
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


@notes("list.block.first-ready", "4", needs=("order:ready",))
def first_ready(env: Environment) -> None:
    """When several of its keys become ready at once, the one that was ready first serves it."""
    (waiter,) = waiters(env, "BLPOP a b 0")
    other = Talk(env, "a", "b")
    for line in ("MULTI", "RPUSH b 2", "RPUSH a 1", "EXEC"):
        other.ask(line)
    expect_served(waiter, array(waiter.key("b"), b"2"))
    other.expect("LLEN a", number(1))


@notes("list.block.ready-in-order", "4", level="decided")
def ready_in_order(env: Environment) -> None:
    """Keys that become ready at once are served in the order in which they did; what became ready first
    and is the first argument as well serves, whichever of the two a server goes by (the notes are
    silent)."""
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


@notes("list.block.timeout-clears", "4")
def timeout_clears(env: Environment) -> None:
    """A client whose time is over takes nothing afterwards, from none of its keys."""
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


@notes("list.block.served-in-time", "4")
def served_in_time(env: Environment) -> None:
    """A client that was served in time does not hear that this wait is over."""
    (waiter,) = waiters(env, "BLPOP k 0.5")
    other = Talk(env)
    other.expect("RPUSH k v", number(1))
    expect_served(waiter, array(waiter.key("k"), b"v"))
    waiter.send("BLPOP t 0")
    env.until_blocked(1)
    other.expect("BLPOP none 0.6", NULL_ARRAY)  # by now the first wait would be over
    expect_still_waiting(env, waiter)


@notes("list.block.disconnect", "4")
def disconnect(env: Environment) -> None:
    """A client that hangs up is out of every queue: what is pushed then goes to the next, or stays."""
    first, second, _ = waiters(env, "BLPOP a b 0", "BLPOP a 0", "BLPOP c 0")
    first.raw.close()
    env.until_blocked(2)
    other = Talk(env, "a", "b")
    other.ask("RPUSH a 1")
    expect_served(second, array(second.key("a"), b"1"))
    other.expect("RPUSH b 2", number(1))
    other.expect("LLEN b", number(1))


@notes("list.block.other-type", "4")
def other_type(env: Environment) -> None:
    """A key that becomes another type serves nobody; the waiters keep their places."""
    first, second = waiters(env, "BLPOP k 0", "BLPOP k 0")
    other = Talk(env)
    other.expect("SET k v", OK)
    other.ask("DEL k")
    expect_still_waiting(env, first, 2)
    other.ask("RPUSH k 1 2")
    expect_served(first, array(first.key("k"), b"1"))
    expect_served(second, array(second.key("k"), b"2"))


@notes("list.block.chain", "4", needs=MOVE)
def chain(env: Environment) -> None:
    """An element that BLMOVE moves serves those who wait for its target."""
    first, second, third = waiters(env, "BLMOVE a b LEFT LEFT 0", "BLMOVE b c LEFT LEFT 0", "BLPOP c 0")
    other = Talk(env, "a", "b", "c")
    other.expect("RPUSH a v", number(1))
    expect_served(first, bulk(b"v"))
    expect_served(second, bulk(b"v"))
    expect_served(third, array(third.key("c"), b"v"))
    other.expect("EXISTS a b c", number(0))


@notes("list.block.wrong-target", "4", needs=MOVE)
def wrong_target(env: Environment) -> None:
    """A BLMOVE whose target has another type hears so; the element goes to the next in line."""
    Talk(env).expect("SET s v", OK)
    first, second = waiters(env, "BLMOVE k s LEFT LEFT 0", "BLPOP k 0")
    Talk(env).expect("RPUSH k 1", number(1))
    expect_served(first, WRONG_TYPE)
    expect_served(second, array(second.key("k"), b"1"))


@check("list.block.wakes-on-push")
def waiters_for_large_elements(env: Environment) -> None:
    blocked = waiters(env, *("BLPOP k 0" for _ in LARGE))
    other = Talk(env)
    expect(other.raw.command("RPUSH", other.key("k"), *LARGE), number(len(LARGE)), "RPUSH of large elements")
    for waiter, value in zip(blocked, LARGE, strict=True):
        wanted = array(waiter.key("k"), value)
        expect(gist(waiter.raw.reply()), gist(wanted), f"what the waiter for {gist(value)} gets")
    other.expect("LLEN k", number(0))
