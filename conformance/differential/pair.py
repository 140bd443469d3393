"""miniredis and a real Redis side by side: the same requests to both, and what each of their clients hears.

miniredis is the engine alone, driven in this process; the real server is asked over sockets. After each
request the engine tells who got what and who is blocked. Just that is read from the real server; then one
question of another client shows that nobody else got anything (Redis sends all replies before it serves the
next event) and that as many clients are blocked.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from itertools import zip_longest
from typing import Final

from miniredis.engine import Config, Engine, Environment, Session
from miniredis.engine.keyspace.keyspace import Database
from miniredis.engine.versions.version import DEFAULT
from miniredis.scripting import new_interpreter

from ..judging.limits import pauses
from ..wire import Hangup, encode, reply_end
from .control import BLOCKED, PACKING, PATIENCE, Control
from .coverage import Coverage
from .pushes import in_front, in_some_order, without_redirection
from .replies import split
from .rival import Rival
from .sizes import MENTIONS_CLIENT
from .steps import CLIENTS, TELLING, Difference, EndedError, Step, now, prelude
from .tolerated import SCANS, equal, rows_of
from .unsent import has_expired_keys, is_sent
from .walks import Ask, Walks

__all__ = ["Client", "Pair"]

ID: Final = re.compile(rb"<id:(\d)>")


class Client:
    """One client of both servers."""

    def __init__(self, name: str, pair: Pair) -> None:
        self.name = name
        self.real = pair.rival.connect()
        self.real.socket.settimeout(PATIENCE)
        self.session: Session = pair.engine.connect(now(), address="127.0.0.1:1", local_address="127.0.0.1:2")
        self.real_id = pair.control.number_of(self.real)
        self.asked: list[str] = []  # the commands of what is unanswered: one, or those of a transaction
        self.queued: list[str] = []


class Pair:
    """Both servers, fresh for each conversation.

    Args:
        rival: the real server, which is emptied.
        coverage: counts what was tried.
        used: counts the tolerated differences that were met.
        version: as which the engine answers.
    """

    def __init__(
        self, rival: Rival, coverage: Coverage, used: Counter[str], version: str = DEFAULT.name
    ) -> None:
        self.rival = rival
        self.version = version
        self.rows = rows_of(version)
        self.coverage = coverage
        self.used = used
        self.control = Control(rival)

    def play(self, steps: list[Step]) -> tuple[list[tuple[str, Step]], Difference | None]:
        """A whole conversation: the steps that were sent, by whom, and what was not the same.

        Raises:
            EndedError: the real server has ended.
        """
        sent: list[tuple[str, Step]] = []
        try:
            return sent, self._play_until_they_differ(steps, sent)
        except (ConnectionError, Hangup):
            raise EndedError(sent) from None

    def _play_until_they_differ(self, steps: list[Step], sent: list[tuple[str, Step]]) -> Difference | None:
        environment = Environment(new_interpreter=new_interpreter)
        directives = {"enable-debug-command": "yes", **PACKING}
        self.engine = Engine(Config(directives, version=self.version), now(), environment=environment)
        self.engine.timers.active_expire = self._keys_may_end_unasked(steps)
        self.watcher = self.engine.connect(
            now(), address="127.0.0.1:1", local_address="127.0.0.1:2"
        )  # as the real server's ``control``
        self.walks = Walks()
        self.control.reset(keys_may_end_unasked=self.engine.timers.active_expire)
        self.engine.replication.history.offset = self.control.offset()
        self.clients = [Client(name, self) for name in "abcd"[:CLIENTS]]
        try:
            return self._play([*prelude(steps), *steps], sent)
        finally:
            for client in self.clients:
                client.real.close()

    def _keys_may_end_unasked(self, steps: list[Step]) -> bool:
        """Whether both servers may delete keys whose time has come before anybody asks for them."""
        return TELLING.isdisjoint(step.command for step in steps)

    def _play(self, steps: list[Step], sent: list[tuple[str, Step]]) -> Difference | None:
        for step in steps:
            free = [client for client in self.clients if client.session.waiter is None]
            if not free:
                break
            client = free[step.client % len(free)]
            if is_sent(self.engine, self.clients, client, step):
                sent.append((client.name, step))
                if difference := self._ask(client, step):
                    return difference
        return None

    def close(self) -> None:
        """Ends the connection to the real server."""
        self.control.close()

    # One step

    def _ask(self, client: Client, step: Step) -> Difference | None:
        client.asked = [step.command]
        if client.session.transaction is not None and step.command == "exec":
            client.asked += client.queued
        mine, theirs = self._data(step)
        try:
            heard = self._ask_engine(client, step, mine)
        except Exception as fault:
            return Difference(client.name, f"<{type(fault).__name__}: {fault}>".encode(), NOTHING)
        self._send_real(client, step, theirs)
        self._count(client, step, heard)
        for listener in self.clients:
            if difference := self._compare(listener, heard.get(listener.session.id)):
                return difference
        self._follow_transaction(client, step)
        return self._check_rest() or self._walk(client, step)

    def _walk(self, client: Client, step: Step) -> Difference | None:
        """Goes on with what scans have begun, and compares what the servers have given at the end."""
        if self.engine.conditions.pause is not None or self.engine.conditions.monitors:
            return None
        if not self.engine.timers.active_expire and has_expired_keys(self.engine):
            return None
        fault = self.walks.after(step.command, self._ask_watcher, self._ask_control)
        if step.command in SCANS and client.session.transaction is None and client.session.waiter is None:
            key = None if step.command == "scan" or len(step.words) < 3 else step.words[1].encode("latin-1")
            self.walks.begin(client.session.db, key)
        return fault and Difference("nobody", *fault)

    def _ask_watcher(self, database: Database) -> Ask:
        def ask(words: tuple[bytes, ...]) -> bytes:
            self.watcher.db = database
            self.engine.receive(self.watcher, encode(*words), now())
            return self.watcher.take_output()

        return ask

    def _ask_control(self, database: Database) -> Ask:
        def ask(words: tuple[bytes, ...]) -> bytes:
            self.control.command("SELECT", str(database.index))
            return self.control.command(*words)

        return ask

    def _data(self, step: Step) -> tuple[bytes, bytes]:
        """The request for the engine and for the real server, each with its own numbers of the clients."""
        texts = [word.encode("latin-1") for word in step.words]
        if not any(MENTIONS_CLIENT in word for word in step.words):
            whole = encode(*texts)
            return whole, whole
        numbers = ([each.session.id for each in self.clients], [each.real_id for each in self.clients])
        mine, theirs = (encode(*(numbered(text, those) for text in texts)) for those in numbers)
        return mine, theirs

    def _ask_engine(self, client: Client, step: Step, data: bytes) -> dict[int, bytes]:
        heard: dict[int, bytes] = {}
        for piece in (data[: step.cut], data[step.cut :]):
            self.engine.receive(client.session, piece, now())
            for session in self.engine.settle(now()):
                heard[session.id] = heard.get(session.id, b"") + session.take_output()
        for _, fault in self.engine.take_faults():
            raise fault
        return heard

    def _send_real(self, client: Client, step: Step, data: bytes) -> None:
        if step.command in {"sort", "sort_ro", "exec"}:
            self.control.clear_errno()
        with contextlib.suppress(ConnectionError):  # the first piece may have been the client's last
            for piece in (data[: step.cut], data[step.cut :]):
                client.real.socket.sendall(piece)

    def _compare(self, listener: Client, ours: bytes | None) -> Difference | None:
        of_exec = len(listener.asked) > 1
        said = split(ours or b"")
        whole = said[:-1] if said and not reply_end(said[-1], 0) else said
        mine = in_some_order([part for reply in whole for part in in_front(reply, of_exec=of_exec)])
        theirs = in_some_order(self._hear_as_many(listener, len(mine), of_exec=of_exec))
        if len(whole) < len(said):
            mine += in_front(said[-1], of_exec=True)
            theirs += in_front(self._hear_cut_short(listener), of_exec=True)
        for reply, other in zip_longest(mine, theirs, fillvalue=NOTHING):
            if not equal(
                without_redirection(reply),
                without_redirection(other),
                listener.asked,
                self.used,
                self.rows,
            ):
                return Difference(listener.name, reply, other)
        if listener.session.closing:
            return self._reconnect(listener, hung_up=ours is not None)
        return None

    @staticmethod
    def _hear_as_many(listener: Client, count: int, *, of_exec: bool) -> list[bytes]:
        """As many replies of the real server, those counted that came in the midst of others."""
        heard: list[bytes] = []
        while len(heard) < count:
            reply = hear(listener)
            heard += [reply] if reply in {CLOSED, NOTHING} else in_front(reply, of_exec=of_exec)
            if reply in {CLOSED, NOTHING}:
                break
        return heard

    def _hear_cut_short(self, listener: Client) -> bytes:
        """All that the real server said; CLIENT REPLY has cut the array of an EXEC short, on both."""
        said = b""
        while True:
            self.control.counted(BLOCKED)  # once it has answered, it has said the other, or 64 KiB
            more = listener.real.take_all()
            if not more:
                return said
            said += more

    def _reconnect(self, listener: Client, *, hung_up: bool) -> Difference | None:
        """Puts a new client in place of one whose connection is over, or to whose words nobody listens."""
        if hung_up and (theirs := hear(listener)) != CLOSED:
            return Difference(listener.name, CLOSED, theirs)
        listener.real.close()
        self.engine.disconnect(listener.session, now())
        self.clients[self.clients.index(listener)] = Client(listener.name, self)
        return None

    @staticmethod
    def _follow_transaction(client: Client, step: Step) -> None:
        if client.session.transaction is None:
            client.queued = []
        elif len(client.session.transaction.queued) > len(client.queued):
            client.queued.append(step.command)

    def _check_rest(self) -> Difference | None:
        blocked = len(self.engine.waiting)
        for _ in pauses(PATIENCE):
            if (theirs := self.control.counted(BLOCKED)) == blocked:
                break
        else:
            return Difference("nobody", b"%d blocked" % blocked, b"%d blocked" % theirs)
        for client in self.clients:
            if self.rival.hears(client.real):
                return Difference(client.name, b"nothing", hear(client))
        return None

    def _count(self, client: Client, step: Step, heard: dict[int, bytes]) -> None:
        ours = heard.get(client.session.id)
        if client.session.waiter is not None:
            self.coverage.count(step.command, "blocked")
        elif ours:
            self.coverage.count(step.command, "error" if ours.startswith(b"-") else "ok")
        for other in self.clients:
            if other is not client and heard.get(other.session.id):
                self.coverage.count(other.asked[0], "woken")


def numbered(text: bytes, numbers: list[int]) -> bytes:
    """A word of a request, with a server's numbers of the clients."""
    return ID.sub(lambda match: b"%d" % numbers[int(match[1]) % len(numbers)], text)


CLOSED: Final = b"<closed>"
NOTHING: Final = b"<nothing>"


def hear(client: Client) -> bytes:
    """The next reply of the real server, or what there is instead."""
    try:
        return client.real.reply()
    except TimeoutError:
        return NOTHING
    except (Hangup, OSError):
        return CLOSED
