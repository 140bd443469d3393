"""Random conversations with a master while the link to its replica is cut again and again; both end up the same.

Run by itself for longer::

    python -m tests.miniredis.replication.cuts --seconds 600 --cuts 50
"""

from __future__ import annotations

import argparse
import math
import random
import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import miniredis
from conformance.differential.coverage import all_names, declared
from conformance.differential.grammar import LEFT_OUT, Form, read_forms
from conformance.differential.requests import request
from conformance.wire import RawConnection, encode
from tests.waiting import until

from .replicas import Address, address_of, connect, expect_same, real_replica, wait_until_up

OF_DATA: Final = {"write", "readonly", "may_replicate"}
OF_TRANSACTIONS: Final = {"multi", "exec", "discard", "watch", "select"}

CLIENTS: Final = 4
REQUESTS: Final = 100
"""Requests of one conversation."""

ATTEMPTS: Final = 20
"""How often a replica may connect in vain."""


def converse(master: Any, forms: Sequence[Form], choose: Any) -> None:
    """Sends random requests from some clients, without waiting for replies: some of the clients are blocked.

    It returns when the master has run them. Otherwise a master on a busy machine gets behind, and whoever
    connects to it has to wait for more and more conversations.
    """
    before = count_of(master, "clients", "connected_clients")
    clients = [socket.create_connection(address_of(master)) for _ in range(CLIENTS)]
    for client in clients:
        client.setblocking(False)
    for _ in range(REQUESTS):
        words = request(choose(forms), choose)
        client = choose(clients)
        try:
            client.sendall(encode(*(word.encode("latin-1") for word in words)))
            client.recv(1 << 16)
        except OSError:  # the socket is full, there is no reply, or the server has disconnected the client
            continue
    for client in clients:
        client.close()
    until(
        lambda: count_of(master, "clients", "connected_clients") <= before, "all requests were run", math.inf
    )


def count_of(server: Any, section: str, name: str) -> int:
    """A number that INFO tells."""
    return int(server.info(section)[name])


def cut(master: Any, replica: Any, choose: Any) -> None:
    """Cuts the link, on the side of the master or of the replica, as soon as there is one.

    Raises:
        AssertionError: the replica has connected again and again, and there was no link.
    """
    server, other = (master, "replica") if choose((True, False)) else (replica, "master")
    before = count_of(master, "stats", "total_connections_received")

    def was_cut() -> bool:
        attempts = count_of(master, "stats", "total_connections_received") - before
        assert attempts <= ATTEMPTS, f"no link, though the replica has connected {attempts} times"
        return bool(server.execute_command("CLIENT", "KILL", "TYPE", other) > 0)

    until(was_cut, "there is a link to cut", math.inf)


def forms_of_data(server: Address) -> list[Form]:
    """The commands of the conversations: those for data and for transactions."""
    names = [
        name
        for name in all_names()
        if name not in LEFT_OUT and (name in OF_TRANSACTIONS or not OF_DATA.isdisjoint(declared(name).flags))
    ]
    with RawConnection(*server) as connection:
        return read_forms(connection, names)


def play(master: Any, replica: Any, *, seconds: float, cuts: int, seed: int) -> dict[str, Any]:
    """Sends commands to a master for some seconds, and cuts the link some times; returns the master's INFO stats.

    Raises:
        AssertionError: the replica does not have the same data at the end.
    """
    choose = random.Random(seed).choice  # noqa: S311
    forms = forms_of_data(address_of(replica))
    begin, done = time.monotonic(), 0
    while (passed := time.monotonic() - begin) < seconds or done < cuts:
        converse(master, forms, choose)
        if passed * cuts >= done * seconds and done < cuts:
            cut(master, replica, choose)
            done += 1
            if done % 10 == 0:
                expect_same(master, replica)
    expect_same(master, replica)
    stats: dict[str, Any] = master.info("stats")
    return stats


def main() -> None:
    """Plays for as long as the command line says, and prints how often the link was resumed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        miniredis.start(enable_debug_command="yes") as server,
        connect((server.host, server.port)) as master,
        real_replica(Path(folder), (server.host, server.port)) as replica,
    ):
        wait_until_up(replica)
        stats = play(master, replica, seconds=options.seconds, cuts=options.cuts, seed=options.seed)
    counts = ", ".join(
        f"{name} {stats[name]}" for name in ("sync_full", "sync_partial_ok", "sync_partial_err")
    )
    print(  # noqa: T201
        f"the same after {options.cuts} cuts, {stats['total_commands_processed']} commands: {counts}"
    )


if __name__ == "__main__":
    main()
