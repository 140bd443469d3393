"""What has to hold: in every state, of every step, and when all is over.

The invariant is that of a queue whose roles are free. Its strong form holds where the clients are ours and run
scripts: ``:not_full`` has one element if and only if there is room. In its weaker form the element is there
whenever there is room, and the bound may be passed by one. From the first death on it is asked for when a
repair was made.

Each law is a generator that says what is wrong, a sentence each. To add one: a generator of its kind, and its
name in ``Laws``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from .clients import Error, Local
from .moves import Game, State
from .scenario import GET, REPAIR, Deed, put
from .servers import Server, Value

__all__ = ["Laws"]

Wrong: TypeAlias = Iterator[str]

#: What may come of each kind of deed, beside success, if somebody closes the queue or deletes it.
REFUSALS: Final = {
    "put": ("close", "delete"),
    "get": ("close", "delete"),
    "receive": ("close", "delete"),
    "close": ("close twice", "delete"),
    "delete": ("delete twice",),
    "wait for a close": ("delete",),
    "repair": ("delete",),
    "repair by force": ("delete",),
}
ERRORS: Final = {"close": "QueueClosedError", "delete": "QueueDoesNotExistError"}
#: What else may come of it where somebody dies, or roles are taken away.
IN_VAIN: Final = {"QueueInUseError", "QueueFullError", "QueueEmptyError"}
LOST: Final = {"ConnectionFailedError", "OutcomeUnknownError"}
AFTERWARDS: Final = b"afterwards"


class Laws:
    """The laws for one scenario; each state of the server is judged once.

    Args:
        game: the scenario.
        about: what is wrong has to have these words in it; empty for anything.
    """

    def __init__(self, game: Game, about: str = "") -> None:
        self._game = game
        self._about = about
        self._keys = game.keys
        scenario = game.scenario
        self._deeds = [deed for member in scenario.members for deed in member.deeds]
        self._weak = not (game.scripts if scenario.strong is None else scenario.strong)
        self._repaired_meanwhile = any(deed.kind.startswith("repair") for deed in self._deeds)
        self._over_filling = sum(len(deed.values) for deed in self._deeds if deed.kind == "over-filling put")
        self._allowed = {deed.kind: frozenset(self._errors(deed.kind)) for deed in self._deeds}
        self._of_server: dict[int, str] = {}
        self._of_step: dict[tuple[int, int], str] = {}
        self._of_result: dict[tuple[int, int], str] = {}
        self._of_repair: dict[int, str] = {}
        self._held: dict[int, tuple[bytes, ...]] = {}

    def _errors(self, kind: str) -> Iterator[str]:
        count = [deed.kind for deed in self._deeds].count
        if kind == "create":
            yield "QueueAlreadyExistsError"
        for reason in REFUSALS.get(kind.removeprefix("over-filling "), ()):
            other, _, twice = reason.partition(" ")
            if count(other) > bool(twice):
                yield ERRORS[other]
        if self._game.scenario.tries is not None:
            yield from IN_VAIN
            if count("create"):
                yield ERRORS["delete"]

    # After each move

    def broken_by(self, before: State, after: State) -> str:
        """What is wrong in a state that a move has led to; empty if nothing is."""
        one, other = before[0], after[0]
        problem = ""
        if one != other:
            problem = self._once(self._of_step, (one, other), self._step) or self._once(
                self._of_server, (other,), self._server
            )
        for who, (was, now) in enumerate(zip(before[1:], after[1:], strict=True)):
            if was != now and not problem:
                problem = self._once(self._of_result, (who, now), self._result)
        return problem or self._first(self._twice(after))

    def _once(self, known: dict[Any, str], key: tuple[int, ...], law: Any) -> str:
        if (said := known.get(key)) is None:
            said = known[key] = self._first(law(*key))
        return said

    def _first(self, problems: Wrong) -> str:
        return next((problem for problem in problems if self._about in problem), "")

    def _server(self, number: int) -> Wrong:
        server, keys = self._game.servers.states[number], self._keys
        values = dict(server.values)
        died = self._game.has_died(server)
        for key in (keys.producer_free, keys.consumer_free):
            if _length(values, key) > 1:
                yield f"{_short(key)} has {_length(values, key)} elements: the role is there twice"
        if (bound := values.get(keys.bound)) is None or not isinstance(bound, bytes):
            return
        limit, there = int(bound), _length(values, keys.queue) + _length(values, keys.unacked)
        if limit and there > limit + self._over_filling + (self._weak or died):
            yield f"there are {there} values, and the bound is {limit}"
        if not died and not self._repaired_meanwhile:
            yield from self._quiet(values)

    def _quiet(self, values: dict[bytes, Value]) -> Wrong:
        """What holds while nobody has a role, and nobody has died."""
        keys = self._keys
        if not all(_length(values, key) for key in (keys.producer_free, keys.consumer_free)):
            return
        limit = int(values[keys.bound])  # type: ignore[arg-type]
        there = _length(values, keys.queue) + _length(values, keys.unacked)
        tokens, room = _length(values, keys.not_full), limit == 0 or there < limit
        if room and not tokens:
            yield "there is room, and no token that says so: nobody can put any more"
        if tokens > 1:
            yield f"there are {tokens} tokens"
        if tokens and not room and not self._weak:
            yield "the queue is full, and there is a token"
        if (marks := _length(values, keys.closed)) not in (0, 2):
            yield f"{marks} mark of the close is left"
        stored = [*_list(values, keys.queue), *_list(values, keys.unacked)]
        counted = [int(values.get(key, b"0")) for key in self._counters()]  # type: ignore[arg-type]
        if counted[0] - counted[1] != len(stored) or counted[2] - counted[3] != sum(map(len, stored)):
            yield f"counted {counted}, and {len(stored)} messages are there"

    def _counters(self) -> tuple[bytes, ...]:
        keys = self._keys
        return keys.produced_messages, keys.consumed_messages, keys.produced_bytes, keys.consumed_bytes

    def _step(self, one: int, other: int) -> Wrong:
        states, keys = self._game.servers.states, self._keys
        before, after = dict(states[one].values), dict(states[other].values)
        if keys.bound not in before:
            if keys.bound not in after and len(_list(after, keys.queue)) > len(_list(before, keys.queue)):
                yield "a value is put to a queue that was deleted"
            return
        old, new = _list(before, keys.queue), _list(after, keys.queue)
        orphans = set(_list(before, keys.unacked))
        fresh = [value for value in new if value not in old and value not in orphans]
        if new[: len(fresh)] != tuple(fresh):
            yield "a value goes in at the wrong end"
        stayed = [value for value in new if value in old]
        if keys.bound in after and stayed != list(old[: len(stayed)]):
            yield "a value comes out that is not the oldest"
        if fresh and _length(before, keys.closed):
            yield "a value is put to a queue that is closed"
        if self._reopened(before, after):
            yield "the queue was closed, and is open again"

    def _reopened(self, before: dict[bytes, Value], after: dict[bytes, Value]) -> bool:
        keys = self._keys
        if keys.bound not in after or not _length(after, keys.consumer_free):
            return False  # who has popped a mark puts it back before its role
        return _length(before, keys.closed) > 0 and not _length(after, keys.closed)

    def _result(self, who: int, number: int) -> Wrong:
        client = self._game.clients[who]
        results = client.states[number].results
        if not results:
            return
        deed, result = client.member.deeds[len(results) - 1], results[-1]
        if not isinstance(result, Error):
            return
        if result.kind in LOST and client.states[number].dead:
            return
        if result.kind not in self._allowed[deed.kind]:
            yield f"{client.member.name}'s {deed.kind} raised {result.kind}: {result.text}"

    def _twice(self, state: State) -> Wrong:
        held = self._held.get(state[0])
        if held is None:
            values = dict(self._game.servers.states[state[0]].values)
            held = (*_list(values, self._keys.queue), *_list(values, self._keys.unacked))
            self._held[state[0]] = held
        seen = [*held]
        for client, number in zip(self._game.clients, state[1:], strict=True):
            seen += client.states[number].delivered
        if len(set(seen)) != len(seen):
            twice = next(value for value in seen if seen.count(value) > 1)
            yield f"{_text(twice)} is there twice"

    # When all is over

    def broken_at_end(self, state: State) -> str:
        """What is wrong when nobody does anything more; empty if nothing is."""
        return self._first(self._end(state)) or self._once(self._of_repair, (state[0],), self._repaired)

    def _end(self, state: State) -> Wrong:
        game, keys = self._game, self._keys
        locals_ = game.locals(state)
        values = dict(game.server(state).values)
        died = sum(local.dead for local in locals_)
        deeds = [*self._done(locals_)]
        deleted = any(deed.kind == "delete" and result is None for deed, result in deeds)
        created = any(deed.kind == "create" and result is None for deed, result in deeds)
        if deleted and not died and not created and values:
            yield f"the queue was deleted, and {len(values)} keys are left: {_names(values)}"
        if keys.bound not in values:
            return
        if any(deed.kind == "close" and result is None for deed, result in deeds) and not died:
            if _length(values, keys.closed) != 2:
                yield f"the queue was closed, and {_length(values, keys.closed)} marks are left"
            shut = [deed for deed, result in deeds if deed.kind in ("get", "receive") and _is_shut(result)]
            if shut and _length(values, keys.queue):
                yield "somebody was told that the queue is closed, and there is still something in it"
        if not died:
            yield from self._quiet(values)
        yield from self._gone(state, locals_)
        yield from self._out_of_order(locals_)

    def _done(self, locals_: list[Local]) -> Iterator[tuple[Deed, Any]]:
        for client, local in zip(self._game.clients, locals_, strict=True):
            yield from zip(client.member.deeds, local.results, strict=False)

    def _gone(self, state: State, locals_: list[Local]) -> Wrong:
        """Values that were put and are nowhere, or that are somewhere and were not put."""
        present = {*self._held.get(state[0], ())}.union(*(local.delivered for local in locals_))
        stored, refused = set(self._game.scenario.values), set()
        for deed, result in self._done(locals_):
            if not deed.kind.endswith("put"):
                continue
            if result is None:
                stored.update(deed.values)
            elif result.kind != "OutcomeUnknownError":
                stored.update(deed.values[: result.done])
                refused.update(deed.values[result.done :])
        if lost := stored - present:
            if len(lost) > self._on_their_way(locals_):
                yield f"{_text(min(lost))} was put, and is gone"
        if there := refused & present:
            yield f"{_text(min(there))} was refused, and is there"

    def _on_their_way(self, locals_: list[Local]) -> int:
        """How many values may be gone with those who died."""
        dead = [client for client, local in zip(self._game.clients, locals_, strict=True) if local.dead]
        return sum(max(deed.takes for deed in client.member.deeds) for client in dead)

    def _out_of_order(self, locals_: list[Local]) -> Wrong:
        """What one client puts comes to one client in that order."""
        for member in self._game.scenario.members:
            order = [value for deed in member.deeds for value in deed.values]
            for local in locals_:
                mine = [order.index(value) for value in local.delivered if value in order]
                if mine != sorted(mine) and not any(each.dead for each in locals_):
                    yield f"{_text(local.delivered[-1])} came out of order"

    def _repaired(self, number: int) -> Wrong:
        """After a repair the queue is whole, and can be used."""
        game, keys = self._game, self._keys
        server = game.servers.states[number]
        if not game.has_died(server) or keys.bound not in dict(server.values):
            return
        everybody_gone = number
        for who in range(len(game.clients)):
            if server.connected[who]:
                everybody_gone, _ = game.servers.hang_up(everybody_gone, who)
        after, doctor = game.perform(everybody_gone, REPAIR)
        report = doctor.states[-1].results[0]
        if isinstance(report, Error) or report[-1]:
            yield f"the repair says: {report if isinstance(report, Error) else report[-1][0]}"
            return
        values = dict(game.servers.states[after].values)
        if keys.bound not in values:
            return
        yield from self._whole(values)
        yield from self._usable(after, values)

    def _whole(self, values: dict[bytes, Value]) -> Wrong:
        keys = self._keys
        limit, length = int(values[keys.bound]), _length(values, keys.queue)  # type: ignore[arg-type]
        for key in (keys.producer_free, keys.consumer_free):
            if _length(values, key) != 1:
                yield f"after a repair {_short(key)} has {_length(values, key)} elements"
        room, tokens = int(limit == 0 or length < limit), _length(values, keys.not_full)
        if tokens != room and not (self._weak and tokens == 1):
            yield f"after a repair there are {_length(values, keys.not_full)} tokens, and {length} values"
        if _length(values, keys.closed) not in (0, 2):
            yield f"after a repair {_length(values, keys.closed)} mark of the close is left"
        if _length(values, keys.unacked):
            yield "after a repair a message is still not acknowledged"

    def _usable(self, after: int, values: dict[bytes, Value]) -> Wrong:
        stored = _list(values, self._keys.queue)[::-1]
        end, last = self._game.perform(after, *[GET] * len(stored))
        if last.states[-1].results != stored:
            yield f"after a repair {stored} are there, and {last.states[-1].results} came"
        if not _length(values, self._keys.closed):
            _, last = self._game.perform(end, put(AFTERWARDS), GET)
            if last.states[-1].results != (None, AFTERWARDS):
                yield f"after a repair a put and a get gave {[*map(str, last.states[-1].results)]}"


def _is_shut(result: Any) -> bool:
    return isinstance(result, Error) and result.kind == "QueueClosedError"


def _list(values: dict[bytes, Value], key: bytes) -> tuple[bytes, ...]:
    value = values.get(key, ())
    return value if isinstance(value, tuple) else ()


def _length(values: dict[bytes, Value], key: bytes) -> int:
    return len(_list(values, key))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")


def _short(key: bytes) -> str:
    """A key as the documents have it, from the colon on."""
    return ":" + key.rpartition(b":")[2].decode()


def _names(values: dict[bytes, Value]) -> str:
    return ", ".join(_short(key) for key in values)
