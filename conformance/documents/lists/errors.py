"""Errors and types."""

from __future__ import annotations

from ...judging.environment import Environment
from . import COUNT, MOVE, notes
from .talk import OK, WRONG_TYPE, Talk, array, bulk, exchange, number


@notes("list.wrong-type", "3")
def wrong_type(env: Environment) -> None:
    """On a key of another type every list command answers WRONGTYPE, and changes nothing."""
    talk = Talk(env)
    talk.expect("SET s v", OK)
    talk.expect("RPUSH k 1", number(1))
    commands = (
        "LPUSH s a", "RPUSH s a", "LPUSHX s a", "RPUSHX s a", "LPOP s", "RPOP s", "LLEN s", "LRANGE s 0 -1",
        "LINDEX s 0", "LREM s 0 v", "LTRIM s 0 0", "RPOPLPUSH s k", "RPOPLPUSH k s", "BLPOP s 0", "BRPOP s 0",
        "BLPOP none s 0", "BRPOPLPUSH s k 0", "BRPOPLPUSH k s 0",
    )  # fmt: skip
    for line in commands:
        talk.expect(line, WRONG_TYPE)
    talk.expect("GET s", bulk(b"v"))
    talk.expect("LRANGE k 0 -1", array(b"1"))


@notes("list.wrong-type.move", "3", needs=MOVE)
def wrong_type_move(env: Environment) -> None:
    """LMOVE and BLMOVE answer WRONGTYPE for a source or a destination that is not a list."""
    talk = Talk(env)
    talk.expect("SET s v", OK)
    talk.expect("RPUSH k 1", number(1))
    for keys in ("s k", "k s", "s s", "s none"):
        talk.expect(f"LMOVE {keys} LEFT RIGHT", WRONG_TYPE)
        talk.expect(f"BLMOVE {keys} LEFT RIGHT 0", WRONG_TYPE)
    talk.expect("GET s", bulk(b"v"))
    talk.expect("LRANGE k 0 -1", array(b"1"))
    talk.expect("EXISTS none", number(0))


exchange(
    "list.wrong-type.count", "3",
    "LPOP and RPOP with a count, even 0, answer WRONGTYPE for a key that is not a list.",
    "SET s v => +OK", "LPOP s 0 => -WRONGTYPE", "LPOP s 1 => -WRONGTYPE", "RPOP s 2 => -WRONGTYPE",
    "GET s => 'v'", needs=COUNT,
)  # fmt: skip


@notes("list.wrong-arity", "3")
def wrong_arity(env: Environment) -> None:
    """Too few arguments are an error, and the connection stays open."""
    talk = Talk(env)
    lines = (
        "LPUSH k",
        "RPUSH k",
        "LPUSHX k",
        "RPUSHX k",
        "LPOP",
        "RPOP",
        "LLEN",
        "LRANGE k 0",
        "LINDEX k",
        "LREM k 0",
        "LTRIM k 0",
        "BLPOP k",
        "BRPOP k",
        "RPOPLPUSH k",
        "BRPOPLPUSH k t",
    )
    for line in lines:
        name = line.split()[0].lower().encode()
        talk.expect(line, b"-ERR wrong number of arguments for '%b' command\r\n" % name)
    talk.expect("PING", b"+PONG\r\n")
