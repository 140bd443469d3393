"""Operations: the steps that they yield to a driver, and the context that they work in.

An operation is a generator without I/O. It yields a ``Batch``, a ``Wait``, a ``Pause`` or, in a cluster, an
``AtNodes`` (or a ``NewHold``, which ``Execution`` answers), is sent the list of replies, and returns its
result or raises. Its only clock is ``Context.clock``.

Rules for drivers:
    - One connection carries the whole operation. WATCH and MULTI are ordinary commands of a batch.
    - The commands of a step are sent together and all replies are read, in order. An error reply is passed
      as a ``ServerReplyError`` value, not raised, also inside the reply to EXEC. Null is None, a string is
      bytes.
    - Replies that arrived are always sent in. To stop an operation, throw an exception into it *instead of*
      carrying out a ``Wait`` or a ``Pause``; the operation then yields the batches that give its role back,
      and raises.
    - When the connection is lost, ``close()`` the generator: it yields nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeAlias, TypeVar

from pressure.checks import duration
from pressure.connections.pool import HOLDS, Holds
from pressure.errors import ClusterError, ServerReplyError
from pressure.keys import Keys, QueueKeys
from pressure.protocol.sizes import Sizes

T = TypeVar("T")
P = ParamSpec("P")

#: One Redis command: its name and arguments.
Command: TypeAlias = tuple[bytes | int, ...]
#: A reply of a Redis server: bytes, int, None, ``ServerReplyError`` or a list of these.
Reply: TypeAlias = Any

#: A wait of fewer seconds is not started: BRPOP with a timeout rounded down to 0 would wait for ever.
SHORTEST_WAIT: Final = 0.005


@dataclass(frozen=True, slots=True)
class Batch:
    """Commands sent in one round trip; not a transaction unless it has MULTI and EXEC in it.

    Attributes:
        commands: The commands.
        taken: The values that the operation has taken so far. If the connection is lost, the error has them.
        done: How many values the operation has put so far, if it puts several. The error has this, too.
        note: A note for that error, if nothing was changed.
    """

    commands: tuple[Command, ...]
    taken: tuple[bytes, ...] = field(default=(), kw_only=True)
    done: int | None = field(default=None, kw_only=True)
    note: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Wait(Batch):
    """A batch whose first command blocks for up to ``seconds``; the others run right after it."""

    seconds: float


@dataclass(frozen=True, slots=True)
class AtNodes(Batch):
    """A batch that is sent to each of some nodes of the cluster, on new connections. It changes nothing.

    It is sent a list: of each node the list of the replies, or the ConnectionFailedError.

    Attributes:
        nodes: The host and the port of each.
    """

    nodes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Pause:
    """A step that sends nothing and lasts for ``seconds``. It is sent an empty list."""

    seconds: float


#: A step of no duration, at which a long operation that never waits can be stopped.
CHECKPOINT: Final = Pause(0.0)


@dataclass(frozen=True, slots=True)
class NewHold:
    """A step that sends nothing: the operation is about to take a role. It is sent a list: the new hold's id.

    ``Execution`` answers it itself, so drivers never see it.
    """


Step: TypeAlias = Batch | Pause | NewHold
Operation: TypeAlias = Generator[Step, list[Reply], T]


@dataclass(frozen=True, slots=True)
class Observation:
    """What operations that wait for a role have seen of its holder.

    Attributes:
        holder: The value of the holder key.
        since: When this value was first seen, or the time of the last probe.
        probe: The last ``liveness.Probe``; None before the first.
    """

    holder: bytes | None
    since: float
    probe: Any = None


@dataclass(slots=True)
class ServerFacts:
    """What a queue object has learned about the server and the queue.

    Attributes:
        scripts: Whether the server runs scripts, as far as is known; False once it refused one.
        sizes: How long the queue's values are.
        observations: What was seen of the holder of each role that a client waits for, by the role's name.
        last_probe: When an operation last took a probe.
        in_cluster: Whether the URL names nodes of a cluster.
    """

    scripts: bool = False
    in_cluster: bool = False
    sizes: Sizes = field(default_factory=Sizes)
    observations: dict[str, Observation] = field(default_factory=dict)
    last_probe: float = float("-inf")


@dataclass(frozen=True, slots=True)
class Context:
    """What an operation needs to know.

    Attributes:
        keys: The queue's keys.
        clock: Monotonic time in seconds.
        slice: Longest single wait in seconds. Between two waits an operation reads ``:bound``, so that it
            does not wait for ever on a deleted queue, and the driver may stop it.
        server: What is known about the server.
        lease: For how many seconds a role is held unless its lease is renewed; None for no limit.
        holds: The holds of this process. They show which roles were left behind by one that is over.
        heal: Whether an operation that waits frees the role of a dead holder.
    """

    keys: Keys
    clock: Callable[[], float]
    slice: float = 1.0
    server: ServerFacts = field(default_factory=ServerFacts)
    lease: float | None = None
    holds: Holds = HOLDS
    heal: bool = True

    @property
    def lease_ms(self) -> int:
        """The lease in milliseconds; 0 if there is none."""
        return max(round(self.lease * 1000), 1) if self.lease else 0


def with_taken(values: Sequence[bytes], body: Operation[T]) -> Operation[T]:
    """Run a body. If the connection is lost in it, the error has ``values``, then those of the body."""
    return map_batches(body, lambda step: replace(step, taken=(*values, *step.taken)))


class HasStored(Protocol):
    """The progress of a put: how many values are stored."""

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
    """Run a body, and yield what ``note`` makes of each batch in place of the batch."""
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


#: Error codes of a node of a cluster that does not have all keys of a command.
_ELSEWHERE: Final = frozenset({"CROSSSLOT", "MOVED", "ASK"})


class HasKeys(Protocol):
    """The context of an operation on any kind of queue."""

    @property
    def keys(self) -> QueueKeys: ...  # noqa: D102


AnyContext = TypeVar("AnyContext", bound=HasKeys)


def operation(
    function: Callable[Concatenate[AnyContext, P], Operation[T]], /
) -> Callable[Concatenate[AnyContext, P], Operation[T]]:
    """Make a generator function a whole operation: a server's error that it raises names the queue."""

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
    """What a deadline reads: the time, and the longest single wait, both in seconds."""

    @property
    def clock(self) -> Callable[[], float]: ...  # noqa: D102
    @property
    def slice(self) -> float: ...  # noqa: D102


