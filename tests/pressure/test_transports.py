"""TCP, TLS, a Unix socket, passwords and databases, for every flavour."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis
import trustme

from miniredis.testing.real_servers import FREE_PORT, free_port
from tests.servers import RealServer

from .conftest import until
from .runs import in_and_out, refused


def listens(client: redis.Redis) -> bool:
    with suppress(redis.ConnectionError):
        return bool(client.ping())
    return False


def test_a_queue_works_over_a_unix_socket(
    run: Callable[..., Any], start_server: Callable[..., RealServer], tmp_path: Path
) -> None:
    path = tmp_path / "redis.sock"
    start_server("--unixsocket", str(path))
    with redis.Redis(unix_socket_path=str(path)) as client:
        until(lambda: path.exists() and listens(client), "was there a socket")
    in_and_out(run, url=f"unix://{path}?db=3")
    refused(run, "nowhere.sock: No such file or directory", url=f"unix://{tmp_path}/nowhere.sock")
    refused(run, "; is a server running there", url=f"redis://127.0.0.1:{free_port()}")


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_queue_works_with_passwords_users_and_databases(
    run: Callable[..., Any], start_server: Callable[..., RealServer], protocol: int
) -> None:
    server = start_server("--requirepass", "secret", "--user", *"worker on >p:w ~* +@all".split())
    where = f"127.0.0.1:{server.port}/5?protocol={protocol}"
    in_and_out(run, url=f"redis://:secret@{where}")
    in_and_out(run, url=f"redis://worker:p%3Aw@{where}")
    with redis.Redis(port=server.port, password="secret", db=5, protocol=protocol) as client:  # noqa: S106
        run(lambda queue: queue.create(), client=client)
        assert client.exists("__pressure__:jobs:bound")
    refused(run, "it does not accept this user name and password", url=f"redis://:wrong@{where}")
    refused(run, "it wants a password; put it into the URL", url=f"redis://{where}")
    refused(run, "cannot use", url=f"redis://:secret@127.0.0.1:{server.port}/77")


def test_a_queue_works_over_tls(
    run: Callable[..., Any], start_server: Callable[..., RealServer], tmp_path: Path
) -> None:
    authority, files = trustme.CA(), {name: str(tmp_path / name) for name in ("cert", "key", "ca")}
    certificate = authority.issue_cert("localhost")
    certificate.cert_chain_pems[0].write_to_path(files["cert"])
    certificate.private_key_pem.write_to_path(files["key"])
    authority.cert_pem.write_to_path(files["ca"])
    flags = {
        "port": FREE_PORT,
        "cert-file": files["cert"],
        "key-file": files["key"],
        "ca-cert-file": files["ca"],
    }
    words = [word for name, value in flags.items() for word in (f"--tls-{name}", value)]
    server = start_server(*words, "--tls-auth-clients", "no")
    port = server.setting("tls-port")
    in_and_out(run, url=f"rediss://localhost:{port}/0?ssl_ca_certs={files['ca']}")
    in_and_out(run, url=f"rediss://localhost:{port}/0?ssl_cert_reqs=none&ssl_check_hostname=false")
    refused(run, "CERTIFICATE_VERIFY_FAILED|certificate verify", url=f"rediss://localhost:{port}/0")
