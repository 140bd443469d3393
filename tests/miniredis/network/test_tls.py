"""TLS beside plain connections: the directives ``tls-*``, on miniredis and on a real Redis."""

from __future__ import annotations

import contextlib
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import redis
import trustme
from redis.backoff import NoBackoff
from redis.retry import Retry

import miniredis
from conformance.targets import Address, NoRealRedisError, real_redis
from conformance.targets.programs import find_real_redis
from conformance.wire import RawConnection
from miniredis.engine import ConfigurationError
from miniredis.testing.real_servers import FREE_PORT, free_port
from tests.cases import exhaustive_but
from tests.servers import flags_of
from tests.waiting import until

LARGE = b"x" * 3_000_000


class Files(NamedTuple):
    """Paths of certificates and keys; the stranger's are of an authority that nobody trusts."""

    cert: str
    key: str
    ca: str
    strangers_cert: str
    strangers_key: str

    @property
    def directives(self) -> dict[str, Any]:
        """Those that a server needs."""
        return {"tls-cert-file": self.cert, "tls-key-file": self.key, "tls-ca-cert-file": self.ca}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("tls")
    found = Files(*(str(folder / name) for name in Files._fields))
    for cert, key, authority in (
        (found.cert, found.key, trustme.CA()),
        (found.strangers_cert, found.strangers_key, trustme.CA()),
    ):
        issued = authority.issue_cert("localhost", "127.0.0.1")
        issued.cert_chain_pems[0].write_to_path(cert)
        issued.private_key_pem.write_to_path(key)
        if cert == found.cert:
            authority.cert_pem.write_to_path(found.ca)
    return found


class Secured(NamedTuple):
    """A server that listens for both kinds of clients."""

    port: int
    tls_port: int


Start = Callable[..., AbstractContextManager[Secured]]


@contextlib.contextmanager
def ours(loop: Any, **directives: Any) -> Iterator[Secured]:
    with miniredis.start(loop=loop, **directives) as server:
        yield Secured(server.port, server.tls_port)


@contextlib.contextmanager
def theirs(**directives: str) -> Iterator[Secured]:
    words = flags_of(directives)
    try:
        with real_redis("--tls-port", FREE_PORT, *words) as address:
            with redis.Redis(port=address.port) as plain:
                tls_port: Any = plain.config_get("tls-port")["tls-port"]
            yield Secured(address.port, int(tls_port))
    except NoRealRedisError as missing:
        pytest.skip(f"no real Redis with TLS: {missing}")


@pytest.fixture(params=exhaustive_but(["poll", "redis-server"], ["poll", "streams", "redis-server"]))
def start(request: pytest.FixtureRequest) -> Start:
    """Starts a server with directives."""
    if request.param != "redis-server":
        return lambda **directives: ours(request.param, **directives)
    request.getfixturevalue("redis_7_0")  # skips the test where there is none
    return theirs


def client(server: Secured, files: Files, *, cert: str | None = "", key: str = "") -> redis.Redis:
    """A client over TLS; with the server's own certificate unless told otherwise, without one for None."""
    return redis.Redis(
        "127.0.0.1", server.tls_port, ssl=True, ssl_ca_certs=files.ca,
        ssl_certfile=None if cert is None else cert or files.cert,
        ssl_keyfile=None if cert is None else key or files.key,
        retry=Retry(NoBackoff(), 0),
    )  # fmt: skip


def test_clients_with_and_without_tls_use_one_server(start: Start, files: Files) -> None:
    with (
        start(**files.directives) as server,
        client(server, files) as secured,
        redis.Redis("127.0.0.1", server.port) as plain,
    ):
        plain.set("large", LARGE)
        assert secured.get("large") == LARGE
        pipeline = secured.pipeline(transaction=False)
        for _ in range(10):
            pipeline.get("large")
        assert pipeline.execute() == [LARGE] * 10
        with client(server, files) as waiting, waiting.monitor():
            assert plain.info("clients")["connected_clients"] == 3
        connection = secured.connection_pool.get_connection()
        connection.send_command("BLPOP", "queue", 0)
        until(lambda: plain.info("clients")["blocked_clients"] == 1, "it waits")
        plain.rpush("queue", "value")
        assert connection.read_response() == [b"queue", b"value"]
        secured.connection_pool.release(connection)


