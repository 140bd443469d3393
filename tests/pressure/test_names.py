"""The names of the package, most of which are imported at their first use."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import pressure


def test_each_name_is_what_type_checkers_take_it_for() -> None:
    """They read the imports, which do not run; ``__getattr__`` does what runs."""
    imports = [
        each
        for each in ast.walk(ast.parse(Path(pressure.__file__).read_text()))
        if isinstance(each, ast.ImportFrom)
    ]
    homes = {
        name.name: each.module
        for each in imports
        for name in each.names
        if str(each.module).startswith("pressure.")
    }
    assert sorted(homes) == sorted(pressure.__all__)
    for name, module in homes.items():
        assert getattr(pressure, name) is getattr(importlib.import_module(str(module)), name), name
        assert name in dir(pressure)


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pressure' has no attribute 'nosuch'"):
        _ = pressure.nosuch  # type: ignore[attr-defined]
