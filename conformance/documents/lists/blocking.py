"""The blocking engine: who is served, when, and with what."""

from __future__ import annotations

from typing import Final

from ...judging.environment import Environment, expect
from ..large import LARGE, gist
from ..registry import check
from . import MOVE, notes
from .talk import (
    ABC,
    NULL,
    NULL_ARRAY,
    Talk,
    array,
    bulk,
    exchange,
    expect_served,
    expect_still_waiting,
    number,
    waiters,
)

WAITERS: Final = 10


exchange(
    "list.block.at-once", "4", "With an element there, the reply is at once, from the first key that has one in the command's order; keys behind it do not matter.",
    "RPUSH c 3", "RPUSH b 2", "BLPOP a b c 0 => [b 2]", "BRPOP a b c 0 => [c 3]", "SET s v", "RPUSH b 4",
    "BLPOP a b s 0 => [b 4]", keys=ABC,
)  # fmt: skip
exchange(
    "list.block.registers", "4", "Otherwise the client is blocked, and INFO counts it.",
    "first: BLPOP k 0", "second: BLPOP t 0", "RPUSH k v", "first <= [k v]", "second waits",
    needs=("blocked-count",),
)  # fmt: skip


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


exchange(
    "list.block.wakes-on-push", "4", "A push wakes the client that waits, and so does a move to its list (the notes name LPUSH and RPUSH alone).",
    "first: BLPOP k 0", "LPUSH k v", "first <= [k v]", "first: BLPOP k 0", "RPUSH k v", "first <= [k v]",
    "RPUSH t v", "first: BLPOP k 0", "RPOPLPUSH t k", "first <= [k v]",
)  # fmt: skip


@notes("list.block.fifo", "4")
def fifo(env: Environment) -> None:
    """Clients are served in the order in which they blocked, each with one element."""
    line = waiters(env, *["BLPOP k 0"] * WAITERS)
    other = Talk(env)
    for place in range(WAITERS):
        other.ask(f"RPUSH k {place}")  # what it answers is another clause's
    for place, waiter in enumerate(line):
        expect_served(waiter, array(waiter.key("k"), b"%d" % place), f"the waiter in place {place}")


@check("list.block.fifo")
def fifo_whatever_the_timeouts_and_other_keys(env: Environment) -> None:
    line = waiters(env, "BLPOP k 0", "BLPOP t k 60", "BLPOP k 30")
    Talk(env).ask("RPUSH k 0 1 2")
    for place, waiter in enumerate(line):
        wanted = array(waiter.key("k"), b"%d" % place)
        expect_served(
            waiter, wanted, f"the waiter in place {place}, of waiters with different timeouts and keys"
        )


exchange(
    "list.block.one-push-many", "4", "One push of several elements serves as many clients, in order (the notes speak of one client).",
    "first: BLPOP k 0", "second: BRPOP k 0", "third: BLPOP k 0", "LPUSH k 1 2 3 => 3", "first <= [k 3]",
    "second <= [k 1]", "third <= [k 2]",
)  # fmt: skip
exchange(
    "list.block.push-reply", "4", "The pusher hears the length its push made, taken elements included.",
    "first: BLPOP k 0", "RPUSH k 1 2 3 => 3", "first <= [k 1]", "LLEN k => 2",
)  # fmt: skip


@notes("list.block.atomic", "4")
def atomic(env: Environment) -> None:
    """Nobody sees an element that is handed to a waiter."""
    (waiter,) = waiters(env, "BLPOP k 0")
    other = Talk(env)
    other.raw.socket.sendall(b"RPUSH %b v\r\nEXISTS %b\r\n" % (other.key("k"), other.key("k")))
    expect((other.raw.reply(), other.raw.reply()), (number(1), number(0)), "length and EXISTS behind it")
    expect_served(waiter, array(waiter.key("k"), b"v"))


exchange(
    "list.block.after-transaction", "4", "Pushes inside MULTI serve when EXEC is done, not before; what is gone by then serves nobody.",
    "first: BLPOP k 0", "MULTI", "RPUSH k 1", "DEL k", "EXEC => (1 1)", "first waits", "MULTI", "RPUSH k 1",
    "LPUSH k 2", "LLEN k", "first waits", "EXEC => (1 2 2)", "first <= [k 2]",
)  # fmt: skip


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


