"""A client that waits frees the role of a dead holder, and waits on for a live one; on a simulated clock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pressure import QueueInUseError, protocol
from pressure.connections.identity import is_released
from pressure.protocol import Context, Deadline
from pressure.protocol.liveness import PROBE_INTERVAL
from pressure.protocol.repair import RepairReport, repair
from tests.tools.simulation import Actor, Simulation, held, operation

LATEST = 8.0
"""After so many seconds a dead holder's role works again."""


pytestmark = pytest.mark.usefixtures("probes_as_for_users")


def for_a_while(context: Context) -> Deadline:
    return Deadline.of(context, timeout=60)


def at_once(context: Context) -> Deadline:
    return Deadline.of(context, block=False)


PUT = operation(protocol.put, b"v", for_a_while)
GET = operation(protocol.get, for_a_while)
RECEIVE = operation(protocol.receive, for_a_while)
SETTLE = operation(protocol.settle, held, protocol.Settlement.ACKNOWLEDGED, 1)


@pytest.fixture(params=[True, False], ids=["scripts", "plain"])
def simulation(request: pytest.FixtureRequest) -> Simulation:
    if request.param:
        pytest.importorskip("lupa", reason="scripts need the extra 'lua'")
    made = Simulation(lambda _: 0, scripts=request.param)
    made.do(operation(protocol.create, 1))
    return made


def stopped(simulation: Simulation, name: str, work: Any) -> Actor:
    """A client that does what it can, until it waits or is done."""
    actor = simulation.actor(name).will(work)
    while actor.can_go_on:
        actor.go_on()
    return actor


def until_done(actor: Actor, work: Any) -> Any:
    """What a client's next operation comes to, which does not wait."""
    actor.will(work)
    while not actor.is_done:
        actor.go_on()
    return actor.results[-1]


def seconds_of(simulation: Simulation, work: Any) -> float:
    """How long it takes a client of its own."""
    begin = simulation.seconds()
    simulation.do(work)
    return simulation.seconds() - begin


def take(simulation: Simulation, role: str, holder: bytes | None) -> None:
    """Somebody outside takes a role."""
    simulation.ask("RPOP", f"__pressure__:jobs:{role}_free")
    if holder is None:
        simulation.ask("DEL", f"__pressure__:jobs:{role}")
    else:
        simulation.ask("SET", f"__pressure__:jobs:{role}", holder)


@pytest.mark.parametrize("work", [GET, RECEIVE], ids=["get", "receive"])
def test_a_consumer_that_dies_waiting_is_replaced_by_one_that_waits(
    simulation: Simulation, work: Any
) -> None:
    stopped(simulation, "dead", work).kill()
    simulation.do(PUT)
    assert PROBE_INTERVAL < seconds_of(simulation, GET) <= LATEST
    simulation.do(PUT)
    assert seconds_of(simulation, GET) == 0


def test_a_message_that_a_dead_consumer_had_received_is_redelivered(simulation: Simulation) -> None:
    simulation.do(PUT)
    stopped(simulation, "dead", RECEIVE).kill()
    assert simulation.do(GET) == b"v"
    assert simulation.seconds() <= LATEST


def test_a_producer_that_waits_for_room_replaces_a_dead_consumer(simulation: Simulation) -> None:
    simulation.do(PUT)
    stopped(simulation, "dead", RECEIVE).kill()
    waiting = stopped(simulation, "waiting", operation(protocol.put, b"w", for_a_while))
    while simulation.seconds() < LATEST:
        simulation.step()
    assert simulation.ask("LLEN", simulation.keys.consumer_free) == 1
    assert simulation.ask("LRANGE", simulation.keys.queue, 0, -1) == [b"v"]
    assert simulation.do(GET) == b"v"
    simulation.run()
    assert waiting.results == [None]


def test_a_producer_that_waits_for_room_restores_a_token_that_got_lost(simulation: Simulation) -> None:
    simulation.ask("DEL", simulation.keys.not_full)
    assert PROBE_INTERVAL <= seconds_of(simulation, PUT) <= LATEST


@pytest.mark.parametrize("step", range(8))
def test_a_put_that_fills_the_queue_beside_a_repair_leaves_no_token(
    simulation: Simulation, step: int
) -> None:
    simulation.ask("DEL", simulation.keys.not_full)
    doctor = simulation.actor("doctor").will(operation(repair))
    for _ in range(step):
        simulation.step()
    simulation.do(operation(protocol.put, b"v", at_once, overfill=True))
    simulation.run()
    assert isinstance(doctor.results[0], RepairReport)
    assert simulation.ask("LLEN", simulation.keys.not_full) == 0


