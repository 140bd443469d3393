"""Users and their rights, beside a real Redis: rules at random, trials of many requests, categories and the log.

The conversations of ``conformance/documents/recorded/acl.txt`` compare every byte of what can be compared so.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hiredis
import pytest
import redis

import miniredis
from conformance.documents.recorded import FILES
from conformance.documents.recorded.player import read
from conformance.targets import Address
from conformance.wire import RawConnection
from miniredis.__main__ import read_command_line
from miniredis.command_line.config_file import BadFileError
from miniredis.engine import Engine, Instant, Session
from miniredis.engine.clients.client_flags import LIMITED, SPECIAL
from miniredis.engine.protocol.requests import split_arguments
from tests.cases import check_each, exhaustive

Words = Sequence[str | bytes]


@pytest.fixture
def places(redis_7_0: Address) -> Iterator[list[tuple[str, int]]]:
    """The addresses of a fresh miniredis and of a fresh real Redis."""
    assert redis_7_0.another is not None
    with miniredis.start() as ours, redis_7_0.another() as theirs:
        yield [(ours.host, ours.port), (theirs.host, theirs.port)]


@pytest.fixture
def both(places: list[tuple[str, int]]) -> Iterator[list[RawConnection]]:
    """A client of each."""
    with RawConnection(*places[0]) as first, RawConnection(*places[1]) as second:
        yield [first, second]


def ask(client: RawConnection, *words: str | bytes) -> Any:
    """The reply; an error as an object."""
    reader = hiredis.Reader()
    reader.feed(client.command(*words))
    return reader.gets()


def ask_all(client: RawConnection, requests: Sequence[Words]) -> list[bytes]:
    """The replies to many requests at once."""
    for request in requests:
        client.send(*request)
    return [client.reply() for _ in requests]


# Rules

WORDS = (
    *("on", "off", "nopass", "resetpass", "reset", "resetkeys", "resetchannels", "allkeys", "allchannels"),
    *("allcommands", "nocommands", "clearselectors", "sanitize-payload", "skip-sanitize-payload", ""),
    *("+@all", "-@all", "~*", "&*", "~a*", "~b?", "%R~r*", "%W~r*", "%RW~x", "%wr~y", "%R~", "%R", "%~z"),
    *("%RR~x", "%X~x", "&c*", "&d", "~", "&", "~a b", "&a b", ">one", "<one", ">two", "<two", "#abc", "!abc"),
    *("#" + "0123456789abcdef" * 4, "!" + "0123456789abcdef" * 4, "#" + "0123456789ABCDEF" * 4, ">", "<"),
    *("+select|0", "+select|1", "+SELECT|0", "+get|x", "+get|", "-get|x", "+config|get", "-config|set"),
    *("+config", "-config", "+client|kill", "+nosuch", "-nosuch", "+@nosuch", "+config|nosuch", "-", "+"),
    *(
        "+config|get|x",
        "+|x",
        "nosuch",
        "(",
        ")",
        "()",
        "(+get",
        "~k)",
        "( )",
        "(+get ~a)",
        "(%R~q &e +@set)",
    ),
    *("(on)", "(+get (x))", '(+get "~a)', "+cluster|addslots", "-migrate", "+module", "-acl|setuser", "+acl"),
)
CATEGORIES = (
    "keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin fast slow "
    "blocking dangerous connection transaction scripting"
).split()
COMMANDS = (
    "get set del zadd lpush keys config client sort xadd publish subscribe eval multi blpop auth".split()
)


def some_rules(luck: random.Random) -> list[str]:
    rules = []
    for _ in range(luck.randint(1, 7)):
        sign = luck.choice("+-")
        rules.append(
            luck.choice(
                [
                    luck.choice(WORDS),
                    f"{sign}@{luck.choice(CATEGORIES)}",
                    f"{sign}{luck.choice(COMMANDS)}",
                    f"({sign}@{luck.choice(CATEGORIES)} +{luck.choice(COMMANDS)} ~{luck.choice('ab*')})",
                ]
            )
        )
    return rules


SINGLE_COMMANDS = re.compile(rb"[+-][a-z][^ )'@]*(?: [+-][a-z][^ )'@]*)*")


def comparable(text: bytes) -> bytes:
    """Rules of commands: Redis shows single commands in the order of a hash table, another one each time."""
    return SINGLE_COMMANDS.sub(lambda found: b" ".join(sorted(found[0].split())), text)


@pytest.mark.parametrize("turns", [100, exhaustive(200)])
def test_rules_at_random_make_the_same_users_as_in_redis(turns: int, both: list[RawConnection]) -> None:
    luck = random.Random(27)  # noqa: S311
    for turn in range(turns):
        again = ["reset"] if turn % 10 == 0 else []
        request = ["ACL", "SETUSER", luck.choice(["ann", "bob"]), *again, *some_rules(luck)]
        ours, theirs = (ask(client, *request) for client in both)
        assert str(ours) == str(theirs), request
        ours, theirs = ([comparable(line) for line in ask(client, "ACL", "LIST")] for client in both)
        assert ours == theirs, request
        ours, theirs = (ask(client, "ACL", "GETUSER", request[2]) for client in both)
        assert [comparable(b"%r" % (part,)) for part in ours or []] == [
            comparable(b"%r" % (part,)) for part in theirs or []
        ], request


def test_an_acl_list_makes_the_same_users_again(both: list[RawConnection]) -> None:
    luck = random.Random(7)  # noqa: S311
    ours = both[0]
    for _ in range(50):
        ask(ours, "ACL", "SETUSER", "ann", "reset", "allkeys", *some_rules(luck))
        user = ask(ours, "ACL", "LIST")[0]
        words = user.split(b" ")[2:]
        assert ask(ours, "ACL", "SETUSER", "ann", "reset", *words) == b"OK"
        again = ask(ours, "ACL", "LIST")[0]
        assert again.replace(b" sanitize-payload", b"") == user.replace(b" sanitize-payload", b"")


def test_categories_have_the_commands_that_they_have_in_redis(both: list[RawConnection]) -> None:
    def check(category: str) -> None:
        ours, theirs = (ask(client, "ACL", "CAT", category) for client in both)
        assert sorted(ours) == sorted(theirs)

    assert ask(both[1], "ACL", "CAT") == [name.encode() for name in CATEGORIES]
    check_each({name: name for name in [*CATEGORIES, "KEYSPACE"]}, check)


# Trials

USERS = {
    "keys": "~k* ~s* ~l* &* +@all",
    "reads": "%R~k* %R~z* &* +@all",
    "writes": "%W~* resetchannels &c* +@all",
    "few": "~* &* -@all +@read +@string +config|get +select|0 -get",
    "several": "+@read ~a* ~b* (+@write ~* ) (%R~* +@all) (+publish &c)",
}


def recorded_requests() -> list[list[bytes]]:
    """All requests of all recorded conversations, each once."""
    lines = {
        step.text for path in FILES.values() for each in read(path) for step in each.steps if step.verb == ":"
    }
    requests = [split_arguments(line.encode()) for line in sorted(lines) if "<id:" not in line]
    return [words for words in requests if words and not words[0].lower().startswith(b"mq.")]


def test_dry_runs_of_thousands_of_requests_end_as_in_redis(both: list[RawConnection]) -> None:
    requests = recorded_requests()
    assert len(requests) > 3000
    for name, rules in USERS.items():
        for client in both:
            assert ask(client, "ACL", "SETUSER", name, "resetchannels", *rules.split(" ")) == b"OK"
        trials: list[Words] = [["ACL", "DRYRUN", name, *words] for words in requests]
        ours, theirs = (ask_all(client, trials) for client in both)
        differences = [
            (trial[2:], mine, other)
            for trial, mine, other in zip(trials, ours, theirs, strict=True)
            if mine != other
        ]
        assert differences == []
        assert len(set(ours)) > 20


# The log


def test_the_log_tells_what_redis_tells(places: list[tuple[str, int]], both: list[RawConnection]) -> None:
    def told(client: RawConnection, place: tuple[str, int]) -> list[list[Any]]:
        rules = ["on", "nopass", "~k*", "resetchannels", "+@all", "-acl|list"]
        assert ask(client, "ACL", "SETUSER", "ann", *rules) == b"OK"
        with RawConnection(*place) as limited:
            ask(limited, "AUTH", "ann", "x")
            ask(limited, "CLIENT", "SETNAME", "me")
            for _ in range(3):
                ask(limited, "GET", "other")
            ask(limited, "ACL", "LIST")
            ask(limited, "PUBLISH", "channel", "x")
            ask(limited, "MULTI")
            ask(limited, "GET", "other")
            ask(limited, "EXEC")
            ask(limited, "EVAL", "return redis.pcall('get', 'other')", "0")
            ask(limited, "auth", "nobody", "wrong")
            ask(limited, "HELLO", "2", "AUTH", "nobody", "wrong")
            ask(limited, "GET", "other")
            entries = ask(client, "ACL", "LOG")
        assert [entry[:11] for entry in ask(client, "ACL", "LOG", "2")] == [
            entry[:11] for entry in entries[:2]
        ]
        assert ask(client, "ACL", "LOG", "RESET") == b"OK"
        assert ask(client, "ACL", "LOG") == []
        return [comparable_entry(entry) for entry in entries]

    ours, theirs = map(told, both, places)
    assert ours == theirs
    assert [ours[0][at] for at in (1, 3, 7)] == [4, b"key", b"other"]


def comparable_entry(entry: list[Any]) -> list[Any]:
    """An entry without what differs between servers: times, addresses, and memory that Redis's allocator takes."""
    fields = dict(part.split(b"=", 1) for part in entry[13].split(b" "))
    kept = (b"name", b"db", b"cmd", b"user", b"resp", b"sub")
    assert 0 <= float(entry[11]) < 60
    return [*entry[:11], *entry[12:13], [fields[name] for name in kept]]


