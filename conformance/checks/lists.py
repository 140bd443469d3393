"""List commands that do not wait: the very bytes of their replies."""

from __future__ import annotations

from typing import Final

from ..judging.environment import Environment, expect
from ..wire import RawConnection
from .registry import check

NULL: Final = b"$-1\r\n"
NULL_ARRAY: Final = b"*-1\r\n"
EMPTY: Final = b"*0\r\n"
OK: Final = b"+OK\r\n"
WRONG_TYPE: Final = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"


def number(value: int) -> bytes:
    """An integer reply."""
    return b":%d\r\n" % value


def bulk(value: bytes) -> bytes:
    """A bulk string reply."""
    return b"$%d\r\n%b\r\n" % (len(value), value)


def array(*values: bytes) -> bytes:
    """An array of bulk strings."""
    return b"*%d\r\n%b" % (len(values), b"".join(map(bulk, values)))


class Talk:
    """One connection on which commands are given as words, keys being the check's own."""

    def __init__(self, env: Environment, *keys: str) -> None:
        self.raw: RawConnection = env.connect()
        self.keys = {name: env.key(name) for name in (*keys, "k", "t", "s", "none")}

    def words(self, line: str) -> list[str]:
        """A command's words, with names of keys replaced by the keys."""
        name, *rest = line.split()
        return [name, *(self.keys.get(word, word) for word in rest)]

    def ask(self, line: str) -> bytes:
        """The reply to a command."""
        return self.raw.command(*self.words(line))

    def expect(self, line: str, wanted: bytes) -> None:
        """Fails unless a command answers so."""
        expect(self.ask(line), wanted, line)

    def send(self, line: str) -> None:
        """Sends a command that will wait."""
        self.raw.send(*self.words(line))

    def key(self, name: str) -> bytes:
        """A key as it comes back in replies."""
        return self.keys[name].encode()


def talk_all(env: Environment, *exchanges: tuple[str, bytes]) -> None:
    """Asks one thing after the other on one connection."""
    talk = Talk(env)
    for line, wanted in exchanges:
        talk.expect(line, wanted)


# 1) Data model


@check("list.missing-is-empty")
def missing_is_empty(env: Environment) -> None:
    talk_all(
        env, ("LLEN none", number(0)), ("LRANGE none 0 -1", EMPTY), ("LINDEX none 0", NULL), ("LPOP none", NULL),
        ("LREM none 0 a", number(0)), ("LTRIM none 0 0", OK), ("EXISTS none", number(0)),
    )  # fmt: skip


@check("list.push-creates")
def push_creates(env: Environment) -> None:
    talk_all(
        env,
        ("LPUSH k a", number(1)),
        ("RPUSH t a", number(1)),
        ("EXISTS k t", number(2)),
        ("TYPE k", b"+list\r\n"),
    )


@check("list.last-pop-deletes", "list.matrix.last-pop")
def last_pop_deletes(env: Environment) -> None:
    takers = (
        "LPOP k", "RPOP k", "LREM k 0 a", "LTRIM k 1 0", "RPOPLPUSH k t", "BLPOP k 0", "BRPOP k 0",
        "BRPOPLPUSH k t 0",
    )  # fmt: skip
    talk = Talk(env)
    for taker in takers:
        talk.expect("RPUSH k a", number(1))
        talk.ask(taker)
        expect(talk.ask("EXISTS k"), number(0), f"EXISTS after {taker}")


@check("list.lpush-rpop")
def lpush_rpop(env: Environment) -> None:
    talk = Talk(env)
    for word in ("1", "2", "3"):
        talk.ask(f"LPUSH k {word}")
    for value in (b"1", b"2", b"3"):
        talk.expect("RPOP k", bulk(value))


@check("list.rpush-lpop")
def rpush_lpop(env: Environment) -> None:
    talk = Talk(env)
    for word in ("1", "2", "3"):
        talk.ask(f"RPUSH k {word}")
    for value in (b"1", b"2", b"3"):
        talk.expect("LPOP k", bulk(value))


# 2) Commands


@check("list.lpush.prepends")
def lpush_prepends(env: Environment) -> None:
    talk_all(
        env,
        ("RPUSH k z", number(1)),
        ("LPUSH k a b c", number(4)),
        ("LRANGE k 0 -1", array(b"c", b"b", b"a", b"z")),
    )


