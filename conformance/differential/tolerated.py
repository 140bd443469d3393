"""Every difference that is let pass, with its name, its commands and its reason.

A row makes two replies to one command equal where they may differ, and leaves the rest of them as it is: the
kind of reply, the number of items, and all errors are still compared, but where a row says otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from .replies import LISTENING, Tree, is_push, tree
from .values import MILLISECOND_TIMES, TIMES

__all__ = ["SCANS", "TOLERATED", "Tolerated", "equal", "rows_of"]


@dataclass(frozen=True, slots=True)
class Tolerated:
    """One row.

    Attributes:
        name: of the difference.
        commands: those that may show it, as COMMAND INFO names them.
        reason: why it is let pass.
        level: makes a reply what is compared of it.
        of_errors: errors are compared so, too; those of other rows must be the same.
    """

    name: str
    commands: tuple[str, ...]
    reason: str
    level: Callable[[Tree], object]
    of_errors: bool = False


MILLISECONDS: Final = 1000
"""How far two clocks may be apart that are read one after the other, though the machine is busy."""

LONG_STEP: Final = 5000
"""The same for times that may have begun while a busy machine let one of the servers wait."""


def kind_of(reply: Tree) -> object:
    """The kind of reply alone."""
    return (reply if isinstance(reply, bytes) else reply[0])[:1]


def shape(reply: Tree) -> object:
    """All kinds of reply in it."""
    return (
        kind_of(reply) if isinstance(reply, bytes) else (kind_of(reply), [shape(item) for item in reply[1]])
    )


def anything(_: Tree) -> object:
    """Nothing of it."""
    return None


def described(reply: Tree) -> object:
    """What DEBUG OBJECT describes, as far as that it describes something, or nothing: it may have expired."""
    told = isinstance(reply, bytes) and reply.startswith((b"+Value at:", b"-ERR no such key"))
    return b"+Value" if told else reply


def unordered(reply: Tree) -> object:
    """The items without their order."""
    return reply if isinstance(reply, bytes) else (reply[0], sorted(map(repr, reply[1])))


def unordered_pairs(reply: Tree) -> object:
    """The pairs of items without their order."""
    if isinstance(reply, bytes):
        return reply
    texts = list(map(repr, reply[1]))
    return reply[0], sorted(zip(texts[::2], texts[1::2], strict=False))


def string_form(reply: Tree) -> object:
    """What OBJECT tells, but for the encoding of a string, and for who shares it."""
    assert isinstance(reply, bytes)
    is_of_string = reply.startswith(b":") or reply.endswith(
        (b"\r\nraw\r\n", b"\r\nint\r\n", b"\r\nembstr\r\n")
    )
    return reply[:1] if is_of_string else reply


def scanned(reply: Tree) -> object:
    """The kinds of what SCAN returns: the order is each server's own, and ``walks`` compares the rest."""
    return (
        shape(reply) if isinstance(reply, bytes) or len(reply[1]) != 2 else (reply[0], kind_of(reply[1][0]))
    )


def line_fields(reply: Tree) -> object:
    """The names of the fields in lines such as ``id=3 addr=...``."""
    assert isinstance(reply, bytes)
    return reply[:1], [re.findall(rb"(?:^| )([a-z-]+)=", line) for line in reply.split(b"\n")[1:]]


def near(step: int) -> Callable[[Tree], object]:
    """A level for numbers of time, which the two clocks may tell a step apart."""
    return lambda reply: number_near(reply, step)


def number_near(reply: Tree, step: int) -> object:
    """A number that equals those up to a step away, unless no clock made it."""
    if not isinstance(reply, bytes) or not reply.startswith(b":"):
        return reply
    number = int(reply[1:])
    return number if number < 0 or number in GIVEN else Near(number, step)


