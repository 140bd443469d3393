"""What an operation is: the steps that it asks of its driver, and what it knows.

An operation is a generator without I/O. It yields a ``Batch``, a ``Wait`` or a ``Pause`` (or a ``NewHold``,
which ``Execution`` answers), is sent the list of replies, and returns its result or raises. It reads no clock
but ``Context.clock``.

What a driver has to keep:
    - One connection carries the whole operation: WATCH and MULTI travel as ordinary commands of a batch.
    - The commands of a step are sent together and all replies are read, in order. An error reply is passed
      as a ``ServerReplyError`` value, not raised, nested ones (inside an EXEC reply) too. Null is None, a
      string is bytes.
    - Replies that arrived are always sent in. To stop an operation, throw an exception into it *instead of*
      sending a ``Wait`` or a ``Pause``; the operation then yields the batches that give its role back, and
      raises.
    - When the connection is lost, ``close()`` the generator: it yields nothing more, since nothing could be
      sent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeAlias, TypeVar

from pressure.checks import duration
from pressure.errors import ClusterError, ServerReplyError
from pressure.keys import Keys, QueueKeys
from pressure.pool import HOLDS, Holds
from pressure.protocol.sizes import Sizes

T = TypeVar("T")
P = ParamSpec("P")

#: One Redis command: its name and arguments.
Command: TypeAlias = tuple[bytes | int, ...]
#: Whatever a Redis server answers: bytes, int, None, ``ServerReplyError`` or a list of these.
Reply: TypeAlias = Any

#: A wait shorter than this (seconds) is a try without waiting: BRPOP rounded down to 0 would wait for ever.
SHORTEST_WAIT: Final = 0.005


@dataclass(frozen=True, slots=True)
class Batch:
    """Commands sent in one round trip; not a transaction unless it has MULTI and EXEC in it.

    Attributes:
        commands: The commands.
        taken: The values that the operation has taken so far. If the connection is lost, they are in the
            error.
        done: How many values the operation has put so far, if it puts several; in the error, too.
        note: What the error says beside that, if nothing was changed.
    """

    commands: tuple[Command, ...]
    taken: tuple[bytes, ...] = field(default=(), kw_only=True)
    done: int | None = field(default=None, kw_only=True)
    note: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Wait(Batch):
    """A batch whose first command blocks for up to ``seconds``; the rest is carried out right after it."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing to send: let ``seconds`` pass. The reply is an empty list."""

    seconds: float


@dataclass(frozen=True, slots=True)
class NewHold:
    """Nothing to send: a role is about to be taken. The reply is a list of one, the id of the new hold.

    ``Execution`` answers it itself, so drivers never see it.
    """


Step: TypeAlias = Batch | Pause | NewHold
Operation: TypeAlias = Generator[Step, list[Reply], T]


@dataclass(frozen=True, slots=True)
class Observation:
    """What operations that wait for a role have seen of its holder.

    Attributes:
        holder: What the holder key says.
        since: The time since when it says so, as far as is known, or that of the last probe.
        probe: The last ``liveness.Probe``; None before the first.
    """

    holder: bytes | None
    since: float
    probe: Any = None