@check("list.rpush.appends")
def rpush_appends(env: Environment) -> None:
    talk_all(
        env,
        ("RPUSH k z", number(1)),
        ("RPUSH k a b c", number(4)),
        ("LRANGE k 0 -1", array(b"z", b"a", b"b", b"c")),
    )


@check("list.push.length")
def push_length(env: Environment) -> None:
    talk_all(
        env,
        ("LPUSH k a", number(1)),
        ("RPUSH k b c", number(3)),
        ("LPUSH k d", number(4)),
        ("LLEN k", number(4)),
    )


@check("list.push.binary")
def push_binary(env: Environment) -> None:
    connection, key = env.connect(), env.key("k")
    for value in (b"", bytes(range(256)), b"\r\n$-1\r\n*0\r\n"):
        connection.command("RPUSH", key, value)
        expect(connection.command("LPOP", key), bulk(value), "what comes out")


@check("list.pushx.existing")
def pushx_existing(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k m", number(1)), ("LPUSHX k a b", number(3)), ("RPUSHX k y z", number(5)),
        ("LRANGE k 0 -1", array(b"b", b"a", b"m", b"y", b"z")),
    )  # fmt: skip


@check("list.pushx.missing")
def pushx_missing(env: Environment) -> None:
    talk_all(env, ("LPUSHX k a", number(0)), ("RPUSHX k a", number(0)), ("EXISTS k", number(0)))


@check("list.pop.one")
def pop_one(env: Environment) -> None:
    talk_all(
        env,
        ("RPUSH k 1 2 3", number(3)),
        ("LPOP k", bulk(b"1")),
        ("RPOP k", bulk(b"3")),
        ("LLEN k", number(1)),
    )


@check("list.pop.missing")
def pop_missing(env: Environment) -> None:
    talk_all(env, ("LPOP none", NULL), ("RPOP none", NULL))


@check("list.pop.count")
def pop_count(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k 1 2 3 4 5 6", number(6)), ("LPOP k 2", array(b"1", b"2")), ("RPOP k 2", array(b"6", b"5")),
        ("LPOP k 9", array(b"3", b"4")), ("EXISTS k", number(0)),
    )  # fmt: skip


@check("list.pop.count-one")
def pop_count_one(env: Environment) -> None:
    talk_all(env, ("RPUSH k 1 2", number(2)), ("LPOP k 1", array(b"1")), ("RPOP k 1", array(b"2")))


@check("list.pop.count-zero")
def pop_count_zero(env: Environment) -> None:
    talk_all(env, ("RPUSH k 1", number(1)), ("LPOP k 0", EMPTY), ("RPOP k 0", EMPTY), ("LLEN k", number(1)))


@check("list.pop.count-missing")
def pop_count_missing(env: Environment) -> None:
    talk_all(env, ("LPOP none 0", NULL_ARRAY), ("LPOP none 1", NULL_ARRAY), ("RPOP none 5", NULL_ARRAY))


@check("list.pop.count-bad")
def pop_count_bad(env: Environment) -> None:
    refused = b"-ERR value is out of range, must be positive\r\n"
    talk_all(
        env, ("RPUSH k 1", number(1)), ("LPOP k -1", refused), ("RPOP k x", refused), ("LLEN k", number(1))
    )


@check("list.lmove.ends")
def lmove_ends(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k 1 2 3 4", number(4)), ("RPUSH t m", number(1)), ("LMOVE k t LEFT RIGHT", bulk(b"1")),
        ("LMOVE k t RIGHT LEFT", bulk(b"4")), ("LMOVE k t LEFT LEFT", bulk(b"2")),
        ("LMOVE k t RIGHT RIGHT", bulk(b"3")), ("LRANGE t 0 -1", array(b"2", b"4", b"m", b"1", b"3")),
    )  # fmt: skip