def needs_hash_tag(keys: QueueKeys, code: str) -> ClusterError:
    """The error for a queue whose keys are on several nodes of a cluster."""
    name = keys.name.decode("utf-8", "backslashreplace")
    return ClusterError(
        f"{code}: this is a Redis Cluster, where a queue's name needs a hash tag, "
        f"such as {'{' + name + '}'!r} instead of {name!r}"
    )


@dataclass(slots=True)
class Deadline:
    """How long an operation may wait: one deadline for all its waits together.

    Attributes:
        context: Its clock is read.
        at: When the time is over; None if there is none.
        slices: How many of the context's slices a single wait lasts at most.
    """

    context: HasClock
    at: float | None
    slices: int = 1

    @classmethod
    def of(cls, context: HasClock, block: bool = True, timeout: float | None = None) -> Deadline:
        """The deadline for these arguments of a method.

        Args:
            context: Its clock is read.
            block: Whether to wait at all.
            timeout: Seconds from now; None to wait for ever.

        Raises:
            TypeError: ``block`` is neither True nor False, or ``timeout`` is not a number.
            ValueError: ``timeout`` is below 0, or is given although ``block`` is False.
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

    def attempts(
        self, most: Callable[[], float] = lambda: float("inf")
    ) -> Generator[float, bool | None, None]:
        """The seconds to wait in each attempt after the first; the last is 0, one try without waiting.

        The server waits by its own clock, which a test may hold and move. So an attempt that has ended
        without success has taken the whole time, whatever our clock says; unless True is sent in.

        Args:
            most: Limits the next attempt.
        """
        if self.at is None:
            return
        clock = self.context.clock
        while (left := self.at - clock()) > SHORTEST_WAIT:
            seconds = min(left, self.slices * self.context.slice, most())
            end = clock() + seconds
            if not (yield seconds):
                self.at -= max(end - clock(), 0.0)
        yield 0.0
