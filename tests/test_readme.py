"""The README is true: its examples run, and what it says of the packages is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import miniredis
from conformance.simulation import HOLES, Game, replay
from conformance.simulation.schedules import read, written
from miniredis.engine.registry import LOOKUP, commands
from pressure.cli.table import COMMANDS
from pressure.spark.options import OPTIONS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def section(title: str) -> str:
    """What stands under a heading, up to the next."""
    return README.partition(f"# {title}\n")[2].partition("\n#")[0]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


PROGRAMS = [each for each in blocks("python") if not each.startswith(("def ", "@"))]


@pytest.mark.parametrize("code", [each for each in PROGRAMS if "pressure.spark" not in each])
def test_example(code: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=200)


@pytest.mark.spark
def test_example_in_spark() -> None:
    """PySpark warns of this and that."""
    (code,) = (each for each in PROGRAMS if "pressure.spark" in each)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=400)


@pytest.mark.parametrize("code", [each for each in blocks("python") if each.startswith("def test_")])
def test_example_of_a_test(code: str, tmp_path: Path) -> None:
    (tmp_path / "test_example.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True, text=True, timeout=200, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("code", [each for each in blocks("python") if each.startswith("@")])
def test_example_of_our_code(code: str) -> None:
    modules = (ROOT / "miniredis" / "engine" / "commands").glob("*.py")
    assert any(f"\n{code}\n" in module.read_text() for module in modules)


def bash(script: str, timeout: float = 300) -> list[str]:
    """What a script prints that has a server of its own."""
    scripts = Path(sys.executable).parent
    with miniredis.start() as server:
        done = subprocess.run(
            ["bash", "-euc", script],
            env={"PATH": f"{scripts}:/usr/bin:/bin", "REDIS_URL": server.url, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_example_of_a_queue_in_the_shell() -> None:
    (script,) = (each for each in blocks("sh") if "pressure put" in each and "seq " in each)
    assert bash(script.replace("100000", "2000") + "wait\n") == [str(number) for number in range(1, 2001)]


def test_example_of_the_command_line() -> None:
    (script,) = (each for each in blocks("sh") if "pressure put" in each and "seq " not in each)
    out = bash(script)
    looked, rest = out.index("4"), out.index('[{"text": "one"}, {"text": "two"}]')
    assert out[0].startswith("QUEUE")
    assert rest == looked + 1
    assert out[rest + 1 :] == [
        "one", "a two", "TWO", "LINES", "THREE",
        "'jobs': closed, 0 of 1000 values", "  producer: free", "  consumer: free", "no problems in 1 queue",
        "nothing to repair", "0", "one", "requeued 0",
    ]  # fmt: skip
    told = set(re.findall(r"^pressure ([a-z]+)|\bpressure (put|completion)", script, re.MULTILINE))
    assert {name for pair in told for name in pair if name} >= set(COMMANDS) - {
        "exists",
        "closed",
        "pipeline",
    }  # the last starts Spark


def test_example_of_histories(tmp_path: Path) -> None:
    (script,) = (each for each in blocks("sh") if "--svg" in each)
    out = bash(f"cd {tmp_path}\n{script}")
    assert [line.rpartition(": ")[2] for line in out if line.startswith("  ")] == ["ok"] * 12
    assert (tmp_path / "run.html").read_text().count("<svg") == 1


@pytest.mark.spark
def test_example_of_histories_in_parquet(tmp_path: Path) -> None:
    (script,) = (each for each in blocks("sh") if "--from-jsonl" in each)
    assert bash(f"cd {tmp_path}\n{script}")[-2] == "ok"
    assert (tmp_path / "report" / "index.html").exists()


def test_the_table_of_options_is_whole() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", section("Queues and Spark"), re.MULTILINE)) == OPTIONS.keys()


def test_what_exploring_found_is_found_by_the_schedules_that_are_told() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| [^|]+ \| `([^`]+)` \| [^|]+ \|$", section("Simulation"), re.MULTILINE
    )
    assert [name for name, _ in rows] == list(HOLES)
    for name, schedule in rows:
        hole = HOLES[name]
        violation = replay(Game(hole.scenario), read(schedule), about=hole.about)
        assert violation is not None, name
        assert written(violation.schedule) == schedule


def test_the_two_commands_are_there() -> None:
    lines = re.findall(r"^python3 -m venv .*$", section("Two commands"), re.MULTILINE)
    assert [line.rpartition("&& ")[2] for line in lines] == [
        ".venv/bin/python -m conformance",
        ".venv/bin/pytest",
    ]


def test_the_table_of_commands_is_whole() -> None:
    table = re.findall(r"^\| [a-z/ ]+ \| ([A-Z][A-Z_. ()-]+) \|$", README, re.MULTILINE)
    named = {name.lower().encode() for row in table for name in re.sub(r"\([^)]*\)", "", row).split()}
    assert named == {each.name for each in commands()}
    for parent, parts in re.findall(r"([A-Z]+) \(([A-Z -]+)\)", " ".join(table)):
        ours = {
            each.name.rpartition(b"|")[2].decode().upper()
            for each in commands(LOOKUP[parent.encode()].subcommands)
        }
        assert set(parts.split()) == ours