@check("list.lmove.reply")
def lmove_reply(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k a", number(1)), ("LMOVE k t LEFT LEFT", bulk(b"a")), ("LMOVE k t LEFT LEFT", NULL),
        ("EXISTS k", number(0)), ("SET s v", OK), ("LMOVE none s LEFT LEFT", NULL),
        ("LMOVE t k UP LEFT", b"-ERR syntax error\r\n"), ("LMOVE t k LEFT UP", b"-ERR syntax error\r\n"),
        ("LRANGE t 0 -1", array(b"a")), ("EXISTS k", number(0)),
    )  # fmt: skip


@check("list.lmove.rotate")
def lmove_rotate(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k 1 2 3", number(3)), ("LMOVE k k RIGHT LEFT", bulk(b"3")),
        ("LRANGE k 0 -1", array(b"3", b"1", b"2")), ("RPUSH t 1", number(1)), ("LMOVE t t LEFT RIGHT", bulk(b"1")),
        ("LRANGE t 0 -1", array(b"1")),
    )  # fmt: skip


@check("list.lmove.atomic", "list.matrix.cross-list")
def lmove_atomic(env: Environment) -> None:
    talk_all(
        env, ("SET s v", OK), ("RPUSH k 1", number(1)), ("LMOVE k s LEFT LEFT", WRONG_TYPE), ("LRANGE k 0 -1", array(b"1")),
        ("GET s", bulk(b"v")),
    )  # fmt: skip


@check("list.rpoplpush")
def rpoplpush(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k 1 2 3", number(3)), ("RPOPLPUSH k t", bulk(b"3")), ("RPOPLPUSH k t", bulk(b"2")),
        ("LRANGE t 0 -1", array(b"2", b"3")), ("RPOPLPUSH none t", NULL), ("LLEN t", number(2)),
    )  # fmt: skip


@check("list.llen")
def llen(env: Environment) -> None:
    talk_all(env, ("LLEN none", number(0)), ("RPUSH k 1 2", number(2)), ("LLEN k", number(2)))


@check("list.lrem.head")
def lrem_head(env: Environment) -> None:
    talk_all(
        env,
        ("RPUSH k a b a b a", number(5)),
        ("LREM k 2 a", number(2)),
        ("LRANGE k 0 -1", array(b"b", b"b", b"a")),
    )


@check("list.lrem.tail-and-all")
def lrem_tail_and_all(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k a b a b a", number(5)), ("LREM k -2 a", number(2)), ("LRANGE k 0 -1", array(b"a", b"b", b"b")),
        ("LREM k 0 b", number(2)), ("LRANGE k 0 -1", array(b"a")),
    )  # fmt: skip


@check("list.lrem.count")
def lrem_count(env: Environment) -> None:
    talk_all(
        env,
        ("RPUSH k a b", number(2)),
        ("LREM k 5 a", number(1)),
        ("LREM k 1 a", number(0)),
        ("LREM none 1 a", number(0)),
    )


@check("list.ltrim.keeps")
def ltrim_keeps(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k 0 1 2 3 4", number(5)), ("LTRIM k 1 3", OK), ("LRANGE k 0 -1", array(b"1", b"2", b"3"))
    )


@check("list.ltrim.negative")
def ltrim_negative(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k 0 1 2 3 4", number(5)), ("LTRIM k -3 -2", OK), ("LRANGE k 0 -1", array(b"2", b"3"))
    )


@check("list.ltrim.empty")
def ltrim_empty(env: Environment) -> None:
    talk = Talk(env)
    for bounds in ("1 0", "5 9", "-1 -2"):
        talk.ask("RPUSH k 0 1")
        talk.expect(f"LTRIM k {bounds}", OK)
        expect(talk.ask("EXISTS k"), number(0), f"EXISTS after LTRIM {bounds}")


@check("list.ltrim.caps")
def ltrim_caps(env: Environment) -> None:
    talk = Talk(env)
    for value in range(10):
        talk.ask(f"LPUSH k {value}")
        talk.expect("LTRIM k 0 2", OK)
    talk.expect("LRANGE k 0 -1", array(b"9", b"8", b"7"))


@check("list.lrange")
def lrange(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k 0 1 2 3", number(4)), ("LRANGE k 0 -1", array(b"0", b"1", b"2", b"3")),
        ("LRANGE k 1 2", array(b"1", b"2")), ("LRANGE k -2 99", array(b"2", b"3")), ("LRANGE k -99 0", array(b"0")),
        ("LRANGE k 2 1", EMPTY), ("LRANGE k 4 9", EMPTY), ("LLEN k", number(4)),
    )  # fmt: skip


