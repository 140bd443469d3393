"""Our client takes plain commands with a server on which its scripts fail, and the run says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import miniredis
from conformance.command import main
from conformance.judging.ways import why_not_by_scripts
from conformance.targets import Address
from miniredis.faults import cut

CLAUSE = ["--clause", "put.takes-role"]


@pytest.fixture
def server() -> Iterator[miniredis.Server]:
    with miniredis.start() as server:
        yield server


def lose_scripts(server: miniredis.Server) -> None:
    for command in ("eval", "evalsha"):
        server.faults.add(command=command, then=cut())


def test_scripts_are_fine_on_most_servers(server: miniredis.Server) -> None:
    assert why_not_by_scripts(Address(server.url, "miniredis")) == ""


def test_a_server_that_hangs_up_on_scripts_is_sent_plain_commands(
    server: miniredis.Server, capsys: pytest.CaptureFixture[str]
) -> None:
    lose_scripts(server)
    assert main(["--target", server.url, *CLAUSE]) == 0
    assert "takes plain commands, since its scripts fail: lost the connection" in capsys.readouterr().out


def test_who_asks_for_a_flavour_gets_it(server: miniredis.Server, capsys: pytest.CaptureFixture[str]) -> None:
    lose_scripts(server)
    assert main(["--target", server.url, "--client", "sync", *CLAUSE]) == 1
    assert "plain commands" not in capsys.readouterr().out


def test_a_server_on_which_both_ways_fail_is_judged_by_scripts(server: miniredis.Server) -> None:
    server.faults.add(command="lpush", then="OOM nothing is stored")
    lose_scripts(server)
    assert why_not_by_scripts(Address(server.url, "miniredis")) == ""
