"""The named scenarios.

A client that waits does so for ever where nobody dies, so that a scenario in which somebody waits in vain has
no end, which is a finding. Where somebody may die a client gives up after so many waits in vain, and at the
end of every run a repair has to restore the queue.

To add one: a row in ``ALL``, or in ``LARGE`` if it is too large to be known whole.
"""

from __future__ import annotations

from typing import Final

from .scenario import (
    ACKNOWLEDGE,
    CLOSE,
    DELETE,
    GET,
    PUT_BACK,
    RECEIVE,
    REPAIR,
    WAIT_CLOSED,
    Deed,
    Member,
    Scenario,
    create,
    get_many,
    put,
    put_many,
)

__all__ = ["ALL", "LARGE", "SCENARIOS"]


def who(name: str, *deeds: Deed, **options: bool | float) -> Member:
    return Member(name, deeds, **options)  # type: ignore[arg-type]


P, C = who("p", put(b"1")), who("c", GET)
P1, P2 = who("p1", put(b"1")), who("p2", put(b"2"))
C1, C2 = who("c1", GET), who("c2", GET)
P12, P3 = who("p1", put(b"1"), put(b"2")), who("p2", put(b"3"))
C12, C3 = who("c1", GET, GET), who("c2", GET)
CLOSER, DELETER, DOCTOR = who("x", CLOSE), who("d", DELETE), who("r", REPAIR, fails=False)