def test_a_delete_that_waits_for_a_dead_holder_finishes(simulation: Simulation) -> None:
    stopped(simulation, "dead", GET).kill()
    assert seconds_of(simulation, operation(protocol.delete, for_a_while)) <= LATEST
    assert simulation.ask("DBSIZE") == 0


@pytest.mark.parametrize("role", ["producer", "consumer"])
@pytest.mark.parametrize("before", [None, b"dead:1:00000000/1/1/released"])
def test_a_role_that_was_popped_by_a_client_that_never_said_so_comes_free(
    simulation: Simulation, role: str, before: bytes | None
) -> None:
    take(simulation, role, before)
    simulation.do(PUT)
    assert simulation.do(GET) == b"v"
    assert simulation.seconds() <= LATEST


def test_the_end_of_a_lease_does_not_begin_the_wait_anew(simulation: Simulation) -> None:
    simulation.do(PUT)
    take(simulation, "consumer", None)
    simulation.ask("SET", "__pressure__:jobs:consumer", b"another program", "PX", 3000)
    assert simulation.do(GET) == b"v"
    assert 3 < simulation.seconds() <= LATEST


def test_a_live_holder_and_one_of_another_package_keep_their_roles(simulation: Simulation) -> None:
    live = simulation.actor("live").will(operation(protocol.get, lambda context: Deadline.of(context)))
    while live.can_go_on:
        live.go_on()
    take(simulation, "producer", b"another program")
    for work in (GET, PUT):
        with pytest.raises(QueueInUseError):
            simulation.do(work)
    assert simulation.seconds() >= 100
    assert not live.is_done


def test_a_client_that_asks_again_and_again_without_waiting_frees_a_role(simulation: Simulation) -> None:
    simulation.do(PUT)
    stopped(simulation, "dead", RECEIVE).kill()
    poller = simulation.actor("poller")
    while until_done(poller, operation(protocol.get, at_once)) != b"v":
        assert isinstance(poller.results[-1], QueueInUseError)
        assert simulation.seconds() < LATEST
        simulation.pass_time(1)


def test_a_hold_of_this_process_that_is_over_is_no_obstacle(simulation: Simulation) -> None:
    simulation.do(PUT)
    client = stopped(simulation, "client", RECEIVE)
    client.context.holds.end(held(client.context))
    assert until_done(client, operation(protocol.get, at_once)) == b"v"
    assert simulation.seconds() == 0


def test_healing_can_be_switched_off(simulation: Simulation) -> None:
    simulation.do(PUT)
    stopped(simulation, "dead", RECEIVE).kill()
    client = simulation.actor("client")
    client.context = replace(client.context, heal=False)
    client.will(GET)
    simulation.run()
    assert isinstance(client.results[0], QueueInUseError)
    assert simulation.seconds() >= 60


def test_a_client_that_was_freed_by_mistake_writes_nothing_more(simulation: Simulation) -> None:
    simulation.do(PUT)
    frozen = stopped(simulation, "frozen", RECEIVE)
    simulation.do(operation(repair, force=True))
    after = stopped(simulation, "after", RECEIVE)
    assert isinstance(until_done(frozen, SETTLE), QueueInUseError)
    assert simulation.ask("LRANGE", simulation.keys.unacked, 0, -1) == [b"v"]
    assert simulation.ask("LLEN", simulation.keys.consumer_free) == 0
    assert until_done(after, SETTLE) is None
    assert after.results == [b"v", None]


def test_a_receive_that_was_freed_by_mistake_while_it_waited_puts_back_what_it_gets(
    simulation: Simulation,
) -> None:
    frozen = stopped(simulation, "frozen", RECEIVE)
    simulation.do(operation(repair, force=True))
    simulation.do(PUT)
    while not frozen.is_done:
        frozen.go_on()
    assert isinstance(frozen.results[0], QueueInUseError)
    assert simulation.do(GET) == b"v"


def test_the_holder_key_says_who_holds_the_role_and_that_it_was_given_back(simulation: Simulation) -> None:
    simulation.do(PUT)
    assert is_released(simulation.ask("GET", simulation.keys.producer))
    client = stopped(simulation, "client", RECEIVE)
    holder = held(client.context)
    assert simulation.ask("GET", simulation.keys.consumer) == holder
    assert until_done(client, SETTLE) is None
    assert simulation.ask("GET", simulation.keys.consumer) == holder + b"/released"
