"""The flags of scripts: from a shebang line such as ``#!lua flags=no-writes``, or of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from ..cluster import cluster_errors
from ..declarations.registry import chosen
from ..protocol.errors import CommandError, until_nul
from ..protocol.requests import split_arguments
from . import script_errors

if TYPE_CHECKING:
    from ..declarations.registry import Command
    from ..engine import Engine

__all__ = ["check_flags", "may_be_stale", "may_write", "read_shebang", "says_it_writes"]

Flags: TypeAlias = frozenset[bytes]

FLAGS: Final = (b"no-writes", b"allow-oom", b"allow-stale", b"no-cluster", b"allow-cross-slot-keys")
"""All flags of scripts."""

WRITING: Final = frozenset({"write", "may_replicate"})
"""The flags of commands that may write."""


def read_shebang(body: bytes) -> tuple[bytes, Flags | None]:
    """The text of a script after its shebang line, and the flags there; None without such a line."""
    if not body.startswith(b"#!"):
        return body, None
    line, end, _ = body.partition(b"\n")
    if not end or b"\0" in line:
        raise CommandError(script_errors.INVALID_SHEBANG)
    words = split_arguments(line)
    if words is None:
        raise CommandError(script_errors.UNBALANCED_SHEBANG)
    engine, *options = words
    if until_nul(engine) != b"#!lua":
        raise CommandError(script_errors.shebang_engine(engine))
    flags: set[bytes] = set()
    for option in options:
        if not option.startswith(b"flags="):
            raise CommandError(script_errors.shebang_option(option))
        flags |= set(read_flags(option.removeprefix(b"flags=")))
    return body[len(line) :], frozenset(flags)


def read_flags(text: bytes) -> list[bytes]:
    """Flags separated by commas; raises ``CommandError`` for an unknown one."""
    flags = [until_nul(flag) for flag in text.split(b",")] if text else []
    for flag in flags:
        if flag not in FLAGS:
            raise CommandError(script_errors.shebang_flag(flag))
    return flags


def check_flags(engine: Engine, flags: Flags | None, *, is_read_only: bool) -> bool:
    """Whether the script declares that it only reads; raises ``CommandError`` if it may not run now."""
    if flags is None:
        return False
    if engine.cluster is not None and b"no-cluster" in flags:
        raise CommandError(cluster_errors.NOT_FOR_CLUSTERS)
    write_refusal = engine.conditions.write_refusal
    if write_refusal and b"no-writes" not in flags:
        raise CommandError(write_refusal)
    if is_read_only and b"no-writes" not in flags:
        raise CommandError(script_errors.SCRIPT_WRITES)
    return b"no-writes" in flags


def flags_of_text(engine: Engine, body: bytes) -> Flags | None:
    return chosen(engine.version, read_shebang)(body)[1]


def flags_of_script(engine: Engine, sha: bytes) -> Flags | None:
    return engine.scripts.find(sha).flags


def flags_of_function(engine: Engine, name: bytes) -> Flags | None:
    return frozenset(engine.libraries.find(name).flags)


FLAGS_OF: Final[dict[bytes, Callable[[Engine, bytes], Flags | None]]] = {
    b"eval": flags_of_text,
    b"eval_ro": flags_of_text,
    b"evalsha": flags_of_script,
    b"evalsha_ro": flags_of_script,
    b"fcall": flags_of_function,
    b"fcall_ro": flags_of_function,
}
"""By command, a function that finds the flags of the script it runs."""


def flags_of(engine: Engine, command: Command, args: list[bytes]) -> Flags | None:
    """The flags of the script of a request; None if it runs none, or one without flags."""
    if command.name not in FLAGS_OF:
        return None
    try:
        return FLAGS_OF[command.name](engine, args[1])
    except CommandError:
        return None


def says_it_writes(engine: Engine, command: Command, args: list[bytes]) -> bool:
    """Whether a request runs a script with flags that allow it to write."""
    flags = flags_of(engine, command, args)
    return flags is not None and b"no-writes" not in flags


def may_be_stale(engine: Engine, command: Command, args: list[bytes]) -> bool:
    """Whether a request may run on a replica that has lost its master and must not show stale data."""
    if command.name in FLAGS_OF:
        return b"allow-stale" in (flags_of(engine, command, args) or ())
    return "stale" in command.flags


def may_write(engine: Engine, command: Command, args: list[bytes]) -> bool:
    """Whether a request may write: by the flags of its script, or else of its command."""
    declared = not WRITING.isdisjoint(command.flags)
    flags = flags_of(engine, command, args)
    return declared if flags is None else b"no-writes" not in flags
