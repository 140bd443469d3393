"""The replies of the HELP subcommands, generated from the declarations of the commands."""

from __future__ import annotations

from collections.abc import Iterator

from ..protocol.replies import Encoded, status
from .registry import CommandTable, commands
from .syntax import Argument, parse

__all__ = ["help_on"]


def help_on(table: CommandTable, name: bytes) -> list[Encoded]:
    """The lines about a command's subcommands, in the layout of Redis's own.

    Args:
        table: the commands of the server.
        name: the container's name, in lower case.
    """
    lines = [b"%b <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" % name.upper()]
    for part in commands(table.lookup[name].subcommands):
        arguments = usage(parse(part.docs.syntax))
        lines.append(" ".join([part.name.decode().partition("|")[2].upper(), *arguments]).encode())
        lines.append(b"    " + part.docs.summary.encode())
    return [status(line) for line in lines]


def usage(arguments: list[Argument]) -> Iterator[str]:
    """Arguments as in a usage line: ``<key> [SAMPLES <count>]``."""
    for argument in arguments:
        shown = shape(argument)
        if "multiple" in argument.flags:
            shown = f"{shown} [{shown} ...]"
        yield f"[{shown}]" if "optional" in argument.flags else shown


def shape(argument: Argument) -> str:
    if argument.kind == "pure-token":
        return argument.token
    if argument.kind == "oneof":
        inside = "|".join(usage(argument.parts))
        return f"{argument.token} ({inside})".lstrip()
    inside = " ".join(usage(argument.parts)) if argument.parts else f"<{argument.name}>"
    return f"{argument.token} {inside}".lstrip()
