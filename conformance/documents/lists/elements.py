"""Moves, removals and looks at elements."""

from __future__ import annotations

from ...judging.environment import Environment, expect
from . import MOVE, notes
from .talk import OK, Talk, array, exchange, number

exchange(
    "list.lmove.ends", "2, LMOVE / BLMOVE", "LMOVE takes from the end it is told and gives to the end it is told.",
    "RPUSH k 1 2 3 4 => 4", "RPUSH t m => 1", "LMOVE k t LEFT RIGHT => '1'", "LMOVE k t RIGHT LEFT => '4'",
    "LMOVE k t LEFT LEFT => '2'", "LMOVE k t RIGHT RIGHT => '3'", "LRANGE t 0 -1 => [2 4 m 1 3]", needs=MOVE,
)  # fmt: skip
exchange(
    "list.lmove.reply", "2, LMOVE / BLMOVE", "LMOVE answers the element; a null bulk string if there is none, whatever is at the destination.",
    "RPUSH k a => 1", "LMOVE k t LEFT LEFT => 'a'", "LMOVE k t LEFT LEFT => nil", "EXISTS k => 0",
    "SET s v => +OK", "LMOVE none s LEFT LEFT => nil", "LMOVE t k UP LEFT => -ERR syntax error",
    "LMOVE t k LEFT UP => -ERR syntax error", "LRANGE t 0 -1 => [a]", "EXISTS k => 0", needs=MOVE,
)  # fmt: skip
exchange(
    "list.lmove.rotate", "2, LMOVE / BLMOVE", "Source and destination may be one list.",
    "RPUSH k 1 2 3 => 3", "LMOVE k k RIGHT LEFT => '3'", "LRANGE k 0 -1 => [3 1 2]", "RPUSH t 1 => 1",
    "LMOVE t t LEFT RIGHT => '1'", "LRANGE t 0 -1 => [1]", needs=MOVE,
)  # fmt: skip
exchange(
    "list.lmove.atomic", "2, LMOVE / BLMOVE", "An element that cannot be given is not taken.",
    "SET s v => +OK", "RPUSH k 1 => 1", "LMOVE k s LEFT LEFT => -WRONGTYPE", "LRANGE k 0 -1 => [1]",
    "GET s => 'v'", needs=MOVE,
)  # fmt: skip
exchange(
    "list.rpoplpush", "2, LMOVE / BLMOVE", "RPOPLPUSH moves from the right of one list to the left of another.",
    "RPUSH k 1 2 3 => 3", "RPOPLPUSH k t => '3'", "RPOPLPUSH k t => '2'", "LRANGE t 0 -1 => [2 3]",
    "RPOPLPUSH none t => nil", "LLEN t => 2", level="may",
)  # fmt: skip
exchange(
    "list.llen", "2, LLEN", "LLEN answers the length, 0 for a missing key.",
    "LLEN none => 0", "RPUSH k 1 2 => 2", "LLEN k => 2",
)  # fmt: skip
exchange(
    "list.lrem.head", "2, LREM", "LREM with a positive count removes so many equal elements, from the head.",
    "RPUSH k a b a b a => 5", "LREM k 2 a => 2", "LRANGE k 0 -1 => [b b a]",
)  # fmt: skip
exchange(
    "list.lrem.tail-and-all", "2, LREM", "With a negative count it begins at the tail, with 0 it removes them all.",
    "RPUSH k a b a b a => 5", "LREM k -2 a => 2", "LRANGE k 0 -1 => [a b b]", "LREM k 0 b => 2",
    "LRANGE k 0 -1 => [a]",
)  # fmt: skip
exchange(
    "list.lrem.count", "2, LREM", "LREM answers how many it removed.",
    "RPUSH k a b => 2", "LREM k 5 a => 1", "LREM k 1 a => 0", "LREM none 1 a => 0",
)  # fmt: skip
exchange(
    "list.ltrim.keeps", "2, LTRIM", "LTRIM keeps the elements between two indexes, both included, and answers OK.",
    "RPUSH k 0 1 2 3 4 => 5", "LTRIM k 1 3 => +OK", "LRANGE k 0 -1 => [1 2 3]",
)  # fmt: skip
exchange(
    "list.ltrim.negative", "2, LTRIM", "The indexes of LTRIM may count from the end.",
    "RPUSH k 0 1 2 3 4 => 5", "LTRIM k -3 -2 => +OK", "LRANGE k 0 -1 => [2 3]",
)  # fmt: skip


@notes("list.ltrim.empty", "2, LTRIM")
def ltrim_empty(env: Environment) -> None:
    """A range without elements leaves no key."""
    talk = Talk(env)
    for bounds in ("1 0", "5 9", "-1 -2"):
        talk.ask("RPUSH k 0 1")
        talk.expect(f"LTRIM k {bounds}", OK)
        expect(talk.ask("EXISTS k"), number(0), f"EXISTS after LTRIM {bounds}")


@notes("list.ltrim.caps", "2, LTRIM")
def ltrim_caps(env: Environment) -> None:
    """A push and an LTRIM cap a queue's length."""
    talk = Talk(env)
    for value in range(10):
        talk.ask(f"LPUSH k {value}")
        talk.expect("LTRIM k 0 2", OK)
    talk.expect("LRANGE k 0 -1", array(b"9", b"8", b"7"))


exchange(
    "list.lrange", "2, LRANGE / LINDEX", "LRANGE answers the elements between two indexes, and takes none.",
    "RPUSH k 0 1 2 3 => 4", "LRANGE k 0 -1 => [0 1 2 3]", "LRANGE k 1 2 => [1 2]", "LRANGE k -2 99 => [2 3]",
    "LRANGE k -99 0 => [0]", "LRANGE k 2 1 => []", "LRANGE k 4 9 => []", "LLEN k => 4",
)  # fmt: skip
exchange(
    "list.lindex", "2, LRANGE / LINDEX", "LINDEX answers one element, null beyond the ends, and takes none.",
    "RPUSH k 0 1 2 => 3", "LINDEX k 0 => '0'", "LINDEX k -1 => '2'", "LINDEX k 3 => nil",
    "LINDEX k -3 => '0'", "LINDEX k 2 => '2'", "LINDEX k -4 => nil", "LLEN k => 3",
)  # fmt: skip
