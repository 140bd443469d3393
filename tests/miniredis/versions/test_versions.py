"""A server answers as the version it is told to: its commands and what COMMAND says of them, and its errors.

What real servers say, of commands what 7.0 does not say as well, is in ``versions.json``; ``python -m tests.miniredis.versions.test_versions NAME=PATH...`` asks all of
them anew.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import hiredis
import pytest
import redis

import miniredis
from conformance.documents.recorded.player import RawClient
from conformance.targets import target_named
from miniredis.__main__ import main, read_command_line
from miniredis.engine import Instant
from miniredis.engine.declarations.registry import in_versions, table_of
from miniredis.engine.versions.version import DEFAULT, VERSIONS, versions_in
from tests.cases import for_each

pytest_plugins = "pytester"

RECORDED: Final = Path(__file__).with_name("versions.json")

REQUESTS: Final = (
    *("FOO a b", "FOO", "CLIENT FOO", "XGROUP FOO bar", "CONFIG GET", "OBJECT FREQ", "XGROUP", "GET"),
    *("HSET h f v", "OBJECT ENCODING h", "HSET big f %s" % ("x" * 65), "OBJECT ENCODING big"),
    *("XADD x 1-1 a b", "XGROUP CREATE x g 0", "XINFO GROUPS x", "XINFO STREAM x", "XAUTOCLAIM x g c 0 0"),
    *("XTRIM x MINID 1", "XADD x NOMKSTREAM 2-1 a b", "XADD x 3-1 NOMKSTREAM b", "XPENDING x g IDLE 0 - + 1"),
    *("SET k v", "SET k w NX GET", "SET k w GET", "SET k w EXAT 1", "SET k EXAT", "SETEX k 0 v"),
    *("ZADD z 1 a", "ZADD z GT 2 a", "ZADD z 1 GT", "ZRANGE z 0 -1 REV", "ZRANK z a WITHSCORE"),
    *(
        "ZREVRANK z a",
        "ZREVRANK z a withscore",
        "ZRANK z nobody WITHSCORE",
        "ZRANK z a OTHER",
        "ZRANK z a b c",
    ),
    *(
        "CLIENT SETINFO lib-name x",
        "CLIENT SETINFO Lib-Ver 'a b'",
        "CLIENT SETINFO lib x",
        "BITCOUNT k 0 -1 BIT",
    ),
    *(
        "COMMAND GETKEYS GET",
        "CONFIG GET hz",
        "CONFIG GET hz nosuch",
        "EXPIRE k 9223372036854775807",
        "GEOADD g CH 1 1 a",
    ),
    *("ZADD w 0.1 a 1e300 b 1e17 c 0.00001 d", "ZRANGE w 0 -1 WITHSCORES", "ZSCAN w 0", "ZINCRBY w 0.2 a"),
    *("ZADD one 0.1 a", "BZPOPMIN one 0", 'EVAL \'return redis.call("zscore",KEYS[1],"d")\' 1 w'),
    *("BLPOP none 1e300", "BLPOP none -1", "BLMPOP inf 1 none LEFT", "XREAD BLOCK -1 STREAMS none 0"),
    *("XREAD STREAMS none 0 0", "XREADGROUP GROUP g c STREAMS none > >", "HSCAN h 0 NOVALUES"),
    *("HSCAN h 0 MATCH novalues NOVALUES", "SSCAN none ' 0'", "SSCAN none ''", "SSCAN none -1", "SCAN x"),
    *("LPOS none 1 RANK -9223372036854775808", "HELLO 2 AUTH default x SETNAME 'a b'"),
    *("CLIENT KILL MAXAGE 1000000", "CLIENT KILL MAXAGE x", "CLIENT KILL MAXAGE 0"),
    *("COMMAND GETKEYSANDFLAGS GET", "BITPOS none 0 1 2 x", "BITPOS none 0 x", "BITPOS none 2 x"),
    *("GETEX none EX x", "GETEX none EX 0", "EVALSHA abc 0", "ZCOUNT z ' 1' 2", "ZCOUNT z 0x1 (2"),
    *(
        "SET k v",
        "SET k w IFEQ x",
        "SET k w IFEQ x GET",
        "SET k w IFEQ v",
        "SET k w IFEQ w GET",
        "SET h v IFEQ w",
    ),
    *("SET k w IFEQ", "SET k w IFEQ w NX", "SET k w IFEQ w EX 0", "SET none w IFEQ v", "DELIFEQ k x"),
    *("DELIFEQ k w", "DELIFEQ none w", "DELIFEQ h w", "MSETEX 2 a 1 b 2", "MSETEX 2 a 1", "MSETEX x a 1"),
    *(
        "MSETEX 1 a 1 EX 10 NX",
        "MSETEX 1 a 1 NX XX",
        "MSETEX 1 a 1 EX 0",
        "MSETEX 1 a 1 XX PXAT 4000000000000",
    ),
    *("TTL nokey", "MSETEX 1 h 1 XX KEEPTTL", "MULTI", "WATCH a", "DISCARD"),
    *("QUIT a", "GETEX k", "LPOP k 1", "EXPIRE k 1 NX", "HEXPIRE k 1 FIELDS 1 f"),
)
"""What every version is asked, besides COMMAND, one after the other."""

NOT_SAME: Final[dict[str, set[str]]] = {}
"""Requests that a version does not answer as a real server, which is a matter of VERSIONS.md."""

NOT_HERE: Final = (
    "host: post vadd vcard vdim vemb vgetattr vinfo vismember vlinks vrandmember vrem vsetattr vsim "
    "cluster|migrateslots cluster|syncslots"
).split()
"""Commands that miniredis has not as each version has them, as VERSIONS.md says; the others are compared."""


def ask(client: RawClient, request: str) -> Any:
    """The reply, as JSON has it."""
    reader = hiredis.Reader(encoding="utf-8", errors="backslashreplace")
    client.send(request.encode() + b"\r\n")
    while (answer := reader.gets()) is False:
        reader.feed(client.socket.recv(1 << 20))
    return f"-{answer}" if isinstance(answer, hiredis.ReplyError) else answer


def comparable(info: list[Any]) -> list[Any]:
    """What COMMAND says of one command; its sets have no order, and 6.0 tells of fewer things."""
    name, arity, flags, first, last, step, categories, *more = info
    rest = []
    if more:
        tips, keys, parts = more
        rest = [sorted(tips), keys, sorted({part[0] for part in parts} - {*NOT_HERE})]
    return [name, arity, sorted(flags), first, last, step, sorted(categories), *rest]


def told(address: tuple[str, int]) -> dict[str, Any]:
    """What a server says of itself."""
    client = RawClient(address)
    table = sorted(map(comparable, ask(client, "COMMAND")))
    replies = {}
    for request in REQUESTS:
        replies[request] = ask(client, request)
        if request.startswith("QUIT"):
            client.close()
            client = RawClient(address)
    client.close()
    return {"commands": {each[0].lower(): each for each in table}, "replies": replies}


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ours(version: str) -> Iterator[dict[str, Any]]:
    with miniredis.start(version=version) as server:
        yield told((server.host, server.port))


@pytest.fixture
def theirs(version: str) -> Any:
    recorded = json.loads(RECORDED.read_text())
    commands = recorded[DEFAULT.name]["commands"] | recorded[version]["commands"]
    return {**recorded[version], "commands": {name: info for name, info in commands.items() if info}}


def test_a_version_has_the_commands_of_a_real_server_with_their_arity_flags_categories_and_keys(
    ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    of_redis = {
        name: info
        for name, info in ours["commands"].items()
        if not name.startswith("mq.") and name not in NOT_HERE
    }
    expected = {name: info for name, info in theirs["commands"].items() if name not in NOT_HERE}
    for info in expected.values():
        info[9:] = [sorted({*parts} - {*NOT_HERE}) for parts in info[9:]]
    assert of_redis.keys() == expected.keys()
    assert [info for name, info in of_redis.items() if info != expected[name]] == []


def test_a_version_answers_as_a_real_server_where_versions_differ(
    version: str, ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    known = {request: told for request, told in theirs["replies"].items() if "HEXPIRE" not in request}
    known = {request: told for request, told in known.items() if request not in NOT_SAME.get(version, ())}
    assert {request: ours["replies"][request] for request in known} == known


MEASURED: Final = "qbuf qbuf-free argv-mem"
FIELDS_OF_CLIENTS: Final = {
    "6.0": f"id addr fd name age idle flags db sub psub multi {MEASURED} obl oll omem tot-mem events cmd user",
    "6.2": f"id addr laddr fd name age idle flags db sub psub multi {MEASURED} obl oll omem tot-mem events cmd user redir",
    "8.0": (
        f"id addr laddr fd name age idle flags db sub psub ssub multi watch {MEASURED} multi-mem rbs rbp "
        "obl oll omem tot-mem events cmd user redir resp lib-name lib-ver io-thread"
    ),
    "valkey-8.1+": (
        f"id addr laddr fd name age idle flags capa db sub psub ssub multi watch {MEASURED} multi-mem rbs rbp "
        "obl oll omem tot-mem events cmd user redir resp lib-name lib-ver"
    ),
}
"""The fields of CLIENT LIST, as real servers told them, but for Valkey's tot-net-in, tot-net-out and tot-cmds."""


