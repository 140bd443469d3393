"""On Windows the loop of streams serves, and what needs Unix is refused.

These tests have no Windows: a Python on Linux is told that it is one, and loses what Windows lacks. What they
cannot show is how sockets behave there. ``mypy --platform win32 -p miniredis`` finds what they do not call.
"""

from __future__ import annotations

import subprocess
import sys

PRETEND = """
import asyncio, dataclasses, datetime, hiredis, json, logging.handlers, multiprocessing, os, pathlib, platform
import redis, redis.asyncio, selectors, signal, socket, ssl, subprocess, sys, tempfile, threading, trio

sys.platform = "win32"
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for name in ("O_CLOEXEC", "O_DIRECTORY", "fork", "register_at_fork", "sched_getaffinity", "setsid", "writev"):
    delattr(os, name)
del signal.SIGHUP, signal.SIGPIPE, signal.SIGSTOP
selectors.DefaultSelector = selectors.SelectSelector

import miniredis


def refused(call):
    try:
        call()
    except OSError as error:
        return "on Windows" in str(error)
"""

PROGRAMS = """
# clients with sockets
with miniredis.start(clock="held") as server:
    with redis.Redis(port=server.port) as one, redis.Redis(port=server.port) as other:
        large = b"v" * 3_000_000
        assert one.lpush("l", "a", large) == 2 and other.lrange("l", 0, -1) == [large, b"a"]
        found = []
        waiting = threading.Thread(target=lambda: found.append(one.blpop("m", 10)))
        waiting.start()
        server.wait_until(lambda: server.blocked_clients())
        other.rpush("m", "v")
        waiting.join()
        assert found == [(b"m", b"v")]
        other.set("k", 1, ex=10)
        server.fast_forward(11)
        assert other.get("k") is None
        info = other.info()
        assert info["used_cpu_user"] > 0 and info["connected_clients"] == 2, info

# clients without sockets
async def main(server):
    async with server.async_client() as client:
        assert await client.incr("n") == 2


with miniredis.start() as server:
    with server.client() as client:
        assert client.incr("n") == 1
    asyncio.run(main(server))

# a Trio program
async def main():
    async with trio.open_nursery() as nursery:
        server = await nursery.start(miniredis.serve)
        stream = await trio.open_tcp_stream(server.host, server.port)
        await stream.send_all(b"PING\\r\\n")
        assert await stream.receive_some(100) == b"+PONG\\r\\n"
        await stream.aclose()
        server.stop()


trio.run(main)

# what is refused
with tempfile.TemporaryDirectory() as folder:
    assert refused(lambda: miniredis.start(appendonly="yes", dir=folder))
    assert refused(lambda: miniredis.start(unixsocket=folder + "/redis.sock"))
    assert refused(miniredis.spawn)
    assert not hasattr(miniredis, "join")
    with miniredis.start(dir=folder, save="60 1") as server, server.client() as client:
        client.set("k", "v\\r\\n")
        assert client.save()
        try:
            client.bgsave()
            raise AssertionError("it has forked")
        except redis.ResponseError:
            pass
    with miniredis.start(dir=folder, save="60 1") as server, server.client() as client:
        assert client.get("k") == b"v\\r\\n"
"""


def test_a_server_works_without_what_windows_lacks() -> None:
    """All in one process, which takes longer to start than they take."""
    subprocess.run([sys.executable, "-c", PRETEND + PROGRAMS], check=True, timeout=600)
