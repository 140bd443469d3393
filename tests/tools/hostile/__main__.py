"""``python -m tests.tools.hostile``: feeds made-up frames to miniredis, in this process and over TCP."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from conformance.arguments import add_seed, count

from .fuzz import Findings, Fuzzer
from .sizes import command as sizes
from .sockets import fuzz_sockets

__all__ = ["main"]

BAR: Final = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status: 0 if nothing was found, else 1."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--sizes" in words:
        words.remove("--sizes")
        return sizes.main(words)
    options = read_options(words)
    began = time.monotonic()
    findings = Fuzzer(options.seed).run(options.frames, bar("engine", options.frames))
    took = time.monotonic() - began
    over_tcp = options.frames // 50 if options.over_tcp is None else options.over_tcp
    began = time.monotonic()
    stories = fuzz_sockets(over_tcp, options.seed, bar("TCP", over_tcp))
    say("\n".join(summary(findings, took)))
    rate = over_tcp / max(time.monotonic() - began, 1e-9)
    say(f"TCP: {over_tcp:,} frames, {rate:,.0f} a second, {len(stories)} faults")
    for kind, story in [*findings.faults.items(), *(("over TCP", story) for story in stories[:10])]:
        say(f"\n{kind}\n{story}")
    return int(bool(findings.faults or stories))


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.hostile",
        description="Sends malformed and oversized requests to miniredis, and checks that none crashes it, "
        "blocks it or leaks memory.",
        epilog="Exit status: 0 no fault was found, 1 one was, 2 wrong arguments. The same seed makes the "
        "same requests.",
    )
    parser.add_argument(
        "--frames", type=count(1), default=1_000_000, metavar="N",
        help="number of requests to send without sockets (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--over-tcp", type=count(0), metavar="N",
        help="number of requests to send over TCP after that (default: a fiftieth of --frames)",
    )  # fmt: skip
    add_seed(parser, "which requests are made up")
    parser.add_argument(
        "--sizes", action="store_true",
        help="instead: measure how time and memory grow with every argument of every command, beside a real "
        "Redis; see --sizes --help",
    )  # fmt: skip
    return parser.parse_args(arguments)


def summary(findings: Findings, took: float) -> list[str]:
    blocks, resident = findings.blocks, [each >> 20 for each in findings.resident]
    frames, rate = findings.frames, findings.frames / max(took, 1e-9)
    return [
        f"engine: {frames:,} frames in {findings.pieces:,} pieces, {took:.0f} s, {rate:,.0f} a second",
        f"  {findings.clients:,} clients sent {findings.bytes_in:,} bytes and got {findings.bytes_out:,}",
        f"  {findings.commands:,} commands ran; the slowest piece took {findings.slowest * 1000:.0f} ms",
        f"  blocks of memory in use: {blocks[0]:,} at first, {blocks[-1]:,} at last, {max(blocks):,} at most"
        if blocks
        else "  memory was not measured",
        f"  resident: {resident[0]} MiB at first, {resident[-1]} MiB at last" if any(resident) else "",
        f"  {len(findings.faults)} kinds of faults",
    ]


def bar(title: str, whole: int) -> Callable[[int], None]:
    """A bar of progress, on a terminal only."""
    began = time.monotonic()

    def show(done: int) -> None:
        if not sys.stderr.isatty():
            return
        full = BAR * done // max(whole, 1)
        rate = done / max(time.monotonic() - began, 1e-9)
        sys.stderr.write(
            f"\r\033[K{title} [{'#' * full}{'.' * (BAR - full)}] {done:,}/{whole:,} {rate:,.0f}/s"
        )
        if done >= whole:
            sys.stderr.write("\r\033[K")
        sys.stderr.flush()

    return show


def say(line: str) -> None:
    print(line)


if __name__ == "__main__":
    sys.exit(main())
