"""Every command with typical arguments: the processor time that a server needs for it.

One client sends a command again and again, a few at a time, so that neither the system's calls nor the other
process hide what the command itself takes. A command that uses up its data stands in a line with the one that
brings it back. To add a command, add a line; the tests want each command in ``LINES`` or in ``LEFT_OUT``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, Self

import hiredis

from ..wire import encode
from .servers import RunningServer, processor_seconds
from .workbench import Measure, Workbench, by_turns

__all__ = ["LEFT_OUT", "LINES", "Client", "commands_of", "cpu", "processor_time_of"]

AT_ONCE: Final = 50
"""How often a line is sent before its replies are read."""

PART: Final = 0.1
"""The part of a turn that a line takes: there are more than two hundred."""

ENDS: Final = ";"
"""Stands between two commands of a line."""

LINES: Final = tuple(
    """
APPEND text x
BITCOUNT bits
BITFIELD bits GET u8 100 INCRBY i16 200 1
BITFIELD_RO bits GET u8 100
BITOP AND result bits text
BITPOS bits 0
DECR number
DECRBY number 3
GET text
GETBIT bits 77
GETDEL text ; SET text xxx
GETEX text
GETRANGE text 10 60
GETSET other xxx
INCR number
INCRBY number 3
INCRBYFLOAT float 0.5
LCS text bits
MGET text number float nothing
MSET a 1 b 2 c 3
MSETNX a 1 text 2
PSETEX other 100000 xxx
SET other xxx
SET other xxx EX 100
SETBIT bits 77 1
SETEX other 100 xxx
SETNX text xxx
SETRANGE text 10 xxx
STRLEN text
SUBSTR text 10 60
BLMOVE list list LEFT RIGHT 0
BLMPOP 0 1 list LEFT ; RPUSH list x
BLPOP list 0 ; RPUSH list x
BRPOP list 0 ; LPUSH list x
BRPOPLPUSH list list 0
LINDEX list 50
LINSERT list BEFORE element:50 x ; LREM list 1 x
LLEN list
LMOVE list list LEFT RIGHT
LMPOP 1 list LEFT ; LPUSH list x
LPOP list ; LPUSH list x
LPOS list element:50
LPUSH list x ; LPOP list
LPUSHX list x ; LPOP list
LRANGE list 0 99
LREM list 1 nothing
LSET list 50 element:50
LTRIM list 0 -1
RPOP list ; RPUSH list x
RPOPLPUSH list list
RPUSH list x ; RPOP list
RPUSHX list x ; RPOP list
HDEL hash x ; HSET hash x 1
HEXISTS hash field:50
HGET hash field:50
HGETALL hash
HINCRBY hash number 3
HINCRBYFLOAT hash float 0.5
HKEYS hash
HLEN hash
HMGET hash field:1 field:50 nothing
HMSET hash field:1 x field:2 y
HRANDFIELD hash 5
HSCAN hash 0
HSET hash field:1 x field:2 y
HSETNX hash field:1 x
HSTRLEN hash field:50
HVALS hash
SADD set x ; SREM set x
SCARD set
SDIFF set set2
SDIFFSTORE result set set2
SINTER set set2
SINTERCARD 2 set set2
SINTERSTORE result set set2
SISMEMBER set member:50
SMEMBERS set
SMISMEMBER set member:50 nothing
SMOVE set set3 member:50 ; SMOVE set3 set member:50
SPOP set3 ; SADD set3 x
SRANDMEMBER set 5
SREM set nothing
SSCAN set 0
SUNION set set2
SUNIONSTORE result set set2
BZMPOP 0 1 zset MIN ; ZADD zset 1 member:1
BZPOPMAX zset 0 ; ZADD zset 100 member:100
BZPOPMIN zset 0 ; ZADD zset 1 member:1
ZADD zset 50.5 member:50
ZCARD zset
ZCOUNT zset 10 60
ZDIFF 2 zset zset2
ZDIFFSTORE result 2 zset zset2
ZINCRBY zset 1 member:50
ZINTER 2 zset zset2
ZINTERCARD 2 zset zset2
ZINTERSTORE result 2 zset zset2
ZLEXCOUNT lex [member:10 [member:60
ZMPOP 1 zset MIN ; ZADD zset 1 member:1
ZMSCORE zset member:50 nothing
ZPOPMAX zset ; ZADD zset 100 member:100
ZPOPMIN zset ; ZADD zset 1 member:1
ZRANDMEMBER zset 5
ZRANGE zset 0 49
ZRANGE zset 10 60 BYSCORE WITHSCORES
ZRANGEBYLEX lex [member:10 [member:60
ZRANGEBYSCORE zset 10 60
ZRANGESTORE result zset 0 49
ZRANK zset member:50
ZREM zset x ; ZADD zset 1 x
ZREMRANGEBYLEX lex [x [z ; ZADD lex 0 y
ZREMRANGEBYRANK zset 0 0 ; ZADD zset 1 member:1
ZREMRANGEBYSCORE zset 1 1 ; ZADD zset 1 member:1
ZREVRANGE zset 0 49
ZREVRANGEBYLEX lex [member:60 [member:10
ZREVRANGEBYSCORE zset 60 10
ZREVRANK zset member:50
ZSCAN zset 0
ZSCORE zset member:50
ZUNION 2 zset zset2
ZUNIONSTORE result 2 zset zset2
GEOADD places 13.361389 38.115556 place:1
GEODIST places place:1 place:50
GEOHASH places place:1 place:50
GEOPOS places place:1 place:50
GEORADIUS places 15 37 200 km
GEORADIUSBYMEMBER places place:50 200 km
GEORADIUSBYMEMBER_RO places place:50 200 km
GEORADIUS_RO places 15 37 200 km
GEOSEARCH places FROMLONLAT 15 37 BYRADIUS 200 km ASC
GEOSEARCH places FROMMEMBER place:50 BYBOX 400 400 km WITHDIST
GEOSEARCHSTORE result places FROMLONLAT 15 37 BYRADIUS 200 km
PFADD hll x y z
PFADD sparse x y z
PFCOUNT hll
PFCOUNT hll hll2
PFCOUNT sparse
PFMERGE merged hll hll2
XACK stream group 1-50
XADD stream2 * field value
XADD stream2 MAXLEN ~ 1000 * field value
XADD stream2 MAXLEN 100 * field value
XAUTOCLAIM stream group consumer 0 0 COUNT 10
XCLAIM stream group consumer 0 1-50
XDEL stream2 1-1
XINFO STREAM stream
XINFO GROUPS stream
XINFO CONSUMERS stream group
XLEN stream
XPENDING stream group
XPENDING stream group - + 10
XRANGE stream - + COUNT 10
XREAD COUNT 10 STREAMS stream 0
XREADGROUP GROUP group consumer COUNT 10 STREAMS stream 0
XREVRANGE stream + - COUNT 10
XSETID stream 1-1000
XTRIM stream2 MAXLEN 100
XGROUP CREATE stream group2 0 ; XGROUP DESTROY stream group2
XGROUP CREATECONSUMER stream group other
XGROUP DELCONSUMER stream group nobody
XGROUP SETID stream group 1-100
COPY text other REPLACE
DBSIZE
DEL other ; SET other xxx
DUMP text
DUMP list
DUMP hash
DUMP zset
DUMP stream
EXISTS text nothing
EXPIRE text 1000
EXPIREAT text 9999999999
EXPIRETIME text
KEYS *e*
MOVE nothing 1
OBJECT ENCODING list
OBJECT FREQ nothing
OBJECT IDLETIME list
OBJECT REFCOUNT list
PERSIST text
PEXPIRE text 1000000
PEXPIREAT text 9999999999000
PEXPIRETIME text
PTTL text
RANDOMKEY
RENAME other other2 ; RENAME other2 other
RENAMENX text list
RESTORE result 0 $DUMP REPLACE
SCAN 0
SORT numbers
SORT numbers BY nothing-* GET # GET key:*
SORT list ALPHA LIMIT 0 10
SORT_RO numbers
SWAPDB 0 0
TOUCH text list
TTL text
TYPE list
UNLINK other ; SET other xxx
WAIT 0 1
PUBLISH nobody xxx
PUBSUB CHANNELS
PUBSUB NUMPAT
PUBSUB NUMSUB a
PUBSUB SHARDCHANNELS
PUBSUB SHARDNUMSUB a
SPUBLISH nobody xxx
SUBSCRIBE channel ; UNSUBSCRIBE channel
PSUBSCRIBE pattern* ; PUNSUBSCRIBE pattern*
SSUBSCRIBE channel ; SUNSUBSCRIBE channel
MULTI ; SET other xxx ; GET text ; EXEC
MULTI ; DISCARD
WATCH text ; UNWATCH
EVAL 'return 1' 0
EVAL 'return redis.call("get", KEYS[1])' 1 text
EVAL 'for i = 1, 100 do redis.call("get", KEYS[1]) end' 1 text
EVAL 'for i = 1, 100 do redis.call("lpush", KEYS[1], i) redis.call("rpop", KEYS[1]) end' 1 list
EVAL_RO 'return redis.call("get", KEYS[1])' 1 text
EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
FCALL echo 1 text
FCALL_RO echo 1 text
FUNCTION DUMP
FUNCTION LIST
FUNCTION STATS
SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db
SCRIPT LOAD 'return 1'
CLIENT GETNAME
CLIENT GETREDIR
CLIENT ID
CLIENT INFO
CLIENT LIST
CLIENT SETNAME bench
CLIENT TRACKINGINFO
CLIENT UNBLOCK 999999
ECHO xxx
HELLO 2
PING
RESET
SELECT 0
COMMAND COUNT
COMMAND DOCS get
COMMAND GETKEYS SET a b
COMMAND GETKEYSANDFLAGS SET a b
COMMAND INFO get
COMMAND LIST FILTERBY PATTERN x*
CONFIG GET save
CONFIG SET timeout 0
INFO
INFO server
LASTSAVE
MEMORY USAGE list
ROLE
SLOWLOG GET
SLOWLOG LEN
TIME
FLUSHDB
""".strip().splitlines()
)
"""What is measured, each line as one: a command, or several between semicolons."""


LEFT_OUT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("MONITOR", "SYNC", "PSYNC", "REPLCONF", "REPLICAOF", "SLAVEOF", "FAILOVER"), "links of replicas"
    ),
    **dict.fromkeys(("SHUTDOWN", "QUIT", "AUTH"), "the connection or the server"),
    **dict.fromkeys(("SAVE", "BGSAVE", "BGREWRITEAOF", "MIGRATE"), "files and other servers"),
    **dict.fromkeys(("CLUSTER", "ASKING", "READONLY", "READWRITE", "RESTORE-ASKING"), "clusters"),
    **dict.fromkeys(
        ("ACL", "MODULE", "DEBUG", "PFDEBUG", "PFSELFTEST", "LATENCY", "LOLWUT"),
        "for administrators, tests and curious people",
    ),
    "FLUSHALL": "as FLUSHDB",
}
"""Commands without a line, and why."""

FUNCTION: Final = """#!lua name=bench
redis.register_function{
  function_name='echo', callback=function(keys) return keys[1] end, flags={'no-writes'}
}"""

MEMBERS: Final = range(1, 101)


def data() -> Iterator[Sequence[str]]:
    """The commands that fill a server: a hundred elements of each type, and a thousand places."""
    yield "SET", "text", "x" * 100
    yield "SET", "bits", "\x55" * 1000
    yield "SET", "number", "10"
    yield "SET", "float", "10.5"
    yield "SET", "other", "xxx"
    yield "RPUSH", "list", *(f"element:{number}" for number in MEMBERS)
    yield "RPUSH", "numbers", *(str(number * 7919 % 101) for number in MEMBERS)
    yield "HSET", "hash", *(word for number in MEMBERS for word in (f"field:{number}", f"value:{number}"))
    yield "SADD", "set", *(f"member:{number}" for number in MEMBERS)
    yield "SADD", "set2", *(f"member:{number + 50}" for number in MEMBERS)
    yield "SADD", "set3", "x"
    for key in ("zset", "zset2"):
        yield "ZADD", key, *(word for number in MEMBERS for word in (str(number), f"member:{number}"))
    yield "ZADD", "lex", *(word for number in MEMBERS for word in ("0", f"member:{number}"))
    yield "GEOADD", "places", *(word for number in range(1000) for word in place(number))
    yield "PFADD", "hll", *(f"element:{number}" for number in range(5000))
    yield "PFADD", "hll2", *(f"element:{number}" for number in range(3000, 8000))
    yield "PFADD", "sparse", *(f"element:{number}" for number in MEMBERS)
    for number in range(1, 1001):
        yield "XADD", "stream", f"1-{number}", "field", f"value:{number}"
    yield "XADD", "stream2", "1-1", "field", "value"
    yield "XGROUP", "CREATE", "stream", "group", "0"
    yield "XREADGROUP", "GROUP", "group", "consumer", "COUNT", "100", "STREAMS", "stream", ">"
    yield "SCRIPT", "LOAD", "return 1"
    yield "FUNCTION", "LOAD", "REPLACE", FUNCTION


def place(number: int) -> tuple[str, str, str]:
    """A longitude, a latitude and a name: a place within some hundred kilometres."""
    return f"{13 + number * 37 % 400 / 100:.2f}", f"{36 + number * 91 % 300 / 100:.2f}", f"place:{number}"


def processor_time_of(line: str) -> Measure:
    """Microseconds of processor time for a line, by miniredis and by redis-server."""

    def side(bench: Workbench, name: str) -> float:
        server = bench.server(name)
        with Client(server) as client:
            return cpu(server, commands_of(line, client.fill()), bench.effort.seconds * PART)

    return by_turns(side)


def commands_of(line: str, dumped: bytes) -> list[list[str | bytes]]:
    """The commands of a line."""
    return [words(part, dumped) for part in line.split(f" {ENDS} ")]


def words(command: str, dumped: bytes) -> list[str | bytes]:
    """The arguments of a command; ``$DUMP`` is the payload of a list."""
    return [dumped if word == "$DUMP" else word for word in shlex.split(command)]


class Client:
    """A connection whose replies are read as values, since reading them is not what is measured."""

    def __init__(self, server: RunningServer) -> None:
        self._connection = server.connect()
        self._reader = hiredis.Reader()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def fill(self) -> bytes:
        """Fills the server; returns the payload of a list."""
        filling = [encode(*command) for command in (*data(), ("DUMP", "list"))]
        dumped = self.play(b"".join(filling), len(filling))
        assert isinstance(dumped, bytes)
        return dumped

    def play(self, request: bytes, replies: int) -> Any:
        """Sends a request and reads so many replies; returns the last.

        Raises:
            OSError: one is an error.
        """
        self._connection.socket.sendall(request)
        value: Any = None
        for _ in range(replies):
            while (value := self._reader.gets()) is False:
                self._reader.feed(self._connection.socket.recv(65536))
            if isinstance(value, hiredis.ReplyError):
                raise OSError(str(value))
        return value


def cpu(
    server: RunningServer, commands: Sequence[Sequence[str | bytes]], seconds: float, at_once: int = AT_ONCE
) -> float:
    """Microseconds of a server's processor time for the commands together."""
    request, replies = b"".join(encode(*command) for command in commands) * at_once, len(commands) * at_once
    with Client(server) as client, server.connect() as observer:
        client.play(request, replies)
        before, rounds, end = processor_seconds(observer), 0, perf_counter() + seconds
        while perf_counter() < end:
            client.play(request, replies)
            rounds += at_once
        return (processor_seconds(observer) - before) / rounds * 1e6
