"""A small run of chaos, and a long one: no message is lost, and the queue does not stand still."""

from __future__ import annotations

import pytest

from tests.tools.chaos import Plan, run
from tests.tools.chaos.__main__ import main

pytestmark = pytest.mark.usefixtures("redis_program")

SMALL = Plan(messages=400, seconds=8.0, workers=6, lease=1.0, looks=0.3, pause=1.5, swaps=2, standstill=40.0)


@pytest.mark.exhaustive
def test_no_message_is_lost_where_clients_and_servers_die() -> None:
    found = run(SMALL)
    assert found.wrong == ()
    assert found.put + found.doubtful >= SMALL.messages * 0.9
    assert found.again <= found.unsettled
    assert found.blows["server restarted"] == found.blows["server failed over"] == 1
    assert found.recovery


@pytest.mark.slow
def test_no_message_is_lost_in_ten_minutes() -> None:
    found = run(Plan())
    assert found.wrong == ()
    assert found.put + found.doubtful >= 99_000


def test_wrong_arguments_end_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--messages", "0"])
    assert "too small" in capsys.readouterr().err
