"""What has to hold when nobody does anything more, and after a repair of what those who died have left.

To add a law: a generator that says what is wrong, a sentence each, and its name in ``of``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from .clients import DIED, Error, Local, Result
from .contents import Contents, short, text
from .moves import Game, State
from .scenario import GET, REPAIR, Deed, put

__all__ = ["Endings"]

Wrong: TypeAlias = Iterator[str]

#: What tells that a connection was lost, or a process, in the middle of what it did.
LOST: Final = frozenset({"ConnectionFailedError", "OutcomeUnknownError", DIED.kind})

#: How often whoever comes to an end waits in vain: to wait for the role, to look, and to look again.
LOOKS: Final = 4

AFTERWARDS: Final = b"afterwards"


class Endings:
    """The laws about how a scenario ends."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def of(self, state: State) -> Wrong:
        """Of a state in which nobody will do anything more."""
        locals_ = self._game.locals(state)
        now, died = self._game.contents(state[0]), self._game.has_died(state[0])
        deeds = [*self._done(locals_)]
        done = {deed.kind for deed, result in deeds if result is None}
        if "delete" in done and "create" not in done and not died and len(now):
            yield f"the queue was deleted, and {len(now)} keys are left: {now}"
        if now.limit is None:
            return
        if "close" in done and not died:
            yield from self._closed(now, deeds)
        if not died:
            yield from self.quiet(now)
        yield from self._values(now, locals_)
        if not died:
            yield from self._order(locals_)

    def quiet(self, now: Contents) -> Wrong:
        """Of a queue, if it is there and nobody has a role; and nobody has died."""
        if now.limit is None or not all(now.roles.values()):
            return
        if now.room and not now.tokens:
            yield "there is room, and no token that says so: nobody can put any more"
        if now.tokens > 1:
            yield f"there are {now.tokens} tokens"
        if now.tokens and not now.room and not self._game.weak:
            yield "the queue is full, and there is a token"
        if now.marks not in (0, 2):
            yield f"marks of the close: {now.marks}"
        if any(uncounted := tuple(now.uncounted())):
            yield f"the counters are wrong by {uncounted[0]} messages and {uncounted[1]} bytes"

    def _done(self, locals_: Sequence[Local]) -> Iterator[tuple[Deed, Result]]:
        for client, local in zip(self._game.clients, locals_, strict=True):
            yield from zip(client.member.deeds, local.results, strict=False)

    def _closed(self, now: Contents, deeds: Sequence[tuple[Deed, Result]]) -> Wrong:
        if now.marks != 2:
            yield f"the queue was closed, and {now.marks} marks are left"
        told = [deed for deed, result in deeds if deed.kind in ("get", "receive") and _is_shut(result)]
        if told and now.values:
            yield "somebody was told that the queue is closed, and there is still something in it"

    def _values(self, now: Contents, locals_: Sequence[Local]) -> Wrong:
        """Values that were put and are nowhere, or that are somewhere and were not put."""
        present = {*now.stored}.union(*(local.delivered for local in locals_))
        stored, refused = {*self._game.scenario.values}, set[bytes]()
        for deed, result in self._done(locals_):
            if not deed.values:
                continue
            if result is None:
                stored.update(deed.values)
            elif result.kind not in ("OutcomeUnknownError", DIED.kind):
                stored.update(deed.values[: result.done])
                refused.update(deed.values[result.done :])
        if len(lost := stored - present) > self._on_their_way(locals_):
            yield f"{text(min(lost))} was put, and is gone"
        if there := refused & present:
            yield f"{text(min(there))} was refused, and is there"

    def _on_their_way(self, locals_: Sequence[Local]) -> int:
        """How many values may be gone with those who died, or who lost a connection."""
        dead = [client for client, local in zip(self._game.clients, locals_, strict=True) if local.dead]
        lost = [deed for deed, result in self._done(locals_) if _is_lost(result)]
        return sum(max(deed.takes for deed in client.member.deeds) for client in dead) + sum(
            deed.takes for deed in lost
        )

    def _order(self, locals_: Sequence[Local]) -> Wrong:
        """What one client puts comes to one client in that order; what was put back may come later."""
        for member in self._game.scenario.members:
            order = [value for deed in member.deeds for value in deed.values]
            for local in locals_:
                mine = [order.index(value) for value in local.delivered if value in order]
                if mine != sorted(mine):
                    yield f"{text(local.delivered[-1])} came out of order"

    def repaired(self, number: int) -> Wrong:
        """After deaths: a repair makes the queue whole and usable; or it needs none where they go on."""
        game = self._game
        if not game.has_died(number) or game.contents(number).limit is None:
            return
        if game.scenario.goes_on:
            yield from self._healed(number)
            return
        for who in range(len(game.clients)):
            if game.servers.states[number].connected[who]:
                number, _ = game.servers.hang_up(number, who)
        after, doctor = game.perform(number, REPAIR)
        report = doctor.states[-1].results[0]
        if isinstance(report, Error) or report[-1]:
            yield f"the repair says: {report if isinstance(report, Error) else report[-1][0]}"
        elif (now := game.contents(after)).limit is not None:
            yield from self._whole(now)
            yield from self._usable(after, now)

    def _whole(self, now: Contents) -> Wrong:
        for key, count in now.roles.items():
            if count != 1:
                yield f"after a repair {short(key)} has {count} elements"
        if now.tokens != int(now.room) and not (self._game.weak and now.tokens == 1):
            yield f"after a repair there are {now.tokens} tokens, and {len(now.values)} values"
        if now.marks not in (0, 2):
            yield f"after a repair marks of the close: {now.marks}"
        if any(uncounted := tuple(now.uncounted())):
            yield f"after a repair the counters are wrong by {uncounted[0]} messages, {uncounted[1]} bytes"
        if now.unacked:
            yield "after a repair a message is still not acknowledged"

    def _healed(self, number: int) -> Wrong:
        """Somebody who comes later takes what is there, and puts and gets, without a repair."""
        now = self._game.contents(number)
        there = now.stored[::-1]
        deeds = [GET] * len(there) + ([] if now.marks else [put(AFTERWARDS), GET])
        wanted = (*there, *(() if now.marks else (None, AFTERWARDS)))
        after, last = self._game.perform(number, *deeds, tries=LOOKS)
        if last.states[-1].results != wanted:
            yield f"who came later and did {[deed.kind for deed in deeds]} had {last.states[-1].results}"
        end = self._game.contents(after)
        if wanted and (end.unacked or end.roles[self._game.keys.consumer_free] != 1):
            yield "who came later left the consumer's role taken"

    def _usable(self, after: int, now: Contents) -> Wrong:
        there = now.values[::-1]
        end, last = self._game.perform(after, *[GET] * len(there))
        if last.states[-1].results != there:
            yield f"after a repair {there} are there, and {last.states[-1].results} came"
        if not now.marks:
            _, last = self._game.perform(end, put(AFTERWARDS), GET)
            if last.states[-1].results != (None, AFTERWARDS):
                yield f"after a repair a put and a get gave {[*map(str, last.states[-1].results)]}"


def _is_lost(result: Any) -> bool:
    return isinstance(result, Error) and result.kind in LOST


def _is_shut(result: Any) -> bool:
    return isinstance(result, Error) and result.kind == "QueueClosedError"