GIVEN: Final = {
    shown
    for time in map(int, filter(str.isdigit, (*TIMES, *MILLISECOND_TIMES)))
    for shown in (time, time * 1000, (time + 500) // 1000)
    if shown > 1_000_000_000
}
"""Times of expiry that clients give, in seconds and milliseconds: no clock makes them."""


class Near:
    """A number that equals those next to it."""

    def __init__(self, number: int, step: int) -> None:
        self.number = number
        self.step = step

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Near) and abs(self.number - other.number) <= self.step

    __hash__ = None  # type: ignore[assignment]


def without_id(reply: Tree) -> object:
    """What HELLO answers, but for the number of the client."""
    return reply if isinstance(reply, bytes) else [reply[0], reply[1][:7], reply[1][8:]]


def without_numbers(reply: Tree) -> object:
    """A reply with any number of a client, 0 and -1 apart."""
    if isinstance(reply, bytes):
        return b":?" if reply.startswith(b":") and reply not in {b":0\r\n", b":-1\r\n"} else reply
    return reply[0], [without_numbers(item) for item in reply[1]]


OF_CONSUMERS: Final = (
    *(b"$4\r\nidle\r\n", b"$9\r\nseen-time\r\n"),
    *(b"$8\r\ninactive\r\n", b"$11\r\nactive-time\r\n"),
)
"""Facts about consumers that are times."""


def timed(reply: Tree) -> object:
    """What streams tell, with room in the times at which entries were given out and consumers seen."""
    if isinstance(reply, bytes):
        return reply
    items = [timed(item) for item in reply[1]]
    kinds = b"".join((item if isinstance(item, bytes) else item[0])[:1] for item in reply[1])
    place = {b"$$::": 2, b"$::": 1}.get(kinds)
    for at, item in enumerate(reply[1]):
        if item in OF_CONSUMERS and at + 1 < len(items):
            items[at + 1] = number_near(reply[1][at + 1], LONG_STEP)
        elif at == place:
            items[at] = number_near(item, LONG_STEP)
    return reply[0], items


CONTAINERS: Final = (
    "client", "command", "config", "function", "latency", "memory", "object", "pubsub",
    "script", "module", "slowlog", "xgroup", "xinfo",
)  # fmt: skip
HELP: Final = tuple(f"{each}|help" for each in CONTAINERS)
TIMED: Final = ("xpending", "xinfo|consumers", "xinfo|stream")
COMMAND: Final = ("command", "command|count", "command|docs", "command|info", "command|list")
NAMES: Final = (
    *("keys", "hkeys", "hvals", "smembers", "sinter", "sunion", "sdiff", "spop"),
    *("pubsub|channels", "pubsub|shardchannels"),
)
REDIRECTIONS: Final = ("client|getredir", "client|trackinginfo")
FORMS: Final = ("object|encoding", "object|refcount")
SCANS: Final = ("scan", "hscan", "sscan", "zscan")
DUMPS: Final = ("dump", "function|dump")
LUCK: Final = ("randomkey", "hrandfield", "srandmember", "zrandmember")

