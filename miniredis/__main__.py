"""The ``miniredis`` command: one server, with the configuration file and the flags of redis-server."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import trio

from .arguments import EXAMPLES, NOT_SUPPORTED, likely_name
from .clock import chosen
from .command_line.config_file import SERVER_VERSION, BadFileError, Directives, split_words
from .command_line.daemon import CommandProcess, log_to
from .engine import VERSION, Config, ConfigurationError
from .engine.config import UnknownDirectiveError
from .engine.versions.version import VERSIONS
from .logs import ServerLog, log
from .network.descriptors import TooFewError, fit_open_files_limit
from .network.listeners import Listener
from .persistence.damage import DamagedFileError
from .server import Server, StoppedWhileLoadingError, run_server
from .ticks.tick_runner import TickRunner

__all__ = ["main"]

USAGE = """\
usage: miniredis [REDIS.CONF | -] [--DIRECTIVE VALUE ...] ...
       miniredis --help | --version

Runs a Redis-compatible server that answers as redis-server {version} does, or as
another one with --server-version VERSION, which is one of
{versions}.
It keeps all data in memory, and loses it when it stops, unless --appendonly,
--save or --dbfilename is given.

Directives are redis-server's: in a file with its syntax, or on standard input (-),
and as flags, which replace what the file says. These are used most, with their
defaults:

  --port 6379              TCP port; 0 picks a free one
  --bind 127.0.0.1         addresses to listen on; one that starts with '-', such
                           as -::1, is left out where the machine does not have it
  --requirepass ''         password that clients have to give
  --protected-mode yes     without a password, refuse clients of other machines
  --unixsocket ''          path of a Unix socket to listen on as well
  --databases 16           number of databases
  --maxclients 10000       how many clients may be connected at a time
  --appendonly no          yes: keep the data in an append-only file
  --appendfsync everysec   when to flush that file to the disk: always (before each
                           reply), everysec, or no (the system decides)
  --dbfilename dump.rdb    file that is loaded at the start; SAVE and BGSAVE write it
  --save ''                SECONDS CHANGES: save that file after so many seconds if
                           there were so many changes, and at the end
  --dir .                  folder of these files
  --loglevel notice        debug, verbose, notice or warning
  --logfile ''             file that the log goes to, instead of stderr
  --daemonize no           yes: run in the background
  --pidfile ''             file with the process id while the server runs
  --supervised no          systemd, upstart or auto: tell it when clients can connect

Of a directive whose feature miniredis does not have, such as --maxmemory,
only the value that turns it off is accepted.

The first line on stdout is 'listening on redis://HOST:PORT'. The log goes to stderr.
SIGINT (Ctrl-C), SIGTERM and the command SHUTDOWN stop the server.

Exit status: 0 it was stopped; 1 it cannot listen on its address, the limit on open
files is too low, the disk failed, or the data or the configuration file cannot be
loaded; 2 a flag is wrong.
"""

USAGE_ERROR: Final = 2
"""The exit status for flags that are wrong, as argparse has it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    Args:
        arguments: the words after the command's name; those of the process if omitted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--help" in words or words[:1] == ["-h"]:
        print(USAGE.format(version=VERSION, versions=", ".join(VERSIONS)), end="")  # noqa: T201
        return 0
    try:
        if "--version" in words or words[:1] == ["-v"]:
            tell_version([word for word in words if word not in {"--version", "-v"}])
            return 0
        config = read_command_line(words)
        os.chdir(config["dir"])  # as redis-server does: the names of other files are relative to it
        open_log(config)
    except BadFlagError as refusal:
        print(f"miniredis: error: {refusal}\nRun 'miniredis --help' for the flags.", file=sys.stderr)  # noqa: T201
        return USAGE_ERROR
    except BadFileError as refusal:
        print(refusal, file=sys.stderr)  # noqa: T201
        return 1
    return run(config)


def tell_version(words: Sequence[str]) -> None:
    """Prints the version that the server would answer as, as redis-server or valkey-server does."""
    version = read_command_line(words).version
    ours = importlib.metadata.version("pressure-queues")
    print(f"{version.product.title()} server v={version.own_number} (miniredis {ours})")  # noqa: T201


class BadFlagError(Exception):
    """A word of the command line that miniredis does not accept; the text names it."""