def test_the_log_keeps_as_many_entries_as_acllog_max_len_says(both: list[RawConnection]) -> None:
    for client in both:
        assert ask(client, "CONFIG", "SET", "acllog-max-len", "3") == b"OK"
        for name in "abcdef":
            ask(client, "AUTH", name, "wrong")
        assert [entry[9] for entry in ask(client, "ACL", "LOG")] == [b"f", b"e", b"d"]


def test_a_refusal_is_logged_anew_after_a_minute() -> None:
    with miniredis.start(clock="held") as server, RawConnection(server.host, server.port) as client:
        counts = []
        for seconds in (0, 60, 61):
            server.fast_forward(seconds)
            ask(client, "AUTH", "ann", "wrong")
            counts.append([entry[1] for entry in ask(client, "ACL", "LOG")])
        assert counts == [[1], [2], [1, 2]]
        assert ask(client, "ACL", "LOG")[1][11] == b"61"


# Passwords, clients and configuration


def test_generated_passwords_have_the_asked_bits_and_differ(both: list[RawConnection]) -> None:
    for client in both:
        for bits in ("1", "4", "5", "256", "4096"):
            password = ask(client, "ACL", "GENPASS", bits)
            assert re.fullmatch(rb"[0-9a-f]{%d}" % -(-int(bits) // 4), password)
        assert len({ask(client, "ACL", "GENPASS") for _ in range(20)}) == 20


def test_rights_hold_on_every_loop_and_for_clients_without_sockets(server: miniredis.EmbeddedServer) -> None:
    with server.client() as admin:
        admin.acl_setuser(
            "ann", enabled=True, passwords=["+pw"], keys=["k*"], commands=["+get", "+set", "+multi"]
        )
        options: dict[str, Any] = {"username": "ann", "password": "pw"}
        with (
            server.client(**options) as own,
            redis.Redis(host=server.host, port=server.port, **options) as far,
        ):
            for client in (own, far):
                assert client.set("k", "v")
                with pytest.raises(redis.exceptions.NoPermissionError):
                    client.get("other")
                with pytest.raises(redis.exceptions.NoPermissionError):
                    client.delete("k")
                with client.pipeline() as batch, pytest.raises(redis.exceptions.NoPermissionError):
                    batch.set("k", "w").set("other", "w").execute()
                assert client.get("k") == b"v"
            admin.acl_setuser("ann", enabled=True, nopass=True, keys=["k*"], commands=["+@all"])
            assert own.delete("k") == 1
            admin.acl_deluser("ann")
            with pytest.raises(redis.exceptions.ConnectionError):
                own.get("k")


def test_only_clients_of_limited_users_leave_the_fast_path() -> None:
    engine, now = Engine(), Instant(0, 0)
    admin, limited, free = (engine.connect(now) for _ in range(3))

    def send(session: Session, line: str) -> bytes:
        engine.receive(session, line.encode() + b"\r\n", now)
        engine.settle(now)
        return session.take_output()

    assert send(admin, "ACL SETUSER ann on nopass ~* +get +acl|whoami") == b"+OK\r\n"
    assert send(admin, "ACL SETUSER bob on nopass (~* &* +@all)") == b"+OK\r\n"
    assert send(limited, "AUTH ann x") == send(free, "AUTH bob x") == b"+OK\r\n"
    assert [each.flags & SPECIAL for each in (admin, limited, free)] == [0, LIMITED, 0]
    assert send(admin, "ACL SETUSER ann allkeys allcommands allchannels") == b"+OK\r\n"
    assert send(admin, "ACL SETUSER default -flushall") == b"+OK\r\n"
    assert send(admin, "ACL SETUSER bob clearselectors") == b"+OK\r\n"
    assert [each.flags & SPECIAL for each in (admin, limited, free)] == [LIMITED, 0, LIMITED]
    assert send(free, "ACL WHOAMI").startswith(b"-NOPERM")


USER_LINES = "ann on >pw ~k* +@read\nbob on nopass ~* &* +@all (+get ~x)\n"


def test_users_can_be_declared_where_a_server_starts() -> None:
    with miniredis.start(user=USER_LINES, requirepass="secret") as server, server.client() as client:
        assert [line.split(" ")[1] for line in client.acl_list()] == ["ann", "bob", "default"]
        assert client.acl_getuser("ann")["keys"] == ["~k*"]
        with redis.Redis.from_url(server.url.replace(":secret", "ann:pw")) as limited:
            assert limited.get("k") is None
            with pytest.raises(redis.exceptions.NoPermissionError):
                limited.set("k", "v")
    with (
        miniredis.start(user="default on >pw +ping") as server,
        RawConnection(server.host, server.port) as client_,
    ):
        assert ask(client_, "AUTH", "pw") == b"OK"
        assert str(ask(client_, "GET", "k")).startswith("NOPERM")


REFUSED_LINES = {
    "ann on nosuch": "Error in user declaration 'ann': Syntax error",
    "ann on +nosuch": "Error in user declaration 'ann': Unknown command or category name in ACL",
    "ann on (+get": "Error in user declaration 'ann': Unmatched parenthesis in selector definition",
    "ann on\nann off": "Duplicate user found. A user can only be defined once in config files",
    '"a b" on': "Spaces not allowed in ACL usernames",
    'ann "on': "Unbalanced quotes in configuration line",
}


def test_a_wrong_user_is_refused_before_a_server_starts() -> None:
    def check(line: str) -> None:
        with pytest.raises(miniredis.ConfigurationError, match=re.escape(REFUSED_LINES[line])):
            miniredis.start(user=line).stop()

    check_each({line: line for line in REFUSED_LINES}, check)


def test_a_configuration_file_and_flags_declare_users(tmp_path: Path) -> None:
    file = tmp_path / "redis.conf"
    file.write_text('user ann on ">a word" ~k* +@read\nuser bob on nopass +ping\n')
    users = read_command_line([str(file), "--user", "eve", "on", "(+get", "~x)"]).users
    assert [words[1] for words in users] == ["ann", "bob", "eve"]
    assert users[0][3] == ">a word"
    file.write_text("port 1\nuser ann on nosuch\n")
    with pytest.raises(
        BadFileError, match="at line 2\n>>> 'user ann on nosuch'\nError in user declaration 'ann'"
    ):
        read_command_line([str(file)])
    with pytest.raises(BadFileError, match="but not both"):
        read_command_line(["--user", "ann", "on", "--aclfile", "users.acl"])


# The file

FILES_OF_USERS = {
    "all is well": "user ann on nopass ~* +get\n\nuser default on >pw ~* &* +@all\n",
    "no default user": "user ann on #%s (~x +get) (~y +set)\n" % ("0" * 64),
    "unknown words and lines": "user ann on nosuch more\nuser bob on +nosuch\nbob\n",
    "names": 'user "a b" on\nuser cc on\nuser cc off\nuser "ann" on\n',
    "only the keyword": "user\n",
    "comment": "# users\nuser ann on\n",
    "double spaces": "\n\n  user   ann   on    +get   ~x \r\n",
    "default twice": "user default on >x\nuser default off\n",
    "tab": "user\tann on\n",
    "capitals": "USER ann on\n",
    "selectors": "user ann on (+get ~x)\nuser bob (+get (+nosuch)\n",
    "nothing": "",
}


def test_loading_and_saving_the_file_of_users_is_as_in_redis(redis_7_0: Address, tmp_path: Path) -> None:
    assert redis_7_0.another is not None
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "users.acl").write_text("user ann on nopass ~* +@all\n")
    with (
        miniredis.start(aclfile="users.acl", dir=str(tmp_path / "ours"), appendonly="no", save="") as ours,
        redis_7_0.another("--dir", str(tmp_path / "theirs"), "--aclfile", "users.acl") as theirs,
    ):
        files = [tmp_path / name / "users.acl" for name in ("ours", "theirs")]
        places = [(each.host, each.port) for each in (ours, theirs)]

        def check(text: str) -> None:
            outcomes = []
            for file, place in zip(files, places, strict=True):
                file.write_text(text)
                with RawConnection(*place) as admin, RawConnection(*place) as client:
                    ask(admin, "AUTH", "pw")
                    ask(client, "AUTH", "ann", "x")
                    reply, users = ask(admin, "ACL", "LOAD"), ask(admin, "ACL", "LIST")
                    saved = ask(admin, "ACL", "SAVE")
                    stays = client.command("PING") if saved == b"OK" and b"pw" in users[0] else b""
                outcomes.append((str(reply), users, str(saved), file.read_text(), stays))
            assert outcomes[0] == outcomes[1]

        check_each(FILES_OF_USERS, check)


def test_users_in_a_file_survive_a_restart(tmp_path: Path) -> None:
    options: dict[str, Any] = {"dir": str(tmp_path), "aclfile": "users.acl", "appendonly": "no"}
    with pytest.raises(miniredis.ConfigurationError, match="No such file or directory"):
        miniredis.start(**options)
    (tmp_path / "users.acl").touch()
    with miniredis.start(**options) as server, server.client() as client:
        client.acl_setuser("ann", enabled=True, nopass=True, keys=["k"], commands=["+get"])
        assert client.acl_save()
    with miniredis.start(**options) as server, server.client() as client:
        assert client.acl_users() == ["ann", "default"]
    assert [path.name for path in tmp_path.iterdir()] == ["users.acl"]
