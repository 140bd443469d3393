"""The options of ``pytest --pyargs conformance``; in any other run of pytest there are none of them."""

from __future__ import annotations

from typing import Final

import pytest

__all__ = ["OPTIONS"]

OPTIONS: Final = {
    "target": "server to judge, as for python -m conformance; may be repeated (default: embedded)",
    "client": "flavour of the pressure client to judge; may be repeated (default: sync)",
    "adapter": "command that is the client to judge, see pydoc conformance.clients.adapter; may be repeated",
    "suite": "judge only this suite; may be repeated",
    "clause": "judge only the clause of this id; may be repeated",
}
"""The options, each with its help."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> None:
    """Adds the options if this package is what is to be run."""
    told = early_config.known_args_namespace
    if told.pyargs and any(is_ours(argument) for argument in told.file_or_dir):
        group = parser.getgroup("conformance", "judging Redis servers and queue clients")
        for name, text in OPTIONS.items():
            group.addoption(f"--{name}", action="append", default=[], dest=f"conformance_{name}", help=text)


def is_ours(argument: str) -> bool:
    """Whether an argument names this package, or something in it."""
    return argument.partition("::")[0].partition(".")[0] == __package__