def test_client_list_has_the_fields_of_a_version() -> None:
    for versions, fields in FIELDS_OF_CLIENTS.items():
        for each in versions_in(versions):
            with miniredis.start(version=each.name) as server, server.client() as client:
                (told,) = client.client_list()
                assert " ".join(told) == fields, each.name
                assert told["cmd"] == ("client" if each.name < "7" else "client|list")


def test_client_setinfo_names_the_library_since_7_2() -> None:
    with miniredis.start(version="7.2") as server, server.client() as client:
        client.execute_command("CLIENT SETINFO", "LIB-NAME", "lettuce")
        client.execute_command("CLIENT SETINFO", "lib-ver", "6.1")
        assert client.execute_command("CLIENT INFO")["lib-name"] == "lettuce"
        assert client.client_list()[0]["lib-ver"] == "6.1"


def test_subcommands_are_found_by_every_way_in(version: str) -> None:
    requests = [("HSET", "h", "f", "v"), ("OBJECT", "ENCODING", "h"), ("MEMORY", "USAGE", "h")]
    requests += [("XGROUP", "CREATE", "x", "g", "$", "MKSTREAM"), ("XINFO", "GROUPS", "x")]
    with ExitStack() as stack:
        server = stack.enter_context(miniredis.start(version=version))
        client = stack.enter_context(server.client())
        remote = stack.enter_context(redis.Redis(port=server.port))
        alone = [client.execute_command(*request) for request in requests]
        assert client.flushall()
        pipeline = remote.pipeline(transaction=False)
        for request in requests:
            pipeline.execute_command(*request)
        assert pipeline.execute() == alone


def test_hello_and_info_name_the_version(version: str) -> None:
    with miniredis.start(version=version) as server, server.client() as client:
        row = VERSIONS[version]
        hello = client.execute_command("HELLO", "3")
        assert (hello[b"server"], hello[b"version"]) == (row.product.encode(), row.own_number.encode())
        info = client.info("server")
        assert info["redis_version"] == row.number
        assert info.get("valkey_version", "") == row.valkey
        told = row.number.encode() if row.has("7.0.0") else None
        assert client.eval("return redis.REDIS_VERSION", 0) == told
        assert client.command_count() == len(client.execute_command("COMMAND"))


def test_servers_of_several_versions_run_side_by_side() -> None:
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(stack.enter_context(miniredis.start(version=name)).client())
            for name in VERSIONS
        }
        has_lcs = {
            name: bool(client.execute_command("COMMAND INFO lcs")[0]) for name, client in clients.items()
        }
        assert has_lcs == {name: name not in {"6.0", "6.2"} for name in VERSIONS}


def test_what_runs_a_command_in_a_version_is_not_declared_behind_what_is_around_it() -> None:
    table_of(VERSIONS["8.0"])  # declares what other versions have; since 7.2, something runs before WAIT
    with pytest.raises(AssertionError, match="b'wait' is declared too late"):
        in_versions("7.4+", "wait")


def test_a_version_that_there_is_not_is_refused_with_the_list_of_those_that_there_are() -> None:
    for make in (miniredis.start, miniredis.spawn):
        with pytest.raises(
            ValueError, match=r"there is no version '5\.0'; it is one of 6\.0, 6\.2, 7\.0, 7\.2"
        ):
            make(version="5.0")
    with pytest.raises(ValueError, match="it is one of"):
        miniredis.Config(version="7")
    with pytest.raises(TypeError, match="start\\(\\) got engine and version"):
        miniredis.start(engine=miniredis.Engine(), version="7.2")


