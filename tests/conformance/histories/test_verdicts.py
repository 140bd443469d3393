"""Small histories and their right verdicts: what a correct server cannot answer, may answer, and nobody can tell."""

from __future__ import annotations

from conformance.histories import Facts, History, judged, worst
from tests.cases import for_each

from .notation import history, table

OF_TWO, UNBOUNDED = Facts(bounds={"q": 2}), Facts(bounds={"q": 0})
EMPTY = Facts(final={"q": ()})
THREE = "p put a 0 1\np put b 2 3\np put c 4 5\n"

RIGHT = {
    "RPUSHX and LPUSHX": "a RPUSHX x = 0 0 1\na RPUSH x = 1 2 3\na RPUSHX y = 2 4 5\na LPUSHX w = 3 6 7\na LRANGE 0 -1 = w x y 8 9",
    "RPOPLPUSH to the same list": "a RPUSH x y = 2 0 1\na RPOPLPUSH q = y 2 3\na LRANGE 0 -1 = y x 4 5",
    "LINSERT": "a RPUSH x z = 2 0 1\na LINSERT BEFORE z y = 3 2 3\na LINSERT AFTER no y = -1 4 5\na LRANGE 0 -1 = x y z 6 7",
    "a key that ran out": "a RPUSH x = 1 0 1\na PEXPIRE 5 = 1 2 3\na LLEN = 0 6000000 6000001\na RPUSH y = 1 6000002 6000003",
    "a key whose time may be over": "a RPUSH x = 1 0 1\na PEXPIRE 5 = 1 2 3\na LLEN = 1 6000000 6000001",
    "a key whose time ends meanwhile": "a RPUSH x = 1 0 1\na PEXPIRE 5 = 1 2 3\na LLEN = 0 4 6000000",
    "a time that was set anew": "a RPUSH x = 1 0 1\na PEXPIRE 5 = 1 2 3\na PERSIST = 1 4 5\na LLEN = 1 9000000000 9000000001",
    "BLPOP of two keys": "a RPUSH x = 1 0 1\nb BLPOP q other 0 = q x 2 3\nb BLPOP q other 1 = nil 4 5",
    "BLPOP that waits for its second key": "b BLPOP other 0 = other x 0 9\na LMOVE other LEFT RIGHT = x 4 5\na RPUSH x = 1 2 3",
    "BLPOP that answers nil when its time is over": "a BLPOP 0.1 = nil 0 200000000",
    "WRONGTYPE from a key of another type": "a RPUSH x = 1 0 1\na GET ! WRONGTYPE 2 3\na SADD x ! WRONGTYPE 4 5",
    "a type that changes": "a RPUSH x = 1 0 1\na DEL = 1 2 3\na SET x = OK 4 5\na GET = x 6 7\na TYPE = string 8 9",
    "another error changes nothing": "a RPUSH x = 1 0 1\na RPUSH y ! OOM 2 3\na LLEN = 1 4 5",
    "SMEMBERS in any order": "a SADD x y z = 3 0 1\na SMEMBERS = z x y 2 3",
    "SPOP of any member": "a SADD x y = 2 0 1\na SPOP = y 2 3\na SPOP = x 4 5\na SPOP = nil 6 7",
    "HGETALL in any order": "a HSET f 1 g 2 = 2 0 1\na HGETALL = g 2 f 1 2 3",
    "a score in another notation": "a ZADD 1.1 x = 1 0 1\na ZSCORE x = 1.1000000000000001 2 3",
    "operations under way when a server died": "a SET x ? 0\nb APPEND y ? 1\nc GET = xy 5 6\nc STRLEN = 2 7 8",
    "an operation under way when a server died that was not done": "a SET x ? 0\nc GET = nil 5 6",
    "at the bound, and refused": THREE.replace("put c", "put c ! QueueFullError"),
    "a get_many that gives fewer than it may": THREE + "c get_many 3 = a 6 7",
    "a second close that is refused": "p close 0 1\no close ! QueueClosedError 2 3",
    "a delete at the end": "p put a 0 1\nc get = a 2 3\nx delete 4 5",
    "a delete of what is left": "p put a 0 1\nx delete 4 5\np put b ! QueueDoesNotExistError 6 7",
    "an acknowledgement at the end that may have been done": "p put a 0 1\np put b 2 3\nc receive = a 6 7\nc ack a ? 8",
    "another value that may not have been acknowledged": "p put a 0 1\nc receive = a 2 3\nc ack b ? 4",
    "full, as a client that died took the room": "p put a ? 0\no put b ! QueueFullError 2 3",
}  # fmt: skip
LEFT_B = Facts(final={"q": (b"b",)})
FACTS = {
    "at the bound, and refused": OF_TWO,
    "an acknowledgement at the end that may have been done": LEFT_B,
}