TOLERATED: Final = (
    Tolerated("facts", ("info",), "each server tells of itself", kind_of),
    Tolerated("clients", ("client|list", "client|info"), "addresses, buffers and times", line_fields),
    Tolerated("numbers of clients", ("client|id",), "each server counts its clients", kind_of),
    Tolerated("numbers of others", REDIRECTIONS, "each server counts its clients", without_numbers),
    Tolerated("number in HELLO", ("hello",), "each server counts its clients", without_id),
    Tolerated("the time", ("time", "lastsave"), "two clocks", shape),
    Tolerated("seconds", ("ttl", "expiretime"), "two clocks, read one after the other", near(1)),
    Tolerated("milliseconds", ("pttl", "pexpiretime"), "the same", near(MILLISECONDS)),
    Tolerated("times of streams", TIMED, "two clocks, read one after the other", timed),
    Tolerated("idle time", ("object|idletime",), "Redis counts it by a clock of whole seconds", kind_of),
    Tolerated("encodings", FORMS, "how a string came about is not kept", string_form),
    Tolerated("expired keys", ("dbsize",), "Redis counts them until it meets them", kind_of),
    Tolerated("order of names", NAMES, "a hash table has no order", unordered),
    Tolerated("order of fields", ("hgetall",), "the same", unordered_pairs),
    Tolerated("cursors", SCANS, "each server walks in its own order", scanned),
    Tolerated("luck", LUCK, "luck", shape),
    Tolerated("order of libraries", ("function|list",), "a hash table has no order", unordered),
    Tolerated("dumps", DUMPS, "several encodings of a value; each server restores both", kind_of),
    Tolerated("bytes", ("memory|usage",), "other overheads, and Redis still has expired keys", anything),
    Tolerated("the slow log", ("slowlog|get", "slowlog|len"), "how long a command took", kind_of),
    Tolerated("behind the scenes", ("debug",), "addresses, sizes, expired keys", described, of_errors=True),
    Tolerated("help", HELP, "our own words", kind_of),
    Tolerated("commands", COMMAND, "those that miniredis has, in our own words", kind_of),
    Tolerated("directives", ("config|get",), "those of the machine", kind_of),
)
"""What COMMAND tells of each command is compared by tests/miniredis/commands/test_metadata.py."""

SILENT: Final = (frozenset[str](), frozenset({"client|reply"}), LISTENING, LISTENING | {"client|reply"})
"""Commands in a transaction that may have no reply, or only pushes."""

REFUSED: Final = b" isn't allowed for a DENY BLOCKING client\r\n"
"""What those hear of that would be silent, but were refused."""

ENCODINGS_SINCE_7_2: Final = Tolerated(
    "encodings", FORMS, "what shrank may be a listpack, and how a string came about", kind_of
)


def without_modules(reply: Tree) -> object:
    """What HELLO answers, but for the number of the client and the modules."""
    if isinstance(reply, bytes) or len(reply[1]) < FIELDS_OF_HELLO:  # what MODULE LIST answers
        return kind_of(reply)
    return [reply[0], reply[1][:7], reply[1][8:-1]]


FIELDS_OF_HELLO: Final = 7
MODULES: Final = Tolerated(
    "modules",
    ("hello", "module|list"),
    "those of 8.0 and Valkey 9.1 are not here; the number of the client",
    without_modules,
)
WORDS_OF_SCRIPTS: Final = (
    (re.compile(rb"(?s)^(-ERR Error compiling script) .*"), rb"\1"),
    (re.compile(rb"@\w+: ?\d+: "), b""),
    (re.compile(rb"^(?:-|\$\d+\r\n)(?:ERR )?"), b"-"),
    (re.compile(rb"[Ff]rom (?:Lua )?scripts?"), b"from script"),
    (re.compile(rb"Lua redis(?: lib|\(\)) command"), b"Lua redis command"),
    (re.compile(rb"(?:this redis lib call|redis\.p?call\(\))"), b"this call"),
    (
        re.compile(rb"Script attempted to create global variable '[^']*'"),
        b"Attempt to modify a readonly table",
    ),
)
"""What is left out of an error that a script meets in 6.x, or has other words."""


def in_words_of_6(reply: Tree) -> object:
    """A reply of a script; an error, also as a string, without places, and in one set of words."""
    if not isinstance(reply, bytes):
        return reply[0], [in_words_of_6(item) for item in reply[1]]
    if not reply.startswith((b"-", b"$")):
        return reply
    for pattern, instead in WORDS_OF_SCRIPTS:
        reply = pattern.sub(instead, reply)
    return reply


SCRIPTS: Final = Tolerated(
    "errors of scripts",
    ("eval", "evalsha", "script|load"),
    "6.x puts the place into errors that a script sees, makes other errors of its own Lua code, and compiles "
    "a script as the body of a function",
    in_words_of_6,
    of_errors=True,
)


def without_counters(reply: Tree) -> object:
    """The names of the fields in lines of clients, but for those that count what a client has sent."""
    assert isinstance(reply, bytes)
    return line_fields(re.sub(rb" tot-(?:net-in|net-out|cmds)=\d+", b"", reply))


