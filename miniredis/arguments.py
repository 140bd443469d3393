"""Checks the arguments of ``start`` and ``serve`` before anything starts.

Each mistake raises a ``TypeError`` or ``ValueError`` that names the argument. ``likely_name`` suggests the
directive that a misspelled name, or another program's name, probably means.
"""

from __future__ import annotations

import datetime as dt
import errno
import os
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, Final, TypeAlias

import trio

from .engine import Config, ConfigurationError, Engine
from .engine.config.table import ALIASES, DIRECTIVES, Directives
from .engine.config.table import Value as DirectiveValue
from .engine.protocol.requests import split_arguments
from .engine.versions.version import DEFAULT

__all__ = [
    "NOT_SUPPORTED",
    "DirectiveValue",
    "Keywords",
    "Seconds",
    "as_microseconds",
    "check_condition",
    "check_is_trio",
    "check_loop",
    "checked_config",
    "kind",
    "likely_name",
    "make_directory",
]


class Keywords(Directives, total=False):
    """The keywords of ``start`` and the like, beside their own parameters."""

    user: DirectiveValue


Seconds: TypeAlias = float | Decimal | dt.timedelta
"""How far ``fast_forward`` moves the time."""

LOOPS: Final = ("poll", "streams")

FURTHEST: Final = 10_000_000_000
"""The most seconds of one ``fast_forward``: about 317 years."""

NOT_SUPPORTED: Final = {"include", "loadmodule", "rename-command", "sentinel"}
"""Names that redis-server's configuration has besides directives, and that are not supported as keywords."""

UNBALANCED: Final = "Unbalanced quotes in configuration line"

HOW_TO_KEEP: Final = {"appendonly", "save", "dbfilename"}
"""Directives that choose whether and in which form the server keeps its data on disk."""

DURABLE: Final = {"appendonly": "yes", "appendfsync": "always"}
"""What ``dir`` implies if no directive of ``HOW_TO_KEEP`` is given."""

FOR_THE_COMMAND: Final = (
    "only the command 'miniredis' takes this: here the process, and its log, are the program's"
)

EXAMPLES: Final = {
    "client-output-buffer-limit": "pubsub 32mb 8mb 60",
    "replicaof": "127.0.0.1 6379",
    "save": "60 100",
}
"""Values of directives that take several words, for errors: redis-server does not say what it wants."""

PARAMETERS: Final = {"cluster": ["nodes", "replicas"], "sentinel": ["replicas", "sentinels", "name"]}
"""What functions take that start several servers."""

OTHER_NAMES: Final = {
    "address": "bind",
    "host": "bind",
    "db": "databases",
    "password": "requirepass",
    "path": "unixsocket",
    "socket": "unixsocket",
    "unix-socket-path": "unixsocket",
}
"""Names that redis-py and other programs use, each with redis-server's name."""


def checked_config(
    caller: str,
    directives: Mapping[str, object],
    config: Config | None = None,
    engine: Engine | None = None,
    version: str | None = None,
) -> Config:
    """The configuration that a caller of ``start`` or ``serve`` asked for, in one of three ways.

    Args:
        caller: the name of the function that was called, for the errors.
        directives: keywords that are no parameters of that function, with ``_`` for ``-``.
        config: used as it is.
        engine: its configuration is used.
        version: what the server answers as; None for the default.

    Raises:
        ValueError: there is no such version.
        TypeError: a keyword is no directive, a value has a type that no directive takes, or two of the three
            ways were used at once.
        ConfigurationError: a directive does not accept the value.
    """
    check_type(caller, "config", config, Config)
    check_type(caller, "engine", engine, Engine)
    if version is not None and not isinstance(version, str):
        raise TypeError(f"{caller}(): version must be a str, such as {DEFAULT.name!r}, not {kind(version)}")
    given = [name for name, value in (("config", config), ("engine", engine)) if value is not None]
    more = [*directives, *(["version"] if version is not None else [])]
    if len(given) > 1 or (given and more):
        raise TypeError(
            f"{caller}() got {' and '.join([*given, *more])}: {given[0]} has all directives already, "
            "so give it alone"
        )
    if engine is not None:
        config = engine.config
    elif config is None:
        config = configured(caller, directives, version or DEFAULT.name)
    refuse_what_is_for_the_command(config)
    return config


def refuse_what_is_for_the_command(config: Config) -> None:
    for name, directive in DIRECTIVES.items():
        if "command" in directive.traits and config[name] != directive.default:
            raise ConfigurationError(name, FOR_THE_COMMAND, config[name])