@pytest.mark.parametrize(
    ("who", "without", "stranger"),
    [("yes", False, False), ("optional", True, False), ("no", True, True)],
)
def test_clients_need_a_certificate_as_the_directive_says(
    start: Start, files: Files, who: str, without: bool, stranger: bool
) -> None:
    def may_enter(**certificate: str | None) -> bool:
        with client(server, files, **certificate) as each:  # type: ignore[arg-type]
            with contextlib.suppress(redis.ConnectionError):
                return bool(each.ping())
            return False

    with start(**files.directives, **{"tls-auth-clients": who}) as server:
        assert may_enter()
        assert may_enter(cert=None) is without
        assert may_enter(cert=files.strangers_cert, key=files.strangers_key) is stranger


def test_who_does_not_speak_tls_is_disconnected_and_others_stay(start: Start, files: Files) -> None:
    with start(**files.directives) as server, client(server, files) as secured:
        assert secured.ping()
        with RawConnection("127.0.0.1", server.tls_port) as plain:
            plain.send("PING")
            with contextlib.suppress(ConnectionResetError):
                assert b"PONG" not in plain.socket.recv(100)
        assert secured.ping()


@pytest.mark.parametrize(("version", "wanted"), [("TLSv1.2", "TLSv1.2"), ("TLSv1.3 TLSv1.2", "TLSv1.3")])
def test_the_server_speaks_the_protocols_it_is_told_to(
    start: Start, files: Files, version: str, wanted: str
) -> None:
    ciphers = {"tls-protocols": version, "tls-ciphers": "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE+AESGCM"}
    with start(**files.directives, **ciphers) as server, client(server, files) as secured:
        connection = secured.connection_pool.get_connection()
        socket = connection._sock
        assert isinstance(socket, ssl.SSLSocket)
        assert socket.version() == wanted
        secured.connection_pool.release(connection)


REFUSED = {
    "no certificate": {"tls-cert-file": ""},
    "no key": {"tls-key-file": ""},
    "no authority": {"tls-ca-cert-file": ""},
    "no such protocol": {"tls-protocols": "TLSv9"},
    "no such cipher": {"tls-ciphers": "nothing"},
}


@pytest.mark.parametrize("changes", REFUSED.values(), ids=REFUSED)
def test_both_servers_do_not_start_without_what_tls_needs_and_say_the_same(
    changes: dict[str, Any], files: Files, redis_7_0: Address, tmp_path: Path
) -> None:
    directives = {**files.directives, "tls-port": str(free_port()), **changes}
    with pytest.raises(ConfigurationError) as refusal:
        miniredis.start(**directives)
    words = flags_of(directives)
    told = subprocess.run(
        [find_real_redis(), "--port", str(free_port()), "--save", "", *words],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert told.returncode == 1
    assert f"# {refusal.value.reason}\n" in told.stdout


@pytest.mark.parametrize(
    ("directive", "reason"),
    [
        ("tls-cert-file", "Failed to load certificate"),
        ("tls-key-file", "Failed to load certificate"),
        ("tls-ca-cert-file", "Failed to configure CA certificate"),
    ],
)
def test_a_file_that_is_not_there_is_named(files: Files, directive: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{reason}.*No such file"):
        miniredis.start(**{**files.directives, directive: "/nowhere.pem"})


def test_a_running_server_keeps_its_tls(files: Files) -> None:
    with miniredis.start(**files.directives) as server, redis.Redis(port=server.port) as plain:
        assert plain.config_get("tls-port") == {"tls-port": str(server.tls_port)}
        for name, value in (("tls-port", 1), ("tls-auth-clients", "no"), ("tls-cert-file", "x")):
            with pytest.raises(redis.ResponseError, match="this server keeps"):
                plain.config_set(name, value)
    with miniredis.start() as server, redis.Redis(port=server.port) as plain:
        assert server.tls_port == 0
        assert plain.config_set("tls-cert-file", "x")
