"""``python -m tests.tools.pictures``: makes the pictures of the guides anew, in a checkout."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from conformance.arguments import one_of

from .album import PICTURES

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command."""
    names = [Path(picture.file).name for picture in PICTURES]
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.pictures",
        description="Makes the pictures of the guides anew. Run it in a checkout; that of a report takes a "
        "minute, and needs Chromium and fakeredis.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", type=one_of("picture", names, "--help"),
        help=f"only these: {', '.join(names)}",
    )  # fmt: skip
    chosen = parser.parse_args(arguments).names
    for picture in PICTURES:
        if not chosen or picture.path.name in chosen:
            picture.path.write_bytes(picture.make())
            print(f"written: {picture.file}")


if __name__ == "__main__":
    main()
