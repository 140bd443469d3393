"""Conversations in which versions differ, as real servers of each answered them.

``python -m tests.miniredis.versions.test_conversations NAME=PATH...`` asks such servers anew.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Final

import pytest

import miniredis
from conformance.targets import target_named
from conformance.wire import RawConnection, encode
from miniredis.engine import Environment, Instant
from miniredis.scripting import new_interpreter
from tests.waiting import until

FILE: Final = Path(__file__).with_name("conversations.json")
RECORDED: Final[dict[str, dict[str, list[str]]]] = json.loads(FILE.read_text()) if FILE.exists() else {}
NOW: Final = Instant(1_800_000_000_000_000, 0)
LONG: Final = "m" * 65

CONVERSATIONS: Final[dict[str, tuple[str, ...]]] = {
    "the lag of a group": (
        *("XADD s 5-0 f v", "XADD s 6-0 f v", "XADD s 7-0 f v", "XGROUP CREATE s g 0 ENTRIESREAD 10"),
        *("XINFO GROUPS s", "XDEL s 6-0", "XINFO GROUPS s", "XDEL s 5-0", "XINFO GROUPS s"),
        *("XREADGROUP GROUP g c COUNT 1 STREAMS s >", "XINFO GROUPS s", "XGROUP SETID s g 2-0 ENTRIESREAD 2"),
        *("XINFO GROUPS s", "XTRIM s MAXLEN 0", "XINFO GROUPS s", "XADD s 9-0 f v", "XINFO GROUPS s"),
        *("XGROUP SETID s g 0-0 ENTRIESREAD 11", "XREADGROUP GROUP g c COUNT 2 STREAMS s >", "XINFO GROUPS s"),
    ),
    "subcommands in a transaction": (
        *("MULTI", "OBJECT nosuch x", "CONFIG GET", "XGROUP CREATE s", "CLIENT PAUSE x", "XINFO FOO", "EXEC"),
    ),
    "subcommands": (
        *("xgroup nosuch s g 0", "xgroup nosuch s", "OBJECT HELP x", "CLIENT LIST x", "XINFO GROUPS"),
        *("XINFO GROUPS x y", "XGROUP HELP x", "SCRIPT LOAD", "CLIENT KILL", "SLOWLOG GET 1 2", "CLUSTER FOO"),
        *("MEMORY HELP x", "MODULE LOAD a", "MODULE UNLOAD a", "HSETEX a fnx FIELDS 0 f", "XINFO nosuch s"),
        *(f"OBJECT {LONG * 2} x", f"CLIENT {LONG * 2}"),
        *("CONFIG SET databases 1", "CLIENT PAUSE 0 foo", "CLIENT PAUSE 0 foo x"),
    ),
    "words of errors": (
        *("scan -1 COUNT 1 TYPE x", "scan 0 TYPE x"),
        *("swapdb 0 2147483648", "swapdb x 1", "swapdb 0 x", "swapdb -1 0", "decrby a -9223372036854775808"),
        *("decrby a -9223372036854775808", "georadius g 0 0 1 m withcoord STORE x", "geodist a a a M"),
        *("GEOADD g 1 1 a", "GEOSEARCH g FROMMEMBER a BYRADIUS 1 M", "GEOSEARCH g FROMMEMBER a BYBOX 1 1 m"),
        "geosearchstore x g FROMMEMBER a BYBOX 1 1 m WITHDIST",
        *("EVAL '#!lua\nreturn 1' 0", "EVAL '#!lua flags=x\nreturn 1' 0"),
    ),
    "streams": (
        *("xpending s g (1-0 - 1 x", "xpending s g (1 + x", "xpending s g (1 +"),
        *("XADD t maxlen = 9 LIMIT 1 5-5 g 5", "XADD t LIMIT 1 5-5 g 5", "XADD t MAXLEN 1 MAXLEN 1 1-1 b c"),
        *("XADD t MAXLEN 1 MAXLEN 5 1-2 b c", "XLEN t", "XADD t MAXLEN 1 NOMKSTREAM 1-3 b c"),
        *("XADD t MAXLEN 1 MAXLEN 1", "XADD t MAXLEN -1 1-1 b c", "xadd s nomkstream maxlen -1 LIMIT 1 4-* f x"),
        *("XGROUP CREATE t g 0", "xautoclaim t g c 0 - COUNT 9223372036854775807", "xautoclaim t g c 0 - COUNT 0"),
    ),
    "back behind a deleted entry": (
        *("XADD t 5-0 a b", "XADD t 6-0 a b", "XDEL t 6-0", "XSETID t 4-0", "XSETID t 7-0 ENTRIESADDED 0"),
        *("XSETID t 5-5 ENTRIESADDED 0", "XSETID t 5-5 ENTRIESADDED x", "XSETID none 1-0"),
    ),
    "offsets from the end": (
        *("CONFIG SET zset-max-ziplist-entries 3", "ZADD l 0 a 1 b 2 c 3 d", "ZRANGE l -inf +inf BYSCORE LIMIT -2 9"),
        *("zrevrangebyscore l 2 1 LIMIT -2 1", "zrangebylex l [b [c LIMIT -3 9", "zrangebyscore l 7 9 LIMIT -1 9"),
        *("zrangestore q l -inf +inf BYSCORE LIMIT -2 9", "ZADD p 0 a 1 b", "zrangebyscore p 0 1 LIMIT -1 1"),
        *("ZADD p 0 a 0 a 0 a 0 a", "OBJECT ENCODING p", "zrangebyscore p 0 1 LIMIT -1 1"),
    ),
    "encodings": (
        *("RPUSH l a", "OBJECT ENCODING l", f"RPUSH l {'x' * 8200}", "OBJECT ENCODING l", "SADD s a b c"),
        *("OBJECT ENCODING s", "SADD n 1 2", "OBJECT ENCODING n", f"SADD s {LONG}", "OBJECT ENCODING s"),
        *(f"ZADD y -0 a 0 {LONG}", "ZSCORE y a", "ZADD x 1 a", f"ZADD x XX 1 {LONG}", "OBJECT ENCODING x"),
        *("ZADD z -0 a", "ZSCORE z a", "bitpos none 1 0 -2 BYTE", "bitpos none 2 0 -2 BIT", "bitcount none 1"),
    ),
    "a set of as many members as were given": (
        *("CONFIG SET set-max-intset-entries 3", "SADD a 1 1 1 0", "SORT a BY * ALPHA", "SMEMBERS a"),
        "CONFIG SET set-max-intset-entries 512",
    ),
    "a replica": ("REPLICAOF 127.0.0.1 1", "WAIT 0 1", "REPLICAOF NO ONE"),
    "a time that is too far": (
        *("SET k v", f"RESTORE k 9223372036854775807 {'{payload}'} REPLACE", "APPEND k x"),
    ),
    "numbers to sort": (
        *('LPUSH a " 1" 2', "SORT a", 'LPUSH b "" 2', "SORT b", "LPUSH c 0x10 2", "SORT c", "LPUSH d nan", "SORT d"),
        *("LPUSH e -0x1", "SORT e", "LPUSH f 5. .5 +5 infinity -inf", "SORT f", "LPUSH k 1 2", 'SET w1 " 1"'),
        *("SORT k BY w*", 'SET w1 ""', "SORT k BY w*", "LPUSH g 1e400 2", "SORT g"),
    ),
    "payloads": (
        *("RPUSH l a 5", "HSET h f v", "ZADD z 1.5 m 2 n", "XADD x 5-1 f v", "XADD x 6-1 f v", "XDEL x 5-1"),
        *("XGROUP CREATE x g 5-0", "SADD s 1 2", "RESTORE a 0 {list}", "RESTORE b 0 {hash}", "RESTORE c 0 {zset}"),
        *("RESTORE d 0 {stream}", "LRANGE a 0 -1", "HGETALL b", "ZRANGE c 0 -1 WITHSCORES", "XRANGE d - +"),
        *("XINFO GROUPS d", "RESTORE e 0 {newer}", "RESTORE e 0 {listpack}"),
    ),
    "more words than 6.x reads": (
        *("PFADD h x", "PFDEBUG DECODE h c", "PFDEBUG DECODE none c", "PFDEBUG foo h c", "INFO a b", "LPUSH l 1"),
        *("XGROUP create l g 0 ENTRIESREAD", "SET b 5", "BITCOUNT b x 0 y", "BITCOUNT none x 0 y", "BITCOUNT none 0 x y", "BITPOS b 1 0 x y"),
        *("BITPOS b 1 x 1 y", "BITPOS b 1 x 1 y z", "BITPOS b 1 0 x", "XINFO nosuch", "XINFO stream"),
        *("XGROUP CREATE s g 0 MKSTREAM", "XINFO nosuch s", "XINFO stream s FULL COUNT", "XSETID none -", "XSETID l -"),
        *("xautoclaim s g c 0 - COUNT 576460752303423487", "CLIENT KILL ID x", "CLIENT KILL ID 99999999"),
    ),
    "places": (
        *("GEOADD g 2.68220901489e-6 1 a", "GEOPOS g a", "GEORADIUS g 0 1 10 m WITHCOORD", "SRANDMEMBER none 5"),
        *("GEORADIUS g -1 85.06 1 KM COUNT 3 ANY", "GEORADIUS g 0 1 1 km COUNT 3 ANY", "SADD s a"),
        "GEORADIUSBYMEMBER g a 1 m COUNT 3 ANY",
        """EVAL "redis.setresp(3) return {type(redis.call('srandmember', 's', 5).set), #redis.call('srandmember', 'x', 1)}" 0""",
    ),
    "a long field": (
        *(f"HINCRBY h {LONG} 5", "OBJECT ENCODING h", f"HINCRBYFLOAT i {LONG} 5", "OBJECT ENCODING i"),
        *(f"HSETNX h {LONG}x 5", "OBJECT ENCODING h", "HINCRBY h f 1", "OBJECT ENCODING h", "HINCRBY h f x"),
        *("HSET j g x", f"HSETNX j g {LONG}", "OBJECT ENCODING j"),
    ),
    "words that come twice, or too many": (
        *("XADD s 1-1 a b", "XTRIM s MAXLEN 1 MAXLEN ~ 2", "XTRIM s MAXLEN 1 MAXLEN x", "XTRIM s", "XADD s MAXLEN 00 LIMIT 1 5-* f x", "SCAN 0 TYPE ''"),
        *("ACL LOAD x", "ACL SAVE x", "READWRITE", "STRALGO LCS STRINGS a b STRINGS a b"),
        *("STRALGO LCS LEN STRINGS ab b x STRINGS a b", "STRALGO LCS KEYS k l STRINGS a b"),
        *("STRALGO LCS MINMATCHLEN STRINGS STRINGS ab b IDX", "STRALGO LCS IDX STRINGS abc bc WITHMATCHLEN"),
    ),
    "an index out of range": ("swapdb 2147483648 x", "swapdb x 2147483648", "swapdb 2147483648 0", "swapdb 0 99"),
    "what 6.0 takes for something else": (
        *("GEOADD a nx 0 0 a 0 0", "GEOADD a nx 0 0 a", "XADD s 1-1 a b", "XGROUP CREATE s g 0", "SET str 1"),
        *("xpending s g (1 - 1 c x", "xpending s g (1 - 1 c", "HINCRBYFLOAT str f inf", "HINCRBYFLOAT h f inf"),
        *("HSET h f x", "HINCRBYFLOAT h f inf", "HINCRBYFLOAT h f nan", "CLIENT LIST DB 2147483648"),
    ),
    "options that are refused in the order of the words": (
        *("LPOS a a COUNT 0 COUNT x", "LPOS a a MAXLEN 0 COUNT -1", "LPOS a a RANK -1 MAXLEN -1", "XADD s 1-1 a b"),
        *("XTRIM s MAXLEN = 2-1 LIMIT x", "XTRIM s MAXLEN = 2 LIMIT 1", "XPENDING s g IDLE 0 - -", "ZADD z 1 GT"),
        *("XADD s NOMKSTREAM 5-5 a LIMIT", "ZADD z NX GT 1", "ZADD z INCR LT 1 a 2 b", "GEOADD g 1 1 NX 2 2 CH"),
        *("ZRANGE z 0 x WITHSCORES WITHSCORES", "ZRANGE z 0 0 WITHSCORES WITHSCORES"),
        *("ZREVRANGE z 0 0 WITHSCORES WITHSCORES", "SET k v EX GET", "CLIENT KILL LADDR", "CLIENT KILL LADDR 5", "CLIENT LIST ID"),
        *("CONFIG SET notify-keyspace-events Kd", "CONFIG SET notify-keyspace-events ''"),
    ),
    "sets of nothing": (
        *("SADD s a", "SADD t b", "WATCH d", "SUNIONSTORE d x", "MULTI", "EXEC", "WATCH d", "SDIFFSTORE d s s"),
        *("MULTI", "EXEC", "WATCH d", "SINTERSTORE d s x", "MULTI", "EXEC", "WATCH d", "SINTERSTORE d s t"),
        *("MULTI", "EXEC"),
    ),
    "in a transaction": ("MULTI", "CLIENT REPLY ON", "PING", "EXEC"),
    "what COMMAND tells of subcommands": (
        "COMMAND INFO client|reply client|id client|setname client|no-evict client|caching client|getredir",
        "COMMAND INFO config|resetstat config|rewrite latency|reset memory|purge memory|malloc-stats",
        "COMMAND INFO acl|save acl|setuser acl|deluser script|exists script|flush script|debug",
        "COMMAND INFO cluster|slots cluster|shards cluster|info cluster|myid cluster|nodes cluster|replicate",
    ),
    "a reader of several streams that waits": (
        *("b> XREAD BLOCK 0 STREAMS s l s $ $ $", "MULTI", "XADD l 1-1 a b", "XADD s 1-1 a b", "EXEC", "b<"),
        *("XGROUP CREATE s g $", "XGROUP CREATE l g $", "b> XREADGROUP GROUP g c BLOCK 0 STREAMS s l > >", "MULTI"),
        *("XADD l 3-1 a b", "XADD s 3-1 a b", "XADD s 4-1 a b", "EXEC", "b<", "XPENDING s g", "XPENDING l g"),
        *("b> XREADGROUP GROUP g c BLOCK 0 COUNT 1 STREAMS l >", "XGROUP DESTROY l g", "b<"),
        *("b> XREAD COUNT 1 BLOCK 0 STREAMS l $", "SET l x", "DEL l", "XADD l 9-1 a b", "b<"),
    ),
    "a reader whose stream goes": (
        *("XGROUP CREATE s g $ MKSTREAM", "b> XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "DEL s"),
        *("XGROUP CREATE s g 0 MKSTREAM", "XADD s 1-1 a b", "b<", "XREADGROUP GROUP g d STREAMS s >"),
        *("b> XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "SET s x", "DEL s", "XGROUP CREATE s g 0 MKSTREAM"),
        *("XADD s 1-1 a b", "b<"),
    ),
    "the last entry": (
        *("XGROUP CREATE s g 0 MKSTREAM", "XREAD STREAMS s +", "XREAD STREAMS none s + +", "XADD s 1-1 a b"),
        *("XREAD STREAMS s none + +", "XDEL s 1-1", "XREAD STREAMS s +", "SET x y", "XREAD STREAMS s x + +"),
        *("XREADGROUP GROUP g c STREAMS s s s +", "XREADGROUP GROUP g c STREAMS s s + s"),
        "XREADGROUP GROUP block c BLOCK -5 STREAMS s >",
    ),
    "nothing to look at": ("LATENCY DOCTOR", "WAIT 0 0", "ROLE"),
    "options of scans": (
        *("ZADD z 1 m", "ZSCAN z 0 NOSCORES", "ZSCAN z 0 MATCH NOSCORES NOSCORES", "ZSCAN z 0 NOVALUES", "SADD s m"),
        *("SSCAN s 0 NOSCORES", "SSCAN s 0 NOVALUES", "HSET h f v", "HSCAN h 0 NOVALUES", "HSCAN h 0 NOSCORES"),
        *("SSCAN none ' -1'", "SSCAN none -0", "SSCAN none ' '", "LPOS l b FOO 1 RANK -9223372036854775808"),
        *("LPOS l b COUNT -1 RANK -9223372036854775808", "ZRANGE z x 0 BYSCORE BYSCORE", "ZCOUNT z ' 1' 2"),
        *("LREM l -9223372036854775808 a", "SET k v EX NX GET", "HGETEX FIELDS FIELDS 1 f"),
        *("HSETEX none XX EX x FIELDS 1 f v", "ZADD w 5e-324 1", "SORT w", "RPUSH w2 1e-310 2", "SCAN x", "SORT w2"),
        *(f"HSCAN h {'0' * 5000}", f"HSCAN h {'9' * 5000}", "HSCAN h 18446744073709551616"),
    ),
    "several patterns of SORT": (
        *("RPUSH l b a", "SORT l BY by BY *", "SORT l BY * BY by", "SADD s b a", "SORT s BY by BY * STORE d"),
        "LRANGE d 0 -1",
    ),
    "doubles of scripts": (
        *("ZADD z 0.2 m", 'EVAL "return {double=0.2}" 0', 'EVAL "return {{double=1e17}, {double=3}}" 0'),
        *("""EVAL "return {double=tonumber('-0')}" 0""", 'EVAL "return {double=0/0}" 0'),
        """EVAL "redis.setresp(3) return redis.call('zscore', 'z', 'm')" 0""",
    ),
    "words for the server": (
        *("CONFIG SET loglevel x", "CONFIG SET loglevel nothing", "CONFIG SET loglevel notice"),
        *("CLIENT UNBLOCK x TIMEOUT x", "CLIENT KILL ID ID", "CLIENT LIST TYPE replica ID", "CLIENT LIST NOT-DB x"),
        *("CLIENT LIST NOT-DB 99", "CLIENT LIST NOT-FLAGS a", "CLIENT LIST FLAGS a", "CLIENT LIST NOT-IDLE 9"),
    ),
}  # fmt: skip
"""Each begins with an empty server. Behind ``b>`` another client says what makes it wait; ``b<`` is what it hears."""

PAYLOADS: Final = {
    "{payload}": "00c0050900b3dd0eaad7a9d0e0",
    "{listpack}": "100d0d0000000200816602817602ff0900f0036c8877d26b2c",
    "{newer}": "00c0050a00632f5f66832fb351",
    "{list}": "010201610135090079f661bd55368e73",
    "{hash}": "04010166017609007d00129ae5006d4d",
    "{zset}": "0502016e0000000000000040016d000000000000f83f0900033f7e31a0aba3cc",
    "{stream}": (
        "0f01100000000000000005000000000000000128280000000f0001010101010181660200010301000100018176020401"
        "0201010100018176020401ff0106010101670500000009009544c11fc7cef8ca"
    ),
}
"""The number 5, a list, a hash, a sorted set and a stream as 6.x dumps them; a hash in a form of 7.0, and a number of it."""


def words_of(request: str) -> list[bytes]:
    return [bytes.fromhex(PAYLOADS.get(word, "")) or word.encode() for word in shlex.split(request)]


def told(version: str) -> dict[str, list[str]]:
    """What an engine of a version replies."""
    replies: dict[str, list[str]] = {}
    for name, requests in CONVERSATIONS.items():
        engine = miniredis.Engine(
            miniredis.Config(version=version), NOW, environment=Environment(new_interpreter=new_interpreter)
        )
        client = engine.connect(NOW, address="127.0.0.1:1", local_address="127.0.0.1:2")
        other = engine.connect(NOW)
        replies[name] = []
        for request in requests:
            if request.startswith("b> "):
                engine.receive(other, encode(*words_of(request)[1:]), NOW)
                continue
            if request != "b<":
                engine.receive(client, encode(*words_of(request)), NOW)
            heard = other if request == "b<" else client
            replies[name].append(heard.take_output().decode("latin-1"))
    return replies


@pytest.mark.parametrize("version", RECORDED)
def test_a_version_replies_as_a_real_server_did(version: str) -> None:
    assert told(version) == RECORDED[version]


@pytest.mark.parametrize(("make", "payload"), [
    ("RPUSH l a 5", "{list}"), ("HSET l f v", "{hash}"), ("ZADD l 1.5 m 2 n", "{zset}"), ("SET l 5", "{payload}"),
])  # fmt: skip
def test_6_x_dumps_what_real_servers_of_it_restore(make: str, payload: str) -> None:
    engine = miniredis.Engine(miniredis.Config(version="6.2"), NOW)
    client = engine.connect(NOW)
    for request in (make, "DUMP l"):
        engine.receive(client, encode(*words_of(request)), NOW)
    assert bytes.fromhex(PAYLOADS[payload]) in client.take_output()


@pytest.mark.parametrize(("version", "counted"), [("7.0", 0), ("7.2", 1)])
def test_a_wait_for_replicas_counts_as_an_effect_since_7_2(version: str, counted: int) -> None:
    engine = miniredis.Engine(miniredis.Config(version=version), NOW)
    client = engine.connect(NOW)
    for request in ("WAIT 0 10", "WAIT 1 10"):
        engine.receive(client, encode(*words_of(request)), NOW)
    assert engine.replication.history.offset == counted


FLUSHED: Final = b">2\r\n$10\r\ninvalidate\r\n_\r\n"
CHANGED: Final = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n"
OK: Final = b"+OK\r\n"


@pytest.mark.parametrize(("version", "request_", "heard"), [
    ("6.0", "SET a c", CHANGED + OK),
    ("6.2", "SET a c", OK + CHANGED),
    ("6.0", "FLUSHALL", FLUSHED + OK),
    ("7.0", "FLUSHALL", OK + FLUSHED),
    ("7.2", "FLUSHALL", OK + FLUSHED),
    ("7.4", "FLUSHALL", FLUSHED + OK),
    ("8.0", "FLUSHALL", FLUSHED + OK),
    ("8.0", "FLUSHDB SYNC", FLUSHED + OK),
    ("8.0", "FLUSHALL ASYNC", OK + FLUSHED),
    ("8.0", "EVAL return{redis.call('flushall')} 0", b"*1\r\n" + OK + FLUSHED),
    ("8.0", "MULTI; FLUSHALL; EXEC", OK + b"+QUEUED\r\n*1\r\n" + OK + FLUSHED),
    ("valkey-9.1", "FLUSHALL", OK + FLUSHED),
])  # fmt: skip
def test_who_invalidates_own_keys_hears_of_it_before_or_after_the_reply(
    version: str, request_: str, heard: bytes
) -> None:
    """As real servers of each did, over a socket."""
    environment = Environment(new_interpreter=new_interpreter)
    engine = miniredis.Engine(miniredis.Config(version=version), NOW, environment=environment)
    client = engine.connect(NOW)
    for request in ("HELLO 3", "CLIENT TRACKING ON", "SET a b", "GET a"):
        engine.receive(client, encode(*words_of(request)), NOW)
    client.take_output()
    for request in request_.split("; "):
        engine.receive(client, encode(*request.encode().split()), NOW)
    assert client.take_output() == heard


HELD: Final = "HELLO 3; SUBSCRIBE u; CLIENT REPLY OFF; PUBLISH u v; CLIENT REPLY ON"
NUMBERS: Final = "b HELLO 3; b PSUBSCRIBE x* y*; HELLO 3; PSUBSCRIBE x*; PUBSUB NUMPAT"
POPPED: Final = "HELLO 3; CLIENT TRACKING ON BCAST NOLOOP; BLPOP a 0; b LPUSH a v"
DELETED_NONE: Final = (
    "HELLO 3; XGROUP CREATE s g 0 MKSTREAM; CONFIG SET notify-keyspace-events Et; "
    "SUBSCRIBE __keyevent@0__:xgroup-delconsumer; XGROUP DELCONSUMER s g c"
)
TOLD_NONE: Final = b">3\r\n$7\r\nmessage\r\n$33\r\n__keyevent@0__:xgroup-delconsumer\r\n$1\r\ns\r\n"
BROADCAST: Final = "HELLO 3; CLIENT TRACKING ON BCAST PREFIX a PREFIX ''; SET a b"
STORED: Final = "HELLO 3; SADD s x; SADD t y; SADD a z; CLIENT TRACKING ON; EXISTS a;"
EVENTS: Final = "HELLO 3; SADD s x; SADD t y; SADD a z; CONFIG SET notify-keyspace-events Eg; SUBSCRIBE __keyevent@0__:del;"
MISSES: Final = "HELLO 3; CONFIG SET notify-keyspace-events Em; SUBSCRIBE __keyevent@0__:keymiss;"
MISSED: Final = b">3\r\n$7\r\nmessage\r\n$22\r\n__keyevent@0__:keymiss\r\n$1\r\ns\r\n"
DELETED: Final = b">3\r\n$7\r\nmessage\r\n$18\r\n__keyevent@0__:del\r\n$1\r\na\r\n"


@pytest.mark.parametrize(("version", "requests", "heard"), [
    ("6.0", HELD, OK),
    *((version, DELETED_NONE, told) for version, told in (("6.2", TOLD_NONE + b":0\r\n"), ("7.0", b":0\r\n"))),
    ("6.2", HELD, b">3\r\n$7\r\nmessage\r\n$1\r\nu\r\n$1\r\nv\r\n" + OK),
    ("6.0", NUMBERS, b":3\r\n"),
    ("6.2", NUMBERS, b":2\r\n"),
    ("6.0", BROADCAST, OK + 2 * CHANGED),
    ("6.2", BROADCAST, OK),
    ("6.0", f"{STORED} SUNIONSTORE a s", b":1\r\n" + CHANGED),
    ("6.0", f"{STORED} SINTERSTORE a s t", b":0\r\n" + CHANGED),
    ("6.0", f"{STORED} SINTERSTORE a s none", CHANGED + b":0\r\n"),
    ("6.0", f"{STORED} ZUNIONSTORE a 1 s", b":1\r\n" + CHANGED),
    ("7.0", f"{EVENTS} SINTERSTORE a s t", b":0\r\n" + DELETED),
    ("7.0", f"{EVENTS} SINTERSTORE a s none", DELETED + b":0\r\n"),
    ("valkey-9.1", f"{MISSES} SET s v IFEQ x GET", b"_\r\n" + MISSED),
    ("7.0", POPPED, b"*2\r\n$1\r\na\r\n$1\r\nv\r\n" + CHANGED),
    ("7.2", POPPED, b"*2\r\n$1\r\na\r\n$1\r\nv\r\n"),
    ("6.2", f"{MISSES} SUNIONSTORE a s", b":0\r\n"),
    ("6.2", f"{MISSES} SORT s STORE a", b":0\r\n"),
    ("6.2", f"{MISSES} PFCOUNT s", b":0\r\n"),
    ("6.2", f"{MISSES} SUNION s", MISSED + b"~0\r\n"),
    ("7.0", f"{MISSES} SUNIONSTORE a s", MISSED + b":0\r\n"),
    ("6.2", "CLIENT TRACKING ON; OBJECT FREQ", (
        b"-ERR Unknown subcommand or wrong number of arguments for 'FREQ'. Try OBJECT HELP.\r\n"
    )),
])  # fmt: skip
def test_a_client_that_gets_pushes_hears_what_the_version_tells(
    version: str, requests: str, heard: bytes
) -> None:
    """As real servers of each did, over a socket."""
    engine = miniredis.Engine(miniredis.Config(version=version), NOW)
    client, other = engine.connect(NOW), engine.connect(NOW)
    for request in requests.split("; "):
        if not request.startswith(("PUBLISH", "CLIENT REPLY ON")):
            engine.settle(NOW)
            client.take_output()
        speaker = other if request.startswith("b ") else client
        engine.receive(speaker, encode(*words_of(request.removeprefix("b "))), NOW)
    engine.settle(NOW)
    assert client.take_output() == heard


@pytest.mark.parametrize(("version", "heard"), [("7.0", 0), ("8.0", 1), ("valkey-8.1", 1), ("valkey-9.1", 1)])
def test_since_7_2_a_push_that_serves_a_waiter_invalidates_the_key_once_more(
    version: str, heard: int
) -> None:
    """As real servers of each did: the one who pushes hears of the pop, though not of its own push."""
    engine = miniredis.Engine(miniredis.Config(version=version), NOW)
    client, waiter = engine.connect(NOW), engine.connect(NOW)
    for who, request in (
        *((client, words) for words in ("HELLO 3", "CLIENT TRACKING ON BCAST NOLOOP")),
        *((waiter, "BLPOP l 0"), (client, "LPUSH l x")),
    ):
        engine.receive(who, encode(*request.split()), NOW)
    engine.settle(NOW)
    assert client.take_output().count(b"invalidate") == heard


@pytest.mark.parametrize("place", ["$", "+"])
@pytest.mark.parametrize("version", ["8.0", "valkey-8.1", "valkey-9.1"])
def test_to_read_a_stream_that_there_is_not_misses_its_key_twice(version: str, place: str) -> None:
    """As real servers of each do: once for the place, once for the entries."""
    engine = miniredis.Engine(miniredis.Config(version=version), NOW)
    client, listener = engine.connect(NOW), engine.connect(NOW)
    engine.receive(client, encode("CONFIG", "SET", "notify-keyspace-events", "Em"), NOW)
    engine.receive(listener, encode("SUBSCRIBE", "__keyevent@0__:keymiss"), NOW)
    engine.receive(client, encode("XREAD", "BLOCK", "9", "STREAMS", "s", place), NOW)
    assert listener.take_output().count(b"$7\r\nmessage\r\n") == 2


NO_AUTH: Final = b"-NOAUTH Authentication required.\r\n"
ABORTED: Final = b"-EXECABORT Transaction discarded because of previous errors.\r\n"


@pytest.mark.parametrize(("version", "request_", "heard"), [
    ("7.0", "HELLO", b"-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH "),
    ("8.0", "HELLO", b"-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> "),
    ("7.0", "HELLO 3 AUTH default x AUTH default secret", b"-WRONGPASS"),
    ("8.0", "HELLO 3 AUTH default x AUTH default secret", b"%7"),
    ("valkey-9.1", "HELLO 3 AUTH default secret AUTH default x", b"-WRONGPASS"),
    ("8.0", "APPEND a", b"-ERR wrong number of arguments for 'append' command"),
    ("valkey-8.1", "nosuch", b"-ERR unknown command"),
    ("valkey-9.1", "APPEND a", NO_AUTH),
    ("valkey-9.1", "nosuch", NO_AUTH),
    ("valkey-9.1", "CLIENT nosuch", NO_AUTH),
    ("valkey-9.1", "AUTH", b"-ERR wrong number of arguments for 'auth' command"),
])  # fmt: skip
def test_who_must_authenticate_hears_of_that_or_of_another_error(
    version: str, request_: str, heard: bytes
) -> None:
    """As real servers of each said."""
    engine = miniredis.Engine(miniredis.Config({"requirepass": "secret"}, version=version), NOW)
    client = engine.connect(NOW)
    engine.receive(client, encode(*request_.encode().split()), NOW)
    assert client.take_output().startswith(heard)


@pytest.mark.parametrize(("version", "mode", "heard"), [
    *((version, mode, b"") for version in ("7.0", "8.0") for mode in ("WRITE", "ALL")),
    *((version, "ALL", b"") for version in ("valkey-8.1", "valkey-9.1")),
    *((version, "WRITE", ABORTED) for version in ("valkey-8.1", "valkey-9.1")),
])  # fmt: skip
def test_a_pause_of_writes_holds_no_exec_of_valkey_up_that_will_fail(
    version: str, mode: str, heard: bytes
) -> None:
    """As real servers of each did."""
    engine = miniredis.Engine(miniredis.Config(version=version), NOW)
    client, other = engine.connect(NOW), engine.connect(NOW)
    for request in ("MULTI", "LPUSH l a", "nosuch"):
        engine.receive(client, encode(*request.split()), NOW)
    engine.receive(other, encode("CLIENT", "PAUSE", "100000", mode), NOW)
    client.take_output()
    engine.receive(client, encode("EXEC"), NOW)
    assert client.take_output() == heard


def record(servers: list[str]) -> None:
    """Asks real servers, each given as VERSION=PATH, and keeps what they say beside what others said."""
    recorded = dict(RECORDED)
    for each in servers:
        version = each.partition("=")[0]
        recorded[version] = {name: [] for name in CONVERSATIONS}
        up = target_named(each).up()
        with up as at, RawConnection(at.host, at.port) as client, RawConnection(at.host, at.port) as other:
            for name, requests in CONVERSATIONS.items():
                for words in (("FLUSHALL",), ("CONFIG", "SET", "zset-max-ziplist-entries", "128")):
                    assert client.command(*words) == b"+OK\r\n"
                for request in requests:
                    if request.startswith("b> "):
                        other.send(*words_of(request)[1:])
                        until(lambda: b"blocked_clients:1\r" in client.command("INFO", "clients"))
                        continue
                    if request != "b<":
                        client.send(*words_of(request))
                    heard = other if request == "b<" else client
                    recorded[version][name].append(heard.reply().decode("latin-1"))
    FILE.write_text(json.dumps(dict(sorted(recorded.items())), indent=0) + "\n")


if __name__ == "__main__":
    record(sys.argv[1:])
