"""What the HELP subcommands say: made from the declarations, so that it cannot be out of date."""

from __future__ import annotations

from .registry import LOOKUP, commands
from .replies import Encoded, status

__all__ = ["help_on"]


def help_on(name: bytes) -> list[Encoded]:
    """The lines about a command's subcommands, in the layout of Redis's own.

    Args:
        name: of the container, in lower case.
    """
    lines = [b"%b <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" % name.upper()]
    for part in commands(LOOKUP[name].subcommands):
        assert part.handler is not None
        lines.append(part.name.partition(b"|")[2].upper())
        lines.append(b"    " + summary(part.handler.__doc__).encode())
    return [status(line) for line in lines]


def summary(text: str | None) -> str:
    """The first line of a docstring."""
    return (text or "").partition("\n")[0]
