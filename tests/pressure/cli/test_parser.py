"""Options and arguments in any order, and commands between two ``--``."""

from __future__ import annotations

from typing import Any

import pytest

from pressure.cli.parser import parse
from tests.cases import for_each

PARSED: dict[str, dict[str, Any]] = {
    "put q": {"name": "q", "messages": []},
    "put q --close a b": {"name": "q", "messages": ["a", "b"], "close": True},
    "put --close q a": {"name": "q", "messages": ["a"], "close": True},
    "--url u put q a --close": {"name": "q", "messages": ["a"], "close": True, "url": "u"},
    "put q -- -x": {"name": "q", "messages": ["-x"]},
    "put q a --close -- -b": {"name": "q", "messages": ["a", "-b"], "close": True},
    "put --close -- -q -x -- y": {"name": "-q", "messages": ["-x", "--", "y"], "close": True},
    "length -- -x": {"name": "-x"},
    "--prefix p length q": {"name": "q", "prefix": "p"},
    "length q --prefix p": {"name": "q", "prefix": "p"},
    "--prefix o length q --prefix p": {"name": "q", "prefix": "p"},
    "doctor": {"name": None},
    "doctor --json q": {"name": "q", "json": True},
    "ls --json a b": {"patterns": ["a", "b"], "json": True},
    "top a --once b": {"names": ["a", "b"], "once": True},
    "get q -n 3": {"count": 3, "format": "lines"},
    "get q -0": {"format": "null"},
    "get q --binary --timeout 0.5": {"format": "binary", "timeout": 0.5},
    "pipe a -- tr x y -- b": {"name": "a", "words": ["tr", "x", "y"], "target": "b"},
    "pipe a --each -- grep -- -x -- b -q": {
        "name": "a", "words": ["grep", "--", "-x"], "target": "b", "each": True, "quiet": True,
    },
    "pipe -n 1 a -- sh -c -h -- b": {"name": "a", "words": ["sh", "-c", "-h"], "target": "b", "count": 1},
    "pipeline --from a --to b/c --checkpoint d -q": {
        "source": "a", "target": "b/c", "checkpoint": "d", "quiet": True, "every": 1.0, "format": None,
    },
}  # fmt: skip


@for_each("line", PARSED)
def test_options_and_arguments_are_parsed_in_any_order(line: str) -> None:
    found = vars(parse(line.split()))
    assert {name: found[name] for name in PARSED[line]} == PARSED[line]


@pytest.mark.parametrize("line", ["pipe --help", "pipe a --help", "put q --help", "--help"])
def test_help_is_printed(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        parse(line.split())
    assert exit_.value.code == 0
    assert capsys.readouterr().out.startswith("usage: pressure")