ALL: Final = (
    Scenario("one-each", (P, C), text="a put and a get"),
    Scenario("one-each-full", (P, who("c", GET, GET)), values=(b"0",), text="a put that waits for room, two gets"),
    Scenario("two-producers", (P1, P2), 2, text="two puts"),
    Scenario("two-producers-full", (P1, P2, who("c", GET, GET)), text="two puts to a place for one, two gets"),
    Scenario("two-consumers", (C1, C2, who("p", put(b"1"), put(b"2"))), 2, text="two gets, two puts"),
    Scenario("close-while-get-waits", (CLOSER, C), text="a close and a get"),
    Scenario("close-beside", (P, C1, C2, CLOSER), text="a put, two gets, a close"),
    Scenario("two-closers", (who("x", CLOSE), who("y", CLOSE), who("w", WAIT_CLOSED)), text="two closes and one who waits for it"),
    Scenario("delete-while-put-waits", (P, DELETER), values=(b"0",), text="a put that waits for room, a delete"),
    Scenario("delete-beside", (P, C, DELETER), text="a put, a get, a delete"),
    Scenario("two-deleters", (P, DELETER, who("e", DELETE)), text="a put and two deletes"),
    Scenario("create-beside-delete", (who("n", create(1)), DELETER), text="a create while the queue is deleted"),
    Scenario("two-each", (P12, P3, C12, C3), text="2 producers, 2 consumers, 3 messages"),
    Scenario("two-each-closed", (P12, P3, C12, C3, CLOSER), text="the same, and a close"),
    Scenario("two-each-deleted", (P12, P3, C12, C3, DELETER), text="the same, and a delete"),
    Scenario("everybody", (P12, P3, C12, C3, CLOSER, DELETER), text="the same, a close and a delete"),
    Scenario("reliable", (who("p", put(b"1"), put(b"2")), who("c1", RECEIVE, ACKNOWLEDGE), who("c2", RECEIVE, PUT_BACK, RECEIVE, ACKNOWLEDGE)), text="messages that are acknowledged, or put back first"),
    Scenario("reliable-closed", (P, who("c", RECEIVE, ACKNOWLEDGE, RECEIVE), CLOSER), text="a message that is acknowledged, and a close"),
    Scenario("many", (who("p", put_many(b"1", b"2", b"3")), who("c1", get_many(2)), who("c2", get_many(3)), CLOSER), 2, text="runs of values, and a close"),
    Scenario("over-filled", (who("p1", put(b"1", overfill=True)), P2, who("c", GET, GET, GET)), values=(b"0",), text="a put that over-fills, one that does not"),
    Scenario("one-each-dies", (P, C), faults=1, tries=1, text="a put and a get, one of whom dies"),
    Scenario("full-dies", (P, who("c", GET, GET)), values=(b"0",), faults=1, tries=1, text="a put that waits for room, two gets; one dies"),
    Scenario("two-producers-die", (P1, P2), 2, faults=1, tries=1, text="two puts, one of whom dies"),
    Scenario("close-dies", (CLOSER, C), faults=1, tries=1, text="a close and a get, one of whom dies"),
    Scenario("delete-dies", (P, DELETER), values=(b"0",), faults=1, tries=1, text="a put and a delete, one of whom dies"),
    Scenario("create-dies", (who("n", create(1)), who("m", create(1))), None, faults=1, tries=1, text="two creates, one of whom dies"),
    Scenario("reliable-dies", (P, who("c1", RECEIVE, ACKNOWLEDGE), who("c2", RECEIVE, ACKNOWLEDGE)), faults=1, tries=1, text="messages that are acknowledged; one dies"),
    Scenario("many-dies", (who("p", put_many(b"1", b"2", b"3")), who("c", get_many(2))), 2, faults=1, tries=1, text="runs of values; one dies"),
    Scenario("repair-beside", (P, C, DOCTOR), text="a put, a get, and a repair that finds nobody dead"),
    Scenario("repair-after-death", (P1, P2, C, who("r", REPAIR, fails=False, later=True)), faults=1, tries=2, text="two puts and a get; one dies, and a repair works beside the others"),
    Scenario("close-after-death", (CLOSER, C1, C2, who("r", REPAIR, fails=False, later=True)), faults=1, tries=2, text="a close and two gets; one dies, and a repair works beside the others"),
    Scenario("reliable-after-death", (P, who("c1", RECEIVE, ACKNOWLEDGE), who("c2", RECEIVE, ACKNOWLEDGE), who("r", REPAIR, fails=False, later=True)), faults=1, tries=2, text="messages that are acknowledged; one dies, and a repair works beside the others"),
    Scenario("delete-after-death", (P, DELETER, who("r", REPAIR, fails=False, later=True)), faults=1, tries=2, text="a put and a delete; one dies, and a repair works beside the other"),
    Scenario("cut-producers", (P1, P2), 2, faults=1, goes_on=True, text="two puts; one loses its connection, is started again, or moves to another server, and goes on"),
    Scenario("cut-consumers", (C1, C2), 3, values=(b"1", b"2", b"3"), faults=1, goes_on=True, text="two gets; the same"),
    Scenario("cut-receivers", (who("c1", RECEIVE, ACKNOWLEDGE), who("c2", RECEIVE, ACKNOWLEDGE)), 3, values=(b"1", b"2", b"3"), faults=1, goes_on=True, text="messages that are acknowledged; the same"),
    Scenario("cut-while-get-waits", (who("p", put(b"1"), put(b"2")), C), 2, faults=1, goes_on=True, text="two puts and a get that waits; the same"),
    Scenario("cut-while-put-waits", (P1, C12), values=(b"0",), faults=1, goes_on=True, tries=4, text="a put that waits for room, two gets; the same"),
    Scenario("cut-closer", (who("x", CLOSE), who("y", CLOSE), C), faults=1, goes_on=True, tries=4, text="two closes and a get that waits; the same"),
    Scenario("cut-deleter", (P, DELETER), values=(b"0",), faults=1, goes_on=True, tries=4, text="a put that waits for room, and a delete; the same"),
    Scenario("short-waits-of-producers", (P12, P3), 3, faults=1, goes_on=True, tries=0, text="puts that do not wait; the same"),
    Scenario("short-waits-of-consumers", (C12, C3), 3, values=(b"1", b"2", b"3"), faults=1, goes_on=True, tries=0, text="gets that do not wait; the same"),
    Scenario("short-waits-of-receivers", (who("c1", RECEIVE, ACKNOWLEDGE), who("c2", RECEIVE, ACKNOWLEDGE)), 3, values=(b"1", b"2"), faults=1, goes_on=True, tries=0, text="messages that are acknowledged, if there are any at once; the same"),
    Scenario("leases-heal", (who("p1", put(b"1"), lease=30.0), who("p2", put(b"2"), lease=30.0)), 2, goes_on=True, text="roles that run out at any moment, of clients that live"),
    Scenario("two-each-dies", (P12, P3, C12, C3), faults=1, tries=1, text="2 producers, 2 consumers, 3 messages; one dies"),
    Scenario("leases", (who("p1", put(b"1"), lease=30.0), who("p2", put(b"2"), lease=30.0), who("r", REPAIR, fails=False)), 2, tries=2, text="roles that run out, and a repair that gives them to the next"),
)  # fmt: skip


def crowd(name: str, text: str, *others: Member, faults: int = 0, tries: int | None = None) -> Scenario:
    """Three producers, three consumers, nine messages, and others."""
    producers = [who(f"p{at}", *(put(b"%d-%d" % (at, number)) for number in range(3))) for at in range(3)]
    consumers = [who(f"c{at}", GET, GET, GET) for at in range(3)]
    return Scenario(name, (*producers, *consumers, *others), 2, faults=faults, tries=tries, text=text)


LARGE: Final = (
    crowd("crowd", "3 producers, 3 consumers, 9 messages"),
    crowd("crowd-closed-deleted", "the same, a close and a delete", CLOSER, DELETER),
    crowd("crowd-dies", "the same; two die, and a repair works beside the others", CLOSER, who("r", REPAIR, fails=False, later=True), faults=2, tries=3),
)  # fmt: skip

SCENARIOS: Final = {scenario.name: scenario for scenario in (*ALL, *LARGE)}
