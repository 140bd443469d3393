"""What must hold of all that many clients do at once, whatever their luck.

Each clause stands on a sentence of a document. The histories that are judged are recorded on the server, with the
client under test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..clients.adapter.client import Adapter
from ..clients.flavours import FLAVOURS
from ..histories import fifo, linearizable, waiters
from ..histories.lines import waiting_line
from ..histories.model import Facts, History, Verdict, worst
from ..histories.picture import evidence
from ..histories.processes import final_contents, processes
from ..histories.runs import QUEUE, Plan, connections, threads
from ..judging.environment import Broken, Environment, Failure, Unsupported
from .model import Clause
from .registry import Check, check, clauses_of, declare

__all__ = ["expect_explained", "expect_work"]


QUEUES: Final = "pressure 0.15, 'distributed, reliable, bounded, synchronized, exclusive FIFO queues'"
PUSHED: Final = "list notes, 4, 'On push to any key: if waiters exist, wake one (FIFO)'"

LISTS: Final = ("list-move", "list-count")

histories = clauses_of("histories", needs=LISTS)

#: Rules of queues: name, the bound of the queue, the place in the documents, and the text of the clause.
RULES: Final = (
    ("fifo", 0, QUEUES, "With many producers and consumers at once no value overtakes another, and none is invented; who is told that the queue is empty was told so when it was."),
    ("no-loss", 4, QUEUES, "With many at once, a value whose Put succeeded is got or still there."),
    ("no-duplicate", 10, "pressure 0.15, Get, pops from the right", "With many at once no value is got twice, unless it was received and put back."),
    ("bound", 2, "pressure 0.15, 'queues can have a maximum length'", "With many at once there are never more values in a queue than its bound, or one more where clients send plain batches; one that was received and goes back is apart."),
    ("exclusive", 4, "pressure 0.15, 'at most one producer and one consumer'", "With many at once, what one client puts or gets in one go has nothing of another's in it, and nothing is got while a received value is worked on."),
    ("closed", 3, "pressure 0.15, Close, and Put to a closed queue", "No Put succeeds behind a Close, and nobody hears of a Close before it begins."),
)  # fmt: skip


def expect_explained(history: History, verdict: Verdict) -> None:
    """Fails unless a history is ok; the failure has a picture of the place."""
    if verdict.answer != "ok":
        violation = f" ({verdict.violation})" if verdict.violation else ""
        kind = Broken if verdict.answer == "unknown" else Failure
        raise kind(f"{verdict.answer}{violation}: {verdict.reason}", evidence(history, verdict))


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
                f"the clients {what} less than half of what they were to: {done} operations did, {said or 'and no error'}"
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


for seed, (rule, bound, place, told) in enumerate(RULES):
    declare(Clause(f"history.{rule}", ("histories",), place, "must", told, LISTS))
    check(f"history.{rule}")(of_threads(rule, Plan(operations=80, bound=bound, seed=seed)))


@histories("history.killed-clients", QUEUES, limit=90.0)
def killed_clients(env: Environment) -> None:
    """Clients that are processes, some of them killed by SIGKILL and their roles freed, break none of these rules."""
    plan = Plan(operations=100, producers=2, consumers=2, kills=2, bound=4)
    if not isinstance(env.client, Adapter) and env.client not in FLAVOURS.values():
        raise Unsupported("the clause kills processes: it needs a client that is one of ours, or a command")
    history = processes(env.address, plan, env.client if isinstance(env.client, Adapter) else env.flavour)
    if not history.facts.killed:
        raise Broken("no process could be killed")
    expect_work(history, plan)
    expect_explained(history, worst(fifo.rules_of(history).values()))


def expect_ours(env: Environment) -> None:
    """Does not let a clause that no queue client takes part in count as passed by another client."""
    if env.foreign:
        raise Unsupported("the clause is about the server alone: judge it without --adapter")


@histories("history.waiters", PUSHED, needs=())
def in_line(env: Environment) -> None:
    """Who waits for elements of a list is served in the order of blocking, whoever hung up or ran out of time
    meanwhile.
    """
    expect_ours(env)
    for seed in range(3):
        history = waiting_line(env.connect, env.key(f"line{seed}"), env.until_blocked, seed=seed)
        expect_explained(history, waiters.check(history))


def of_connections(env: Environment, seed: int, *, operations: int = 300, clients: int = 6) -> History:
    keys = [env.key(f"{name}{seed}") for name in ("a", "b")]
    return connections(env.connect, keys, operations, clients, seed)


@histories("history.linearizable", "list notes, commands are atomic")
def from_several_connections(env: Environment) -> None:
    """Commands on lists from several connections each take effect at one moment while they are under way."""
    expect_ours(env)
    runs: list[Callable[[], History]] = [
        lambda: of_connections(env, 0, operations=150, clients=1),  # nothing overlaps: every answer counts
        lambda: of_connections(env, 1),
    ]
    for run in runs:
        history = run()
        expect_explained(history, linearizable.check(history))