OF_COMMANDLOG: Final = Tolerated(
    "logs",
    ("commandlog|help", "commandlog|get", "commandlog|len"),
    "our own words; how long a command took; no large requests and replies are logged here",
    kind_of,
)
COUNTERS: Final = Tolerated(
    "counters of clients",
    ("client|list", "client|info"),
    "addresses, buffers and times; Valkey also counts the bytes and commands of each client",
    without_counters,
)


OF_VERSIONS: Final[dict[str, tuple[Tolerated, ...]]] = {
    **dict.fromkeys(("6.0", "6.2"), (SCRIPTS,)),
    **dict.fromkeys(("7.2", "7.4"), (ENCODINGS_SINCE_7_2,)),
    "8.0": (ENCODINGS_SINCE_7_2, MODULES),
    "valkey-8.1": (ENCODINGS_SINCE_7_2, COUNTERS, OF_COMMANDLOG),
    "valkey-9.1": (ENCODINGS_SINCE_7_2, MODULES, COUNTERS, OF_COMMANDLOG),
}
"""What else is let pass in some versions; a row stands in place of the one above of the same commands."""


def rows_of(version: str) -> dict[str, Tolerated]:
    """The rows of a version, by the names of commands."""
    rows = (*TOLERATED, *OF_VERSIONS.get(version, ()))
    return {name: row for row in rows for name in row.commands}


BY_COMMAND: Final = rows_of("7.0")


def equal(
    ours: bytes,
    theirs: bytes,
    commands: list[str],
    used: Counter[str],
    rows: Mapping[str, Tolerated] = BY_COMMAND,
) -> bool:
    """Whether two replies are the same, as far as they have to be.

    Args:
        ours: of miniredis.
        theirs: of the real server.
        commands: what was asked; the commands of the transaction, if it was EXEC.
        used: counts the rows that were needed.
        rows: those that may be, by the names of commands.
    """
    if ours == theirs or not theirs.endswith(b"\r\n"):  # nothing, or a connection closed
        return ours == theirs
    if len(commands) == 1:
        return level(tree(ours), tree(theirs), commands[0], used, rows)
    mine, real = tree(ours), tree(theirs)
    if isinstance(mine, bytes) or isinstance(real, bytes) or mine[0] != real[0]:
        return False
    pushes, others = ([item for item in each[1] if is_push(item)] for each in (mine, real))
    replies, real_replies = ([item for item in each[1] if not is_push(item)] for each in (mine, real))
    if len(replies) != len(real_replies) or pushes != others:
        return False
    queued = [answered(commands[1:], real_replies, silent) for silent in SILENT]
    return any(all_equal(replies, real_replies, each, used, rows) for each in queued)


def answered(commands: list[str], replies: list[Tree], silent: frozenset[str]) -> list[str]:
    """Those commands that have a reply, if some are silent unless they are refused."""
    answered: list[str] = []
    for command in commands:
        reply = replies[len(answered)] if len(answered) < len(replies) else b""
        if command not in silent or (isinstance(reply, bytes) and reply.endswith(REFUSED)):
            answered.append(command)
    return answered


def all_equal(
    ours: list[Tree],
    theirs: list[Tree],
    commands: list[str],
    used: Counter[str],
    rows: Mapping[str, Tolerated],
) -> bool:
    """Whether the replies of a transaction are the same; CLIENT REPLY may have none."""
    pairs = zip(ours, theirs, commands, strict=False)
    return all(a == b or level(a, b, command, used, rows) for a, b, command in pairs)


def level(ours: Tree, theirs: Tree, command: str, used: Counter[str], rows: Mapping[str, Tolerated]) -> bool:
    row = rows.get(command)
    if row is None or (b"-" in {kind_of(ours), kind_of(theirs)} and not row.of_errors):
        return False
    used[row.name] += 1
    return bool(row.level(ours) == row.level(theirs))
