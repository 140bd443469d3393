"""Mistakes on the command lines of the suite: each error names the argument, and says what to write instead."""

from __future__ import annotations

import importlib
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import conformance
import miniredis
from conformance.command import imported_from_here
from conformance.targets import NotInstalledError, target_named
from pressure.spark.errors import SetupError

COMMANDS = (
    "conformance", "pressure.spark.example", "conformance.bench", "conformance.differential",
    "tests.tools.chaos", "conformance.histories", "tests.tools.hostile", "conformance.histories.parquet",
    "tests.tools.redis_suite", "tests.tools.simulation",
)  # fmt: skip


def run(name: str, *arguments: str) -> int:
    """A command's exit status."""
    try:
        return importlib.import_module(f"{name}.__main__").main(arguments) or 0
    except SystemExit as end:
        return int(end.code or 0)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_starts_with_the_usage_and_has_no_markup(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "--help") == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: python -m {name} ")
    assert "``" not in shown


MISTAKES = [
    ("conformance --clause queue.fif", "--clause: there is no clause 'queue.fif'; did you mean 'queue.fifo'?"),
    ("conformance --clause 123456789", "--clause: there is no clause '123456789'; --list prints them"),
    ("conformance --target embeded", "there is no target 'embeded'; did you mean 'embedded'?"),
    ("conformance --target 123", "there is no target '123'; give one of embedded, embedded-streams, real,"),
    ("conformance --target 127.0.0.1:6379", "for a server that is running write redis://127.0.0.1:6379"),
    ("conformance --target rediss://h:1", "only redis:// URLs are supported as targets"),
    ("conformance --target redis://h:x", "redis://h:x is no URL of a Redis: the port is not a number from 0 to 65535"),
    ("conformance --target redis://h:99999", "redis://h:99999 is no URL of a Redis: the port is not a number from 0 to 65535"),
    ("conformance judge --adapter python3 --clause list.llen", "no clause of --clause concerns clients; name a server, too"),
    ("conformance judge --adapter python3 --suite wire --clause list.llen", "no clause of --clause is in a suite of --suite; --list prints each clause with its suites"),
    ("conformance --suite wire --clause queue.fifo", "no clause of --clause is in a suite of --suite; --list prints each clause with its suites"),
    ("conformance --target redis://u:secret@h:1/x", "redis://u:***@h:1/x is no URL of a Redis: the database is not a number"),
    ("conformance --target redis://u:sec/ret@h:1/0", "redis://u:***@h:1/0 is no URL of a Redis: write / as %2F, ? as %3F and # as %23 in a password"),
    ("conformance --target redis://h:1/0#may-be", "redis://h:1/0#may-be ends by #may-be: only #may-be-emptied may follow a URL"),
    ("conformance --target http://u:sec/ret@h", "cannot use http://u:***@h: only redis:// URLs are supported as targets"),
    ("conformance --junit /dev/null/x", "--junit: cannot write /dev/null/x"),
    ("conformance --adapter nosuch", "--adapter: no command 'nosuch' that can be run"),
    ("tests.tools.chaos --messages 0", "--messages: 0 is too small: give 1 or more"),
    ("tests.tools.hostile --frames x", "--frames: 'x' is not a whole number"),
    ("conformance.histories --record embedded --kill 3 f", "--kill: of 4 clients 2 can be killed at most; give --clients 5 or more"),
    ("conformance.histories --clients 1 f", "--clients: 1 is too small: give 2 or more"),
    ("conformance.histories --html /nonexistent/s f", "--html: cannot write /nonexistent/s: there is no folder /nonexistent"),
    ("tests.tools.simulation --scenario one-eech", "did you mean 'one-each'?"),
    ("tests.tools.simulation --schedule p1", "--schedule needs one --scenario"),
    ("tests.tools.simulation --svg /tmp", "--svg: cannot write /tmp: it is a folder; name a file in it"),
    ("conformance.differential --only LPUSH", "--only: there is no command 'LPUSH'"),
    ("conformance.differential --only lpush --without lpush", "no command is left"),
    ("conformance.differential --commands -5", "--commands: -5 is too small: give 1 or more"),
    ("conformance.differential --minutes 0", "--minutes: 0 is not a number above 0"),
    ("tests.tools.hostile --frames 0", "--frames: 0 is too small: give 1 or more"),
    ("tests.tools.hostile --sizes nosuch", "nothing to grow: no command or argument has such a name"),
    ("conformance.bench --rows plain-lpussh", "--rows: there is no row or group 'plain-lpussh'; did you mean 'plain-lpush'?"),
    ("conformance.bench --pairs 0", "--pairs: 0 is too small: give 1 or more"),
    ("conformance.bench --json /nonexistent/f", "--json: cannot write /nonexistent/f: there is no folder /nonexistent"),
    ("tests.tools.redis_suite --redis-source /nonexistent", "/nonexistent is no source code of Redis"),
    ("conformance.histories.parquet --from-jsonl a", "give either a HISTORY to judge, or --from-jsonl together with --to"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_a_wrong_argument_is_named(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, *arguments = line.split()
    assert run(name, *arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert len(shown.err.splitlines()[-1]) < 300


def test_the_example_names_a_url_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("pressure.spark.example", "--out", str(tmp_path / "out"), "--url", "embedded") == 2
    assert "embedded" in capsys.readouterr().err


def test_the_example_without_spark_says_so_and_does_not_blame_the_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_spark(*_: object, **__: object) -> None:
        raise SetupError("no Spark here")

    monkeypatch.setattr("pressure.spark.example.__main__.session", no_spark)
    assert run("pressure.spark.example", "--out", str(tmp_path / "out")) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("no Spark here\n", "")


# Targets that are there, and cannot be used


@contextmanager
def answering(greeting: bytes) -> Iterator[str]:
    """A server that says one thing to whoever connects; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            client, _ = listening.accept()
            with client:
                client.recv(1024)
                client.sendall(greeting)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def refused(url: str) -> str:
    with pytest.raises(NotInstalledError) as error, target_named(url).up():
        pass
    return str(error.value).replace(url, "URL")


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"$x\r\n"])
def test_a_server_that_does_not_answer_ping_like_redis_is_refused(greeting: bytes) -> None:
    with answering(greeting) as url:
        assert refused(url) == "URL does not answer PING as a Redis server does; is it one?"


def test_a_server_in_protected_mode_is_refused_with_its_reason() -> None:
    with answering(b"-DENIED Redis is running in protected mode\r\n") as url:
        assert refused(url) == "URL refuses connections from here (DENIED Redis is running in protected mode)"


def test_a_user_who_may_not_ping_is_told_which_permission_is_missing() -> None:
    with answering(b"-NOPERM this user has no permissions to run the 'ping' command\r\n") as url:
        assert refused(url).startswith(
            "URL does not let this user run PING; allow it with ACL SETUSER USER +ping ("
        )


def test_a_missing_or_wrong_password_is_refused_with_advice_and_never_shown() -> None:
    with miniredis.start(requirepass="secret", databases=1) as server:
        assert refused(server.public_url) == (
            f"URL wants a password: write redis://USER:PASSWORD@{server.host}:{server.port} "
            "(NOAUTH Authentication required.)"
        )
        place = f"{server.host}:{server.port}"
        wrong = refused(f"redis://:guess@{place}")
        assert wrong.startswith(f"redis://:***@{place} refuses this user or password (WRONGPASS")
        assert "guess" not in wrong
        assert "has no database 7 (ERR DB index" in refused(f"redis://:secret@{place}/7")
        with target_named(f"redis://:secret@{place}/0").up() as address:
            assert address.password == "secret"  # noqa: S105


def test_commands_report_that_a_server_refuses_connections(capsys: pytest.CaptureFixture[str]) -> None:
    url = "redis://127.0.0.1:1"
    assert refused(url) == "cannot connect to URL: Connection refused; is the server running there?"
    for name, *more in (
        ("conformance",),
        ("conformance.histories", "f", "--record"),
    ):
        assert run(name, *(more or ["--target"]), url) == 2
        assert f"cannot connect to {url}: Connection refused" in capsys.readouterr().out


# From Python


def test_functions_reject_wrong_arguments_and_say_what_they_take() -> None:
    address = conformance.Address("redis://127.0.0.1:1", "nowhere")
    with pytest.raises(ValueError, match=r"there is no suite 'wier'; did you mean 'wire'\?"):
        conformance.run(address, suites=["wier"])
    with pytest.raises(TypeError, match=r"suites must be a list of names, such as \['wire'\]"):
        conformance.run(address, suites="wire")
    with pytest.raises(TypeError, match=r"clauses must be values of conformance.CLAUSES, not 'queue.fifo'"):
        conformance.judge(address, ["queue.fifo"])  # type: ignore[list-item]
    with pytest.raises(
        TypeError, match=r"address must be a conformance.Address, as target_named\(...\).up\(\) gives"
    ):
        conformance.run("redis://127.0.0.1:1")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["conformance", "conformance.bench"])
def test_a_list_that_nobody_reads_to_its_end_ends_without_a_word(name: str, forked: None) -> None:
    words = [sys.executable, "-m", name, "--list"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


def test_an_adapter_is_said_to_import_what_is_in_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").touch()
    monkeypatch.chdir(tmp_path)
    assert imported_from_here(["python", "-m", "mine.adapter", "x"]) == "mine"
    for words in ("python -P -m mine", "python -m json", "python mine.py", "node -m"):
        assert imported_from_here(words.split()) == ""
