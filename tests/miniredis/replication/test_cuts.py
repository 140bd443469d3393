"""A replica has the same data after random commands and cuts of its link; ``cuts.py`` runs longer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import miniredis

from .cuts import play
from .replicas import connect, real_replica, wait_until_up


@pytest.fixture
def master(redis_7_0_program: Path) -> Iterator[Any]:
    with (
        miniredis.start(enable_debug_command="yes") as server,
        connect((server.host, server.port)) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("seconds", "cuts"), [(1, 2), pytest.param(60, 20, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_both_are_the_same_after_any_conversation(
    seconds: float, cuts: int, master: Any, tmp_path: Path
) -> None:
    options = master.connection_pool.connection_kwargs
    with real_replica(tmp_path, (options["host"], options["port"])) as replica:
        wait_until_up(replica)
        stats = play(master, replica, seconds=seconds, cuts=cuts, seed=cuts)
    assert stats["sync_partial_ok"] + stats["sync_full"] > cuts
    assert stats["sync_partial_ok"]