def configured(caller: str, directives: Mapping[str, object], version: str) -> Config:
    """The configuration that keywords describe; without ``port``, the server picks a free one.

    ``dir`` alone keeps the data there: this creates the directory, and each write is on the disk before its
    reply.
    """
    given, keywords = {"port": "0"}, {}
    users: list[list[str]] = []
    for keyword, value in directives.items():
        name = keyword.replace("_", "-") if keyword not in DIRECTIVES else keyword
        if name.lower() == "user":
            users = users_in(as_words(caller, keyword, value))
            continue
        if name.lower() not in DIRECTIVES | ALIASES:
            raise TypeError(
                f"{caller}() got an unexpected keyword argument {keyword!r}{advice(caller, keyword)}"
            )
        given[name], keywords[name] = as_words(caller, keyword, value), keyword
    by_dir_alone = "dir" in given and HOW_TO_KEEP.isdisjoint(given)
    try:
        config = Config({**DURABLE, **given} if by_dir_alone else given, version=version, users=users)
    except ConfigurationError as refusal:
        name, reason = refusal.directive, refusal.reason
        if name in EXAMPLES:
            reason = f"{reason.rstrip('.')}; write it as in {keywords[name]}={EXAMPLES[name]!r}"
        raise ConfigurationError(keywords.get(name, name), reason, given.get(name, refusal.value)) from None
    if by_dir_alone:
        make_directory(Path(config["dir"]))
    elif "dir" in given and not Path(config["dir"]).is_dir():
        raise ConfigurationError(keywords["dir"], f"{os.strerror(errno.ENOENT)}; make it first", given["dir"])
    return config


def make_directory(path: Path, mode: int = 0o777) -> None:
    """Makes a directory for data, with those above it, unless it is there.

    Raises:
        NotADirectoryError: something else has this name.
    """
    try:
        path.mkdir(mode, parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None


def users_in(text: str) -> list[list[str]]:
    """The words of each line, with ``user`` before them."""
    lines = []
    for line in text.splitlines():
        words = split_arguments(os.fsencode(line))
        if words is None:
            raise ConfigurationError("user", UNBALANCED, line)
        if words:
            lines.append(["user", *map(os.fsdecode, words)])
    return lines


def as_words(caller: str, keyword: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    what_next = ""
    if value is None:
        what_next = "; leave it out for the default"
    elif isinstance(value, list | tuple):
        what_next = "; write several words as one str, with a space between them"
    taken = "a str, int, float, bool or path"
    raise TypeError(f"{caller}(): {keyword} must be {taken}, not {kind(value)}{what_next}")


def advice(caller: str, keyword: str) -> str:
    if keyword.replace("_", "-") in NOT_SUPPORTED:
        return ": miniredis does not support this directive of redis-server"
    own = [*PARAMETERS.get(caller, ["engine"]), "clock", "loop", "version"]
    meant = likely_name(keyword.replace("_", "-"), own)
    if meant is not None:
        return f"; did you mean {meant.replace('-', '_')!r}?"
    directive = "port=6379" if "engine" in own else "maxclients=100"
    return f"; it takes {', '.join(own)}, and redis-server's directives with '_' for '-', such as {directive}"


def likely_name(name: str, others: list[str] | None = None) -> str | None:
    """The directive, or one of ``others``, that a wrong name probably means; None if none is similar."""
    import difflib  # needed only after a mistake

    wanted = name.lower().replace("_", "-")
    if wanted in OTHER_NAMES:
        return OTHER_NAMES[wanted]
    near = difflib.get_close_matches(wanted, [*(others or []), *DIRECTIVES], n=1, cutoff=0.7)
    return near[0] if near else None


def check_loop(caller: str, loop: object) -> None:
    """Raises ``ValueError`` unless ``loop`` is the name of a loop, or None."""
    if loop is not None and loop not in LOOPS:
        raise ValueError(f"{caller}(): loop must be 'poll', 'streams' or None, not {loop!r}")


def check_condition(condition: object) -> None:
    """Raises ``TypeError`` unless ``wait_until`` can ask the condition again and again."""
    if not callable(condition):
        raise TypeError(
            f"wait_until() takes a function, such as lambda: server.blocked_clients(), not {kind(condition)}"
        )


def check_is_trio() -> None:
    """Raises ``RuntimeError`` unless the caller runs in Trio, as ``serve`` must."""
    try:
        trio.lowlevel.current_trio_token()
    except RuntimeError:
        raise RuntimeError(
            "miniredis.serve() must be awaited in a Trio program; elsewhere use miniredis.start()"
        ) from None


def as_microseconds(seconds: Seconds) -> int:
    """The argument of ``fast_forward``, in microseconds.

    Raises:
        TypeError: it is neither a number nor a timedelta.
        ValueError: it is negative, too large, or NaN.
    """
    if isinstance(seconds, dt.timedelta):
        seconds = Decimal(seconds // dt.timedelta(microseconds=1)) / 1_000_000
    if not isinstance(seconds, Real | Decimal):
        raise TypeError(f"fast_forward() takes a number of seconds or a timedelta, not {kind(seconds)}")
    if seconds != seconds or not 0 <= seconds <= FURTHEST:  # NaN does not equal itself
        raise ValueError(f"fast_forward() takes 0 to {FURTHEST} seconds, not {seconds}")
    return round(seconds * 1_000_000)


def check_type(caller: str, name: str, value: Any, wanted: type) -> None:
    if value is not None and not isinstance(value, wanted):
        raise TypeError(f"{caller}(): {name} must be a miniredis.{wanted.__name__}, not {kind(value)}")


def kind(value: object) -> str:
    """The type of a value, for an error."""
    made = type(value)
    if value is None or made.__module__ == "builtins":
        return "None" if value is None else made.__qualname__
    return f"{made.__module__}.{made.__qualname__}"
