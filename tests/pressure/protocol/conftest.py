"""Probes of a holder are as far apart as for users: nothing here waits for real."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _as_for_users(probes_as_for_users: None) -> None:
    pass
