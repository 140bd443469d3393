"""Rarely used commands are imported when one of them, or the table of all commands, is first needed."""

import subprocess
import sys

PROGRAM = """
import os, sys
from miniredis.engine import Engine, Environment, Instant

def ask(*words):
    data = b"*%d\\r\\n" % len(words) + b"".join(b"$%d\\r\\n%b\\r\\n" % (len(word), word) for word in words)
    engine.receive(session, data, engine.now)
    engine.settle(engine.now)
    return session.take_output()

now = Instant(1_700_000_000_000_000, 0)
is_loaded = lambda: float("miniredis.engine.commands.keys.sorting" in sys.modules)
engine = Engine(now=now, environment=Environment(stopwatch=is_loaded))
session = engine.connect(now)
assert ask(b"LPUSH", b"list", b"x") == b":1\\r\\n"
assert "miniredis.engine.commands.keys.sorting" not in sys.modules
for request in sys.argv[1:]:
    if child := os.fork():
        assert os.waitpid(child, 0) == (child, 0)
        continue
    print(ask(*request.encode().split()))
    assert "miniredis.engine.commands.keys.sorting" in sys.modules
    print(ask(b"SLOWLOG", b"LEN"))
    sys.exit()
"""

REPLIES = {
    "HSET hash field value": b":1\r\n",
    "hSeT hash field value": b":1\r\n",
    "OBJECT ENCODING list": b"$9\r\nquicklist\r\n",
    "NONSENSE": b"-ERR unknown command 'NONSENSE', with args beginning with: \r\n",
    "CLIENT TRACKINGINFO nonsense": b"-ERR wrong number of arguments for 'client|trackinginfo' command\r\n",
    "COMMAND GETKEYS SADD set member": b"*1\r\n$3\r\nset\r\n",
}


def test_the_time_of_loading_a_rare_command_is_not_in_the_slow_log() -> None:
    """The time that loading takes is not the command's: it is not slow."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *REPLIES], check=True, capture_output=True, text=True
    )
    expected = [line for reply in REPLIES.values() for line in (repr(reply), repr(b":0\r\n"))]
    assert done.stdout.splitlines() == expected
