"""CLIENT LIST shows the same fields in the same order as a real server."""

from conformance.targets import Address
from conformance.wire import RawConnection


def fields(address: Address) -> list[str]:
    with RawConnection(address.host, address.port) as client:
        line = client.command("CLIENT", "INFO").decode().partition("\r\n")[2]
        return [part.partition("=")[0] for part in line.split()]


def test_client_list_has_the_fields_of_a_real_server(embedded_server: Address, redis_7_0: Address) -> None:
    assert len(fields(embedded_server)) > 20
    assert fields(embedded_server) == fields(redis_7_0)