exchange(
    "list.block.first-ready", "4", "When several of its keys become ready at once, the one that was ready first serves it.",
    "first: BLPOP a b 0", "MULTI", "RPUSH b 2", "RPUSH a 1", "EXEC", "first <= [b 2]", "LLEN a => 1",
    needs=("order:ready",), keys=ABC,
)  # fmt: skip


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


@check("list.block.ready-in-order")
def a_chain_waits_for_keys_that_were_ready_before(env: Environment) -> None:
    movers = waiters(env, "BRPOPLPUSH a c 0", "BRPOPLPUSH b t 0", "BRPOPLPUSH c t 0")
    other = Talk(env, "a", "b", "c")
    for line in ("MULTI", "RPUSH a from-a", "RPUSH b from-b", "EXEC"):
        other.ask(line)
    for mover, element in zip(movers, (b"from-a", b"from-b", b"from-a"), strict=True):
        expect_served(mover, bulk(element))
    other.expect("LRANGE t 0 -1", array(b"from-a", b"from-b"))  # c became ready after b


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


exchange(
    "list.block.served-in-time", "4", "A client that was served in time does not hear that this wait is over.",
    "first: BLPOP k 0.5", "RPUSH k v => 1", "first <= [k v]", "first: BLPOP t 0", "BLPOP none 0.6 => nil array",
    "first waits",
)  # fmt: skip


@check("list.block.timeout-clears")
def many_waits_that_were_served(env: Environment) -> None:
    """What a server keeps of them may go; the wait of a client that goes on waiting ends all the same."""
    patient, served = waiters(env, "BLPOP t 1", "BLPOP k 60")
    other = Talk(env)
    for _ in range(1100):
        served.send("BLPOP k 60")
        other.ask("RPUSH k v")
        expect(served.raw.reply(), array(served.key("k"), b"v"), "what a wait gets")
    expect(patient.raw.reply(), NULL_ARRAY, "what a wait of a second gets")


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


exchange(
    "list.block.other-type", "4", "A key that becomes another type serves nobody; the waiters keep their places.",
    "first: BLPOP k 0", "second: BLPOP k 0", "SET k v => +OK", "DEL k", "first waits", "RPUSH k 1 2",
    "first <= [k 1]", "second <= [k 2]",
)  # fmt: skip
exchange(
    "list.block.chain", "4", "An element that BLMOVE moves serves those who wait for its target.",
    "first: BLMOVE a b LEFT LEFT 0", "second: BLMOVE b c LEFT LEFT 0", "third: BLPOP c 0", "RPUSH a v => 1",
    "first <= 'v'", "second <= 'v'", "third <= [c v]", "EXISTS a b c => 0", needs=MOVE, keys=ABC,
)  # fmt: skip
exchange(
    "list.block.wrong-target", "4", "A BLMOVE whose target has another type hears so; the element goes to the next in line.",
    "SET s v => +OK", "first: BLMOVE k s LEFT LEFT 0", "second: BLPOP k 0", "RPUSH k 1 => 1",
    "first <= -WRONGTYPE", "second <= [k 1]", needs=MOVE,
)  # fmt: skip


@check("list.block.other-type")
def a_list_in_place_of_a_string_serves_nobody(env: Environment) -> None:
    (waiter,) = waiters(env, "BLPOP k 0")
    other = Talk(env)
    for line in ("SET k v", "RPUSH t 1", "SORT t STORE k", "RPUSH k 2"):
        other.ask(line)
    expect_still_waiting(env, waiter)
    for line in ("DEL k", "RPUSH k 3"):
        other.ask(line)
    expect_served(waiter, array(waiter.key("k"), b"3"))


@check("list.block.wakes-on-push")
def waiters_for_large_elements(env: Environment) -> None:
    blocked = waiters(env, *("BLPOP k 0" for _ in LARGE))
    other = Talk(env)
    expect(other.raw.command("RPUSH", other.key("k"), *LARGE), number(len(LARGE)), "RPUSH of large elements")
    for waiter, value in zip(blocked, LARGE, strict=True):
        wanted = array(waiter.key("k"), value)
        expect(gist(waiter.raw.reply()), gist(wanted), f"what the waiter for {gist(value)} gets")
    other.expect("LLEN k", number(0))
