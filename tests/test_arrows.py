"""Which package may import which: miniredis none of the others, pressure only miniredis."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("package", "others"), [("miniredis", "pressure|conformance|tests"), ("pressure", "conformance|tests")]
)
def test_a_package_imports_none_that_is_built_upon_it(package: str, others: str) -> None:
    """Each import stands on a line of its own: ruff asks for it."""
    imports = re.compile(rf"^ *(?:from|import) (?:{others})\b.*", re.MULTILINE)
    found = {path: imports.findall(path.read_text()) for path in (ROOT / package).rglob("*.py")}
    assert len(found) > 50
    assert {str(path): lines for path, lines in found.items() if lines} == {}
