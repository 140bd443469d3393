"""``daemonize``, ``pidfile``, ``logfile`` and ``supervised``: what both servers do with their process."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import miniredis

from ...waiting import PATIENCE, until
from ..programs import PROGRAMS, at_work_in, in_background, is_up, run, running

FLAGS = ["--port", "0", "--unixsocket", "s", "--save", "", "--bind", "127.0.0.1"]

pytestmark = pytest.mark.usefixtures("redis_7_0")


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def state(pid: int) -> str:
    """Of a process: ``T`` if it is stopped; ``Z`` if it is gone, or only its parent has not noticed that yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_daemon_has_a_session_a_log_and_a_pid_file_of_its_own(program: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    files = ["--dir", "data", "--unixsocket", "../s", "--logfile", "log", "--pidfile", "pid"]
    with in_background(program, tmp_path, *FLAGS, *files) as (client, pid):
        until(lambda: (tmp_path / "data" / "pid").read_text() == f"{pid}\n", "the pid file is there")
        assert os.getsid(pid) == pid
        assert {str(Path(f"/proc/{pid}/fd/{each}").readlink()) for each in range(3)} == {os.devnull}
        assert client.config_get("daemonize") == {"daemonize": "yes"}
        until(lambda: "eady to accept connections" in (tmp_path / "data" / "log").read_text(), "it logs")
        client.shutdown()
        until(lambda: state(pid) == "Z", "the server has ended")
    assert not (tmp_path / "data" / "pid").exists()


def test_a_server_in_the_background_is_killed_though_nobody_asked_for_it(
    program: str, tmp_path: Path
) -> None:
    """As where a test expects an error, and the server starts."""
    assert run(program, tmp_path, *FLAGS, "--daemonize", "yes").returncode == 0
    until(lambda: not [*at_work_in(tmp_path)], "no process is left")


def test_the_pid_file_of_a_server_in_the_foreground_goes_when_it_is_stopped(
    program: str, tmp_path: Path
) -> None:
    with running(program, tmp_path, *FLAGS, "--pidfile", "pid") as (process, client):
        until(lambda: is_up(client), f"{program} answers")
        until(lambda: (tmp_path / "pid").read_text() == f"{process.pid}\n", "the pid file is there")
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert not (tmp_path / "pid").exists()


def test_a_pid_file_that_cannot_be_written_does_not_stop_the_start(program: str, tmp_path: Path) -> None:
    with running(program, tmp_path, *FLAGS, "--pidfile", "nowhere/pid") as (process, client):
        until(lambda: is_up(client), f"{program} answers")
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_server_that_cannot_listen_leaves_the_pid_file_of_another_one(program: str, tmp_path: Path) -> None:
    (tmp_path / "pid").write_text("7\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ["--port", str(taken.getsockname()[1]), "--bind", "127.0.0.1", "--pidfile", "pid"]
        done = run(program, tmp_path, *words)
    assert done.returncode == 1
    assert (tmp_path / "pid").read_text() == "7\n"


def test_a_log_that_was_moved_away_is_created_again(program: str, tmp_path: Path) -> None:
    with running(program, tmp_path, *FLAGS, "--logfile", "log") as (process, client):
        until(lambda: is_up(client), f"{program} answers")
        until(lambda: "eady to accept connections" in (tmp_path / "log").read_text(), "it logs")
        (tmp_path / "log").rename(tmp_path / "log.1")
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert "SIGTERM" in (tmp_path / "log").read_text()


# Supervised


@pytest.fixture(params=["path", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """What systemd listens on, and the variable that tells its name."""
    name = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0" + name if request.param == "abstract" else name)
        listening.settimeout(PATIENCE)
        yield listening, "@" + name if request.param == "abstract" else name


@pytest.mark.parametrize("mode", ["systemd", "auto"])
def test_systemd_hears_that_clients_can_connect_and_that_the_server_stops(
    program: str, mode: str, systemd: tuple[socket.socket, str], tmp_path: Path
) -> None:
    listening, name = systemd
    flags = [*FLAGS, "--supervised", mode, "--daemonize", "yes"]
    with running(program, tmp_path, *flags, environment={"NOTIFY_SOCKET": name}) as (process, client):
        assert heard(listening)[:1] == ["STATUS=Redis is loading..."]
        while "READY=1" not in heard(listening):
            assert process.poll() is None
        assert is_up(client)
        told = client.info("server")
        assert told["process_supervised"] == "systemd"
        assert told["process_id"] == process.pid, "a supervised server stays in the foreground"
        assert client.config_get("supervised") == {"supervised": "systemd"}
        process.terminate()
        while "STOPPING=1" not in heard(listening):
            pass
        assert process.wait(PATIENCE) == 0


def heard(listening: socket.socket) -> list[str]:
    return listening.recv(4096).decode().splitlines()


@pytest.mark.parametrize("mode", ["systemd", "upstart", "auto", "no"])
def test_a_server_that_nobody_supervises_starts(program: str, mode: str, tmp_path: Path) -> None:
    with running(program, tmp_path, *FLAGS, "--supervised", mode) as (_, client):
        until(lambda: is_up(client), f"{program} answers")
        assert client.info("server")["process_supervised"] == "no"


def test_a_server_under_upstart_stops_itself_until_it_is_continued(program: str, tmp_path: Path) -> None:
    flags = [*FLAGS, "--supervised", "auto"]
    with running(program, tmp_path, *flags, environment={"UPSTART_JOB": "redis"}) as (process, client):
        until(lambda: state(process.pid) == "T", "it stops itself")
        assert not is_up(client)
        process.send_signal(signal.SIGCONT)
        until(lambda: is_up(client), f"{program} answers")
        assert client.info("server")["process_supervised"] == "upstart"


# In a program


@pytest.mark.parametrize(
    ("name", "value"), [("daemonize", "yes"), ("logfile", "x"), ("pidfile", "x"), ("supervised", "auto")]
)
def test_start_refuses_what_concerns_the_process_of_its_caller(name: str, value: str) -> None:
    with pytest.raises(
        miniredis.ConfigurationError, match=f"^{name}='{value}': only the command 'miniredis'"
    ):
        miniredis.start(**{name: value})  # type: ignore[arg-type]
    with pytest.raises(
        miniredis.ConfigurationError, match=f"^{name}='{value}': only the command 'miniredis'"
    ):
        miniredis.start(engine=miniredis.Engine(miniredis.Config({name: value})))


def test_start_accepts_the_values_that_ask_for_nothing() -> None:
    miniredis.start(daemonize=False, logfile="", pidfile="", supervised="no").stop()


def test_words_of_clients_stand_in_the_log_on_one_line_and_without_control_characters(tmp_path: Path) -> None:
    name = "\x1b[31mred\nfake line\x9b\udcff"
    flags = [*FLAGS, "--port", "0", "--logfile", "log"]
    with running("miniredis", tmp_path, *flags) as (_, client):
        until(lambda: is_up(client), "miniredis answers")
        client.execute_command("REPLICAOF", name.encode("utf-8", "surrogateescape"), "1")  # type: ignore[no-untyped-call]
        client.execute_command("REPLICAOF", "a" * 5000, "1")  # type: ignore[no-untyped-call]
        lines = (tmp_path / "log").read_text().splitlines()
        longest = max(len(line.split(" ", 3)[3]) for line in lines if line.count(" ") > 2)
        told = [line for line in (tmp_path / "log").read_text().splitlines() if line.endswith(":1 enabled")]
    assert [line.partition("REPLICAOF ")[2] for line in told] == [
        r"\x1b[31mred\x0afake line\x9b\udcff:1 enabled"
    ]
    assert longest == 1023
