"""Imports what no trial changes, and divides for each trial that it is asked for.

A program of its own, that imports nothing of ours before it has divided: ``divide.py MODULE ...``. A trial is
a line of JSON, ``[folder, function, output, word, ...]``: the folder of the changed package, a function of
``trial``, the file for what it says, and the words of its command line. The answer is its exit status.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from contextlib import suppress


def main() -> int:
    """Divides until there is nothing more to read."""
    for name in sys.argv[1:]:
        with suppress(ImportError):  # an extra
            importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return held(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201
    return 0


def held(folder: str, function: str, output: str, *words: str) -> int:
    """Runs a trial; returns its exit status."""
    for path, flags, file in ((os.devnull, os.O_RDONLY, 0), (output, os.O_WRONLY | os.O_CREAT, 1)):
        os.dup2(os.open(path, flags, 0o600), file)
    os.dup2(1, 2)
    sys.path.insert(0, folder)
    sys.argv[1:] = words
    status: int = getattr(importlib.import_module("conformance.guilty.trial"), function)()
    return status


if __name__ == "__main__":
    sys.exit(main())