WRONG = {
    "QueueFullError on an empty queue": ("p put a ! QueueFullError 0 1", OF_TWO, "full"),
    "QueueFullError on an empty queue of whatever bound": ("p put a ! QueueFullError 0 1", Facts(), "full"),
    "QueueFullError on an unbounded queue": (THREE + "p put d ! QueueFullError 6 7", UNBOUNDED, "full"),
    "QueueFullError where there is room": ("p put a 0 1\np put b ! QueueFullError 2 3", OF_TWO, "full"),
    "QueueFullError after an acknowledgement": (
        "p put a 0 1\np put b 2 3\nc receive = a 4 5\nc ack a 6 7\np put d ! QueueFullError 8 9", OF_TWO, "full",
    ),
    "two successful closes": ("p close 0 1\no close 2 3", Facts(), "closed"),
    "two successful closes at once": ("p close 0 9\no close 1 8", Facts(), "closed"),
    "a close that is refused before any": ("p close ! QueueClosedError 0 1", Facts(), "closed"),
    "get_many(3) that gives nothing where three are": (THREE + "c get_many 3 = 6 7", Facts(), "empty"),
    "get_many(1) that gives three": (THREE + "c get_many 1 = a b c 6 7", Facts(), "mismatched"),
    "an ack of another value": (THREE + "c receive = a 6 7\nc ack b 8 9", Facts(), "mismatched"),
    "a receive of two values": ("p put_many a b 0 1\nc receive = a b 2 3", Facts(), "mismatched"),
    "an open put after a close whose value came": ("p close 0 1\np put a ? 2\nc get = a 4 5", Facts(), "closed"),
    "an open put after a close whose value is left": ("p close 0 1\np put b ? 2", LEFT_B, "closed"),
    "what was wrong before a delete": ("p put a 0 1\np put b 2 3\nc get = b 4 5\nc get = a 6 7\nx delete 8 9", EMPTY, "order"),
    "BLPOP 0 that answers nil": ("a BLPOP 0 = nil 0 1", Facts(), "linearizable"),
    "BLPOP of two keys that passes one over": (
        "a RPUSH x = 1 0 1\na LMOVE q LEFT LEFT = x 2 3\nb BLPOP other 1 = nil 4 5", Facts(), "linearizable",
    ),
    "a success where WRONGTYPE is due": ("a RPUSH x = 1 0 1\na GET = nil 2 3", Facts(), "linearizable"),
    "WRONGTYPE from a key of the right type": ("a RPUSH x = 1 0 1\na LLEN ! WRONGTYPE 2 3", Facts(), "linearizable"),
    "WRONGTYPE from a key that is not there": ("a LPOP ! WRONGTYPE 0 1", Facts(), "linearizable"),
    "a key that ran out too early": ("a RPUSH x = 1 0 1\na PEXPIRE 5 = 1 2 3\na LLEN = 0 4 5", Facts(), "linearizable"),
    "a key that never runs out": (
        "a RPUSH x = 1 0 1\na PEXPIRE 5 = 1 2 3\na LLEN = 1 2000000000 2000000001", Facts(), "linearizable",
    ),
    "a score that is no number": ("a ZADD 1 x = 1 0 1\na ZSCORE x = OK 2 3", Facts(), "linearizable"),
    "SPOP of a member twice": ("a SADD x y = 2 0 1\na SPOP = y 2 3\na SPOP = y 4 5", Facts(), "linearizable"),
    "a counter that loses one": ("a INCR = 1 0 9\nb INCR = 1 1 8", Facts(), "linearizable"),
    "a linearizability that waiters do not hide": ("a LPOP = x 0 1\nb BLPOP 0 ? 2\nb blocked 3 3", Facts(), "linearizable"),
}  # fmt: skip