@check("list.lindex")
def lindex(env: Environment) -> None:
    talk_all(
        env, ("RPUSH k 0 1 2", number(3)), ("LINDEX k 0", bulk(b"0")), ("LINDEX k -1", bulk(b"2")), ("LINDEX k 3", NULL),
        ("LINDEX k -3", bulk(b"0")), ("LINDEX k 2", bulk(b"2")), ("LINDEX k -4", NULL), ("LLEN k", number(3)),
    )  # fmt: skip


# 3) Errors and types


@check("list.wrong-type", "list.matrix.types")
def wrong_type(env: Environment) -> None:
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


@check("list.wrong-type.move")
def wrong_type_move(env: Environment) -> None:
    talk = Talk(env)
    talk.expect("SET s v", OK)
    talk.expect("RPUSH k 1", number(1))
    for keys in ("s k", "k s", "s s", "s none"):
        talk.expect(f"LMOVE {keys} LEFT RIGHT", WRONG_TYPE)
        talk.expect(f"BLMOVE {keys} LEFT RIGHT 0", WRONG_TYPE)
    talk.expect("GET s", bulk(b"v"))
    talk.expect("LRANGE k 0 -1", array(b"1"))
    talk.expect("EXISTS none", number(0))


@check("list.wrong-type.count")
def wrong_type_count(env: Environment) -> None:
    talk_all(
        env, ("SET s v", OK), ("LPOP s 0", WRONG_TYPE), ("LPOP s 1", WRONG_TYPE), ("RPOP s 2", WRONG_TYPE), ("GET s", bulk(b"v")),
    )  # fmt: skip


@check("list.wrong-arity")
def wrong_arity(env: Environment) -> None:
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


# 5) Reliable queue


@check("list.reliable.take")
def reliable_take(env: Environment) -> None:
    talk = Talk(env)
    talk.ask("LPUSH k 1 2 3")
    for taken, left in ((b"1", 2), (b"2", 1), (b"3", 0)):
        talk.expect("LMOVE k t RIGHT LEFT", bulk(taken))
        talk.expect("LLEN k", number(left))
        talk.expect("LLEN t", number(3 - left))
    talk.expect("LRANGE t 0 -1", array(b"3", b"2", b"1"))


@check("list.reliable.ack", "list.matrix.ack")
def reliable_ack(env: Environment) -> None:
    talk_all(
        env, ("LPUSH t job job other", number(3)), ("LREM t 1 job", number(1)), ("LLEN t", number(2)),
        ("LREM t 1 job", number(1)), ("LREM t 1 job", number(0)), ("LRANGE t 0 -1", array(b"other")),
    )  # fmt: skip


@check("list.reliable.requeue")
def reliable_requeue(env: Environment) -> None:
    talk_all(
        env, ("LPUSH k 1 2 3", number(3)), ("LMOVE k t RIGHT LEFT", bulk(b"1")), ("LMOVE t k RIGHT RIGHT", bulk(b"1")),
        ("EXISTS t", number(0)), ("LRANGE k 0 -1", array(b"3", b"2", b"1")),
    )  # fmt: skip


# 6) Matrix


@check("list.matrix.both-ends")
def matrix_both_ends(env: Environment) -> None:
    talk_all(
        env, ("LPUSH k b a", number(2)), ("RPUSH k c d e", number(5)), ("LPOP k", bulk(b"a")), ("RPOP k", bulk(b"e")),
        ("LPOP k 2", array(b"b", b"c")), ("RPOP k 2", array(b"d")), ("LPOP k", NULL), ("RPOP k 2", NULL_ARRAY),
    )  # fmt: skip


@check("list.matrix.pipeline")
def matrix_pipeline(env: Environment) -> None:
    talk = Talk(env)
    for job in (b"1", b"2", b"3"):
        talk.ask(f"LPUSH k {job.decode()}")
    for job in (b"1", b"2", b"3"):
        talk.expect("LMOVE k t RIGHT LEFT", bulk(job))
        talk.expect(f"LREM t 1 {job.decode()}", number(1))
    talk.expect("EXISTS k t", number(0))
