"""Histories that are recorded on the server under test, and what must hold of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ..clients.adapter.client import Adapter
from ..clients.flavours import FLAVOURS
from ..histories import fifo, linearizable, waiters
from ..histories.lines import waiting_line
from ..histories.model import Facts, History, Verdict, worst
from ..histories.picture import evidence
from ..histories.processes import final_contents, processes
from ..histories.runs import QUEUE, Plan, connections, threads
from ..judging.environment import Environment, Failure, Unsupported
from .registry import Check, check

__all__ = ["expect_explained", "expect_work"]


def expect_explained(history: History, verdict: Verdict) -> None:
    """Fails unless a history is ok; the failure has a picture of the place."""
    if verdict.answer != "ok":
        violation = f" ({verdict.violation})" if verdict.violation else ""
        raise Failure(f"{verdict.answer}{violation}: {verdict.reason}", evidence(history, verdict))


def expect_work(history: History, plan: Plan) -> None:
    """Fails unless the clients that were left did at least half of what they were to do."""
    killed = sum(client.startswith("p") for client in history.facts.killed)
    wanted = max(plan.share * (plan.producers - killed) // 2, 1)
    did = [each for each in history.operations if each.outcome == "ok"]
    for what, names in {"put": ("put", "put_many"), "got": ("get", "get_many", "ack")}.items():
        done = sum(each.name in names for each in did)
        if done < (wanted if what == "put" else 1):
            errors = Counter(each.error for each in history.operations if each.error).most_common(3)
            said = ", ".join(f"{count} times {error}" for error, count in errors)
            raise Failure(
                f"the clients {what} too little to be judged: {done} operations did, {said or 'and no error'}"
            )


def of_threads(rule: str, plan: Plan) -> Check:
    """A check of one rule: producers and consumers as threads, on a queue of its own."""

    def checked(env: Environment) -> None:
        mine = replace(plan, producers=2, consumers=2) if env.foreign else plan  # each is a process
        env.created(mine.bound)

        def facts() -> Facts:
            final = final_contents(env.address, env.queue_key())
            return Facts(env.address.origin, {QUEUE: plan.bound}, final, slack=slack_of(env))

        history = threads(env.queue, mine, facts)
        expect_work(history, mine)
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
    if not isinstance(env.client, Adapter) and env.client not in FLAVOURS.values():
        raise Unsupported("the clause kills processes: it needs a client that is one of ours, or a command")
    history = processes(env.address, plan, env.client if isinstance(env.client, Adapter) else env.flavour)
    if not history.facts.killed:
        raise Failure("nobody could be killed")
    expect_work(history, plan)
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