@dataclass(slots=True)
class Server:
    """What was found out about the server, and the queue on it, by asking.

    Attributes:
        scripts: It runs scripts, as far as is known; False once it refused one.
        sizes: How long the queue's values are.
        observations: What was seen of the holder of each role for which somebody waits, by the role's name.
    """

    scripts: bool = False
    sizes: Sizes = field(default_factory=Sizes)
    observations: dict[str, Observation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What an operation needs to know.

    Attributes:
        keys: The queue.
        clock: Monotonic time in seconds.
        slice: Longest single wait in seconds. Between two of them ``:bound`` is looked at, so that nobody
            waits for ever on a queue that was deleted, and the driver may stop the operation.
        server: What is known of the server.
        lease: After how many seconds a role that we take is no longer ours unless it is renewed; None if it
            is ours until we give it back.
        holds: The holds of this process, by which an operation knows a role that one of them has left behind.
        heal: Whether an operation that waits frees the role of a holder that is dead.
    """

    keys: Keys
    clock: Callable[[], float]
    slice: float = 1.0
    server: Server = field(default_factory=Server)
    lease: float | None = None
    holds: Holds = HOLDS
    heal: bool = True

    @property
    def lease_ms(self) -> int:
        """The lease as the server is told it; 0 if there is none."""
        return max(round(self.lease * 1000), 1) if self.lease else 0


def with_taken(values: Sequence[bytes], body: Operation[T]) -> Operation[T]:
    """Run a body. If the connection is lost in it, the error has ``values``.

    What the body itself has taken comes after them.
    """
    return map_batches(body, lambda step: replace(step, taken=(*values, *step.taken)))


class HasStored(Protocol):
    """What is put, and how much of it so far."""

    @property
    def stored(self) -> int: ...  # noqa: D102


def with_done(so_far: HasStored | int, body: Operation[T]) -> Operation[T]:
    """Run a body. If the connection is lost in it, the error says how many values were put."""
    if isinstance(so_far, int):
        return map_batches(body, lambda step: replace(step, done=so_far))
    return map_batches(body, lambda step: replace(step, done=so_far.stored))


def with_note(note: str, body: Operation[T]) -> Operation[T]:
    """Run a body. If the connection is lost before anything was changed, the error has the note."""
    return map_batches(body, lambda step: replace(step, note=note))


def map_batches(body: Operation[T], note: Callable[[Batch], Batch]) -> Operation[T]:
    """Run a body. What it sends is handed to ``note``, and what that returns is sent."""
    try:
        step = next(body)
        while True:
            try:
                replies = yield note(step) if isinstance(step, Batch) else step
            except GeneratorExit:
                body.close()
                raise
            except BaseException as error:
                step = body.throw(error)
            else:
                step = body.send(replies)
    except StopIteration as stop:
        result: T = stop.value
        return result


#: What a cluster answers when one server does not keep all keys of a command.
_ELSEWHERE: Final = frozenset({"CROSSSLOT", "MOVED", "ASK"})


class HasKeys(Protocol):
    """What is known to an operation on any kind of queue."""

    @property
    def keys(self) -> QueueKeys: ...  # noqa: D102


AnyContext = TypeVar("AnyContext", bound=HasKeys)


def operation(
    function: Callable[Concatenate[AnyContext, P], Operation[T]], /
) -> Callable[Concatenate[AnyContext, P], Operation[T]]:
    """Mark a generator as a whole operation: a server's error that leaves it names the queue."""

    @wraps(function)
    def whole(ctx: AnyContext, /, *args: P.args, **kwargs: P.kwargs) -> Operation[T]:
        try:
            return (yield from function(ctx, *args, **kwargs))
        except ServerReplyError as error:
            error.explain(str(ctx.keys))
            if error.code not in _ELSEWHERE or ctx.keys.has_hash_tag:
                raise
            raise needs_hash_tag(ctx.keys, error.code) from error

    return whole


class HasClock(Protocol):
    """What a deadline needs to know: the time, and the longest single wait, both in seconds."""

    @property
    def clock(self) -> Callable[[], float]: ...  # noqa: D102
    @property
    def slice(self) -> float: ...  # noqa: D102


def needs_hash_tag(keys: QueueKeys, code: str) -> ClusterError:
    """The error for a queue whose keys a cluster spreads."""
    name = keys.name.decode("utf-8", "backslashreplace")
    return ClusterError(
        f"{code}: this is a Redis Cluster, where a queue's name needs a hash tag, "
        f"such as {'{' + name + '}'!r} instead of {name!r}"
    )


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long an operation may wait: one deadline for all of its waits together."""

    context: HasClock
    at: float | None

    @classmethod
    def of(cls, context: HasClock, block: bool = True, timeout: float | None = None) -> Deadline:
        """No waiting at all, waiting up to ``timeout`` seconds from now, or (None) for ever.

        Raises:
            TypeError: ``block`` is neither True nor False, or ``timeout`` is no number.
            ValueError: ``timeout`` is below 0, or there is one although nothing is waited for.
        """
        if block not in (True, False):
            raise TypeError(f"block must be True or False, not {block!r}")
        if timeout is None:
            return cls(context, float("inf") if block else None)
        if not block:
            raise ValueError(f"block=False does not wait, so it takes no timeout, such as {timeout!r}")
        return cls(context, context.clock() + duration(timeout, "timeout"))

    @property
    def waits(self) -> bool:
        """Whether there is any time left to wait."""
        return self.at is not None and self.at - self.context.clock() > SHORTEST_WAIT

    def attempts(self) -> Iterator[float]:
        """The seconds to wait in each attempt after the first; the last is 0, one try without waiting."""
        if self.at is None:
            return
        while (left := self.at - self.context.clock()) > SHORTEST_WAIT:
            yield min(left, self.context.slice)
        yield 0.0
