"""One run: servers, workers, harm, and what came of it."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from .front import Front
from .harm import KEY, Harm
from .journal import read
from .judge import Findings, judged
from .servers import Servers
from .staff import QUEUE, Staff

__all__ = ["Plan", "run"]

BOUND: Final = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done.

    Attributes:
        messages: how many are put.
        seconds: in how many seconds, if all goes well.
        workers: how many; half of them put, the others receive.
        lease: seconds.
        looks: seconds from one look at a holder to the next; None for those of ``pressure``.
        pause: seconds from one blow to the next, on average.
        swaps: how often the server is started again, and another takes over, in turn.
        standstill: seconds for which the queue may stand still.
        seed: of what is done to whom.
    """

    messages: int = 100_000
    seconds: float = 600.0
    workers: int = 20
    lease: float = 5.0
    looks: float | None = None
    pause: float = 6.0
    swaps: int = 4
    standstill: float = 20.0
    seed: int = 0

    @property
    def words(self) -> list[str]:
        """What every worker is told."""
        looks = [] if self.looks is None else ["--looks", str(self.looks)]
        return ["--queue", QUEUE, "--lease", str(self.lease), *looks]


def run(plan: Plan) -> Findings:
    """Runs it.

    Raises:
        NoRealRedisError: there is no redis-server.
        TimeoutError: nothing goes on any more, or a server does not start again.
        RuntimeError: a worker ended by an error that it should not have had.
    """
    from pressure import Queue

    luck = Random(plan.seed)  # noqa: S311  (nothing here is secret)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-")))
        servers = Servers(folder)
        stack.callback(servers.stop)
        front = stack.enter_context(Front(servers.address))
        admin = stack.enter_context(Queue(QUEUE, url=front.url))
        admin.create(BOUND)
        words = ["--url", front.url, *plan.words]
        staff = Staff(folder, words, plan.workers, plan.messages, plan.seconds, luck)
        stack.callback(staff.kill_all)
        swaps = [plan.seconds * (at + 1) / (plan.swaps + 1) for at in range(plan.swaps)]
        harm = Harm(staff, servers, front, luck, pause=plan.pause, lasts=3 * plan.lease, swaps=swaps)
        limit = 3 * plan.standstill
        try:
            staff.until(lambda: staff.are_over("producer"), limit, harm.look)
            front.hang_up()
            _shut_down(admin, limit)
            staff.until(lambda: staff.are_over("consumer"), limit, lambda: None)
        except TimeoutError as error:
            error.add_note(f"{admin.doctor()}")
            raise
        left = servers.master.ask("LRANGE", KEY, 0, -1) + servers.master.ask(
            "LRANGE", f"{KEY}:unacked", 0, -1
        )
        return judged(read(staff.files), harm.blows, [value.decode() for value in left], most=plan.standstill)


def _shut_down(queue: Any, limit: float) -> None:
    """Closes the queue, as soon as the server can be reached again."""
    from pressure import PressureError, QueueClosedError

    deadline = time.monotonic() + limit
    while True:
        try:
            queue.shutdown()
        except QueueClosedError:
            return
        except PressureError:
            if time.monotonic() > deadline:
                raise
        else:
            return
