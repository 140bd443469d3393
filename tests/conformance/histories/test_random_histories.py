"""Random histories that are right are never convicted, and a changed answer is, if no order explains it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from random import Random

import pytest

from conformance.histories import History, as_text, judged, linearizable, worst
from conformance.histories.models import REDIS
from conformance.histories.recorder import ErrorReply, Notebook, RecordedConnection, Recorder
from conformance.targets import Address
from conformance.wire import RawConnection

from .random_histories import (
    COMMANDS,
    KEYS,
    changed,
    changed_queue,
    commands,
    has_an_order,
    queue_has_an_order,
    right,
    right_queue,
)  # fmt: skip

COUNTS = [50, pytest.param(20_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", COMMANDS)
def test_right_histories_are_never_convicted(kind: str, count: int) -> None:
    for seed in range(count):
        rng = Random(seed)  # noqa: S311
        history = right(REDIS, commands(COMMANDS[kind], rng), rng, rng.randrange(2, 16))
        verdict = worst(judged(history).values())
        assert verdict.answer == "ok", f"{seed}\n{as_text(history, verdict)}"


@pytest.mark.parametrize("count", COUNTS)
def test_right_histories_of_queues_are_never_convicted(count: int) -> None:
    for seed in range(count):
        history = right_queue(Random(seed), 16)  # noqa: S311
        verdict = worst(judged(history).values())
        assert verdict.answer == "ok", f"{seed} {history.facts}\n{as_text(history, verdict)}"


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_changed_answer_is_convicted_if_no_order_explains_it(kind: str, count: int) -> None:
    answers = Counter[str]()
    for seed in range(count):
        rng = Random(seed)  # noqa: S311
        history = changed(right(REDIS, commands(COMMANDS[kind], rng), rng, 5, width=2), rng)
        verdict = linearizable.check(history)
        wanted = "ok" if has_an_order(REDIS, history) else "illegal"
        assert verdict.answer == wanted, f"{seed}\n{as_text(history, verdict)}"
        answers[wanted] += 1
    assert min(answers["ok"], answers["illegal"]) > sum(answers.values()) / 10


@pytest.mark.parametrize("count", COUNTS)
def test_a_changed_history_of_a_queue_is_convicted_only_if_no_order_explains_it(count: int) -> None:
    answers = Counter[tuple[str, bool]]()
    for seed in range(count):
        rng = Random(seed)  # noqa: S311
        history = changed_queue(right_queue(rng, 7), rng)
        verdict, explained = worst(judged(history).values()), queue_has_an_order(history)
        assert not (verdict.answer == "illegal" and explained), f"{seed}\n{as_text(history, verdict)}"
        answers[verdict.answer, explained] += 1
    assert answers["illegal", False] > 3 * answers["ok", False] > 0


def asked(address: Address, table: Sequence[str], clients: int, count: int) -> History:
    """What a server answers to commands from several connections at once."""
    notebook = Notebook()

    def ask(place: int) -> None:
        with RawConnection(address.host, address.port) as raw:
            connection = RecordedConnection(raw, Recorder(f"c{place}", notebook))
            for words in islice(commands(table, Random(place)), count):  # noqa: S311
                with suppress(ErrorReply):
                    connection.command(*words)

    with RawConnection(address.host, address.port) as raw, ThreadPoolExecutor(clients) as pool:
        raw.command("DEL", *KEYS)
        for each in [pool.submit(ask, place) for place in range(clients)]:
            each.result()
        raw.command("DEL", *KEYS)
    return History(notebook.operations)


@pytest.mark.parametrize("server", ["embedded_server", "real_server"])
def test_servers_answer_as_the_models_do(server: str, request: pytest.FixtureRequest) -> None:
    """One connection, so that each answer has to be the model's."""
    table = [command for several in COMMANDS.values() for command in several if command[0] != "B"]
    recorded = asked(request.getfixturevalue(server), table, 1, 3000)
    verdict = linearizable.check(recorded)
    assert verdict.answer == "ok", as_text(recorded, verdict)
    done = {each.name for each in recorded.operations if each.outcome == "ok"}
    assert done == {each.split()[0] for each in table}
    assert {each.error for each in recorded.operations} == {"", "WRONGTYPE", "ERR"}


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize("server", ["embedded_server", "real_server"])
def test_several_connections_at_once_are_never_convicted(
    server: str, kind: str, request: pytest.FixtureRequest
) -> None:
    table = [command for command in COMMANDS[kind] if command[0] != "B"]
    recorded = asked(request.getfixturevalue(server), table, 4, 60)
    verdict = linearizable.check(recorded)
    assert verdict.answer == "ok", as_text(recorded, verdict)