def test_a_spawned_server_has_a_version() -> None:
    with miniredis.spawn(version="6.2") as server, server.client() as client:
        assert client.info("server")["redis_version"] == "6.2.14"


def test_the_command_takes_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--server-version", "valkey-8.1", "--version"]) == 0
    assert capsys.readouterr().out.startswith("Valkey server v=8.1.1 (miniredis ")
    assert read_command_line(["--server-version", "6.2", "--port", "0"]).version is VERSIONS["6.2"]
    assert main(["--server-version", "5.0"]) == 2
    assert "there is no version '5.0'; it is one of 6.0, 6.2" in capsys.readouterr().err


TEST: Final = """
def test_all(miniredis_server, miniredis_session, held_miniredis_server, miniredis_factory):
    servers = [miniredis_server, miniredis_session, held_miniredis_server, miniredis_factory()]
    versions = [server.client().info("server")["redis_version"] for server in servers]
    assert versions == ["{expected}"] * 4
    assert miniredis_factory(version="7.4").client().info("server")["redis_version"] == "7.4.1"
"""


def test_the_fixtures_take_a_version_from_the_configuration_and_from_the_command_line(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nminiredis_version = 6.2\n")
    path = pytester.makepyfile(TEST.format(expected="6.2.14"))
    pytester.runpytest(path).assert_outcomes(passed=1)
    # what the command line says comes first
    refused = pytester.runpytest(path, "--miniredis-version", "5.0")
    refused.stderr.fnmatch_lines("*miniredis_version: there is no version '5.0'; it is one of 6.0, *")


OLD: Final = "6.0-6.2"
NEW: Final = "7.2+"
NOW: Final = Instant(0, 0)

NO_STREAM: Final = (
    "-ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the "
    "MKSTREAM option to create an empty stream automatically."
)

TOLD: Final = {
    ("XADD s 4-* a b", OLD): "-ERR Invalid stream ID specified as stream command argument",
    ("XADD s 4-* a b", "7.0"): "4-0",
    ("XTRIM none FOO 1", "6.0"): 0,
    ("XTRIM none FOO 1", "6.2"): "-ERR syntax error",
    ("XRANGE s (1 2", "6.0"): "-ERR Invalid stream ID specified as stream command argument",
    ("ZPOPMIN none -1", OLD): [],
    ("ZPOPMIN none -1", NEW): "-ERR value is out of range, must be positive",
    ("ZADD none GT 1 a", "6.0"): "-ERR syntax error",
    ("ZADD none LT INCR inf a", "6.0"): "-ERR value is not a valid float",
    ("ZRANGEBYLEX none x y LIMIT 1", "6.0"): "-ERR min or max not valid string range item",
    ("ZINTERSTORE a 0 b", "6.0"): "-ERR at least 1 input key is needed for ZUNIONSTORE/ZINTERSTORE",
    ("ZINTERSTORE a 0 b", "6.2"): "-ERR at least 1 input key is needed for zinterstore",
    ("GEORADIUS none x 1 1 m", "6.0"): [],
    ("GEORADIUSBYMEMBER none b 1 foo", "6.0"): [],
    ("SELECT x", "6.0"): "-ERR invalid DB index",
    ("MOVE b -1", "6.0"): "-ERR index out of range",
    ("SPOP none -1", "6.0"): "-ERR index out of range",
    ("SPOP none x", "6.0"): "-ERR value is not an integer or out of range",
    ("HELLO x", "6.0"): "-NOPROTO unsupported protocol version",
    ("HELLO 2 AUTH nobody x", "6.0"): "-WRONGPASS invalid username-password pair",
    ("HELLO 2 AUTH nobody x", "6.2"): "-WRONGPASS invalid username-password pair or user is disabled.",
    ("CONFIG SET foo bar", OLD): "-ERR Unsupported CONFIG parameter: foo",
    ("CONFIG SET notify-keyspace-events n", OLD): (
        "-ERR Invalid argument 'n' for CONFIG SET 'notify-keyspace-events'"
    ),
    ("CONFIG SET maxmemory x", OLD): (
        "-ERR Invalid argument 'x' for CONFIG SET 'maxmemory' - argument must be a memory value"
    ),
    ("SLOWLOG GET x", OLD): "-ERR value is not an integer or out of range",
    ("SCRIPT EXISTS", OLD): [],
    ("COMMAND INFO", OLD): [],
    ("PUBSUB CHANNELS a b", OLD): (
        "-ERR Unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP."
    ),
    ("XINFO FOO", "6.0"): "-ERR syntax error, try 'XINFO HELP'",
    ("EXPIRE none 9223372036854775807", "6.0"): 0,
    ("SET far v PX 9223372036854775807", "6.0"): "OK",
    ("GET far", "6.0"): "v",
    ("BITCOUNT none x 1", OLD): 0,
    ("BITCOUNT none x 1", "8.0 valkey-8.1+"): "-ERR value is not an integer or out of range",
    ("BITCOUNT none -2 -1 x", "8.0 valkey-8.1+"): "-ERR syntax error",
    ("BITCOUNT none 1", "8.0"): "-ERR syntax error",
    ("BITCOUNT none 1", "valkey-8.1+"): 0,
    ("BITCOUNT none x 1 BIT x", "8.0 valkey-8.1+"): "-ERR syntax error",
    ("XREADGROUP GROUP g d BLOCK 9223372036854775807 STREAMS none >", NEW): "-ERR timeout is out of range",
    ("ZADD zero INCR -0 y", NEW): "-0",
    ("CLIENT PAUSE 0 WRITE x", "valkey-8.1+"): "OK",
    ("CLIENT LIST ID 0", "valkey-8.1+"): "-ERR client-id should be greater than 0",
    ("CLIENT LIST ID 1 x", "valkey-8.1+"): "-ERR syntax error",
    ("SCAN 0 TYPE foo COUNT x", "valkey-8.1+"): "-ERR unknown type name 'foo'",
    ("SCAN 0 COUNT x TYPE foo", "valkey-8.1+"): "-ERR value is not an integer or out of range",
    ("SCRIPT SHOW x", "valkey-8.1+"): "-NOSCRIPT No matching script.",
    ("ZRANGEBYSCORE none ' 1' 2 LIMIT 0 0", "7.2 7.4 valkey-8.1"): [],
    ("ZRANGEBYSCORE none ' 1' 2 LIMIT 0 0", "8.0 valkey-9.1"): "-ERR min or max is not a float",
    ("ZRANGEBYSCORE none ' 1' 2 LIMIT 0 x", "8.0"): "-ERR value is not an integer or out of range",
    ("ZRANGE none (0x1 2 BYSCORE", "8.0 valkey-9.1"): "-ERR min or max is not a float",
    ("ZRANGE none 0x1 2", "8.0 valkey-9.1"): "-ERR value is not an integer or out of range",
    ("ZRANGESTORE d none ' 1' 2 BYSCORE", "8.0 valkey-9.1"): "-ERR min or max is not a float",
    ("XGROUP DELCONSUMER none g", OLD): NO_STREAM,
    ("XGROUP SETID none g", OLD): NO_STREAM,
    ("XGROUP DESTROY none", OLD): (
        "-ERR Unknown subcommand or wrong number of arguments for 'DESTROY'. Try XGROUP HELP."
    ),
    ("XINFO CONSUMERS none", OLD): "-ERR no such key",
    ("XINFO GROUPS", "6.0"): "-ERR syntax error, try 'XINFO HELP'",
    ("XINFO GROUPS", "6.2"): (
        "-ERR Unknown subcommand or wrong number of arguments for 'GROUPS'. Try XINFO HELP."
    ),
    ("EVAL 'return tostring(server == redis)' 0", "valkey-8.1+"): "true",
    ("EVAL 'return type(redis.REDIS_VERSION) .. type(redis.acl_check_cmd)' 0", OLD): "nilnil",
    ("EVAL 'return type(redis.REDIS_VERSION) .. type(redis.acl_check_cmd)' 0", NEW): "stringfunction",
    ("EVAL 'return select(2, pcall(redis.log, 4, 1))' 0", "7.0-7.2"): "ERR Invalid debug level.",
    ("EVAL 'return select(2, pcall(redis.log, 4, 1))' 0", "7.4+ valkey-8.1+"): "ERR Invalid log level.",
    ("DEBUG SLEEP 0", OLD): "OK",
    ("STRALGO LCS STRINGS ohmytext mynewtext", OLD): "mytext",
    ("STRALGO LCS LEN STRINGS ohmytext mynewtext", OLD): 6,
    ("STRALGO LCS KEYS a b", OLD): "",
    ("STRALGO LCS STRINGS a", OLD): "-ERR syntax error",
    ("STRALGO LCS STRINGS a b KEYS a b", OLD): "-ERR Either use STRINGS or KEYS",
    ("STRALGO LCS LEN", OLD): ("-ERR Please specify two strings: STRINGS or KEYS options are mandatory"),
    ("STRALGO LCS", "7.0"): "-ERR unknown command 'STRALGO', with args beginning with: 'LCS' ",
    ("CLIENT NO-TOUCH on", NEW): "OK",
    ("CLIENT NO-TOUCH maybe", NEW): "-ERR syntax error",
    ("CLIENT NO-TOUCH", NEW): "-ERR wrong number of arguments for 'client|no-touch' command",
    ("CLIENT CAPA foo redirect", "valkey-8.1+"): "OK",
    ("CLIENT CAPA", "valkey-8.1+"): "-ERR wrong number of arguments for 'client|capa' command",
    ("CLIENT CAPA foo", "8.0"): "-ERR unknown subcommand 'CAPA'. Try CLIENT HELP.",
    ("CLIENT IMPORT-SOURCE on", "valkey-8.1+"): "-ERR Server is not in import mode",
    ("CLIENT IMPORT-SOURCE off", "valkey-8.1+"): "OK",
    ("READONLY", "8.0"): "-ERR This instance has cluster support disabled",
    ("READONLY", "valkey-8.1+"): "OK",
    ("WAIT 0 9223372036854775807", "7.0"): 0,
    ("WAIT 0 9223372036854775807", NEW): "-ERR timeout is out of range",
    ("WAITAOF 0 0 0", NEW): [0, 0],
    ("WAITAOF 1 0 0", NEW): "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.",
    ("WAITAOF 2 0 0", NEW): "-ERR value is out of range, value must between 0 and 1",
    ("WAITAOF +1 0 x", NEW): "-ERR value is not an integer or out of range",
    ("WAITAOF 0 x 0", NEW): "-ERR value is out of range, must be positive",
    ("WAITAOF 0 0 -1", NEW): "-ERR timeout is negative",
    ("WAITAOF 0 0 9223372036854775807", NEW): "-ERR timeout is out of range",
    ("EVAL 'return redis.call(\"waitaof\", 0, 1, 0)' 0", "7.4+ valkey-8.1+"): [0, 0],
    ("LSET l 4294967296 x", "7.0"): "-ERR index out of range",
    ("LSET l 4294967296 x", NEW): "OK",
    ("LSET l 9223372036854775807 x", NEW): "OK",
    ("LSET l 4294967297 x", NEW): "-ERR index out of range",
    ("LSET none x x", NEW): "-ERR no such key",
    ("SELECT 9223372036854775807", "6.0"): "-ERR DB index is out of range",
    ('ZCOUNT none "1\\x00x" 2', "8.0 valkey-9.1+"): 0,
    ("CLIENT PAUSE 9223372036854775807 WRITE", "7.0"): "OK",
    ("CLIENT PAUSE 9223372036854775807", NEW): "-ERR timeout is out of range",
    ("CLIENT PAUSE 9223372036854775807 x", NEW): "-ERR CLIENT PAUSE mode must be WRITE or ALL",
    (
        "COMMANDLOG LEN slow",
        "8.0",
    ): "-ERR unknown command 'COMMANDLOG', with args beginning with: 'LEN' 'slow' ",
    ("COMMANDLOG LEN SLOW", "valkey-8.1+"): 0,
    ("COMMANDLOG LEN large-reply", "valkey-8.1+"): 0,
    ("COMMANDLOG GET 1", "valkey-8.1+"): "-ERR wrong number of arguments for 'commandlog|get' command",
    ("COMMANDLOG GET a foo", "valkey-8.1+"): "-ERR count should be greater than or equal to -1",
    ("COMMANDLOG GET 1 foo", "valkey-8.1+"): (
        "-ERR type should be one of the following: slow, large-request, large-reply"
    ),
    ("COMMANDLOG RESET slow", "valkey-8.1+"): "OK",
    ('EVAL "#!js\\n" 0', "8.0"): "-ERR Unexpected engine in script shebang: #!js",
    ('EVAL "#!js\\n" 0', "valkey-8.1+"): "-ERR Could not find scripting engine 'js'",
    ('SCRIPT LOAD "#!js x=y\\nreturn 1"', "valkey-8.1+"): "-ERR Unknown lua shebang option: x=y",
    ('EVAL "#!LUA flags=no-writes\\nreturn 5" 0', "valkey-8.1+"): 5,
    ("ZUNIONSTORE d 1 none AGGREGATE max", "valkey-9.1"): 0,
    ("CLIENT LIST MAXAGE 1000", "8.0"): "-ERR syntax error",
    ("CLIENT LIST MAXAGE 1000 SKIPME no", "valkey-8.1+"): "",
    ("CLIENT LIST MAXAGE x", "valkey-8.1+"): "-ERR maxage is not an integer or out of range",
    ("CLIENT LIST SKIPME yes", "valkey-8.1+"): "",
    ("CLIENT LIST USER nobody", "valkey-8.1+"): "-ERR No such user 'nobody'",
    ("CLIENT LIST USER default ID 999 998", "valkey-8.1+"): "",
    ("CLIENT KILL ID 999 998 TYPE normal", "valkey-8.1+"): 0,
    ("CLIENT LIST NAME foo", "valkey-8.1"): "-ERR syntax error",
    ("CLIENT LIST NAME foo", "valkey-9.1"): "",
    ("CLIENT LIST FLAGS NS", "valkey-9.1"): "",
    ("CLIENT LIST FLAGS Z", "valkey-9.1"): "-ERR Unknown flags found in the provided filter: Z",
    ("CLIENT LIST CAPA x", "valkey-9.1"): "-ERR Unknown capa found in the provided filter: x",
    ("CLIENT LIST DB 16", "valkey-9.1"): "-ERR DB number should be between 0 and 15",
    ("CLIENT LIST DB x", "valkey-9.1"): "-ERR DB is not an integer or out of range",
    ("CLIENT LIST IDLE 0", "valkey-9.1"): "-ERR idle should be greater than 0",
    ("CLIENT LIST NOT-IDLE 1", "valkey-9.1"): "-ERR syntax error",
    ("CLIENT LIST NOT-TYPE normal", "valkey-9.1"): "",
    ("CLIENT KILL NOT-IP 1.2.3.4", "valkey-9.1"): 0,
    ("CLIENT KILL ID x", "8.0"): "-ERR client-id should be greater than 0",
    ("CLIENT KILL ID x", "valkey-8.1+"): "-ERR syntax error",
    ("EVAL 'return redis.call(\"nosuch\")' 0", "valkey-8.1"): (
        "-ERR Unknown command called from script script: 2218effcac8108416909801acfb39c080a85adfa, "
        "on @user_script:1."
    ),
    ("EVAL 'return redis.call(\"nosuch\")' 0", "valkey-9.1"): (
        "-ERR Unknown command called from script script: on @user_script:1."
    ),
    ("EVAL 'return redis.call(\"nosuch\")' 0", OLD): (
        "-ERR Error running script (call to f_2218effcac8108416909801acfb39c080a85adfa): @user_script:1: "
        "@user_script: 1: Unknown Redis command called from Lua script"
    ),
    ('EVAL \'return redis.call("incr", "l")\' 0', OLD): (
        "-ERR Error running script (call to f_71f1d660c655cf124e8f11d073e798db04b1f442): @user_script:1: "
        "WRONGTYPE Operation against a key holding the wrong kind of value"
    ),
    ("EVAL 'error(\"boom\")' 0", OLD): (
        "-ERR Error running script (call to f_872b3fcb081448525c6141cdfa3df8374d30d162): @user_script:1: user_script:1: boom"
    ),
    ("EVAL 'return redis.call()' 0", "valkey-9.1"): (
        "-ERR Please specify at least one argument for this call script: on @user_script:1."
    ),
    ("EVAL 'return redis.pcall({})' 0", "valkey-8.1+"): (
        "-ERR Command arguments must be strings or integers"
    ),
    ('EVAL \'return redis.call("subscribe", "q")\' 0', "valkey-9.1"): (
        "-ERR This Valkey command is not allowed from script script: on @user_script:1."
    ),
    ("EVAL 'return redis.log()' 0", "valkey-9.1"): (
        "-ERR server.log() requires two arguments or more. script: on @user_script:1."
    ),
    ("EVAL 'return server.SERVER_NAME' 0", "valkey-8.1+"): "valkey",
    ("EVAL 'return server.call(\"ECHO\", server.VALKEY_VERSION)' 0", "valkey-8.1"): "8.1.1",
}
"""What real servers of these versions say, each in a conversation of its own."""


@for_each(("request_", "versions"), TOLD)
def test_a_version_checks_and_refuses_as_a_real_server(request_: str, versions: str) -> None:
    for each in versions_in(versions):
        with miniredis.start(version=each.name) as server:
            client = RawClient((server.host, server.port))
            for before in ("SET far v PX 9223372036854775807",) * (request_ == "GET far"):
                ask(client, before)
            ask(client, "RPUSH l a")
            assert ask(client, request_) == TOLD[request_, versions], each.name
            client.close()


def test_a_client_hears_what_its_own_command_publishes_after_the_reply_since_7_2() -> None:
    """A RESP3 client that is subscribed to what it publishes; in a transaction, after all of its replies."""
    requests = ("HELLO 3", "SUBSCRIBE news", "PUBLISH news a", "MULTI", "PUBLISH news b", "PING", "EXEC")
    push = b">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\n%b\r\n"
    replies = {
        "7.0": [push % b"a" + b":1\r\n", b"*2\r\n" + push % b"b" + b":1\r\n+PONG\r\n"],
        "7.2+": [b":1\r\n" + push % b"a", b"*2\r\n:1\r\n+PONG\r\n" + push % b"b"],
    }
    for versions, (publish, transaction) in replies.items():
        for each in versions_in(versions):
            engine = miniredis.Engine(miniredis.Config(version=each.name))
            session = engine.connect(NOW)
            heard = []
            for request in requests:
                engine.receive(session, request.encode() + b"\r\n", NOW)
                heard.append(session.take_output())
            assert (heard[2], heard[-1]) == (publish, transaction), each.name


def test_the_event_of_a_deadline_in_the_past() -> None:
    for versions, event in (("6.2-8.0", b"del"), ("valkey-8.1+", b"expired")):
        for each in versions_in(versions):
            with miniredis.start(version=each.name) as server, server.client() as client:
                client.config_set("notify-keyspace-events", "KEA")
                with client.pubsub() as events:
                    events.psubscribe("__keyspace*")
                    events.get_message()
                    for request in ("EXPIREAT k 1", "PEXPIRE k -1", "GETEX k PXAT 1"):
                        client.set("k", "v")
                        client.execute_command(*request.split())
                        heard = [events.get_message() for _ in range(2)]
                        assert [told and told["data"] for told in heard] == [b"set", event], (each, request)


def test_a_set_with_a_deadline_in_the_past_stores_nothing_in_valkey() -> None:
    stored = [b"set", b"expire", b"expired"]
    for version, of_new, of_old in (("8.0", stored, stored), ("valkey-8.1", [], [b"expired"])):
        with (
            miniredis.start(version=version, notify_keyspace_events="KEA") as server,
            server.client() as client,
        ):
            raw = RawClient((server.host, server.port))
            for request, reply, told in (
                ("SET k v EXAT 1", b"+OK\r\n", of_new),
                ("SET k v PXAT 1 XX", b"$-1\r\n", []),
                ("SET k v", b"+OK\r\n", [b"set"]),
                ("SET k w PXAT 1 NX", b"$-1\r\n", []),
                ("SET k w PXAT 1 GET", b"$1\r\nv\r\n", of_old),
            ):
                with client.pubsub() as events:
                    events.psubscribe("__keyspace*")
                    events.get_message()
                    assert raw.ask(request) == reply, request
                    client.get("k")
                    heard = iter(events.get_message, None)
                    assert [event["data"] for event in heard] == told, (version, request)
            raw.close()


def test_xread_waits_on_for_what_is_trimmed_at_once_since_7_2() -> None:
    for version, woken in (("7.0", b"*1\r\n*2\r\n$1\r\ns\r\n*0\r\n"), ("7.2", b"")):
        engine = miniredis.Engine(miniredis.Config(version=version))
        reader, writer = engine.connect(NOW), engine.connect(NOW)
        engine.receive(reader, b"XREAD BLOCK 0 STREAMS s 0\r\n", NOW)
        engine.receive(writer, b"XADD s MAXLEN = 0 1-1 f v\r\n", NOW)
        assert reader.take_output() == woken
        engine.receive(writer, b"XADD s 2-1 f v\r\n", NOW)
        assert (b"2-1" in reader.take_output()) == (not woken)


def test_a_blocked_pop_takes_its_first_key_that_has_something_since_7_2() -> None:
    for version, key in (("7.0", b"l"), ("7.2", b"c"), ("valkey-9.1", b"c")):
        engine = miniredis.Engine(miniredis.Config(version=version))
        reader, writer = engine.connect(NOW), engine.connect(NOW)
        engine.receive(reader, b"BLPOP c l 0\r\n", NOW)
        engine.receive(writer, b"MULTI\r\nRPUSH l x\r\nRPUSH c x\r\nEXEC\r\n", NOW)
        assert reader.take_output() == b"*2\r\n$1\r\n%b\r\n$1\r\nx\r\n" % key, version
        engine.receive(reader, b"BLPOP s m 0\r\n", NOW)
        engine.receive(writer, b"SET s x\r\nRPUSH m y\r\n", NOW)
        assert reader.take_output()[:2] == (b"*2" if version == "7.0" else b"-W"), version


def test_xread_takes_the_place_before_the_last_entry_since_7_4() -> None:
    for version, told in (
        ("7.2", "-ERR Invalid stream ID specified as stream command argument"),
        ("7.4", None),
        ("8.0", [["s", [["2-0", ["f", "w"]]]]]),
    ):
        with miniredis.start(version=version) as server:
            client = RawClient((server.host, server.port))
            for request in (
                "XADD s 1-0 f v",
                "XADD s 2-0 f w",
                "XADD s 3-0 f x",
                "XDEL s 3-0",
                "XGROUP CREATE s g 0",
            ):
                ask(client, request)
            assert ask(client, "XREAD COUNT 5 STREAMS s none + 0") == told
            if version != "7.2":
                assert ask(client, "XREAD STREAMS none +") is None
                assert "The + ID is meaningless" in ask(client, "XREADGROUP GROUP g c STREAMS s +")
            client.close()


IN_POLYGON: Final = {
    "GEOSEARCH g BYPOLYGON 3 12 36 18 36 15 40": ["Catania"],
    "GEOSEARCH g BYPOLYGON 3 12 36 18 36 15 40 WITHDIST": [["Catania", "17761.0482"]],
    "GEOSEARCH g BYPOLYGON 4 12 36 18 36 12 40 18 40 WITHDIST": [["Catania", "60049.2798"]],
    "GEOSEARCH g BYPOLYGON 3 13.361389 38.115556 15.087269 37.502669 12.758489 38.788135": ["Palermo"],
    "GEOSEARCH none BYPOLYGON 3 12 36 18 36 15 40": [],
    "GEOSEARCHSTORE d g BYPOLYGON 3 12 36 18 36 15 40 STOREDIST": 1,
    "ZSCORE d Catania": "1.7761048198370085e+4",
    "GEOSEARCH g BYPOLYGON 2 12 36 18 36": "-ERR GEOSEARCH BYPOLYGON must have at least 3 vertices",
    "GEOSEARCH g BYPOLYGON 3 12 36 18 36 15": "-ERR GEOSEARCH BYPOLYGON must have at least 3 vertices",
    "GEOSEARCH g BYPOLYGON x 12 36 18 36 15 40": "-ERR invalid number of vertices",
    "GEOSEARCH g BYPOLYGON 3 0x1 36 18 36 15 40": "-ERR value is not a valid float",
    "GEOSEARCH g BYPOLYGON 3 12 96 18 36 15 40": "-ERR invalid longitude,latitude pair 12.000000,96.000000",
    "GEOSEARCH g FROMLONLAT 15 37 BYPOLYGON 3 12 36 18 36 15 40": "-ERR syntax error",
    "GEOSEARCH g BYPOLYGON 3 12 36 18 36 15 40 BYRADIUS 1 km": "-ERR syntax error",
    "GEOSEARCH g BYPOLYGON 3 12 36 18 36 15 40 FROMMEMBER Palermo": "-ERR syntax error",
    "GEOSEARCH g FROMLONLAT 0x1 1 BYRADIUS 1 km": "-ERR value is not a valid float",
    "GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 0x1 km": "-ERR need numeric radius",
    "GEOSEARCH g FROMLONLAT 1 1 BYBOX 1 0x1 km": "-ERR need numeric height",
    "GEOSEARCH g FROMMEMBER 0x1 BYRADIUS 1 km": "-ERR member 0x1 does not exist",
    "GEORADIUSBYMEMBER g Palermo 0x1 km": "-ERR need numeric radius",
    "GEOSEARCH g FROMLONLAT 1 1 ASC WITHDIST WITHCOORD": (
        "-ERR exactly one of BYRADIUS, BYBOX and BYPOLYGON can be specified for GEOSEARCH"
    ),
}
"""What Valkey 9.1 says; 8.0 and 8.1 know no polygons."""


def test_places_in_a_polygon() -> None:
    with miniredis.start(version="valkey-9.1") as server:
        client = RawClient((server.host, server.port))
        for place in ("13.361389 38.115556 Palermo", "15.087269 37.502669 Catania", "17.2 38.78 edge"):
            assert ask(client, f"GEOADD g {place}") == 1
        assert {request: ask(client, request) for request in IN_POLYGON} == IN_POLYGON
        client.close()


def test_a_consumer_that_gets_nothing_exists_since_7_2() -> None:
    requests = ("XCLAIM s g c 0 1-0 FORCE", "XREADGROUP GROUP g d STREAMS s >", "XAUTOCLAIM s g e 0 0")
    for versions, names in (("7.0", []), ("7.2+", [b"c", b"d", b"e"])):
        for each in versions_in(versions):
            with miniredis.start(version=each.name) as server, server.client() as client:
                client.xgroup_create("s", "g", 0, mkstream=True)
                for request in requests:
                    client.execute_command(*request.split())
                told = client.execute_command("XINFO CONSUMERS", "s", "g")
                assert [consumer["name"] for consumer in told] == names, each.name


@for_each(
    ("request_", "is_active"),
    [
        ("XREADGROUP GROUP g c COUNT 1 STREAMS s >", True),
        ("XREADGROUP GROUP g c NOACK STREAMS s >", False),
        ("XCLAIM s g c 0 1-0 FORCE", True),
        ("XCLAIM s g c 0 7-0", False),
        ("XAUTOCLAIM s g c 0 0", False),
    ],
)
def test_xinfo_tells_since_7_2_when_a_consumer_last_got_an_entry(request_: str, is_active: bool) -> None:
    for version in ("7.0", "7.2", "valkey-9.1"):
        with miniredis.start(version=version, clock="held") as server, server.client() as client:
            client.xadd("s", {"f": "v"}, "1-0")
            client.xgroup_create("s", "g", 0)
            client.xgroup_createconsumer("s", "g", "c")
            client.execute_command(*request_.split())
            server.fast_forward(5)
            told = {each["name"]: each for each in client.execute_command("XINFO CONSUMERS", "s", "g")}
            full = client.xinfo_stream("s", full=True)["groups"][0]["consumers"]
            if version == "7.0":
                assert all("inactive" not in each for each in told.values())
                assert all(b"active-time" not in each and "active-time" not in each for each in full)
            else:
                assert told[b"c"]["inactive"] == (5000 if is_active else -1), version
                assert b"active-time" in full[0] or "active-time" in full[0]


SAID: Final = [
    ("6.0-6.2", "MSETNX a 1 b", "ERR wrong number of arguments for MSET"),
    ("7.0", "MSETNX a 1 b", "ERR wrong number of arguments for 'msetnx' command"),
    ("6.0-6.2", "XADD s MAXLEN = 0 1-1 f a f", "ERR wrong number of arguments for XADD"),
    ("6.0-6.2", "GEODIST g a b x", "ERR unsupported unit provided. please use m, km, ft, mi"),
    ("6.0-6.2", "GEORADIUS g 1 1 1 x", "ERR unsupported unit provided. please use m, km, ft, mi"),
    ("7.0", "GEODIST g a b x", "ERR unsupported unit provided. please use M, KM, FT, MI"),
    (
        "6.0",
        "SCRIPT FLUSH ASYNC",
        "ERR Unknown subcommand or wrong number of arguments for 'FLUSH'. Try SCRIPT HELP.",
    ),
    ("6.0", "XPENDING x g - + 10 c d", "ERR syntax error"),
    ("6.0", "XPENDING x g - + x c d", "ERR syntax error"),
    *(
        ("valkey-9.1", request, "ERR value is not a valid float")
        for request in (
            "ZADD z 0x10 a",
            "ZADD z NX CH +0X1 a",
            "ZADD z 1 a 0x2 b",
            "ZADD s 0x1 a",
            "ZINCRBY s 0x1 a",
            "GEOADD g XX 0x1 1 a",
        )
    ),
    ("valkey-9.1", "ZADD z NX XX 0x1 a", "ERR XX and NX options at the same time are not compatible"),
    ("valkey-9.1", "ZUNION 1 z WEIGHTS 0x1", "ERR weight value is not a float"),
    ("valkey-9.1", "ZUNION -100 z WEIGHTS 1", "ERR at least 1 input key is needed for 'zunion' command"),
    ("valkey-9.1", "ZINTERSTORE d 1 z WEIGHTS 0X1", "ERR weight value is not a float"),
    ("valkey-9.1", "GEORADIUS g 1 1 0x1 km", "ERR need numeric radius"),
]
"""Versions, a request, and what real servers of these versions say; ``s`` is a string, the other keys have what fits."""


@for_each(("versions", "request_", "said"), SAID)
def test_an_error_has_the_words_of_the_version(versions: str, request_: str, said: str) -> None:
    for version in versions_in(versions):
        with miniredis.start(version=version.name) as server:
            client = RawClient((server.host, server.port))
            for words in (
                "SET s v",
                "ZADD z 1 a 2 0x3",
                "GEOADD g 1 1 a 2 2 b",
                "XGROUP CREATE x g $ MKSTREAM",
            ):
                assert client.ask(words)[:1] in b"+:", words
            assert client.ask(request_) == f"-{said}\r\n".encode()
            client.close()


def test_a_name_is_checked_and_listed_up_to_a_nul_since_7_2() -> None:
    """As Redis 7.0.15, 8.0.2, and Valkey 8.1.1 and 9.1.2 did."""
    refused = pytest.raises(redis.ResponseError, match="Client names cannot contain")
    with miniredis.start(version="7.0") as server, server.client() as client, refused:
        client.client_setname("a\0 b")
    with miniredis.start(version="8.0") as server, server.client() as client:
        client.client_setname("a\0 b")
        client.execute_command("CLIENT SETINFO", "LIB-NAME", "lib\0\n")
        assert client.client_getname() == "a\0 b"
        assert [client.client_list()[0][field] for field in ("name", "lib-name")] == ["a", "lib"]
        with pytest.raises(redis.ResponseError, match="LIB-VER cannot contain"):
            client.execute_command("CLIENT SETINFO", "LIB-VER", " \0")


def test_a_client_that_does_not_touch_leaves_times_of_last_use_and_reset_ends_that() -> None:
    requests = (
        "GET k",
        "SET k w",
        "RPUSH l b",
        "SORT n BY w* GET w*",
        'EVAL \'return redis.call("get", "k")\' 0',
    )
    with miniredis.start(version="7.2", clock="held") as server, server.client() as client:
        client.mset({"k": "v", "w1": "5", "t": "v"})
        client.rpush("l", "a")
        client.rpush("n", "1")
        server.fast_forward(3)
        client.execute_command("CLIENT NO-TOUCH", "ON")
        assert client.client_list()[0]["flags"] == "T"
        for request in (*requests, "SET new v", "TOUCH t"):
            client.execute_command(*shlex.split(request))
        idle = {key: client.object("idletime", key) for key in ("k", "l", "n", "w1", "new", "t")}
        assert idle == {"k": 3, "l": 3, "n": 3, "w1": 3, "new": 0, "t": 0}
        client.execute_command("RESET")
        assert client.client_list()[0]["flags"] == "N"
        client.get("k")
        assert client.object("idletime", "k") == 0


def test_commandlog_is_the_slow_log_under_another_name() -> None:
    with (
        miniredis.start(version="valkey-8.1", slowlog_log_slower_than="0") as server,
        server.client() as client,
    ):
        assert client.execute_command("COMMANDLOG", "LEN", "slow") == client.slowlog_len() - 1 >= 0
        newest = client.execute_command("COMMANDLOG", "GET", "1", "slow")
        assert newest[0][3][:2] == [b"SLOWLOG", b"LEN"]
        client.execute_command("COMMANDLOG", "RESET", "SLOW")
        assert client.slowlog_len() == 1


def test_filters_of_valkey_choose_clients() -> None:
    with miniredis.start(version="valkey-9.1") as server, server.client() as client:
        other = RawClient((server.host, server.port))
        for request in (
            "CLIENT SETNAME bob",
            "SELECT 3",
            "CLIENT SETINFO lib-name lib",
            "CLIENT CAPA redirect",
            "MULTI",
        ):
            assert other.ask(request) == b"+OK\r\n"
        assert client.select(0)
        for words, names in (
            ("NAME bob", ["bob"]),
            ("NOT-NAME bob", [""]),
            ("DB 3", ["bob"]),
            ("NOT-DB 3", [""]),
            ("LIB-NAME lib", ["bob"]),
            ("CAPA r", ["bob"]),
            ("FLAGS x", ["bob"]),
            ("IP 127.0.0.1", ["", "bob"]),
            (f"NOT-ID {client.client_id()} 999", ["bob"]),
            ("FLAGS x NOT-NAME bob", []),
        ):
            found = client.execute_command("CLIENT LIST", *words.split())
            assert sorted(each["name"] for each in found) == names, words
        other.close()


def test_a_replica_tells_a_client_that_understands_it_where_the_primary_is() -> None:
    with (
        miniredis.start(version="valkey-8.1") as primary,
        miniredis.start(version="valkey-8.1", replicaof=f"127.0.0.1 {primary.port}") as replica,
    ):
        there = f"-REDIRECT 127.0.0.1:{primary.port}\r\n".encode()
        client = RawClient((replica.host, replica.port))
        assert client.ask("CLIENT CAPA redirect") == b"+OK\r\n"
        assert [client.ask(request) for request in ("GET k", "SET k v", "KEYS *")] == [there] * 3
        assert client.ask("PING") == b"+PONG\r\n"
        assert client.ask("READONLY") == b"+OK\r\n"
        assert client.ask("SET k v") == there
        assert client.ask("READWRITE") == b"+OK\r\n"
        assert client.ask("GET k") == there
        assert b" capa=r " in client.ask("CLIENT INFO")
        client.close()


def test_valkey_shows_the_text_of_a_script() -> None:
    with miniredis.start(version="valkey-8.1") as server, server.client() as client:
        sha = client.script_load("return 1")
        assert client.execute_command("SCRIPT SHOW", sha.upper()) == b"return 1"


def test_a_range_of_versions_means_those_of_its_product_and_what_valkey_took_over() -> None:
    def names(text: str) -> list[str]:
        return [name for name, version in VERSIONS.items() if version in versions_in(text)]

    assert names("6.0-6.2") == ["6.0", "6.2"]
    assert names("7.2+") == ["7.2", "7.4", "8.0", "valkey-8.1", "valkey-9.1"]
    assert names("7.4+") == ["7.4", "8.0"]
    assert names("7.4 valkey-9.1+") == ["7.4", "valkey-9.1"]
    assert DEFAULT.name == "7.0"


def record(paths: list[str]) -> None:
    """Asks real servers, each given as VERSION=PATH, and keeps what they say."""
    recorded = {}
    for each in paths:
        with target_named(each).up() as address:
            recorded[each.partition("=")[0]] = told((address.host, address.port))
    base = recorded[DEFAULT.name]["commands"]
    for facts in recorded.values():
        if facts["commands"] is not base:
            commands = {**dict.fromkeys(base), **facts["commands"]}
            facts["commands"] = {name: info for name, info in commands.items() if info != base.get(name)}
    lines = [
        f'"{version}": {{"replies": {json.dumps(facts["replies"])},\n"commands": {{\n'
        + ",\n".join(f'"{name}": {json.dumps(info)}' for name, info in facts["commands"].items())
        + "\n}}"
        for version, facts in sorted(recorded.items())
    ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record(sys.argv[1:])
