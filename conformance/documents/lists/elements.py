"""Moves, removals and looks at elements."""

from __future__ import annotations

from ...judging.environment import Environment, expect
from . import MOVE, notes
from .talk import EMPTY, NULL, OK, WRONG_TYPE, Talk, array, bulk, number, talk_all


@notes("list.lmove.ends", "2, LMOVE / BLMOVE", needs=MOVE)
def lmove_ends(env: Environment) -> None:
    """LMOVE takes from the end it is told and gives to the end it is told."""
    talk_all(
        env, ("RPUSH k 1 2 3 4", number(4)), ("RPUSH t m", number(1)), ("LMOVE k t LEFT RIGHT", bulk(b"1")),
        ("LMOVE k t RIGHT LEFT", bulk(b"4")), ("LMOVE k t LEFT LEFT", bulk(b"2")),
        ("LMOVE k t RIGHT RIGHT", bulk(b"3")), ("LRANGE t 0 -1", array(b"2", b"4", b"m", b"1", b"3")),
    )  # fmt: skip


@notes("list.lmove.reply", "2, LMOVE / BLMOVE", needs=MOVE)
def lmove_reply(env: Environment) -> None:
    """LMOVE answers the element; a null bulk string if there is none, whatever is at the destination."""
    talk_all(
        env, ("RPUSH k a", number(1)), ("LMOVE k t LEFT LEFT", bulk(b"a")), ("LMOVE k t LEFT LEFT", NULL),
        ("EXISTS k", number(0)), ("SET s v", OK), ("LMOVE none s LEFT LEFT", NULL),
        ("LMOVE t k UP LEFT", b"-ERR syntax error\r\n"), ("LMOVE t k LEFT UP", b"-ERR syntax error\r\n"),
        ("LRANGE t 0 -1", array(b"a")), ("EXISTS k", number(0)),
    )  # fmt: skip


@notes("list.lmove.rotate", "2, LMOVE / BLMOVE", needs=MOVE)
def lmove_rotate(env: Environment) -> None:
    """Source and destination may be one list."""
    talk_all(
        env, ("RPUSH k 1 2 3", number(3)), ("LMOVE k k RIGHT LEFT", bulk(b"3")),
        ("LRANGE k 0 -1", array(b"3", b"1", b"2")), ("RPUSH t 1", number(1)), ("LMOVE t t LEFT RIGHT", bulk(b"1")),
        ("LRANGE t 0 -1", array(b"1")),
    )  # fmt: skip


@notes("list.lmove.atomic", "2, LMOVE / BLMOVE", needs=MOVE)
def lmove_atomic(env: Environment) -> None:
    """An element that cannot be given is not taken."""
    talk_all(
        env, ("SET s v", OK), ("RPUSH k 1", number(1)), ("LMOVE k s LEFT LEFT", WRONG_TYPE), ("LRANGE k 0 -1", array(b"1")),
        ("GET s", bulk(b"v")),
    )  # fmt: skip


@notes("list.rpoplpush", "2, LMOVE / BLMOVE", level="may")
def rpoplpush(env: Environment) -> None:
    """RPOPLPUSH moves from the right of one list to the left of another."""
    talk_all(
        env, ("RPUSH k 1 2 3", number(3)), ("RPOPLPUSH k t", bulk(b"3")), ("RPOPLPUSH k t", bulk(b"2")),
        ("LRANGE t 0 -1", array(b"2", b"3")), ("RPOPLPUSH none t", NULL), ("LLEN t", number(2)),
    )  # fmt: skip


@notes("list.llen", "2, LLEN")
def llen(env: Environment) -> None:
    """LLEN answers the length, 0 for a missing key."""
    talk_all(env, ("LLEN none", number(0)), ("RPUSH k 1 2", number(2)), ("LLEN k", number(2)))


@notes("list.lrem.head", "2, LREM")
def lrem_head(env: Environment) -> None:
    """LREM with a positive count removes so many equal elements, from the head."""
    talk_all(
        env,
        ("RPUSH k a b a b a", number(5)),
        ("LREM k 2 a", number(2)),
        ("LRANGE k 0 -1", array(b"b", b"b", b"a")),
    )


@notes("list.lrem.tail-and-all", "2, LREM")
def lrem_tail_and_all(env: Environment) -> None:
    """With a negative count it begins at the tail, with 0 it removes them all."""
    talk_all(
        env, ("RPUSH k a b a b a", number(5)), ("LREM k -2 a", number(2)), ("LRANGE k 0 -1", array(b"a", b"b", b"b")),
        ("LREM k 0 b", number(2)), ("LRANGE k 0 -1", array(b"a")),
    )  # fmt: skip


@notes("list.lrem.count", "2, LREM")
def lrem_count(env: Environment) -> None:
    """LREM answers how many it removed."""
    talk_all(
        env,
        ("RPUSH k a b", number(2)),
        ("LREM k 5 a", number(1)),
        ("LREM k 1 a", number(0)),
        ("LREM none 1 a", number(0)),
    )


@notes("list.ltrim.keeps", "2, LTRIM")
def ltrim_keeps(env: Environment) -> None:
    """LTRIM keeps the elements between two indexes, both included, and answers OK."""
    talk_all(
        env, ("RPUSH k 0 1 2 3 4", number(5)), ("LTRIM k 1 3", OK), ("LRANGE k 0 -1", array(b"1", b"2", b"3"))
    )


@notes("list.ltrim.negative", "2, LTRIM")
def ltrim_negative(env: Environment) -> None:
    """Its indexes may count from the end."""
    talk_all(
        env, ("RPUSH k 0 1 2 3 4", number(5)), ("LTRIM k -3 -2", OK), ("LRANGE k 0 -1", array(b"2", b"3"))
    )


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


@notes("list.lrange", "2, LRANGE / LINDEX")
def lrange(env: Environment) -> None:
    """LRANGE answers the elements between two indexes, and takes none."""
    talk_all(
        env, ("RPUSH k 0 1 2 3", number(4)), ("LRANGE k 0 -1", array(b"0", b"1", b"2", b"3")),
        ("LRANGE k 1 2", array(b"1", b"2")), ("LRANGE k -2 99", array(b"2", b"3")), ("LRANGE k -99 0", array(b"0")),
        ("LRANGE k 2 1", EMPTY), ("LRANGE k 4 9", EMPTY), ("LLEN k", number(4)),
    )  # fmt: skip


@notes("list.lindex", "2, LRANGE / LINDEX")
def lindex(env: Environment) -> None:
    """LINDEX answers one element, null beyond the ends, and takes none."""
    talk_all(
        env, ("RPUSH k 0 1 2", number(3)), ("LINDEX k 0", bulk(b"0")), ("LINDEX k -1", bulk(b"2")), ("LINDEX k 3", NULL),
        ("LINDEX k -3", bulk(b"0")), ("LINDEX k 2", bulk(b"2")), ("LINDEX k -4", NULL), ("LLEN k", number(3)),
    )  # fmt: skip
