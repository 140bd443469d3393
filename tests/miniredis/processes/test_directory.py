"""``start(dir=...)`` and ``join``: a directory is enough to keep the data, and to find the server."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from miniredis.arguments import checked_config
from miniredis.launch import Launch
from miniredis.processes.shared import FAREWELL, LOCK, SERVERS, SOCKET, locked
from pressure.connections import error_replies
from tests.forks import open_in
from tests.waiting import until

KEPT = {"appendonly": "yes", "appendfsync": "always"}
NOT_KEPT = {"appendonly": "no", "appendfsync": "everysec"}

MEANINGS = [
    ({}, KEPT),
    ({"appendfsync": "everysec"}, {**KEPT, "appendfsync": "everysec"}),
    ({"appendonly": True}, {**KEPT, "appendfsync": "everysec"}),
    ({"appendonly": "no"}, NOT_KEPT),
    ({"save": ""}, NOT_KEPT),
    ({"dbfilename": "dump.rdb"}, NOT_KEPT),
]


@pytest.mark.parametrize(("given", "meaning"), MEANINGS)
def test_dir_alone_keeps_what_was_answered(given: Any, meaning: dict[str, str], tmp_path: Path) -> None:
    with miniredis.start(dir=tmp_path, **given) as server, server.client() as client:
        assert client.config_get("appendonly", "appendfsync") == meaning


def test_a_directory_is_made_and_its_data_are_there_again(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with miniredis.start(dir=folder) as server, server.client() as client:
        client.rpush("jobs", "resize")
    with miniredis.start(dir=folder) as server, server.client() as client:
        assert client.lrange("jobs", 0, -1) == [b"resize"]


def test_a_second_server_of_a_directory_is_refused_by_its_name(tmp_path: Path) -> None:
    with (
        miniredis.start(dir=tmp_path),
        pytest.raises(BlockingIOError, match=f"another server keeps its data in {tmp_path}"),
    ):
        miniredis.start(dir=tmp_path)


def test_an_empty_bind_leaves_the_unix_socket_alone(tmp_path: Path) -> None:
    path = tmp_path / "a b.sock"
    with miniredis.start(bind="", unixsocket=path) as server:
        assert (server.host, server.port) == ("", 0)
        assert server.url == f"unix://{tmp_path}/a%20b.sock"
        with redis.Redis.from_url(server.url) as client:
            assert client.ping()


def test_without_a_unix_socket_an_empty_bind_is_refused() -> None:
    with pytest.raises(OSError, match="could not listen on any address"):
        miniredis.start(bind="")


# join


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "shared"
    SERVERS.stop()


def test_threads_that_join_at_once_start_one_server(folder: Path) -> None:
    paths: list[str] = []
    threads = [threading.Thread(target=lambda: paths.append(miniredis.join(folder))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [str(folder / SOCKET)] * 8


def test_a_server_that_was_stopped_is_started_again_with_its_data(folder: Path) -> None:
    with redis.Redis(unix_socket_path=miniredis.join(folder)) as client:
        client.rpush("jobs", "resize")
        client.shutdown()
    until(lambda: SERVERS.of(folder) is None, "is it over")
    with redis.Redis(unix_socket_path=miniredis.join(folder)) as client:
        assert client.lrange("jobs", 0, -1) == [b"resize"]


def test_always_wins_whoever_asks_for_it(folder: Path) -> None:
    path = miniredis.join(folder, appendfsync="everysec")
    with redis.Redis(unix_socket_path=path) as client:
        assert client.config_get("appendfsync") == {"appendfsync": "everysec"}
        miniredis.join(folder)
        assert client.config_get("appendfsync") == {"appendfsync": "always"}
        miniredis.join(folder, appendfsync="everysec")
        assert client.config_get("appendfsync") == {"appendfsync": "always"}


def test_a_start_that_fails_is_told_to_everybody_and_tried_again(folder: Path) -> None:
    folder.mkdir()
    with miniredis.start(dir=folder):
        for _ in range(2):
            with pytest.raises(BlockingIOError, match=str(folder)):
                miniredis.join(folder)
    assert miniredis.join(folder)


def test_a_start_that_fails_is_over_before_anybody_hears_of_it(tmp_path: Path) -> None:
    config = checked_config("start", {"unixsocket": str(tmp_path / "no folder" / "socket"), "port": 0})
    was_told: list[bool] = []
    launch: Launch[miniredis.Server] = Launch(
        partial(miniredis.serve, config=config),
        when_over=lambda: was_told.append(launch.started_with.done()),
    )
    with pytest.raises(OSError, match="no folder"):
        launch.run()
    assert was_told == [False]


def test_damaged_data_are_not_served(folder: Path) -> None:
    with miniredis.start(dir=folder) as server, server.client() as client:
        client.set("key", "value")
    (folder / "appendonlydir" / "appendonly.aof.1.base.rdb").write_bytes(b"REDIS0010 and nothing more")
    with pytest.raises(miniredis.DamagedFileError):
        miniredis.join(folder)


def test_who_joins_waits_while_the_server_of_another_process_loads_or_ends(folder: Path) -> None:
    folder.mkdir()
    loading = b"-LOADING Redis is loading the dataset in memory\r\n"
    replies = [loading, b"", b"+PONG\r\n", FAREWELL, b"+PONG\r\n", b"+OK\r\n"]
    requests: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listening, locked_file(folder / LOCK):
        listening.bind(str(folder / SOCKET))
        listening.listen()
        thread = threading.Thread(target=answer, args=(listening, replies, requests))
        thread.start()
        assert miniredis.join(folder) == str(folder / SOCKET)
        thread.join()
    always = [b"PING\r\n", b"CONFIG SET appendfsync always\r\n"]
    assert requests == [b"PING\r\n"] * 2 + always * 2


def test_what_is_called_while_a_server_is_silent_may_raise_any_error(folder: Path) -> None:
    def give_up() -> None:
        raise ConnectionError("enough")

    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening, locked_file(folder / LOCK):
        listening.bind(str(folder / SOCKET))
        listening.listen()
        with pytest.raises(ConnectionError, match="enough"):
            miniredis.join(folder, timeout=1, tick=give_up)


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    descriptor = locked(path)
    yield
    os.close(descriptor)


def answer(listening: socket.socket, replies: list[bytes], requests: list[bytes]) -> None:
    """Answers each client that connects, and hangs up; notes what they ask."""
    while replies:
        client, _ = listening.accept()
        with client:
            requests.append(client.recv(1000))
            client.sendall(replies.pop(0))


def test_a_descriptor_that_somebody_closed_is_opened_again(folder: Path) -> None:
    long = folder / ("x" * 100)
    path = miniredis.join(long)
    assert path.startswith("/proc/self/fd/")
    os.close(int(path.split("/")[4]))
    with redis.Redis(unix_socket_path=miniredis.join(long)) as client:
        assert client.ping()


def test_a_directory_is_free_although_a_program_that_is_being_started_has_a_copy_of_its_lock(
    folder: Path,
) -> None:
    miniredis.join(folder)
    copies = [os.dup(each) for each in open_in(folder)]
    SERVERS.stop()
    os.close(locked(folder / LOCK))
    for each in copies:
        os.close(each)


def test_a_client_is_told_that_the_server_ends_after_all_replies(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(miniredis.join(folder))
        client.sendall(b"PING\r\nBLPOP list 0\r\n")
        assert client.recv(7, socket.MSG_WAITALL) == b"+PONG\r\n"
        SERVERS.stop()
        told = b"".join(iter(lambda: client.recv(1000), b""))
    assert told == FAREWELL
    assert f"-{error_replies.FAREWELL}\r\n".encode() == FAREWELL
