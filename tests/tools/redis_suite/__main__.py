"""``python -m tests.tools.redis_suite``: runs Redis's own test suite against miniredis."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from conformance.arguments import amount, as_program, unknown
from conformance.targets import NotInstalledError, Target, target_named

from .expected import MINIREDIS, REDIS, VERSION, Table
from .running import Run, in_a_process, real, run_file
from .sources import Sources, UnusableSourcesError, sources_in
from .verdict import Verdict, denied_tags, idle_anywhere, judged, not_run

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.tools.redis_suite",
        description="Runs the unit tests of Redis's source code against a miniredis in a process of its own. "
        "Tests that are left out or may fail are in tests/tools/redis_suite/expected.py, with the reasons.",
        epilog="Exit status: 0 no test failed that is not in that table, 1 one did, 2 wrong arguments, no "
        "source code of Redis in the folder, no tclsh, or no such server.",
    )
    add = made.add_argument
    add(
        "files", nargs="*", metavar="FILE", help="run only these files, such as unit/type/list (default: all)"
    )
    add(
        "--redis-source", type=Path, required=True, metavar="DIR",
        help=f"folder of Redis's source code; the table is for Redis {VERSION}",
    )  # fmt: skip
    add(
        "--target", metavar="TARGET",
        help="test another server: real (redis-server), or the redis:// URL of a server that is running; its "
        "data is deleted, and its directives are changed",
    )  # fmt: skip
    add("--only", action="append", default=[], metavar="TEST", help="run only the test of this name")
    add(
        "--limit", type=amount, default=900, metavar="S",
        help="seconds a file may take; then it is ended, and counts as failed (default: %(default)s)",
    )  # fmt: skip
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    try:
        sources, target = sources_in(options.redis_source), target_of(options.target)
    except (UnusableSourcesError, ValueError) as error:
        parser().error(str(error))
    for file in options.files:
        if file not in sources.files:
            parser().error(unknown("file", file, sources.files, f"there are {', '.join(sources.files)}"))
    table = REDIS if options.target else MINIREDIS
    if sources.version != VERSION:
        say(f"the table is for Redis {VERSION}, and {sources.folder} is Redis {sources.version}")
    try:
        verdicts = run_files(sources, options.files or sources.files, target, table, options)
    except (NotInstalledError, OSError) as error:
        say(f"{target.name}: {error}")
        return 2
    tell(verdicts, table, whole=not options.files, idle=not options.only)
    return int(any(verdict.failed for verdict in verdicts))


def target_of(name: str | None) -> Target:
    """The server to test.

    Raises:
        ValueError: the suite cannot test it.
    """
    if name is None:
        return Target("miniredis", in_a_process)
    if name == "real":
        return Target("real", real)
    if not name.startswith("redis://"):
        raise ValueError(f"--target: give real or a redis:// URL, not {name!r}")
    if "@" in name:
        raise ValueError("--target: Redis's suite cannot give a password, so the server must not ask for one")
    return target_named(name)


def run_files(
    sources: Sources, files: Sequence[str], target: Target, table: Table, options: argparse.Namespace
) -> list[Verdict]:
    """Runs files one after the other, each on a fresh server unless it is one that was running."""
    verdicts = []
    for number, file in enumerate(files):
        show(f"{number}/{len(files)} {file}")
        run = Run(options.limit, denied_tags(file, table), not_run(file, table), options.only)
        began = time.monotonic()
        with target.up() as address:
            results = run_file(sources, file, address, run)
        show("")
        verdicts.append(judged(file, results, table))
        say(f"{line_of(verdicts[-1])} ({time.monotonic() - began:.1f} s)")
    return verdicts


def line_of(verdict: Verdict) -> str:
    """A file's line."""
    results = verdict.results
    skipped = len(results.skipped) + len(results.ignored)
    return (
        f"{verdict.file}: {len(results.passed)} passed, {len(verdict.failed)} failed, "
        f"{len(verdict.expected)} expected failures, {skipped} skipped"
    )


def tell(verdicts: Sequence[Verdict], table: Table, *, whole: bool, idle: bool) -> None:
    """Prints the failures, what the table names without need, and the sums."""
    for verdict in verdicts:
        for failure in verdict.failed:
            say(f"\n{verdict.file}: {failure.test}\n{indented(failure.message)}")
    needless = [test for verdict in verdicts for test in verdict.idle]
    if whole:
        needless += idle_anywhere(verdicts, table)
    if idle and needless:
        say("\nnot needed any more in tests/tools/redis_suite/expected.py:")
        say(indented("\n".join(needless)))
    passed = sum(len(verdict.results.passed) for verdict in verdicts)
    failed = sum(len(verdict.failed) for verdict in verdicts)
    expected = sum(len(verdict.expected) for verdict in verdicts)
    say(f"\n{len(verdicts)} files: {passed:,} passed, {failed:,} failed, {expected:,} expected failures")


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def show(line: str) -> None:
    """The line of progress, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    as_program(main)
