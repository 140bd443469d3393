"""The data model, pushes and pops."""

from __future__ import annotations

from ...judging.environment import Environment, expect
from ..large import LARGE, MANY, gist, many
from ..registry import check
from . import COUNT, notes
from .talk import EMPTY, NULL, NULL_ARRAY, OK, Talk, array, bulk, number, talk_all


@notes("list.missing-is-empty", "1")
def missing_is_empty(env: Environment) -> None:
    """A key that does not exist counts as an empty list."""
    talk_all(
        env, ("LLEN none", number(0)), ("LRANGE none 0 -1", EMPTY), ("LINDEX none 0", NULL), ("LPOP none", NULL),
        ("LREM none 0 a", number(0)), ("LTRIM none 0 0", OK), ("EXISTS none", number(0)),
    )  # fmt: skip


@notes("list.push-creates", "1")
def push_creates(env: Environment) -> None:
    """A push creates the list."""
    talk_all(
        env,
        ("LPUSH k a", number(1)),
        ("RPUSH t a", number(1)),
        ("EXISTS k t", number(2)),
        ("TYPE k", b"+list\r\n"),
    )


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


@notes("list.lpush-rpop", "1")
def lpush_rpop(env: Environment) -> None:
    """What goes in by LPUSH comes out by RPOP in the same order."""
    talk = Talk(env)
    for word in ("1", "2", "3"):
        talk.ask(f"LPUSH k {word}")
    for value in (b"1", b"2", b"3"):
        talk.expect("RPOP k", bulk(value))


@notes("list.rpush-lpop", "1")
def rpush_lpop(env: Environment) -> None:
    """What goes in by RPUSH comes out by LPOP in the same order."""
    talk = Talk(env)
    for word in ("1", "2", "3"):
        talk.ask(f"RPUSH k {word}")
    for value in (b"1", b"2", b"3"):
        talk.expect("LPOP k", bulk(value))


@notes("list.lpush.prepends", "2, LPUSH / RPUSH")
def lpush_prepends(env: Environment) -> None:
    """LPUSH puts its elements in front, one after the other."""
    talk_all(
        env,
        ("RPUSH k z", number(1)),
        ("LPUSH k a b c", number(4)),
        ("LRANGE k 0 -1", array(b"c", b"b", b"a", b"z")),
    )


@notes("list.rpush.appends", "2, LPUSH / RPUSH")
def rpush_appends(env: Environment) -> None:
    """RPUSH puts its elements at the end, in order."""
    talk_all(
        env,
        ("RPUSH k z", number(1)),
        ("RPUSH k a b c", number(4)),
        ("LRANGE k 0 -1", array(b"z", b"a", b"b", b"c")),
    )


@notes("list.push.length", "2, LPUSH / RPUSH")
def push_length(env: Environment) -> None:
    """A push answers the new length."""
    talk_all(
        env,
        ("LPUSH k a", number(1)),
        ("RPUSH k b c", number(3)),
        ("LPUSH k d", number(4)),
        ("LLEN k", number(4)),
    )


@notes("list.push.binary", "2, LPUSH / RPUSH")
def push_binary(env: Environment) -> None:
    """An element may be any bytes, none too."""
    connection, key = env.connect(), env.key("k")
    for value in (b"", bytes(range(256)), b"\r\n$-1\r\n*0\r\n"):
        connection.command("RPUSH", key, value)
        expect(connection.command("LPOP", key), bulk(value), "what comes out")


@notes("list.pushx.existing", "2, LPUSHX / RPUSHX", level="may")
def pushx_existing(env: Environment) -> None:
    """LPUSHX and RPUSHX push to a list that exists, and answer its length."""
    talk_all(
        env, ("RPUSH k m", number(1)), ("LPUSHX k a b", number(3)), ("RPUSHX k y z", number(5)),
        ("LRANGE k 0 -1", array(b"b", b"a", b"m", b"y", b"z")),
    )  # fmt: skip


@notes("list.pushx.missing", "2, LPUSHX / RPUSHX", level="may")
def pushx_missing(env: Environment) -> None:
    """On a missing key LPUSHX and RPUSHX answer 0 and create nothing."""
    talk_all(env, ("LPUSHX k a", number(0)), ("RPUSHX k a", number(0)), ("EXISTS k", number(0)))


@notes("list.pop.one", "2, LPOP / RPOP")
def pop_one(env: Environment) -> None:
    """Without a count a pop answers one element as a bulk string."""
    talk_all(
        env,
        ("RPUSH k 1 2 3", number(3)),
        ("LPOP k", bulk(b"1")),
        ("RPOP k", bulk(b"3")),
        ("LLEN k", number(1)),
    )


@notes("list.pop.missing", "2, LPOP / RPOP")
def pop_missing(env: Environment) -> None:
    """Without a count a pop from a missing key answers a null bulk string."""
    talk_all(env, ("LPOP none", NULL), ("RPOP none", NULL))


@notes("list.pop.count", "2, LPOP / RPOP", needs=COUNT)
def pop_count(env: Environment) -> None:
    """With a count a pop answers an array of up to so many elements, in the order of popping."""
    talk_all(
        env, ("RPUSH k 1 2 3 4 5 6", number(6)), ("LPOP k 2", array(b"1", b"2")), ("RPOP k 2", array(b"6", b"5")),
        ("LPOP k 9", array(b"3", b"4")), ("EXISTS k", number(0)),
    )  # fmt: skip


@notes("list.pop.count-one", "2, LPOP / RPOP", needs=COUNT)
def pop_count_one(env: Environment) -> None:
    """With a count of 1 it is an array still."""
    talk_all(env, ("RPUSH k 1 2", number(2)), ("LPOP k 1", array(b"1")), ("RPOP k 1", array(b"2")))


@notes("list.pop.count-zero", "2, LPOP / RPOP", needs=COUNT)
def pop_count_zero(env: Environment) -> None:
    """With a count of 0 the array is empty, and nothing is taken."""
    talk_all(env, ("RPUSH k 1", number(1)), ("LPOP k 0", EMPTY), ("RPOP k 0", EMPTY), ("LLEN k", number(1)))


@notes("list.pop.count-missing", "2, LPOP / RPOP", needs=COUNT)
def pop_count_missing(env: Environment) -> None:
    """With a count a pop from a missing key answers a null array, for a count of 0 or 1 too (the notes
    leave a null bulk string open there; Redis does not).
    """
    talk_all(env, ("LPOP none 0", NULL_ARRAY), ("LPOP none 1", NULL_ARRAY), ("RPOP none 5", NULL_ARRAY))


@notes("list.pop.count-bad", "2, LPOP / RPOP", needs=COUNT)
def pop_count_bad(env: Environment) -> None:
    """A negative count, or one that is no number, is an error and takes nothing."""
    refused = b"-ERR value is out of range, must be positive\r\n"
    talk_all(
        env, ("RPUSH k 1", number(1)), ("LPOP k -1", refused), ("RPOP k x", refused), ("LLEN k", number(1))
    )


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
