"""Commands as words, and replies as bytes; most clauses are lists of both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from ...judging.environment import Environment, Failure, expect
from ...wire import RawConnection
from ..registry import Check
from . import notes

ABC: Final = ("a", "b", "c")
"""Names of keys for conversations about several."""

NULL: Final = b"$-1\r\n"

NULL_ARRAY: Final = b"*-1\r\n"

EMPTY: Final = b"*0\r\n"

OK: Final = b"+OK\r\n"

WRONG_TYPE: Final = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"


def number(value: int) -> bytes:
    """An integer reply."""
    return b":%d\r\n" % value


def bulk(value: bytes) -> bytes:
    """A bulk string reply."""
    return b"$%d\r\n%b\r\n" % (len(value), value)


def array(*values: bytes) -> bytes:
    """An array of bulk strings."""
    return b"*%d\r\n%b" % (len(values), b"".join(map(bulk, values)))


class Talk:
    """One connection on which commands are given as words, keys being the check's own."""

    def __init__(self, env: Environment, *keys: str) -> None:
        self.raw: RawConnection = env.connect()
        self.keys = {name: env.key(name) for name in (*keys, "k", "t", "s", "none")}

    def words(self, line: str) -> list[str]:
        """A command's words, with names of keys replaced by the keys."""
        name, *rest = line.split()
        return [name, *(self.keys.get(word, word) for word in rest)]

    def ask(self, line: str) -> bytes:
        """The reply to a command."""
        return self.raw.command(*self.words(line))

    def expect(self, line: str, wanted: bytes) -> None:
        """Fails unless a command answers so."""
        expect(self.ask(line), wanted, line)

    def send(self, line: str) -> None:
        """Sends a command that will wait."""
        self.raw.send(*self.words(line))

    def key(self, name: str) -> bytes:
        """A key as it comes back in replies."""
        return self.keys[name].encode()


def reply(talk: Talk, text: str) -> bytes:
    """A reply as ``exchange`` writes it: ``3``, ``+OK``, ``-ERR why``, ``'element'``, ``nil``, ``nil array``, ``[a b]``.

    In an array of strings a key is named as in the commands; ``(1 2)`` is an array of numbers.
    """
    if text.isdigit():
        return number(int(text))
    if text[0] == "(":
        numbers = text[1:-1].split()
        return b"*%d\r\n" % len(numbers) + b"".join(number(int(each)) for each in numbers)
    if text[0] == "[":
        return array(*(talk.keys.get(word, word).encode() for word in text[1:-1].split()))
    if text[0] == "'":
        return bulk(text[1:-1].encode())
    return NAMED.get(text) or text.encode() + b"\r\n"


NAMED: Final = {"nil": NULL, "nil array": NULL_ARRAY, "-WRONGTYPE": WRONG_TYPE}


def play(env: Environment, lines: Iterable[str], keys: Sequence[str] = ()) -> None:
    """Has one client, and others that wait, say and hear what some lines say.

    ``COMMAND => reply`` is asked and answered, and ``COMMAND`` asked, whatever the answer. ``who: COMMAND`` makes
    another client wait, ``who <= reply`` is what it gets, and nothing behind it, and ``who waits`` says that it
    has got nothing yet.

    Args:
        env: the check's.
        lines: one after the other; replies are as ``reply`` reads them.
        keys: more names of keys beside those that every ``Talk`` has.
    """
    talk, clients, waiting = Talk(env, *keys), dict[str, Talk](), set[str]()
    for line in lines:
        if " => " in line:
            command, wanted = line.split(" => ")
            talk.expect(command, reply(talk, wanted))
        elif " <= " in line:
            who, wanted = line.split(" <= ")
            waiting.remove(who)
            expect_served(clients[who], reply(talk, wanted), who)
        elif ": " in line:
            who, command = line.split(": ")
            if who not in clients:
                clients[who] = Talk(env, *keys)
            clients[who].send(command)
            waiting.add(who)
            env.until_blocked(len(waiting))
        elif line.endswith(" waits"):
            expect_still_waiting(env, clients[line.removesuffix(" waits")], len(waiting))
        else:
            talk.ask(line)


def exchanges_of(clauses: Callable[..., Callable[[Check], Check]]) -> Callable[..., None]:
    """What declares clauses of a document that are lists of lines, which ``play`` reads.

    ::

        exchange("list.llen", "2, LLEN", "LLEN answers the length.", "RPUSH k 1 2 => 2", "LLEN k => 2")
    """

    def exchange(
        id_: str, place: str, text: str, *lines: str, keys: Sequence[str] = (), **options: Any
    ) -> None:
        def asked(env: Environment) -> None:
            play(env, lines, keys)

        asked.__name__, asked.__doc__ = id_, text
        clauses(id_, place, **options)(asked)

    return exchange


exchange = exchanges_of(notes)


NOT_A_FLOAT: Final = b"-ERR timeout is not a float or out of range\r\n"

NEGATIVE: Final = b"-ERR timeout is negative\r\n"


def waiters(env: Environment, *lines: str) -> list[Talk]:
    """Clients that have blocked one after the other, each with its command."""
    blocked = []
    for line in lines:
        blocked.append(Talk(env, "a", "b", "c"))
        blocked[-1].send(line)
        env.until_blocked(len(blocked))
    return blocked


def expect_served(talk: Talk, wanted: bytes, who: str = "the waiter") -> None:
    """Fails unless a client that waits gets this next, and nothing behind it."""
    expect(talk.raw.reply(), wanted, f"what {who} gets")
    expect(talk.ask("PING"), b"+PONG\r\n", f"what {who} gets next")


def expect_still_waiting(env: Environment, talk: Talk, count: int = 1) -> None:
    """Fails unless a client still waits, one of so many."""
    env.until_blocked(count)
    if not talk.raw.is_silent():
        raise Failure("a client that waits got something")


def expect_lasting(talk: Talk, line: str) -> None:
    """Fails unless a command waits 0.06 s for nothing; a slow machine is not late ten times."""
    for _ in range(10):
        start = time.monotonic()
        talk.expect(line, NULL_ARRAY)
        lasted = time.monotonic() - start
        if lasted < 0.3:
            break
    expect(0.05 <= lasted < 0.3, True, f"{line} lasting about so long, and not {lasted:.3f} s")
