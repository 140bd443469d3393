"""Messages between processes that are killed: none is lost, and a lost one would be noticed."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
import redis

from conformance.targets import Address
from tests.cases import for_each
from tests.tools.exchange import Exchange, exchanged, judged
from tests.tools.exchange.__main__ import main

pytestmark = pytest.mark.usefixtures("forked")

SERVERS = ["embedded_server", "real_server"]


@pytest.mark.parametrize(
    ("server", "plain"),
    [
        pytest.param("embedded_server", True, id="embedded_server-plain"),
        pytest.param("real_server", False, id="real_server-scripts", marks=pytest.mark.slow),
        pytest.param("embedded_server", False, id="embedded_server-scripts", marks=pytest.mark.slow),
        pytest.param("real_server", True, id="real_server-plain", marks=pytest.mark.slow),
    ],
)
def test_killed_producers_and_consumers_lose_nothing(
    server: str, plain: bool, request: pytest.FixtureRequest
) -> None:
    address: Address = request.getfixturevalue(server)
    exchange = Exchange(messages=300, kills=4, bound=20, force=True, plain=plain)
    found = exchanged(exchange, address)
    assert found.problems == []
    assert found.kills == {"producer": 2, "consumer": 2}
    assert 300 <= found.came <= 304
    assert found.again == found.came - 300
    assert found.repairs
    with redis.Redis.from_url(address.url) as client:
        assert client.keys("exchange:*") == []


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_fifty_thousand_messages_survive_kills_and_repairs_without_force(
    server: str, request: pytest.FixtureRequest
) -> None:
    found = exchanged(Exchange(messages=50_000, kills=20), request.getfixturevalue(server))
    assert found.problems == []
    assert sum(found.kills.values()) == 20
    assert 50_000 <= found.came <= 50_020
    assert any(seconds > 5 for seconds in found.repairs), "no holder was looked at twice"


@for_each(
    ("came", "in_flight", "wrong"),
    [
        ([0, 1, 2, 3], 0, []),
        ([0, 1, 1, 2, 2, 2, 3], 3, []),
        ([0, 1, 3], 0, ["1 of 4 messages are missing", "message 3 came behind 1, as number 2"]),
        ([0, 1, 1, 2, 3], 0, ["1 messages came again, and no more than 0 were in flight at kills"]),
        ([0, 2, 1, 3], 9, ["message 2 came behind 0, as number 1"]),
        ([0, 1, 2, 3, 1], 9, ["message 1 came behind 3, as number 4"]),
    ],
)
def test_missing_misordered_and_unexpectedly_redelivered_messages_are_reported(
    came: list[int], in_flight: int, wrong: list[str]
) -> None:
    assert list(judged(came, 4, in_flight)) == wrong


def test_the_command_reports_that_nothing_is_missing_and_all_is_in_order(capsys: Any) -> None:
    assert main(["--messages", "50", "--kills", "0", "--bound", "5", "--target", "embedded"]) == 0
    out = capsys.readouterr().out
    assert "embedded is miniredis in this process\n50 messages over a bound of 5 in " in out
    assert out.endswith("0 messages were delivered again\nno message is missing, and all are in order\n")


def test_a_target_that_refuses_connections_is_reported(capsys: Any) -> None:
    assert main(["--messages", "50", "--target", "redis://127.0.0.1:1/0"]) == 2
    assert "cannot connect to redis://127.0.0.1:1/0: Connection refused" in capsys.readouterr().out


@pytest.mark.usefixtures("fork_server")  # it starts before the patch, which it must not meet
def test_a_producer_or_consumer_that_fails_is_reported(
    embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **options: Any) -> subprocess.Popen[bytes]:
        return popen([sys.executable, "-c", "raise SystemExit('no such end')"], **options)

    popen = subprocess.Popen
    monkeypatch.setattr("tests.tools.exchange.run.subprocess.Popen", fails)
    found = exchanged(Exchange(messages=5, kills=0), embedded_server)
    assert "the producer ended with 1: no such end" in found.problems
    assert "5 of 5 messages are missing" in found.problems


@pytest.mark.usefixtures("fork_server")  # it starts before the patch, which it must not meet
def test_an_exchange_that_is_stuck_is_reported(
    embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waits(*_: Any, **options: Any) -> subprocess.Popen[bytes]:
        return popen([sys.executable, "-c", "import signal; signal.pause()"], **options)

    popen = subprocess.Popen
    monkeypatch.setattr("tests.tools.exchange.run.subprocess.Popen", waits)
    monkeypatch.setattr("tests.tools.exchange.run.STALLED", 0.01)
    begin = time.monotonic()
    found = exchanged(Exchange(messages=5, kills=2), embedded_server)
    assert "no message came for 0 s, and 0 did before" in found.problems[0]
    assert time.monotonic() - begin < 20
