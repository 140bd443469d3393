"""WAITAOF: a client hears that its writes are on the disks once they are, and not before."""

from __future__ import annotations

from pathlib import Path

import pytest

import miniredis
from miniredis.persistence import append_only

from ..persistence.memory_disk import MemoryDisk, failing, works
from ..persistence.test_journal import Server
from ..replication.test_master import Master

VERSION = "7.2"

NEITHER, HERE, THERE = b"*2\r\n:0\r\n:0\r\n", b"*2\r\n:1\r\n:0\r\n", b"*2\r\n:0\r\n:1\r\n"
OFF = b"-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n"


def ask_another(server: Server, *words: str) -> bytes:
    """What another client hears; then what the first one has heard can be asked with ``server.ask()``."""
    first, server.session = server.session, server.engine.connect(server.now)
    try:
        return server.ask(*words)
    finally:
        server.session = first


def test_with_always_the_disk_has_a_write_at_the_end_of_its_tick() -> None:
    server = Server(MemoryDisk(), version=VERSION)
    assert server.ask_together(("SET", "k", 1), ("WAITAOF", 1, 0, 0)) == b"+OK\r\n" + HERE
    assert server.ask("WAITAOF", 1, 0, 0) == HERE


def test_with_no_only_the_next_file_makes_sure_of_the_one_before_it() -> None:
    server = Server(MemoryDisk(), version=VERSION, appendfsync="no")
    assert server.ask("WAITAOF", 1, 0, 0) == HERE  # it has written nothing
    server.ask("SET", "k", 1)
    assert server.ask("WAITAOF", 1, 0, 0) == b""
    assert ask_another(server, "WAITAOF", "1", "0", "0") == HERE  # nor has this one
    ask_another(server, "BGREWRITEAOF")
    assert server.ask() == HERE


def test_a_file_that_is_turned_off_ends_the_wait() -> None:
    server = Server(MemoryDisk(), version=VERSION, appendfsync="no")
    server.ask("SET", "k", 1)
    assert server.ask("WAITAOF", 1, 0, 0) == b""
    server.engine.config.learn("appendonly", "no")
    server.engine.replication.replicas.acks.look()
    assert server.ask() == OFF
    assert server.ask("WAITAOF", 1, 0, 0) == OFF


def test_what_could_not_be_written_is_not_on_the_disk() -> None:
    disk = MemoryDisk()
    server = Server(disk, version=VERSION, appendfsync="no")
    disk.plan = failing("write")
    server.ask("SET", "k", 1)
    assert server.ask("WAITAOF", 1, 0, 0) == b""
    server.engine.config.learn("appendfsync", "always")
    disk.plan = works
    assert server.ask() == HERE  # the next tick has written it


@pytest.mark.parametrize("version", ["7.2", "valkey-9.1"])
def test_with_everysec_a_client_waits_for_the_disk(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_only, "EVERY", 0.0)
    with (
        miniredis.start(version=version, dir=tmp_path, appendonly="yes") as server,
        server.client() as client,
    ):
        for number in range(3):
            client.set("k", number)
            assert client.execute_command("WAITAOF", 1, 0, 0) == [1, 0]
        client.config_set("appendonly", "no")
        client.config_set("appendonly", "yes")  # until its first base is written, it has nothing
        client.set("k", "last")
        assert client.execute_command("WAITAOF", 1, 0, 0) == [1, 0]


def test_replicas_tell_what_they_have_on_their_disks() -> None:
    master = Master(version=VERSION)
    replicas = [master.online() for _ in range(2)]
    master.say(master.writer, "SET k 1")
    offset = master.engine.replication.history.offset
    assert master.say(master.writer, "WAITAOF 0 1 5000") == b""
    master.say(replicas[0], f"REPLCONF ACK {offset}")
    master.say(replicas[1], f"REPLCONF ACK {offset} FACK {offset - 1}")
    assert master.hear(master.writer) == b""
    master.say(replicas[1], f"REPLCONF ACK {offset} FACK {offset}")
    assert master.hear(master.writer) == THERE
    assert master.say(master.writer, "SET k 2", "WAITAOF 0 2 5000") == b"+OK\r\n"
    master.say(replicas[1], f"REPLCONF ACK 0 FACK {master.engine.replication.history.offset}")
    master.wait(5)
    assert master.hear(master.writer) == THERE
    assert master.say(master.writer, "WAITAOF 1 0 0") == OFF


def test_a_replica_with_a_file_tells_its_master_how_far_its_disk_is(tmp_path: Path) -> None:
    with (
        miniredis.start(version=VERSION) as master,
        miniredis.start(
            version=VERSION, dir=tmp_path, appendonly="yes", replicaof=f"127.0.0.1 {master.port}"
        ),
        master.client() as client,
    ):
        client.set("k", 1)
        assert client.execute_command("WAITAOF", 0, 1, 0) == [0, 1]
