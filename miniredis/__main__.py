"""The ``miniredis`` command: redis-server's directives as flags, one server in the foreground."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Sequence
from functools import partial

import trio

from .descriptors import TooFewError, fit_open_files_limit
from .engine import VERSION, Config, ConfigurationError
from .server import Server, serve

__all__ = ["main"]

USAGE = """\
usage: miniredis [--DIRECTIVE VALUE ...] ...

A Redis-compatible server (as redis-server {version} answers), in memory only.
Directives are redis-server's own, for example:

  --port 6379              the TCP port; 0 picks a free one
  --bind 127.0.0.1 -::1    the addresses; those after a '-' are optional
  --requirepass PASSWORD   without one, only clients of this machine are served
  --protected-mode no      serve clients of other machines without a password, too
  --databases 16           how many databases
  --unixsocket PATH        also listen there
  --maxclients 10000       how many connections
  --loglevel notice        debug, verbose, notice or warning

Its first line on stdout is 'listening on redis://HOST:PORT'; it logs to stderr.
"""

LEVELS = {
    "debug": logging.DEBUG,
    "verbose": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
}

log = logging.getLogger("miniredis")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    Args:
        arguments: the words after the command's name; those of the process if omitted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in {"-h", "--help"}:
        print(USAGE.format(version=VERSION), end="")  # noqa: T201
        return 0
    if words and words[0] in {"-v", "--version"}:
        print(f"miniredis, as Redis {VERSION}")  # noqa: T201
        return 0
    try:
        config = read_flags(words)
    except BadFlagError as refusal:
        print(refusal, file=sys.stderr)  # noqa: T201
        return 1
    logging.basicConfig(
        stream=sys.stderr, level=LEVELS[config["loglevel"]], format="%(asctime)s %(levelname)s %(message)s"
    )
    return run(config)


class BadFlagError(Exception):
    """The command line is not one redis-server would take; the text is what it would print."""

    def __init__(self, line: int, name: str, values: Sequence[str], reason: str) -> None:
        quoted = "".join(f' "{value}"' for value in values)
        super().__init__(
            f"\n*** FATAL CONFIG FILE ERROR (Redis {VERSION}) ***\n"
            f"Reading the configuration file, at line {line}\n"
            f">>> '{name}{quoted}'\n{reason}"
        )


def read_flags(words: Sequence[str]) -> Config:
    """The configuration that flags such as ``--port 6379 --bind 127.0.0.1 ::1`` ask for."""
    flags: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("--"):
            flags.append((word.removeprefix("--"), []))
        elif flags:
            flags[-1][1].append(word)
        else:
            raise BadFlagError(1, word, [], "miniredis takes flags only, and no configuration file")
    given: dict[str, list[str]] = {}
    for line, (name, values) in enumerate(flags, start=2):  # redis-server counts from here
        try:
            given[name] = values
            Config({name: values})
        except ConfigurationError as refusal:
            raise BadFlagError(line, name, values, refusal.reason) from None
    return Config(given)


def run(config: Config) -> int:
    """Serves until a signal or SHUTDOWN; 1 if it cannot listen, or has no room for any client.

    Like redis-server, it ignores SIGHUP: it keeps running when its terminal closes.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        fit_open_files_limit(config)
        trio.run(partial(serve, config=config, alone=True, task_status=Announcer()))
    except TooFewError as refusal:
        log.error("%s", refusal)  # noqa: TRY400  (one line says it all)
        return 1
    except OSError as error:
        log.error("%s", error.strerror)  # noqa: TRY400  (likewise)
        return 1
    return 0


class Announcer:
    """Is handed the server as soon as clients can connect."""

    def started(self, server: Server) -> None:
        """Says where it listens, and lets signals stop it."""

        def stop(number: int, _: object) -> None:
            log.info("received %s, stopping", signal.Signals(number).name)
            server.stop()

        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)
        print(f"listening on {server.url}", flush=True)  # noqa: T201
        log.info("ready to accept connections on %s", server.url)


if __name__ == "__main__":
    sys.exit(main())
