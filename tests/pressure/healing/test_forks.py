"""Raw forks: a child leaves its parent's roles alone, and does not make a dead parent look alive."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Final

import pytest
import redis

from pressure import Queue, QueueInUseError
from pressure.connections.pool import Member
from tests.pressure.conftest import DEADLINE, JOBS, ROOT, invariant, until
from tests.tools.forking import Forked, ForkServer

from .conftest import A_WHILE, SOON, Make, said

pytestmark = pytest.mark.usefixtures("forked")


#: What a parent does, in each flavour; ``{after}`` is what it does in the block, and ``{words}`` are arguments.
SYNC: Final = """
import os, sys
import pressure

queue = pressure.Queue("jobs", url=sys.argv[1]{words})
try:
    with queue.receive() as message:
        child = os.fork()
        {after}
finally:
    if child == 0:
        os._exit(0)
print("left", flush=True)
"""

AIO: Final = """
import asyncio, os, sys
import pressure.aio

async def main():
    queue = pressure.aio.Queue("jobs", url=sys.argv[1]{words})
    try:
        async with queue.receive() as message:
            child = os.fork()
            {after}
    finally:
        if child == 0:
            os._exit(0)
    print("left", flush=True)
    await queue.disconnect()

asyncio.run(main())
"""

TRIO: Final = (
    AIO.replace("asyncio.run(main())", "trio.run(main)")
    .replace("import asyncio", "import trio")
    .replace("pressure.aio", "pressure.trio")
)

PROGRAMS: Final = {
    "sync": SYNC,
    "plain": SYNC.replace("{words}", ", scripts=False"),
    "aio": AIO,
    "trio": TRIO,
}

#: The parent tells when the child has left the block, and stays in the block until it is told to leave.
CHILD_LEAVES: Final = "print(os.waitpid(child, 0)[1], flush=True) or sys.stdin.read() if child else None"
CHILD_FAILS: Final = CHILD_LEAVES.replace("else None", "else 1 / 0")

#: The parent dies in the block, while the child lives on and does nothing.
PARENT_DIES: Final = "print(child, flush=True) or os._exit(1) if child else sys.stdin.read()"


@pytest.fixture
def parent(
    flavour: str, redis_url: str, fork_server: ForkServer
) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts such a process."""
    running: list[subprocess.Popen[str]] = []

    def start(after: str) -> subprocess.Popen[str]:
        program = PROGRAMS[flavour].replace("{words}", "").replace("{after}", after)
        running.append(
            Forked(
                fork_server, [sys.executable, "-c", program, redis_url],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
        return running[-1]

    yield start
    for each in running:
        each.kill()
        each.communicate(timeout=DEADLINE)


@pytest.mark.parametrize("after", [CHILD_LEAVES, CHILD_FAILS], ids=["leaves", "fails"])
def test_a_child_that_leaves_the_block_changes_nothing(
    make: Make, raw: redis.Redis, parent: Callable[[str], subprocess.Popen[str]], after: str
) -> None:
    queue = make()
    queue.create()
    queue.put_many([b"1", b"2"])
    process = parent(after)
    assert said(process) == "0"
    assert raw.lrange(f"{JOBS}:unacked", 0, -1) == [b"1"]
    with pytest.raises(QueueInUseError):
        queue.get(timeout=A_WHILE)
    out, _ = process.communicate(timeout=DEADLINE)
    assert out == "left\n"
    assert queue.get_many(9) == [b"2"]
    invariant(raw)


def test_a_child_does_not_make_its_dead_parent_look_alive(
    make: Make, raw: redis.Redis, parent: Callable[[str], subprocess.Popen[str]]
) -> None:
    queue = make()
    queue.create()
    queue.put(b"v")
    process = parent(PARENT_DIES)
    child = int(said(process))
    process.wait(DEADLINE)
    try:
        os.kill(child, 0)
        assert queue.get(timeout=SOON) == b"v"
    finally:
        os.kill(child, signal.SIGKILL)
    invariant(raw)


#: A thread waits for a message, and another one forks: the child has its own copy of a connection in use.
WAITING_PARENT: Final = """
import os, sys, threading, time
from conformance.clients.flavours import FLAVOURS

queue = FLAVOURS[sys.argv[2]]("jobs", url=sys.argv[1])
threading.Thread(target=queue.get, daemon=True).start()
sys.stdin.readline()
child = os.fork()
if child:
    print(child, flush=True)
    os._exit(1)
time.sleep(60)
"""


def test_a_child_does_not_make_a_parent_look_alive_that_died_while_it_waited(
    make: Make, raw: redis.Redis, flavour: str, redis_url: str
) -> None:
    queue = make()
    queue.create()
    words = [sys.executable, "-c", WAITING_PARENT, redis_url, flavour]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        until(lambda: raw.info("clients")["blocked_clients"], "does it wait")
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        child = int(said(process))
        process.wait(DEADLINE)
        try:
            os.kill(child, 0)
            until(lambda: not raw.info("clients")["blocked_clients"], "has the server noticed")
            queue.put(b"v")
            assert queue.get(timeout=SOON) == b"v"
        finally:
            os.kill(child, signal.SIGKILL)
    invariant(raw)


#: A child is forked while threads of its parent hold the locks of the queue object.
LOCKED: Final = """
import os, signal, sys
import pressure

queue = pressure.Queue("jobs", url=sys.argv[1])
queue.get()
with queue._unfinished._lock, queue._driver._unblocks:
    child = os.fork()
if child:
    print(os.waitpid(child, 0)[1], flush=True)
else:
    signal.alarm(10)
    queue.get()
    queue.task_done()
    os._exit(not (queue._driver.unblock(1) is not None and queue.join(timeout=0)))
"""


def test_a_child_waits_neither_for_locks_nor_for_tasks_of_its_parent(
    redis_url: str, raw: redis.Redis, fork_server: ForkServer
) -> None:
    with Queue("jobs", url=redis_url) as queue:
        queue.create()
        queue.put_many([b"1", b"2"])
        command = [sys.executable, "-c", LOCKED, redis_url]
        with Forked(fork_server, command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.communicate(timeout=DEADLINE)[0] == "0\n"


def test_a_child_without_a_free_descriptor_goes_on() -> None:
    member, before = Member(), resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as opened:
        member.open_as(opened)
        lowest_free = os.dup(opened.fileno())
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, before[1]))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                os.dup(opened.fileno())
            member.forget()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
