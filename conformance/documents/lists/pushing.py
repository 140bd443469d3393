"""The data model, pushes and pops."""

from __future__ import annotations

from ...judging.environment import Environment, expect
from ..large import LARGE, MANY, gist, many
from ..registry import check
from . import COUNT, notes
from .talk import Talk, array, bulk, exchange, number

exchange(
    "list.missing-is-empty", "1", "A key that does not exist counts as an empty list.",
    "LLEN none => 0", "LRANGE none 0 -1 => []", "LINDEX none 0 => nil", "LPOP none => nil",
    "LREM none 0 a => 0", "LTRIM none 0 0 => +OK", "EXISTS none => 0",
)  # fmt: skip
exchange(
    "list.push-creates", "1", "A push creates the list.",
    "LPUSH k a => 1", "RPUSH t a => 1", "EXISTS k t => 2", "TYPE k => +list",
)  # fmt: skip


@notes("list.last-pop-deletes", "1")
def last_pop_deletes(env: Environment) -> None:
    """The key goes away with its last element, whichever command takes it."""
    takers = (
        "LPOP k", "RPOP k", "LREM k 0 a", "LTRIM k 1 0", "RPOPLPUSH k t", "BLPOP k 0", "BRPOP k 0",
        "BRPOPLPUSH k t 0",
    )  # fmt: skip
    talk = Talk(env)
    for taker in takers:
        talk.expect("RPUSH k a", number(1))
        talk.ask(taker)
        expect(talk.ask("EXISTS k"), number(0), f"EXISTS after {taker}")


exchange(
    "list.lpush-rpop", "1", "What goes in by LPUSH comes out by RPOP in the same order.",
    "LPUSH k 1 => 1", "LPUSH k 2 => 2", "LPUSH k 3 => 3", "RPOP k => '1'", "RPOP k => '2'", "RPOP k => '3'",
)  # fmt: skip
exchange(
    "list.rpush-lpop", "1", "What goes in by RPUSH comes out by LPOP in the same order.",
    "RPUSH k 1 => 1", "RPUSH k 2 => 2", "RPUSH k 3 => 3", "LPOP k => '1'", "LPOP k => '2'", "LPOP k => '3'",
)  # fmt: skip
exchange(
    "list.lpush.prepends", "2, LPUSH / RPUSH", "LPUSH puts its elements in front, one after the other.",
    "RPUSH k z => 1", "LPUSH k a b c => 4", "LRANGE k 0 -1 => [c b a z]",
)  # fmt: skip
exchange(
    "list.rpush.appends", "2, LPUSH / RPUSH", "RPUSH puts its elements at the end, in order.",
    "RPUSH k z => 1", "RPUSH k a b c => 4", "LRANGE k 0 -1 => [z a b c]",
)  # fmt: skip
exchange(
    "list.push.length", "2, LPUSH / RPUSH", "A push answers the new length.",
    "LPUSH k a => 1", "RPUSH k b c => 3", "LPUSH k d => 4", "LLEN k => 4",
)  # fmt: skip


@notes("list.push.binary", "2, LPUSH / RPUSH")
def push_binary(env: Environment) -> None:
    """An element may be any bytes, none too."""
    connection, key = env.connect(), env.key("k")
    for value in (b"", bytes(range(256)), b"\r\n$-1\r\n*0\r\n"):
        connection.command("RPUSH", key, value)
        expect(connection.command("LPOP", key), bulk(value), "what comes out")


