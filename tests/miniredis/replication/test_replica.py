"""Miniredis as a replica of a real redis-server: it gets all data, stays the same, and takes over."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from conformance.differential.coverage import all_names, declared
from conformance.differential.grammar import LEFT_OUT, Form, read_forms
from conformance.differential.requests import request
from conformance.wire import RawConnection
from tests.cases import exhaustive_but
from tests.servers import find_redis_7_0, start_redis
from tests.waiting import until

from ..loops import started
from .masters import RawMaster, snapshot_of
from .replicas import address_of, expect_same, info, real_replica, wait_until_caught_up, wait_until_up
from .test_real_replica import fill

GROUPS = {
    "list", "hash", "set", "sorted-set", "geo", "stream", "string", "bitmap", "hyperloglog", "generic",
    "transactions", "scripting",
}  # fmt: skip
"""The groups of commands that a master runs at random."""

UNWANTED = {"wait", "script|kill", "function|kill", "keys"}
"""They wait, or have no effect."""


@pytest.fixture
def master(tmp_path: Path) -> Iterator[redis.Redis]:
    """A real redis-server."""
    folder = tmp_path / "master"
    folder.mkdir()
    flags = ("--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0")
    with (
        start_redis(folder, *flags, program=find_redis_7_0) as server,
        redis.Redis("127.0.0.1", server.port) as client,
    ):
        yield client


@contextmanager
def replica_of(master: redis.Redis, loop: str = "poll", **more: str) -> Iterator[redis.Redis]:
    """A client of a miniredis that is a replica of another server, from its start."""
    host, port = address_of(master)
    directives = {"replicaof": f"{host} {port}", "enable_debug_command": "yes", **more}
    with started(loop, clock=None, **directives) as server, redis.Redis(server.host, server.port) as client:
        yield client


def cut(master: Any) -> None:
    """Cuts the links of all replicas."""
    master.execute_command("CLIENT", "KILL", "TYPE", "replica")


@pytest.mark.parametrize("loop", exhaustive_but(["poll"], ["poll", "streams"]))
def test_a_replica_has_all_that_was_there_before_it_and_all_that_comes_after(
    master: redis.Redis, loop: str
) -> None:
    fill(master)
    with replica_of(master, loop) as replica:
        wait_until_up(replica)
        expect_same(master, replica)
        master.flushall()
        fill(master)
        master.swapdb(0, 9)
        expect_same(master, replica)
        assert info(replica)["master_replid"] == info(master)["master_replid"]
        assert info(master)["slave0"]["state"] == "online"


def test_a_snapshot_from_a_file_of_the_master_is_the_same(master: redis.Redis) -> None:
    master.config_set("repl-diskless-sync", "no")
    fill(master)
    with replica_of(master) as replica:
        wait_until_up(replica)
        expect_same(master, replica)


def test_an_expired_key_goes_when_the_master_says_so(master: Any) -> None:
    with replica_of(master) as replica:
        wait_until_up(replica)
        master.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        master.set("k", "v", px=1)
        assert master.wait(1, 30_000) == 1
        until(lambda: replica.get("k") is None)
        assert replica.dbsize() == 1
        assert master.get("k") is None
        expect_same(master, replica)
        assert replica.dbsize() == 0


# Random commands


def forms_of(server: redis.Redis) -> list[Form]:
    names = set(all_names()) - LEFT_OUT.keys() - UNWANTED
    with RawConnection(*address_of(server)) as connection:
        forms = read_forms(connection, sorted(names))
    return [
        form for form in forms if form.group in GROUPS and "blocking" not in declared(form.name).flags
    ] + [form for form in forms if form.name in {"select", "swapdb"}]


def talk(server: redis.Redis, forms: list[Form], luck: random.Random, count: int) -> None:
    """One client says so many commands."""
    with RawConnection(*address_of(server)) as connection:
        connection.command("SELECT", str(luck.randrange(3)))
        for _ in range(count):
            connection.command(*request(luck.choice(forms), luck.choice))


def test_a_replica_stays_the_same_whatever_the_master_does(master: redis.Redis) -> None:
    play(master, seed=0, turns=4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_replica_stays_the_same_for_long(master: redis.Redis, seed: int) -> None:
    play(master, seed, turns=60)


def play(master: redis.Redis, seed: int, turns: int) -> None:
    luck, forms = random.Random(seed), forms_of(master)  # noqa: S311
    with replica_of(master) as replica:
        wait_until_up(replica)
        for turn in range(turns):
            talk(master, forms, luck, 400)
            cut(master)
            talk(master, forms, luck, 100)
            if turn % 10 == 3:
                expect_same(master, replica)
        expect_same(master, replica)
        stats = master.info("stats")
        assert stats["sync_full"] == 1
        assert stats["sync_partial_ok"] >= turns // 2


# Faults


def test_a_master_that_is_killed_and_comes_back_is_followed_again(tmp_path: Path) -> None:
    flags = ("--repl-diskless-sync-delay", "0")
    with (
        start_redis(tmp_path, *flags, program=find_redis_7_0) as server,
        redis.Redis(port=server.port) as master,
    ):
        master.set("k", "before")
        with replica_of(master) as replica:
            wait_until_up(replica)
            until(lambda: master.info("persistence")["rdb_bgsave_in_progress"] == 0)
            master.save()
            master.set("k", "lost")
            wait_until_caught_up(master, replica)
            server.stop()
            until(lambda: info(replica)["master_link_status"] == "down")
            assert replica.get("k") == b"lost"
            server.start()
            until(lambda: replica.get("k") == b"before", "the master's data are back")
            wait_until_up(replica)


def has(client: redis.Redis, key: str, value: bytes) -> bool:
    return bool(client.get(key) == value)


@pytest.mark.parametrize("damage", ["cut", "flipped", "garbage"])
def test_a_damaged_snapshot_replaces_nothing(damage: str) -> None:
    good = snapshot_of({b"k": b"new"})
    bad = {"cut": good[:-20], "flipped": good[:-5] + b"x" + good[-4:], "garbage": b"x" * 100}[damage]
    with miniredis.start() as server, redis.Redis(port=server.port) as replica, RawMaster() as master:
        replica.set("k", "old")
        replica.replicaof("127.0.0.1", str(master.port))
        master.synchronize(bad)
        master.hear_end()
        assert (replica.get("k"), info(replica)["master_link_status"]) == (b"old", "down")
        assert master.synchronize(good)[-1][0] == b"PSYNC"
        wait_until_up(replica)
        assert replica.get("k") == b"new"


def test_libraries_of_the_master_replace_those_that_were_there(master: redis.Redis) -> None:
    pytest.importorskip("lupa")
    library = "#!lua name={0}\nredis.register_function('{0}', function() return 1 end)"
    master.function_load(library.format("theirs"))
    with miniredis.start(enable_debug_command="yes") as server, redis.Redis(port=server.port) as replica:
        replica.function_load(library.format("ours"))
        replica.replicaof(*map(str, address_of(master)))
        wait_until_up(replica)
        assert replica.function_list() == master.function_list()
        master.function_load(library.format("later"))
        expect_same(master, replica)


def test_a_server_can_be_stopped_in_the_middle_of_a_handshake() -> None:
    with RawMaster() as master:
        with miniredis.start(replicaof=f"127.0.0.1 {master.port}"):
            master.accept()
            master.hear()
        master.hear_end()


def test_an_engine_goes_on_as_a_replica_in_another_server(master: redis.Redis) -> None:
    with replica_of(master) as replica:
        wait_until_up(replica)
    engine = miniredis.Engine(miniredis.Config({"port": "0"}))
    with RawMaster() as raw:
        with miniredis.start(engine=engine) as server, redis.Redis(port=server.port) as client:
            client.replicaof("127.0.0.1", str(raw.port))
            raw.synchronize(snapshot_of({b"k": b"v"}), offset=9)
            wait_until_up(client)
        with miniredis.start(engine=engine):
            assert raw.shake_hands()[-1][2] == b"10"


def test_a_forked_child_leaves_the_link_to_its_parent() -> None:
    with RawMaster() as master, miniredis.start(replicaof=f"127.0.0.1 {master.port}") as server:
        master.synchronize(snapshot_of({}))
        with redis.Redis(port=server.port) as replica:
            wait_until_up(replica)
        reading, writing = os.pipe()
        if not (child := os.fork()):
            os.read(reading, 1)
            os._exit(0)
        try:
            server.stop()
            master.hear_end()
        finally:
            os.write(writing, b"x")
            os.waitpid(child, 0)
            os.close(reading)
            os.close(writing)


# What is on disk


def test_the_stream_is_kept_in_an_append_only_file_of_its_own(master: redis.Redis, tmp_path: Path) -> None:
    fill(master)
    files: dict[str, Any] = {"appendonly": "yes", "dir": str(tmp_path), "enable_debug_command": "yes"}
    with replica_of(master, **files) as replica:
        wait_until_up(replica)
        until(lambda: replica.info("persistence")["aof_rewrite_in_progress"] == 0)
        master.set("after", "v")
        wait_until_caught_up(master, replica)
    with miniredis.start(**files) as server, redis.Redis(port=server.port) as again:
        assert again.get("after") == b"v"
        assert again.dbsize() == master.dbsize()
        assert again.get("long") == master.get("long")


def test_a_snapshot_replaces_what_the_append_only_file_had_once_it_is_written_there(tmp_path: Path) -> None:
    files: dict[str, Any] = {"appendonly": "yes", "dir": str(tmp_path), "aof_use_rdb_preamble": "no"}
    with miniredis.start(**files) as server, redis.Redis(port=server.port) as replica, RawMaster() as master:
        replica.mset({f"old:{number}": "v" for number in range(1000)})
        replica.bgrewriteaof()
        for turn in range(3):
            replica.replicaof("NO", "ONE")
            replica.replicaof("127.0.0.1", str(master.port))
            master.synchronize(snapshot_of({b"k": b"%d" % turn}), offset=1000 * turn)
            wait_until_up(replica)
            master.do("SET", "after", str(turn))
            until(partial(has, replica, "after", b"%d" % turn))
        until(lambda: replica.info("persistence")["aof_rewrite_in_progress"] == 0)
        assert replica.info("persistence")["aof_last_bgrewrite_status"] == "ok"
    with miniredis.start(**files) as server, redis.Redis(port=server.port) as again:
        assert again.mget("k", "after") == [b"2", b"2"]
        assert again.dbsize() == 2


# Taking over


def test_a_replica_that_takes_over_keeps_the_data_and_its_replicas_go_on(
    master: redis.Redis, tmp_path: Path
) -> None:
    with (
        replica_of(master) as replica,
        real_replica(tmp_path, address_of(replica), "--repl-diskless-sync-delay", "0") as last,
    ):
        wait_until_up(replica)
        fill(master)
        until(lambda: info(last)["master_link_status"] == "up")
        expect_same(master, last)
        assert info(last)["master_replid"] == info(master)["master_replid"]
        cut(replica)
        master.set("while cut", "v")
        expect_same(master, last)
        replica.replicaof("NO", "ONE")
        replica.set("own", "v")
        until(lambda: last.get("own") == b"v")
        master.replicaof(*address_of(replica))  # which goes on from where it is, too
        until(lambda: master.get("own") == b"v")
        expect_same(replica, last)
        expect_same(replica, master)
        stats = replica.info("stats")
        assert (stats["sync_full"], stats["sync_partial_ok"]) == (1, 3)
