"""Probes of a holder are as far apart as for users: nothing here waits for real."""

from __future__ import annotations

import pytest

from pressure.protocol.liveness import PROBE_INTERVAL


@pytest.fixture(autouse=True)
def _as_far_apart_as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pressure.protocol.liveness.PROBE_INTERVAL", PROBE_INTERVAL)
