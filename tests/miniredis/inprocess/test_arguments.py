"""Mistakes of the caller of ``start``, ``serve`` and a server: each error names what was wrong, and what to do."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import trio
import trio.testing

import miniredis
from miniredis.engine.config.table import DIRECTIVES
from tests.cases import check_each, for_each


@pytest.fixture(scope="module")
def server() -> Iterator[miniredis.EmbeddedServer]:
    with miniredis.start() as server:
        yield server


WRONG_KEYWORDS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"prt": 1}, TypeError, "start() got an unexpected keyword argument 'prt'; did you mean 'port'?"),
    ({"max_clients": 1}, TypeError, "start() got an unexpected keyword argument 'max_clients'; did you mean 'maxclients'?"),
    ({"password": "x"}, TypeError, "start() got an unexpected keyword argument 'password'; did you mean 'requirepass'?"),
    ({"host": "x"}, TypeError, "start() got an unexpected keyword argument 'host'; did you mean 'bind'?"),
    ({"clk": "held"}, TypeError, "start() got an unexpected keyword argument 'clk'; did you mean 'clock'?"),
    ({"rename_command": "x"}, TypeError, "start() got an unexpected keyword argument 'rename_command': miniredis does not support this directive of redis-server"),
    ({"nosuch": 1}, TypeError, "start() got an unexpected keyword argument 'nosuch'; it takes engine, clock, loop, version, and redis-server's directives with '_' for '-', such as port=6379"),
    ({"alone": True}, TypeError, "start() got an unexpected keyword argument 'alone'; it takes engine, clock, loop, version, and redis-server's directives with '_' for '-', such as port=6379"),
    ({"maxmemory": "10mb"}, ValueError, "maxmemory='10mb': not supported by miniredis, which accepts only '0' (the default)"),
    ({"activedefrag": True}, ValueError, "activedefrag='yes': not supported by miniredis, which accepts only 'no' (the default)"),
    ({"tls_cluster": "yes"}, ValueError, "tls_cluster='yes': not supported by miniredis, which accepts only 'no' (the default)"),
    ({"port": "x"}, ValueError, "port='x': argument couldn't be parsed into an integer"),
    ({"port": 99999}, ValueError, "port='99999': argument must be between 0 and 65535 inclusive"),
    ({"client_output_buffer_limit": "x"}, ValueError, "client_output_buffer_limit='x': Wrong number of arguments in buffer limit configuration; write it as in client_output_buffer_limit='pubsub 32mb 8mb 60'"),
    ({"save": "hourly"}, ValueError, "save='hourly': Invalid save parameters; write it as in save='60 100'"),
    ({"replicaof": "localhost"}, ValueError, "replicaof='localhost': wrong number of arguments; write it as in replicaof='127.0.0.1 6379'"),
    ({"requirepass": None}, TypeError, "start(): requirepass must be a str, int, float, bool or path, not None; leave it out for the default"),
    ({"bind": ["127.0.0.1", "::1"]}, TypeError, "start(): bind must be a str, int, float, bool or path, not list; write several words as one str, with a space between them"),
    ({"requirepass": b"x"}, TypeError, "start(): requirepass must be a str, int, float, bool or path, not bytes"),
    ({"loop": "epoll"}, ValueError, "start(): loop must be 'poll', 'streams' or None, not 'epoll'"),
    ({"version": 7.0}, TypeError, "start(): version must be a str, such as '7.0', not float"),
    ({"clock": "stopped"}, ValueError, "clock must be 'held', 'follow', a miniredis.HeldClock or None, not 'stopped'"),
    ({"clock": dt.datetime(2024, 2, 29, tzinfo=dt.UTC)}, TypeError, "clock must be 'held', 'follow', a miniredis.HeldClock or None, not datetime.datetime; to begin at a date of your choice: start(clock=miniredis.HeldClock(datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)))"),
    ({"engine": "x"}, TypeError, "start(): engine must be a miniredis.Engine, not str"),
    ({"engine": miniredis.Engine(), "port": 1, "databases": 2}, TypeError, "start() got engine and port and databases: engine has all directives already, so give it alone"),
]  # fmt: skip


@for_each(("keywords", "kind", "message"), WRONG_KEYWORDS)
def test_start_names_the_argument_that_is_wrong(
    keywords: dict[str, Any], kind: type[Exception], message: str
) -> None:
    threads = {*threading.enumerate()}
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        miniredis.start(**keywords)
    assert {*threading.enumerate()} <= threads


@pytest.mark.parametrize(
    ("arguments", "keywords", "kind", "message"),
    [
        ((), {"prt": 1}, TypeError, "serve() got an unexpected keyword argument 'prt'; did you mean 'port'?"),
        ((6379,), {}, TypeError, "serve(): config must be a miniredis.Config, not int"),
        ((miniredis.Config(),), {"port": 1}, TypeError, "serve() got config and port: config has all directives already, so give it alone"),
        ((), {"loop": "x"}, ValueError, "serve(): loop must be 'poll', 'streams' or None, not 'x'"),
    ],
)  # fmt: skip
def test_serve_names_the_argument_that_is_wrong(
    arguments: tuple[Any, ...], keywords: dict[str, Any], kind: type[Exception], message: str
) -> None:
    async def main() -> None:
        await miniredis.serve(*arguments, **keywords)

    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        trio.run(main)


def test_mypy_knows_the_keywords() -> None:
    """Without the error, mypy would call each ignored one unused."""
    for wrong in (
        lambda: miniredis.start(portt=2),  # type: ignore[call-arg]
        lambda: miniredis.spawn(databases=[2]),  # type: ignore[arg-type]
        lambda: miniredis.cluster(unix_socket="x"),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError):
            wrong()
    miniredis.start(slave_priority=1, user="ann on", hz=5).stop()


def test_serve_outside_trio_says_what_to_use() -> None:
    with pytest.raises(
        RuntimeError, match=r"must be awaited in a Trio program; elsewhere use miniredis.start\(\)"
    ):
        asyncio.run(miniredis.serve())


def test_start_accepts_booleans_and_paths_as_values_of_directives(tmp_path: Path) -> None:
    with (
        miniredis.start(protected_mode=False, unixsocket=tmp_path / "s", unixsocketperm="700") as server,
        server.client(decode_responses=True) as client,
    ):
        assert client.config_get("protected-mode") == {"protected-mode": "no"}
        assert server.unixsocket == str(tmp_path / "s")


def test_start_takes_a_keyword_for_every_directive() -> None:
    start: Callable[..., object] = miniredis.start

    def check(name: str) -> None:
        with pytest.raises(TypeError, match=f"not {list.__name__};"):
            start(**{name.replace("-", "_"): [DIRECTIVES[name].default]})

    check_each({name: name for name in DIRECTIVES}, check)


def test_a_configuration_error_has_the_directive_the_value_and_the_reason() -> None:
    with pytest.raises(miniredis.ConfigurationError) as refused:
        miniredis.start(port="x")
    error = refused.value
    assert (error.directive, error.value) == ("port", "x")
    assert error.reason == "argument couldn't be parsed into an integer"


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"prt": "1"}, ValueError, "redis-server has no directive 'prt'"),
        ({"port": "x"}, ValueError, "port='x': argument couldn't be parsed into an integer"),
        ({"port": 1}, TypeError, "the value of 'port' must be a str or a list of str, not 1"),
        ({"save": [60, 1]}, TypeError, "the value of 'save' must be a str or a list of str, not [60, 1]"),
    ],
)
def test_config_names_the_directive_that_is_wrong(
    given: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        miniredis.Config(given)


def test_a_held_clock_refuses_a_start_that_is_not_an_instant() -> None:
    with pytest.raises(
        TypeError, match=r"^HeldClock\(\) takes a datetime or an Instant, not int; to begin at "
    ):
        miniredis.HeldClock(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "reason"),
    [("no such folder/s", "No such file or directory"), ("x" * 200, "AF_UNIX path too long")],
)
def test_a_unix_socket_that_cannot_be_created_is_named_in_the_error(
    path: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(OSError, match=f"could not listen on {tmp_path / path}: {reason}"):
        miniredis.start(unixsocket=tmp_path / path)


def test_a_regular_file_at_the_path_of_the_unix_socket_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(OSError, match="notes: something is there that is not a socket"):
        miniredis.start(unixsocket=tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine"


def test_the_error_names_the_bind_directive_when_no_address_can_be_listened_on() -> None:
    with pytest.raises(OSError, match=r"could not listen on any address of 'bind' \('-203.0.113.1'\)"):
        miniredis.start(bind="-203.0.113.1")


@pytest.mark.parametrize(
    ("seconds", "kind", "message"),
    [
        ("1", TypeError, "takes a number of seconds or a timedelta, not str"),
        (dt.timedelta(seconds=-1), ValueError, "takes 0 to 10000000000 seconds, not -1"),
        (-1, ValueError, "takes 0 to 10000000000 seconds, not -1"),
    ],
)
def test_fast_forward_refuses_what_is_not_a_number_of_seconds_in_range(
    server: miniredis.EmbeddedServer, seconds: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        server.fast_forward(seconds)


@pytest.mark.parametrize("name", ["client", "async_client"])
@pytest.mark.parametrize("option", ["host", "nosuch", "unix_socket_path"])
def test_a_client_option_that_redis_py_lacks_is_named_at_once(
    server: miniredis.EmbeddedServer, name: str, option: str
) -> None:
    make: Callable[..., object] = getattr(server, name)
    message = (
        rf"^server.{name}\(\) got an unexpected keyword argument '{option}'; it takes the options of redis"
    )
    with pytest.raises(TypeError, match=message):
        make(**{option: 1})


def test_serve_stream_refuses_what_is_not_a_trio_stream(server: miniredis.EmbeddedServer) -> None:
    with pytest.raises(TypeError, match=r"^serve_stream\(\) takes a trio.abc.Stream, not str$"):
        trio.run(server.serve_stream, "x")  # type: ignore[arg-type]


def test_serve_stream_in_another_trio_program_is_refused(server: miniredis.EmbeddedServer) -> None:
    async def main() -> None:
        await server.serve_stream(trio.testing.memory_stream_pair()[0])

    with pytest.raises(RuntimeError, match="must be awaited in the Trio program that runs the server"):
        trio.run(main)


USES: dict[str, Callable[[Any, Any], object]] = {
    "set_content": lambda server, _: server.set_content("key", "value"),
    "load_json": lambda server, _: server.load_json("{}"),
    "content": lambda server, _: server.content("key"),
    "dump": lambda server, _: server.dump(),
    "assert_string": lambda server, _: server.assert_string("key", "value"),
    "snapshot": lambda server, _: server.snapshot(),
    "restore": lambda server, snapshot: server.restore(snapshot),
    "connected_clients": lambda server, _: server.connected_clients(),
    "blocked_clients": lambda server, _: server.blocked_clients(),
    "wait_until": lambda server, _: server.wait_until(lambda: server.content("key")),
    "fast_forward": lambda server, _: server.fast_forward(1),
    "record": lambda server, _: server.record(),
    "faults.add": lambda server, _: server.faults.add(then="ERR"),
    "faults": lambda server, _: [*server.faults],
    "len(faults)": lambda server, _: len(server.faults),
}


def a_node() -> Any:
    return miniredis.cluster(nodes=1).nodes[0]


@pytest.mark.parametrize("start", [miniredis.start, miniredis.spawn, a_node])
def test_every_handle_of_a_stopped_server_says_that_it_has_stopped(
    start: Callable[[], Any], forked: None
) -> None:
    server = start()
    group = getattr(server, "group", server)
    try:
        server.set_content("key", "value")
        snapshot = server.snapshot()
        with server.faults.add(then="ERR", command="get"), server.record() as calls:
            server.stop()
        for name, use in USES.items():
            if name == "fast_forward" and group is not server:
                continue  # the others of its group go on, and have one clock
            with pytest.raises(RuntimeError, match=r"^the server has stopped$"):
                use(server, snapshot)
        server.reset()
        server.stop()
        assert (server.failure, [*calls]) == (None, [])
    finally:
        group.stop()


def test_calls_of_a_stopped_server_say_that_it_has_stopped() -> None:
    with miniredis.start() as server:
        client = server.client()
        assert client.ping()
    server.stop()
    server.reset()
    for each in (client, server.client()):
        with pytest.raises(redis.ConnectionError, match="the server has stopped"):
            each.ping()
    with pytest.raises(RuntimeError, match="the server has stopped"):
        server.fast_forward(1)
