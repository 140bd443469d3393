"""How to install an optional package, for error messages."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """The command that installs an extra, from the package index and in a checkout of the project."""
    return f"pip install 'pressure-queues[{extra}]' (in a checkout: pip install '.[{extra}]')"
