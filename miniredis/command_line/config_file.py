"""Reads configuration files in the syntax of redis-server 7.0.15, and combines them with flags.

redis-server reads the file, then standard input, then the flags, as one text: a directive that comes later
replaces an earlier one. Only ``save`` and ``client-output-buffer-limit`` add to the earlier ones. ``dir``
takes effect at once: files that are included later are relative to it.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..arguments import NOT_SUPPORTED, UNBALANCED
from ..engine import VERSION, Config, ConfigurationError
from ..engine.config.values import canonical, directive_named
from ..engine.protocol.requests import split_arguments
from ..engine.versions.version import DEFAULT, version_named

__all__ = ["SERVER_VERSION", "BadFileError", "Directives", "split_words"]

CUMULATIVE: Final = {"save", "client-output-buffer-limit"}
"""Directives that add to their earlier values."""

WITHOUT_EFFECT: Final = {"list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands"}
"""Directives of old versions, which redis-server accepts with one value, and ignores."""

DEFAULT_SAVE: Final = "3600 1 300 100 60 10000"
"""redis-server's default for ``save``."""

SERVER_VERSION: Final = "server-version"
"""The only directive that redis-server does not have: what the server answers as."""

STDIN: Final = "standard input"


class BadFileError(Exception):
    """A configuration file cannot be used. The text says why, in redis-server's words if it has some."""

    @classmethod
    def at_line(cls, number: int, line: bytes, reason: str) -> BadFileError:
        """The error for one wrong line.

        Args:
            number: the number of the line; the first one is 1.
            line: the line, without the white space around it.
            reason: why it is wrong: the last line of the text.
        """
        where = f"Reading the configuration file, at line {number}\n>>> '{as_text(line)}'\n"
        return cls(f"{HEAD}{where}{reason}")

    @classmethod
    def unreadable(cls, name: str, error: OSError) -> BadFileError:
        """The error for a configuration file that cannot be read."""
        return cls(f"Fatal error, can't open config file '{name}': {error.strerror}")

    @classmethod
    def log_file(cls, error: OSError) -> BadFileError:
        """The error for a ``logfile`` that cannot be written."""
        return cls(f"{HEAD}Can't open the log file: {error.strerror}")


HEAD: Final = f"\n*** FATAL CONFIG FILE ERROR (Redis {VERSION}) ***\n"


class Directives:
    """The directives that were read so far.

    Each method that reads raises ``BadFileError`` for text that it cannot use.
    """

    def __init__(self) -> None:
        self._given: dict[str, list[str]] = {}
        self._folder = Path.cwd()
        self._file = ""
        self._version = DEFAULT.name
        self._users: list[Sequence[str]] = []
        self._open: list[Path] = []  # the file that is being read, after those that include it

    def config(self) -> Config:
        """The configuration that the directives make.

        If there is a file, ``dbfilename`` without ``save`` means redis-server's default for ``save``.
        """
        given = dict(self._given)
        if self._file and "dbfilename" in given:
            given.setdefault("save", [DEFAULT_SAVE])
        try:
            return Config(given, file=self._file, version=self._version, users=self._users)
        except ConfigurationError as refusal:  # each directive was taken, and two of them cannot be together
            raise BadFileError(refusal.reason) from None

    def obey(self, words: Sequence[str]) -> None:
        """Applies one line: the name of a directive and its values.

        Raises:
            ConfigurationError: redis-server would refuse it, too, or miniredis lacks the feature.
        """
        name, *values = words
        if name.lower() == "include" and len(values) == 1:
            self._include(values[0])
        elif name.lower() == SERVER_VERSION:
            self._answer_as(" ".join(values))
        elif name.lower() == "user":
            self._declare([*words])
        else:
            self._add(name, values)

    def _declare(self, words: Sequence[str]) -> None:
        """Adds a user."""
        Config(version=self._version, users=[*self._users, words])  # refuses what is wrong
        self._users.append(words)

    def _answer_as(self, version: str) -> None:
        try:
            self._version = version_named(version).name
        except ValueError as refusal:
            raise ConfigurationError(SERVER_VERSION, str(refusal), version) from None

    def _add(self, name: str, values: Sequence[str]) -> None:
        if name.lower() in WITHOUT_EFFECT and len(values) == 1:
            return
        directive = directive_named(name)
        if directive is not None and "words" in directive.traits and len(values) == 1 and values[0]:
            values = split_words(os.fsencode(values[0])) or []
        Config({name: values})
        own = canonical(name)
        if own == "dir":
            values = [self._enter(name, values[0])]
        before = self._given.get(own, []) if own in CUMULATIVE and list(values) != [""] else []
        self._given[own] = [*(before if before != [""] else []), *values]

    def read_file(self, name: str) -> None:
        """Reads the configuration file of a command line."""
        self._file = os.path.abspath(name)  # noqa: PTH100  (resolves "..")
        self._read(self._file, self._file)

    def read_stdin(self) -> None:
        """Reads standard input to its end."""
        self._read_text(sys.stdin.buffer.read(), STDIN)

    def _include(self, name: str) -> None:
        if set("*?[").isdisjoint(name):
            self._read(name, name)
            return
        for found in sorted(glob.glob(name, root_dir=self._folder)):  # noqa: PTH207  (takes absolute ones)
            self._read(found, found)

    def _read(self, name: str, shown: str) -> None:
        path = self._folder / name
        if path in self._open:
            raise BadFileError(f"Fatal error, config file '{shown}' includes itself")
        try:
            text = path.read_bytes()
        except OSError as error:
            raise BadFileError.unreadable(shown, error) from None
        self._open.append(path)
        self._read_text(text, str(path))
        self._open.pop()

    def _read_text(self, text: bytes, source: str) -> None:
        for number, each in enumerate(text.split(b"\n"), start=1):
            line = each.strip(b" \t\r\n")
            if line.startswith(b"#"):
                continue
            words = split_words(line)
            if words is None:
                raise BadFileError.at_line(number, line, UNBALANCED)
            if not words:
                continue
            try:
                self.obey(words)
            except ConfigurationError as refusal:
                reason = explained(words, refusal, f"{source}:{number}")
                raise BadFileError.at_line(number, line, reason) from None

    def _enter(self, name: str, folder: str) -> str:
        path = self._folder / folder
        try:
            with os.scandir(path):  # raises the system's error if the folder is missing or closed to us
                pass
        except OSError as error:
            raise ConfigurationError(name, error.strerror or str(error), folder) from None
        self._folder = Path(os.path.abspath(path))  # noqa: PTH100  (resolves "..")
        return str(self._folder)


def explained(words: Sequence[str], refusal: ConfigurationError, where: str) -> str:
    """Why a line of a file is refused: redis-server's reason, or the feature that is missing."""
    name = words[0].lower()
    is_known = name in NOT_SUPPORTED - {"include"} or "." in name  # a dot makes it a module's directive
    if is_known and len(words) > 1:
        return f"{where}: {name}: not supported by miniredis"
    if refusal.explanation != refusal.reason:
        return f"{where}: {name}: {refusal.explanation}"
    return refusal.reason


def split_words(line: bytes) -> list[str] | None:
    """The words of a line, quoted as redis-cli quotes them; None where a quote is unbalanced."""
    words = split_arguments(line)
    return None if words is None else [as_text(word) for word in words]


def as_text(word: bytes) -> str:
    return os.fsdecode(word)
