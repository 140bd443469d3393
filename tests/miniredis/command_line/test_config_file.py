"""Configuration files: redis-server and miniredis make the same of them, and of the flags behind them."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from miniredis.__main__ import main
from miniredis.command_line.config_file import DEFAULT_SAVE

from ...waiting import until
from ..programs import PROGRAMS, is_up, run, running

LISTEN = "port 0\nunixsocket s\nbind 127.0.0.1\n"
"""What lets the client of a test connect, whatever else the file says."""

pytestmark = pytest.mark.usefixtures("redis_7_0")


def values(program: str, folder: Path, names: list[str], *words: str, stdin: str = "") -> list[str]:
    """What CONFIG GET shows of some directives after a start."""
    with running(program, folder, *words, stdin=stdin) as (_, client):
        until(lambda: is_up(client), f"{program} answers")
        return [str(client.config_get(name)[name]) for name in names]


# What a file means

FILES: list[tuple[str, dict[str, str]]] = [
    ("# hz 11\n\n   \t\n  hz   12\t\r\n#", {"hz": "12"}),
    ("HZ 13\nLua-Time-Limit 7", {"hz": "13", "busy-reply-threshold": "7"}),
    ("hz 14\nhz 15\n", {"hz": "15"}),
    ("masterauth \"a \\x41\\n\\\"b\"\nmasteruser 'it\\'s'\n", {"masterauth": 'a A\n"b', "masteruser": "it's"}),
    ("masteruser #1\n", {"masteruser": "#1"}),
    ("proto-max-bulk-len 2MB\nhash-max-listpack-value 1k\n", {"proto-max-bulk-len": "2097152", "hash-max-listpack-value": "1000"}),
    ("save 900 1\nsave 300 10 60 100\n", {"save": "900 1 300 10 60 100"}),
    ("save 900 1\nsave ''\nsave 60 5\n", {"save": "60 5"}),
    ("save \"900 1  300 10\"\n", {"save": "900 1 300 10"}),
    ("save \"\"\n", {"save": ""}),
    (
        "client-output-buffer-limit normal 1k 0 0\nclient-output-buffer-limit \"pubsub 32mb 8mb 61\"\n",
        {"client-output-buffer-limit": "normal 1000 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 61"},
    ),
    ("oom-score-adj-values 0 100 200\noom-score-adj-values 1 2 3\n", {"oom-score-adj-values": "1 2 3"}),
    ("list-max-ziplist-entries 512\nlua-replicate-commands yes\nhz 16\n", {"hz": "16"}),
    ("include none-*.conf\nhz 17\n", {"hz": "17"}),
    ("include more/*.conf\n", {"hz": "22", "databases": "5"}),
    ("dir more\ninclude b.conf\nunixsocket ../s\n", {"hz": "22"}),
    ("hz 18\ninclude more/a.conf\ndatabases 4", {"hz": "21", "databases": "4"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FILES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_both_servers_read_the_same_from_a_file(
    program: str, text: str, expected: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.conf").write_text("hz 21\ndatabases 5\n")
    (tmp_path / "more" / "b.conf").write_text("hz 22")
    (tmp_path / "redis.conf").write_text(LISTEN + text)
    assert values(program, tmp_path, list(expected), "redis.conf") == list(expected.values())


FLAGS: list[tuple[list[str], str, list[str]]] = [
    (["redis.conf", "--hz", "20"], "", ["20", "900 1"]),
    (["redis.conf", "--hz 20"], "", ["20", "900 1"]),
    (["redis.conf", "--save", "60", "5"], "", ["11", "900 1 60 5"]),
    (["redis.conf", "--save 60 5", "--HZ", "21"], "", ["21", "900 1 60 5"]),
    (["redis.conf", "--save", "--hz", "20"], "", ["20", ""]),
    (["redis.conf", "--hz", "20", "--Save"], "", ["20", ""]),
    (["redis.conf", "--include", "other.conf"], "", ["12", "900 1"]),
    (["redis.conf", "-"], "hz 13\nsave ''\n", ["13", ""]),
    (["redis.conf", "--hz", "14", "-"], "hz 13\n", ["14", "900 1"]),
    (["-", "--hz", "14"], LISTEN + "hz 13\nsave 1 1", ["14", "1 1"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "stdin", "expected"), FLAGS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_flags_come_behind_standard_input_and_the_file(
    program: str, words: list[str], stdin: str, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "redis.conf").write_text(f"{LISTEN}hz 11\nsave 900 1\n")
    (tmp_path / "other.conf").write_text("hz 12\n")
    assert values(program, tmp_path, ["hz", "save"], *words, stdin=stdin) == expected


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_word_after_a_flag_is_its_value_even_with_dashes(program: str, tmp_path: Path) -> None:
    (tmp_path / "redis.conf").write_text(LISTEN)
    assert values(program, tmp_path, ["masteruser"], "redis.conf", "--masteruser", "--hz") == ["--hz"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_info_names_the_file_and_names_are_relative_to_dir(program: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "redis.conf").write_text(f"{LISTEN}unixsocket ../s\ndir data\n")
    with running(program, tmp_path, "redis.conf") as (_, client):
        until(lambda: is_up(client), f"{program} answers")
        assert client.info("server")["config_file"] == str(tmp_path / "redis.conf")
        assert client.config_get("dir") == {"dir": str(tmp_path / "data")}


@pytest.mark.parametrize(
    ("text", "save"), [("dbfilename dump.rdb\n", DEFAULT_SAVE), ("dbfilename x\nsave 1 1\n", "1 1")]
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_that_names_the_data_gets_the_default_of_save(
    program: str, text: str, save: str, tmp_path: Path
) -> None:
    (tmp_path / "redis.conf").write_text(LISTEN + text)
    assert values(program, tmp_path, ["save"], "redis.conf") == [save]


def test_config_rewrite_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "redis.conf").write_text(LISTEN)
    with running("miniredis", tmp_path, "redis.conf") as (_, client):
        until(lambda: is_up(client), "miniredis answers")
        with pytest.raises(redis.ResponseError, match=r"^Rewriting config file: Operation not supported$"):
            client.config_rewrite()
    assert (tmp_path / "redis.conf").read_text() == LISTEN


# What is wrong with a file

BAD: list[str] = [
    "port 0\nmaxclients abc\n", "port\n", "port 1 2\n", "PORT x", "  foo   bar \n", "hz 1\n\n# a\n'hz' x\r\n",
    "save 900\n", "save 900 x\n", "requirepass \"a\n", "requirepass 'a'b\n", "dir nowhere\n",
    "logfile nowhere/x\n", "include *.nothing\nport x\n", "list-max-ziplist-entries 1 2\n", "user\n",
    "client-output-buffer-limit normal 0 0\n", "client-output-buffer-limit none 0 0 0\n",
    "oom-score-adj-values 1 2\n", "loglevel chatty\n", "supervised maybe\n", "daemonize 1\n",
    "include bad.conf\n", "bind a b c d e f g h i j k l m n o p q\n", "include a b\n", "\"\" 1\n",
    "requirepass \u00e9 \u00e9\n",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_both_servers_refuse_a_bad_file_in_the_same_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "redis.conf").write_text(text)
    (tmp_path / "bad.conf").write_text("hz 10\nhz bad")
    theirs, ours = (refusal(program, tmp_path) for program in reversed(PROGRAMS))
    assert ours == theirs
    assert "*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***" in ours


def refusal(program: str, folder: Path) -> str:
    done = run(program, folder, "redis.conf")
    assert done.returncode == 1
    return done.stderr.decode("utf-8", "backslashreplace")


@pytest.mark.parametrize(("text", "missing"), [(None, "{}/redis.conf"), ("include none.conf\n", "none.conf")])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_that_is_not_there_is_named(
    program: str, text: str | None, missing: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "redis.conf").write_text(text)
    done = run(program, tmp_path, "redis.conf")
    assert done.returncode == 1
    name = missing.format(tmp_path)
    said = (done.stdout + done.stderr).decode()
    assert f"Fatal error, can't open config file '{name}': No such file or directory\n" in said


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tls-cluster yes", "tls-cluster: not supported by miniredis, which accepts only 'no' (the default)"),
        ("maxmemory 1gb", "maxmemory: not supported by miniredis, which accepts only '0' (the default)"),
        ("rename-command CONFIG ''", "rename-command: not supported by miniredis"),
        ("loadmodule x.so", "loadmodule: not supported by miniredis"),
        ("search.timeout 1", "search.timeout: not supported by miniredis"),
    ],
)  # fmt: skip
def test_a_feature_that_is_not_there_is_refused_with_file_line_and_directive(
    line: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "redis.conf"
    path.write_text(f"hz 10\n{line}\n")
    assert main([str(path)]) == 1
    assert capsys.readouterr().err == (
        "\n*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\nReading the configuration file, at line 2\n"
        f">>> '{line}'\n{path}:2: {reason}\n"
    )


def test_a_file_that_includes_itself_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "a.conf", tmp_path / "b.conf"
    first.write_text(f"include {second}\n")
    second.write_text(f"include {first}\n")
    assert main([str(first)]) == 1
    assert capsys.readouterr().err == f"Fatal error, config file '{first}' includes itself\n"
