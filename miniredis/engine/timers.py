"""What an engine does by itself when its time has come: timeouts, expiry, saves, and what replication needs.

To add a part that depends on time, call it in all three methods: whether it waits for anything, what it does,
and when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .engine import Engine
    from .instant import Instant

__all__ = ["Timers"]

EXPIRED_AT_ONCE: Final = 5
"""How many keys a tick lets go, beside one for each client that waits for its end.

So a crowd that expires together does not hold up the clients.
"""

RECOVERY: Final = 1_000_000
"""Microseconds after which what is due is tried again where it failed unexpectedly."""


class Timers:
    """The timers of one engine.

    Args:
        engine: whose parts these are.

    Attributes:
        are_set: whether any part may have a deadline; set by ``update``.
        has_rare_work: whether there is work that few servers have; see ``consider_rare_work``.
        active_expire: expired keys are deleted before anybody asks for them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.are_set = False
        self.active_expire = True
        self.has_rare_work = False
        self._not_before = 0  # after a failure; monotonic microseconds

    def consider_rare_work(self) -> None:
        """Call it when a client's output begins or ends to trickle, ``timeout`` is set, or a save may be due.

        So each tick asks only whether there is any such work.
        """
        self.has_rare_work = bool(
            self._engine.trickles.clients or self._engine.idle.patience or self._engine.saves.awaits_time
        )

    def update(self) -> None:
        """Finds out whether anything waits for its time; if not, a tick asks no part for its deadline."""
        engine = self._engine
        self.are_set = bool(
            engine.waiting.deadlines
            or engine.keyspace.expiries
            or engine.output_limits.over
            or self.has_rare_work
            or engine.conditions.pause is not None
            or (
                (engine.replication.history.is_kept or engine.conditions.is_replica)
                and engine.replication.awaits_time
            )
        )

    def run(self, now: Instant) -> None:
        """Does what is due."""
        engine = self._engine
        self.update()
        if self.are_set and now.monotonic >= self._not_before and not engine.conditions.busy:
            try:
                self._run_due(now)
            except Exception as fault:
                engine.fail(None, fault)
                self._not_before = now.monotonic + RECOVERY

    def _run_due(self, now: Instant) -> None:
        engine = self._engine
        for waiter in engine.waiting.timed_out(now.monotonic):
            engine.attempt(waiter.session, engine.wake, waiter, waiter.reply_when_over())
        engine.outbox.update(dict.fromkeys(engine.trickles.due(now.monotonic)))
        for session in (*engine.output_limits.overdue(now), *engine.idle.overdue(now)):
            engine.attempt(session, engine.hang_up, session)
        if self.active_expire and engine.conditions.lets_keys_go:
            engine.statistics.start_lap()
            engine.keyspace.expire(EXPIRED_AT_ONCE + len(engine.outbox))
            engine.serve_ready()
        if engine.conditions.loading is None:
            engine.saves.begin_if_due()
        engine.replication.let_time_pass()

    def next_deadline(self, expiry_delay: int) -> int | None:
        """When something is due, in monotonic microseconds; None if nothing is.

        Args:
            expiry_delay: microseconds for which keys that have expired may stay, as no client sees them.
        """
        engine = self._engine
        if not self.are_set or engine.conditions.busy:
            return None
        pause = engine.conditions.pause
        due = (
            engine.waiting.next_deadline(),
            self._next_expiry(expiry_delay),
            pause.until if pause else None,
            engine.output_limits.next_deadline(),
            engine.trickles.next_deadline(),
            engine.idle.next_deadline(),
            engine.saves.next_deadline() if engine.conditions.loading is None else None,
            engine.replication.next_deadline(),
        )
        first = min((when for when in due if when is not None), default=None)
        return first if first is None else max(first, self._not_before)

    def _next_expiry(self, expiry_delay: int) -> int | None:
        engine = self._engine
        if not (self.active_expire and engine.conditions.lets_keys_go):
            return None
        expiry = engine.keyspace.next_expiry()
        if expiry is None:
            return None
        wait = (expiry + 1) * 1000 - engine.now.wall
        return engine.now.monotonic + (max(wait, expiry_delay) if wait > 0 else 0)
