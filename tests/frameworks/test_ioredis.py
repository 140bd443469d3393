"""ioredis, the client of most programs on Node, in both protocols: what it is used for around queues."""

from __future__ import annotations

import pytest

from conformance.targets import Address

from .node import check, checks_of


@pytest.mark.parametrize("protocol", ["2", "3"])
@pytest.mark.parametrize("name", checks_of("ioredis_checks.cjs"))
def test_ioredis_passes_its_checks(
    server: Address, node: dict[str, str], key: str, name: str, protocol: str
) -> None:
    environment = {**node, "REDIS_URL": server.url, "PROTOCOL": protocol}
    check("ioredis_checks.cjs", name, key, environment=environment)
