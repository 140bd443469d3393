"""CLIENT LIST has the fields of a real server's, in its order."""

import pytest

from conformance.targets import Address
from conformance.wire import RawConnection


def fields(address: Address) -> list[str]:
    with RawConnection(address.host, address.port) as client:
        line = client.command("CLIENT", "INFO").decode().partition("\r\n")[2]
        return [part.partition("=")[0] for part in line.split()]


def test_the_fields_are_redis_s_own(embedded_server: Address, real_server: Address) -> None:
    if "Redis 7.0." not in real_server.origin:
        pytest.skip(f"the real server is {real_server.origin}, not 7.0")
    assert len(fields(embedded_server)) > 20
    assert fields(embedded_server) == fields(real_server)
