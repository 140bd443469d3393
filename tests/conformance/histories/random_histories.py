"""Random histories that are right, for every model and for queues, and the same with one answer changed.

What is done one after the other is simulated, and each operation spread over an interval around its moment. Some do
not return; these happened or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from conformance.histories import NEVER, Facts, History, Operation
from conformance.histories.models import AnyOrder, Model

MILLISECOND = 1_000_000
KEYS = ("histories:a", "histories:b")
WORDS = ("x", "y", "z")
COMMANDS = {
    "lists": (
        "LPUSH k v", "RPUSH k v w", "LPUSHX k v", "RPUSHX k v", "LPOP k", "RPOP k", "LPOP k 2", "RPOP k 2", "LLEN k",
        "LINDEX k i", "LINSERT k BEFORE v w", "LINSERT k AFTER v w", "LRANGE k i 2", "LTRIM k 0 2", "LREM k i v",
        "LMOVE k o LEFT RIGHT", "LMOVE k o RIGHT LEFT", "RPOPLPUSH k o", "BLPOP k 0.01", "BRPOP k 0",
        "BLPOP k o 0", "BLMOVE k o LEFT LEFT 0", "BRPOPLPUSH k o 0.01", "DEL k",
    ),
    "strings": (
        "SET k v", "SET k n", "SET k v NX", "SET k v XX GET", "SET k v PX 5", "SET k v KEEPTTL", "SETNX k v", "GET k",
        "GETSET k v", "GETDEL k", "APPEND k v", "STRLEN k", "INCR k", "DECR k", "INCRBY k n", "PSETEX k 5 v",
        "SETEX k 1 v",
    ),
    "hashes": (
        "HSET k v n w v", "HMSET k v n", "HSETNX k v w", "HGET k v", "HDEL k v w", "HLEN k", "HEXISTS k v",
        "HSTRLEN k v", "HGETALL k", "HKEYS k", "HVALS k", "HINCRBY k v n",
    ),
    "sets": (
        "SADD k v w", "SREM k v", "SCARD k", "SISMEMBER k v", "SMEMBERS k", "SPOP k", "SMOVE k o v", "SINTER k o",
        "SUNION k o", "SDIFF k o",
    ),
    "sorted sets": (
        "ZADD k n v", "ZADD k 1.1 v n w", "ZINCRBY k n v", "ZREM k v", "ZCARD k", "ZSCORE k v", "ZRANK k v",
        "ZRANGE k 0 -1", "ZRANGE k i 1 REV WITHSCORES", "ZPOPMIN k", "ZPOPMAX k 2",
    ),
}  # fmt: skip
OF_ALL = (
    "DEL k o",
    "UNLINK k",
    "EXISTS k o k",
    "TYPE k",
    "PEXPIRE k 5",
    "EXPIRE k 1",
    "PERSIST k",
    "RENAME k o",
)
COMMANDS["keys"] = (
    *OF_ALL,
    "SET k v",
    "RPUSH k v",
    "SADD k v",
    "HSET k v w",
    "GET k",
    "LLEN k",
    "ZADD k n v",
)


def commands(table: Sequence[str], rng: Random) -> Iterator[list[str]]:
    """Commands of a table, one after the other, for ever."""
    while True:
        key = rng.choice(KEYS)
        stands: dict[str, Callable[[], str]] = {
            "k": lambda key=key: key, "o": lambda: rng.choice(KEYS), "v": lambda: rng.choice(WORDS),  # type: ignore[misc]
            "w": lambda: rng.choice(WORDS), "n": lambda: str(rng.randrange(-3, 9)), "i": lambda: str(rng.randrange(-2, 3)),
        }  # fmt: skip
        yield [stands[word]() if word in stands else word for word in rng.choice(table).split()]


def right(model: Model, words: Iterator[list[str]], rng: Random, count: int, width: int = 3) -> History:
    """Operations with answers that the model can give."""
    states: dict[str, Any] = {}
    operations = list[Operation]()
    now = 10_000 * MILLISECOND
    while len(operations) < count:
        now += MILLISECOND if rng.random() < 0.97 else 3000 * MILLISECOND
        name, key, *argument = next(words)
        client, given = f"c{len(operations)}", tuple(map(str.encode, argument))
        at = Operation(client, key, name, given, None, now, now)
        keys = model.keys(at)
        outcomes = list(model.step(tuple(states.get(each, model.initial) for each in keys), at))
        if not outcomes:
            continue  # it would wait
        answer, after = rng.choice(outcomes)
        begun, over = (MILLISECOND * rng.randrange(width * 10) // 10 + 1 for _ in range(2))
        one = replace(at, invoked=now - begun, returned=now + over)
        if rng.random() < 0.08:
            one = replace(one, returned=None, outcome="open")
        else:
            one = answered(one, answer, rng)
        if one.outcome != "open" or rng.random() < 0.5:
            states.update(zip(keys, after, strict=True))
        operations.append(one)
    return History(operations)


def answered(operation: Operation, answer: Any, rng: Random) -> Operation:
    """The operation with an answer as a server writes it."""
    if isinstance(answer, Exception):
        return replace(operation, outcome="error", error=str(answer))
    if isinstance(answer, AnyOrder):
        items = sorted(answer.items)
        rng.shuffle(items)
        return replace(operation, result=tuple(word for item in items for word in item))
    if answer is not None and not isinstance(answer, tuple):
        answer = tuple(item if isinstance(item, bytes) else b"%.17g" % item for item in answer.items)
    return replace(operation, result=answer)


def changed(history: History, rng: Random) -> History:
    """The same with another answer to one operation."""
    operations = list(history.operations)
    answered = [place for place, each in enumerate(operations) if each.outcome != "open"]
    if not answered:
        return history
    place = rng.choice(answered)
    others = [each.result for each in operations] + [None, (), (b"1",), (b"0",), (b"2",), (b"x",), (b"OK",)]
    if rng.random() < 0.2:
        operations[place] = replace(operations[place], result=None, outcome="error", error="WRONGTYPE")
    else:
        operations[place] = replace(operations[place], result=rng.choice(others), outcome="ok", error="")
    return replace(history, operations=operations)


def has_an_order(model: Model, history: History) -> bool:
    """Whether some order explains all answers, by trying every one."""

    def explained(left: tuple[Operation, ...], states: Mapping[str, Any]) -> bool:
        if all(each.outcome == "open" for each in left):
            return True
        first_end = min(each.end for each in left)
        for each in left:
            if each.invoked > first_end:
                continue
            rest, keys = tuple(other for other in left if other is not each), model.keys(each)
            for after in model.after(tuple(states.get(key, model.initial) for key in keys), each):
                if explained(rest, {**states, **dict(zip(keys, after, strict=True))}):
                    return True
        return False

    judged = (each for each in history.operations if each.outcome != "error" or each.error in model.errors)
    return explained(tuple(judged), {})


def right_queue(rng: Random, count: int) -> History:
    """Operations of producers and consumers on a queue with a bound, with all errors that there are."""
    bound, now = rng.randrange(4), 1000
    inside, operations = list[bytes](), list[Operation]()
    closed = False
    received: tuple[str, bytes] | None = None

    def did(name: str, *argument: bytes, client: str = "", **ending: Any) -> None:
        nonlocal now
        now += 10
        who = client or f"c{len(operations)}"
        narrow = name in {
            "receive",
            "ack",
            "put_back",
            "get",
            "get_many",
        }  # nothing else is got beside a receive
        begun, over = now - rng.randrange(1, 5 if narrow else 25), now + rng.randrange(1, 5 if narrow else 25)
        operations.append(
            Operation(who, "q", name, argument, ending.pop("result", None), begun, over, **ending)
        )

    def error(name: str, kind: str, *argument: bytes) -> None:
        did(name, *argument, outcome="error", error=kind)

    for number in range(count):
        what, value = (
            rng.choice(("put", "put_many", "get", "get_many", "receive", "settle", "close")),
            b"%d" % number,
        )
        values = (
            [value + b".%d" % place for place in range(rng.randrange(2, 4))]
            if what == "put_many"
            else [value]
        )
        room = len(values) if not bound else max(bound - len(inside), 0)
        if what in {"put", "put_many"}:
            if closed:
                error(what, "QueueClosedError", *values)
            elif len(values) > room:
                inside += values[:room] if what == "put_many" else []
                done = (b"%d" % room,) if what == "put_many" else None
                did(what, *values, result=done, outcome="error", error="QueueFullError")
            else:
                inside += values
                did(what, *values)
        elif what == "close" and rng.random() < 0.3:
            if closed:
                error("close", "QueueClosedError")
            else:
                did("close")
            closed = True
        elif what == "settle" and received is not None:
            client, value = received
            back = rng.random() < 0.4
            if back:
                inside.insert(0, value)
            did("put_back" if back else "ack", value, client=client)
            received = None
        elif what in {"get", "get_many", "receive"} and received is None:
            most = (b"%d" % rng.randrange(1, 4),) if what == "get_many" else ()
            if not inside:
                error(what, "QueueClosedError" if closed else "QueueEmptyError", *most)
                continue
            got = [inside.pop(0) for _ in range(min(int(*most or (b"1",)), len(inside)))]
            if what == "receive":
                received = (f"r{number}", got[0])
            did(what, *most, client=f"r{number}" if what == "receive" else "", result=tuple(got))
    left = ([received[1]] if received else []) + inside
    if rng.random() < 0.2:
        did("delete")
        operations[-1] = replace(operations[-1], invoked=now + 100, returned=now + 101)
    facts = Facts(
        bounds={"q": bound} if rng.random() < 0.8 else {},
        final={"q": tuple(left)} if rng.random() < 0.7 else {},
    )
    operations = [_perhaps_open(each, operations, rng) for each in operations]
    return History(operations, facts)


def _perhaps_open(operation: Operation, operations: Sequence[Operation], rng: Random) -> Operation:
    """The last operation, sometimes open, as its client was killed."""
    if operation is not operations[-1] or operation.outcome != "ok" or rng.random() < 0.5:
        return operation
    return replace(operation, result=None, returned=None, outcome="open")


ERRORS = ("QueueFullError", "QueueEmptyError", "QueueClosedError")


def changed_queue(history: History, rng: Random) -> History:
    """The same with another answer, argument or time of one operation."""
    operations = list(history.operations)
    place = rng.randrange(len(operations))
    one, other = operations[place], rng.choice(operations)
    words = (other.result or other.argument) if one.name in {"get", "get_many", "receive"} else None
    argument = other.argument or other.result or ()
    one = rng.choice((
        replace(one, result=words, outcome="ok", error=""),
        replace(one, result=(b"0",) if one.name == "put_many" else None, outcome="error", error=rng.choice(ERRORS)),
        replace(one, argument=argument if one.name not in {"get", "get_many", "receive", "close"} else one.argument),
        replace(one, name="close", argument=(), result=None, outcome="ok", error=""),
        replace(one, invoked=one.invoked - 30, returned=one.end - 30),
        replace(one, result=None, outcome="open", error=""),
    ))  # fmt: skip
    ended = one.invoked + 10 if one.end > 10**6 else one.returned
    operations[place] = replace(one, returned=None if one.outcome == "open" else ended)
    return replace(history, operations=operations)


def queue_model(bound: int | None, died: int) -> Model:
    """A queue with ``look``, which says what is in it: its values, whether it is closed, and what is received.

    Args:
        bound: 0 for none, and None if it is not known.
        died: since when a client may have died that took the room along.
    """

    def step(states: tuple[Any, ...], operation: Operation) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        ((values, closed, held),) = states
        name, error = operation.name, ValueError(operation.error)
        inside = len(values) + (held is not None)
        if name == "look":
            yield (*(held or ())[1:], *values), states
        elif operation.error == "QueueFullError":
            done = operation.argument[: int(*operation.result or (b"0",))]
            full = died <= operation.end or (bound != 0 and inside + len(done) >= (bound or 1))
            fits = not done or not bound or len(values) + len(done) <= bound
            if name in {"put", "put_many"} and not closed and full and fits:
                yield error, (((*values, *done), closed, held),)
        elif operation.error == "QueueClosedError":
            if closed and (name in {"put", "put_many", "close"} or not values):
                yield error, states
        elif operation.error == "QueueEmptyError":
            if not values:
                yield error, states
        elif name in {"put", "put_many"}:
            room = len(values) + len(operation.argument) <= bound if bound else True
            if not closed and room:
                yield None, (((*values, *operation.argument), closed, held),)
        elif name == "close":
            if not closed:
                yield None, ((values, True, held),)
        elif name in {"ack", "put_back"}:
            if held is not None and held == (operation.client, *operation.argument):
                yield None, (((*held[1:], *values) if name == "put_back" else values, closed, None),)
        elif held is None and values and name == "receive":
            yield values[:1], ((values[1:], closed, (operation.client, values[0])),)
        elif held is None:
            most = int(operation.argument[0]) if name == "get_many" else 1
            for count in range(1, min(most, len(values)) + 1):
                yield values[:count], ((values[count:], closed, held),)
            if not values and name == "get_many":
                yield (), states

    return Model("queue", (), ((), False, None), step, errors=ERRORS)


def queue_has_an_order(history: History) -> bool:
    """Whether some order explains what was done to a queue, and what is in it."""
    operations = [each for each in history.operations if each.name != "delete"]
    lost = [each.invoked for each in operations if each.outcome == "open" and each.name != "close"]
    final = history.facts.final.get("q")
    if final is not None and len(operations) == len(history.operations):
        end = max(each.returned or each.invoked for each in operations) + 1
        operations.append(Operation("looker", "q", "look", (), final, end, end + 1))
    return has_an_order(
        queue_model(history.facts.bounds.get("q"), min(lost, default=NEVER)), History(operations)
    )
