"""The engine does no I/O and reads no clock."""

import subprocess
import sys

FORBIDDEN = {
    "trio", "socket", "_socket", "selectors", "select", "ssl", "asyncio", "threading", "time", "datetime",
    "subprocess", "multiprocessing", "logging", "signal", "os", "io", "pathlib", "redis",
}  # fmt: skip
"""Modules by which a program reaches the world; that the standard library loads some for itself is no matter."""


def modules_that_engine_imports() -> set[str]:
    program = (
        "import sys, builtins\n"
        "real = builtins.__import__\n"
        "seen = set()\n"
        "def spy(name, globals=None, locals=None, fromlist=(), level=0):\n"
        "    importer = (globals or {}).get('__name__', '')\n"
        "    if importer.startswith('miniredis.engine') and not level:\n"
        "        seen.add(name.split('.')[0])\n"
        "    return real(name, globals, locals, fromlist, level)\n"
        "sys.modules['miniredis'] = type(sys)('miniredis')\n"
        "sys.modules['miniredis'].__path__ = [PATH]\n"
        "builtins.__import__ = spy\n"
        "import miniredis.engine\n"
        "print(*sorted(seen))\n"
    )
    import miniredis

    done = subprocess.run(
        [sys.executable, "-c", program.replace("PATH", repr(miniredis.__path__[0]))],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_engine_imports_neither_trio_nor_socket_nor_a_clock() -> None:
    imported = modules_that_engine_imports()
    assert "hiredis" in imported, "the spy saw nothing"
    assert not imported & FORBIDDEN
