"""Histories that are recorded on the server under test, and what must hold of them."""

from __future__ import annotations

from collections.abc import Callable

from ..histories import fifo, linearizable, waiters
from ..histories.lines import waiting_line
from ..histories.model import Facts, History, Verdict, worst
from ..histories.picture import evidence
from ..histories.processes import final_contents, processes
from ..histories.runs import QUEUE, Plan, connections, threads
from ..judging.environment import Environment, Failure
from .registry import Check, check

__all__ = ["expect_explained"]


def expect_explained(history: History, verdict: Verdict) -> None:
    """Fails unless a history is ok; the failure has a picture of the place."""
    if verdict.answer != "ok":
        violation = f" ({verdict.violation})" if verdict.violation else ""
        raise Failure(f"{verdict.answer}{violation}: {verdict.reason}", evidence(history, verdict))


def of_threads(rule: str, plan: Plan) -> Check:
    """A check of one rule: producers and consumers as threads, on a queue of its own."""

    def checked(env: Environment) -> None:
        env.created(plan.bound)

        def facts() -> Facts:
            final = final_contents(env.address, env.queue_key())
            return Facts(env.address.origin, {QUEUE: plan.bound}, final, slack=slack_of(env))

        history = threads(env.queue, plan, facts)
        expect_explained(history, fifo.rules_of(history)[rule])

    checked.__name__ = f"history_{rule}"
    return checked


def slack_of(env: Environment) -> int:
    """By how much clients of this flavour may pass a bound."""
    return int(env.flavour == "plain")


for place, (rule, bound) in enumerate(
    {"fifo": 0, "no-loss": 4, "no-duplicate": 10, "bound": 2, "exclusive": 4, "closed": 3}.items()
):
    check(f"history.{rule}")(of_threads(rule, Plan(operations=80, bound=bound, seed=place)))


@check("history.killed-clients")
def killed_clients(env: Environment) -> None:
    plan = Plan(operations=100, producers=2, consumers=2, kills=2, bound=4)
    history = processes(env.address, plan, env.flavour)
    if not history.facts.killed:
        raise Failure("nobody could be killed")
    expect_explained(history, worst(fifo.rules_of(history).values()))


@check("history.waiters")
def in_line(env: Environment) -> None:
    for seed in range(3):
        history = waiting_line(env.connect, env.key(f"line{seed}"), env.until_blocked, seed=seed)
        expect_explained(history, waiters.check(history))


def of_connections(env: Environment, seed: int, *, operations: int = 300, clients: int = 6) -> History:
    keys = [env.key(f"{name}{seed}") for name in ("a", "b")]
    return connections(env.connect, keys, operations, clients, seed)


@check("history.linearizable")
def from_several_connections(env: Environment) -> None:
    runs: list[Callable[[], History]] = [
        lambda: of_connections(env, 0, operations=150, clients=1),  # nothing overlaps: every answer counts
        lambda: of_connections(env, 1),
    ]
    for run in runs:
        history = run()
        expect_explained(history, linearizable.check(history))
