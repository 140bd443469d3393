"""Processes that are forked end as those do that Python starts."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from tests.cases import check_each
from tests.tools.forking import Forked, ForkServer

PROGRAMS = {
    "its end": "print('said')",
    "a status": "import sys; print('said'); sys.exit(3)",
    "no status": "import sys; sys.exit(None)",
    "a status beyond a byte": "import sys; sys.exit(256 + 7)",
    "a status below zero": "import sys; sys.exit(-1)",
    "a message": "import sys; sys.exit('why')",
    "an error": "1 / 0",
    "an interrupt": "raise KeyboardInterrupt",
    "a signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "an exit handler": "import atexit; atexit.register(print, 'at the end')",
    "an error in an exit handler": "import atexit; atexit.register(lambda: 1 / 0)",
    "a thread": "import threading, time; threading.Thread(target=lambda: time.sleep(0.01) or print('last')).start()",
    "a closed output": "import sys; sys.stdout.close()",
    "an output that nobody reads": "import os; print('said'); os.close(1)",
    "a child": "import os; pid = os.fork() or os._exit(7); print(os.waitpid(pid, 0)[1])",
}

PIPES: dict[str, Any] = {
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
    "text": True,
    "env": {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
}


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Status, output and the last line of the errors, of which those before name files."""
    with process:
        out, err = process.communicate(timeout=600)
    return process.returncode, out, err[err.rfind("\n", 0, -1) + 1 :]


def test_a_forked_process_ends_as_one_that_python_starts(fork_server: ForkServer) -> None:
    def check(code: str) -> None:
        command = [sys.executable, "-Sc", code]
        expected = ended(subprocess.Popen(command, **PIPES))
        assert ended(Forked(fork_server, [sys.executable, "-c", code], **PIPES)) == expected

    check_each(PROGRAMS, check)