def read_command_line(words: Sequence[str]) -> Config:
    """The configuration that a file, standard input and flags make together.

    Args:
        words: such as ``redis.conf --port 6379 --bind 127.0.0.1 ::1``. A ``-`` at either end stands for
            standard input.

    Raises:
        BadFileError: the file cannot be used.
        BadFlagError: redis-server would refuse the flags, too, or miniredis lacks the feature.
    """
    rest = list(words)
    directives = Directives()
    if rest and not rest[0].startswith("-"):
        directives.read_file(rest.pop(0))
    elif rest[:1] == ["-"]:
        directives.read_stdin()
        rest.pop(0)
    if rest[-1:] == ["-"]:
        directives.read_stdin()
        rest.pop()
    for flag in flags_in(rest):
        try:
            directives.obey(flag)
        except ConfigurationError as refusal:
            raise BadFlagError(explain(flag[0], flag[1:], refusal)) from None
    return directives.config()


def flags_in(words: Sequence[str]) -> list[list[str]]:
    """The directives that flags give: each one a name and its values.

    As in redis-server, the word after a flag's name is a value, even if it starts with dashes; but ``--save``
    may stand alone, and then its value is empty. A flag and its values may be one word (``"--save 900 1"``).
    """
    flags: list[list[str]] = []
    for word in words:
        is_flag = word.startswith("--")
        if is_flag and lacks_save(flags):
            flags[-1].append("")
        if is_flag and (not flags or len(flags[-1]) > 1):
            flags.append(split_words(os.fsencode(word.removeprefix("--"))) or [word.removeprefix("--")])
        elif flags:
            flags[-1].append(word)
        elif word.startswith("-"):
            raise BadFlagError(f"unknown flag {word}: flags start with two dashes, such as --port 6379")
        else:
            raise BadFlagError(f"{word!r} is neither the configuration file, which comes first, nor a flag")
    if lacks_save(flags):
        flags[-1].append("")
    return flags


def lacks_save(flags: list[list[str]]) -> bool:
    return bool(flags) and [word.lower() for word in flags[-1]] == ["save"]


def open_log(config: Config) -> None:
    try:
        log_to(config["logfile"])
    except OSError as error:
        raise BadFileError.log_file(error) from None


def explain(name: str, values: Sequence[str], refusal: ConfigurationError) -> str:
    """The flag, redis-server's reason for refusing it, and what to write instead if that is clear."""
    flag, assigned, value = name.partition("=")
    text = f"{shlex.join([f'--{name}', *values])}: {refusal.explanation}"
    if name.lower() in EXAMPLES:
        return f"{text} (write it as in --{name} {EXAMPLES[name.lower()]})"
    if not isinstance(refusal, UnknownDirectiveError):
        return text
    if assigned:
        return f"{text} (write --{flag} {value})"
    if name.lower() in NOT_SUPPORTED:
        return f"{text} (not supported by miniredis)"
    meant = likely_name(name, ["help", "version", SERVER_VERSION])
    return f"{text} (did you mean --{meant}?)" if meant else text


def run(config: Config) -> int:
    """Serves until a signal or SHUTDOWN; returns the exit status, which ``USAGE`` explains.

    Like redis-server, it ignores SIGHUP: it keeps running when its terminal closes.
    """
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    process = CommandProcess(config)
    try:
        fit_open_files_limit(config)
        announcer = Announcer(config, process)
        serve = partial(run_server, config, time_source=chosen(None), alone=True)
        trio.run(partial(serve, handle=StoppableServer, task_status=announcer))
    except StoppedWhileLoadingError:
        return 0
    except (ConfigurationError, DamagedFileError, TooFewError) as refusal:
        log.error("%s", refusal)
        return 1
    except OSError as error:
        log.error("%s%s", error.strerror, advice(error))
        return 1
    finally:
        process.ended()
    return 0


def advice(error: OSError) -> str:
    if error.filename:
        return f": {error.filename}"
    return "; --port 0 picks a free port" if error.errno == errno.EADDRINUSE else ""


class StoppableServer(Server):
    """A server that SIGINT and SIGTERM stop, also while it loads its data."""

    def __init__(self, runner: TickRunner, listeners: list[Listener]) -> None:
        super().__init__(runner, listeners)

        def stop(number: int, _: object) -> None:
            runner.log.info("received %s, stopping", signal.Signals(number).name)
            self.stop()

        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)


class Announcer:
    """Announces the server when clients can connect and its data are loaded."""

    def __init__(self, config: Config, process: CommandProcess) -> None:
        self._log = ServerLog(config)
        self._process = process

    def started(self, server: Server) -> None:
        """Prints and logs the server's URL."""
        self._process.ready()
        print(f"listening on {server.public_url}", flush=True)  # noqa: T201
        self._log.info("ready to accept connections on %s", server.public_url)


if __name__ == "__main__":
    sys.exit(main())