UNKNOWN = {
    "a command that no model knows": "a LPOS x = 0 0 1\na LPOP = x 2 3",
    "a command that no model knows, on two keys": "a SINTERSTORE q other = 1 0 1\nb GET = x 2 3",
    "an option that no model knows": "a SPOP 2 = x y 0 1",
    "a script": "a EVAL x = 0 0 1\nb GET = x 2 3",
    "an operation of a queue that nobody knows": "p clear 0 1\nc get = a 2 3",
    "what comes after a delete": "p put a 0 1\nx delete 2 3\np create 4 5\np put a 6 7",
    "what overlaps a delete": "p put a 0 1\nc get = a 2 9\nx delete 3 8",
    "a number that is none": "c get_many x = a 0 1",
}


@for_each("name", RIGHT)
def test_right_histories_are_ok(name: str) -> None:
    verdict = worst(judged(history(RIGHT[name], FACTS.get(name))).values())
    assert (verdict.answer, verdict.reason) == ("ok", "")


def test_a_wait_goes_on_when_its_first_key_becomes_a_string() -> None:
    waits = table("b BLPOP other 0 = other x 0 9\na SET v = OK 1 2")
    verdict = worst(judged(History([*waits, *table("c RPUSH x = 1 3 4", "other")], Facts())).values())
    assert (verdict.answer, verdict.reason) == ("ok", "")


@for_each("name", WRONG)
def test_wrong_histories_are_illegal(name: str) -> None:
    lines, facts, violation = WRONG[name]
    verdict = worst(judged(history(lines, facts)).values())
    assert (verdict.answer, verdict.violation) == ("illegal", violation)
    assert verdict.operations


@for_each("name", UNKNOWN)
def test_histories_that_nobody_can_judge_are_unknown(name: str) -> None:
    verdict = worst(judged(history(UNKNOWN[name])).values())
    assert verdict.answer == "unknown"
    assert verdict.reason


def test_keys_of_any_name_are_told_apart_and_found_again() -> None:
    moved = "a RPUSH x = 1 0 1\na LMOVE ключ LEFT LEFT = x 2 3\na LPOP = nil 4 5"
    popped = table("b BLPOP 0 = ключ x 6 7", "ключ")
    assert worst(judged(History([*table(moved), *popped])).values()).answer == "ok"
    assert worst(judged(History([*table(moved), *popped, *popped])).values()).answer == "illegal"


def test_a_row_of_a_waiter_concerns_its_key_only() -> None:
    waiting = table("b BLPOP 0 ? 2\nb blocked 3 3")
    assert judged(History([*waiting, *table("a LPOP = x 0 1", "z")]))["linearizable"].answer == "illegal"


def test_a_command_that_nobody_knows_concerns_its_keys_only() -> None:
    strange = table("a LPOS x = 0 0 1\na LPOP = x 2 3")
    assert worst(judged(History([*strange, *table("a LPOP = x 0 1", "z")])).values()).answer == "illegal"
    assert worst(judged(History([*strange, *table("a LPOP = nil 0 1", "z")])).values()).answer == "unknown"