exchange(
    "list.pushx.existing", "2, LPUSHX / RPUSHX", "LPUSHX and RPUSHX push to a list that exists, and answer its length.",
    "RPUSH k m => 1", "LPUSHX k a b => 3", "RPUSHX k y z => 5", "LRANGE k 0 -1 => [b a m y z]", level="may",
)  # fmt: skip
exchange(
    "list.pushx.missing", "2, LPUSHX / RPUSHX", "On a missing key LPUSHX and RPUSHX answer 0 and create nothing.",
    "LPUSHX k a => 0", "RPUSHX k a => 0", "EXISTS k => 0", level="may",
)  # fmt: skip
exchange(
    "list.pop.one", "2, LPOP / RPOP", "Without a count a pop answers one element as a bulk string.",
    "RPUSH k 1 2 3 => 3", "LPOP k => '1'", "RPOP k => '3'", "LLEN k => 1",
)  # fmt: skip
exchange(
    "list.pop.missing", "2, LPOP / RPOP", "Without a count a pop from a missing key answers a null bulk string.",
    "LPOP none => nil", "RPOP none => nil",
)  # fmt: skip
exchange(
    "list.pop.count", "2, LPOP / RPOP", "With a count a pop answers an array of up to so many elements, in the order of popping.",
    "RPUSH k 1 2 3 4 5 6 => 6", "LPOP k 2 => [1 2]", "RPOP k 2 => [6 5]", "LPOP k 9 => [3 4]",
    "EXISTS k => 0", needs=COUNT,
)  # fmt: skip
exchange(
    "list.pop.count-one", "2, LPOP / RPOP", "With a count of 1 a pop still answers an array.",
    "RPUSH k 1 2 => 2", "LPOP k 1 => [1]", "RPOP k 1 => [2]", needs=COUNT,
)  # fmt: skip
exchange(
    "list.pop.count-zero", "2, LPOP / RPOP", "With a count of 0 a pop answers an empty array, and takes nothing.",
    "RPUSH k 1 => 1", "LPOP k 0 => []", "RPOP k 0 => []", "LLEN k => 1", needs=COUNT,
)  # fmt: skip
exchange(
    "list.pop.count-missing", "2, LPOP / RPOP", "With a count a pop from a missing key answers a null array, for a count of 0 or 1 too (the notes leave a null bulk string open there; Redis does not).",
    "LPOP none 0 => nil array", "LPOP none 1 => nil array", "RPOP none 5 => nil array", needs=COUNT,
)  # fmt: skip
exchange(
    "list.pop.count-bad", "2, LPOP / RPOP", "A negative count, or one that is no number, is an error and takes nothing.",
    "RPUSH k 1 => 1", "LPOP k -1 => -ERR value is out of range, must be positive",
    "RPOP k x => -ERR value is out of range, must be positive", "LLEN k => 1", needs=COUNT,
)  # fmt: skip


@check("list.push.binary")
def large_elements(env: Environment) -> None:
    talk = Talk(env)
    for place, value in enumerate(LARGE, 1):
        expect(talk.raw.command("LPUSH", talk.key("k"), value), number(place), f"LPUSH of {gist(value)}")
    for value in LARGE:
        seen = talk.ask("LINDEX k -1")
        expect(gist(seen), gist(bulk(value)), f"LINDEX of {gist(value)}")
        expect(gist(talk.ask("RPOP k")), gist(seen), f"RPOP of {gist(value)}")


@check("list.push.length")
def very_many_elements(env: Environment) -> None:
    talk, elements = Talk(env), many()
    expect(talk.raw.command("RPUSH", talk.key("k"), *elements), number(MANY), f"RPUSH of {MANY} elements")
    talk.expect("LLEN k", number(MANY))
    expect(gist(talk.ask("LRANGE k 0 -1")), gist(array(*elements)), "LRANGE of all of them")
    talk.expect(f"LINDEX k {MANY // 2}", bulk(elements[MANY // 2]))


@check("list.pop.count")
def very_many_at_once(env: Environment) -> None:
    talk, elements = Talk(env), many()
    talk.raw.command("RPUSH", talk.key("k"), *elements, b"last")
    expect(gist(talk.ask(f"LPOP k {MANY}")), gist(array(*elements)), f"LPOP with a count of {MANY}")
    talk.expect(f"RPOP k {MANY}", array(b"last"))
