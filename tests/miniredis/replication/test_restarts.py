"""A server that starts with its RDB file: replicas and masters go on from where it was. On a real Redis, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import miniredis
from tests.servers import find_redis_7_0, flags_of, start_redis
from tests.waiting import until

from .masters import NAME, RawMaster, snapshot_of
from .replicas import RawReplica, address_of, connect, info, wait_until_up


class Program:
    """A server that keeps its data in a file, and can be started again and again."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder

    @contextmanager
    def run(self, **directives: str) -> Iterator[Any]:
        """Starts it; gives a client."""
        directives |= {"dbfilename": "dump.rdb", "enable-debug-command": "yes"}
        if self.name == "miniredis":
            words: dict[str, Any] = {name.replace("-", "_"): value for name, value in directives.items()}
            with (
                miniredis.start(dir=self.folder, save="", **words) as server,
                connect((server.host, server.port)) as client,
            ):
                yield client
            return
        with (
            start_redis(self.folder, *flags_of(directives), program=find_redis_7_0) as real,
            connect(("127.0.0.1", real.port)) as client,
        ):
            yield client


@pytest.fixture(params=["miniredis", "redis-server"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    return Program(request.param, tmp_path)


def test_a_replica_asks_for_what_it_has_missed(program: Program) -> None:
    with RawMaster() as master:
        replicaof = f"127.0.0.1 {master.port}"
        with program.run(replicaof=replicaof) as replica:
            master.synchronize(snapshot_of({}), offset=7)
            wait_until_up(replica)
            offset = 7 + len(master.do("SELECT", "3") + master.do("SET", "k", "v"))
            until(lambda: info(replica)["slave_repl_offset"] == offset)
            replica.save()
        with program.run(replicaof=replicaof) as replica:
            assert master.shake_hands()[-1] == [b"PSYNC", NAME, b"%d" % (offset + 1)]
            master.say(b"+CONTINUE\r\n")
            sent = master.do("SET", "k", "w")
            until(lambda: info(replica)["slave_repl_offset"] == offset + len(sent))
            replica.select(3)
            assert replica.get("k") == b"w"


def test_a_replica_whose_link_was_down_when_it_saved_asks_for_what_it_has_missed(program: Program) -> None:
    with RawMaster() as master:
        replicaof = f"127.0.0.1 {master.port}"
        with program.run(replicaof=replicaof) as replica:
            master.synchronize(snapshot_of({}), offset=7)
            wait_until_up(replica)
            assert master.shake_hands()[-1] == [
                b"PSYNC",
                NAME,
                b"8",
            ]  # of the next link, which gets no answer
            assert info(replica)["master_link_status"] == "down"
            replica.save()
        with program.run(replicaof=replicaof):
            assert master.shake_hands()[-1] == [b"PSYNC", NAME, b"8"]


def test_replicas_of_a_master_go_on_and_are_told_which_keys_have_expired(program: Program) -> None:
    with program.run() as master:
        raw = RawReplica(address_of(master))
        raw.synchronize()
        master.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        for key, milliseconds in (("soon", 1), ("late", 100_000_000)):
            master.set(key, "v", px=milliseconds)
        master.save()
        before = info(master)
        raw.close()
    name, offset = before["master_replid"], before["master_repl_offset"]
    with program.run() as master:
        after = info(master)
        assert (after["master_replid2"], after["second_repl_offset"]) == (name, offset + 1)
        raw = RawReplica(address_of(master), "capa", "psync2")
        assert raw.synchronize(name, offset + 1) == b"+CONTINUE " + after["master_replid"].encode()
        master.set("k", "w")
        assert raw.commands([b"SET", b"k", b"w"])[:2] == [[b"SELECT", b"0"], [b"DEL", b"soon"]]
        assert info(master)["master_repl_offset"] == offset + raw.taken
        raw.close()


def test_a_server_without_replicas_and_master_saves_no_place_in_a_history(program: Program) -> None:
    with program.run() as server:
        server.set("k", "v")
        server.save()
    with program.run() as server:
        told = info(server)
        assert server.get("k") == b"v"
        assert (told["master_replid2"], told["master_repl_offset"], told["repl_backlog_active"]) == (0, 0, 0)
