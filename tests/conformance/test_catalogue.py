"""Every sentence of the documents that demands something has its clauses.

The documents are not part of the project; their sections are told here in a few words, in their order, each
with the clauses that test it. To check a document again, compare it with its table.
"""

from __future__ import annotations

import pytest

from conformance.documents import CHECKS, CLAUSES, SUITES
from tests.cases import for_each

REFERRING = {"So", "It", "Its", "That", "Nor"}
"""Words that refer to a sentence before, if a text begins with one of them."""

Sentences = dict[str, tuple[str, ...]]
"""What is asked, and the clauses that say so."""

PUT: Sentences = {
    "check the bound": ("put.needs-queue", "use.needs-create"),
    "check whether it is closed": ("put.refuses-closed",),
    "wait for the role, or say that it is taken": ("put.waits-for-role",),
    "try on until the time is over": ("put.keeps-trying",),
    "pop the role": ("put.takes-role",),
    "name the producer": ("put.names-producer",),
    "pop from not_full, or wait": ("put.waits-for-room",),
    "an error gives the role back": ("put.gives-up",),
    "push the value": ("put.pushes-left",),
    "count the message": ("put.counts-message",),
    "count the bytes": ("put.counts-bytes",),
    "refill below the bound": ("put.refills-below-bound", "put.leaves-full"),
    "refill without a bound": ("put.refills-without-bound",),
    "reduce to one element": ("put.trims-not-full",),
    "give the role back": ("put.gives-role-back",),
}

GET: Sentences = {
    "check the bound": ("get.needs-queue", "use.needs-create"),
    "wait for the role, or say that it is taken": ("get.waits-for-role",),
    "try on until the time is over": ("get.keeps-trying",),
    "pop the role": ("get.takes-role",),
    "name the consumer": ("get.names-consumer",),
    "pop a value": ("get.pops-right", "get.drains-closed"),
    "wait for a value or a close": ("get.waits-for-value", "get.wakes-at-close"),
    "an error gives the role back": ("get.gives-up",),
    "see that not_full has a value": ("get.refills", "get.wakes-producer"),
    "count the messages": ("get.counts-message",),
    "count the bytes": ("get.counts-bytes",),
    "give the role back": ("get.gives-role-back",),
}

CLOSE: Sentences = {
    "check the bound": ("close.needs-queue", "use.needs-create"),
    "wait for the role": ("close.waits-for-role",),
    "name the producer": ("close.names-producer",),
    "two elements, once": ("close.marks-twice", "close.once"),
    "give the role back": ("close.gives-role-back",),
    "at most once": ("close.is-for-ever",),
}

DELETE: Sentences = {
    "check the bound": ("delete.needs-queue", "use.needs-create"),
    "delete the bound first": ("delete.hides-first",),
    "push to not_full": ("delete.fills-not-full", "delete.wakes-producer"),
    "push two to closed": ("delete.marks-twice", "delete.wakes-consumer"),
    "wait for both roles, in order": ("delete.waits-for-roles", "delete.in-order"),
    "delete all else": ("delete.leaves-nothing", "delete.then-create"),
}

SHARED: dict[str, Sentences] = {
    "The pressure Protocol": {
        "distributed": ("broker.host-and-port", "queue.beside-ours"),
        "reliable, first in first out": ("queue.fifo",),
        "bounded": ("queue.bounded",),
        "synchronized": ("queue.synchronized",),
        "exclusive": ("queue.exclusive",),
    },
    "Message Brokers": {
        "any server": ("broker.host-and-port",),
        "host and database, with defaults": ("broker.database", "broker.default-host-and-database"),
        "port, with a default": ("broker.default-port",),
        "prefix, with a default": ("broker.prefix", "broker.default-prefix"),
        "environment variables": ("broker.environment",),
        "no working connection": ("broker.down",),
    },
    "Clients": {
        "unique": ("client.identifiers-differ",),
        "consistent": ("client.identifier",),
        "human readability": ("client.identifier-readable",),
    },
    "Queues": {
        "twelve keys": ("keys.twelve",),
        "any name": ("keys.any-name",),
        "the bound's default": ("create.default-bound",),
        "left in, right out": ("keys.left-in-right-out",),
    },
    "Create": {
        "check the bound": ("create.refuses-existing",),
        "save the bound, 0 too": ("create.saves-bound",),
        "role lists": ("create.fills-roles",),
        "not_full": ("create.fills-not-full",),
        "open, empty and uncounted": ("create.starts-open",),
        "before use": ("use.needs-create",),
    },
    "Put": PUT,
    "Get": GET,
    "Close": CLOSE,
    "Delete": DELETE,
}

LATER: dict[str, Sentences] = {
    "Clients": {"who creates, closes and destroys": ("queue.paradigm",)},
    "Exists": {"by the bound": ("exists.by-bound",)},
    "Length": {"no queue, and the length": ("length.needs-queue", "length.counts")},
    "Closed": {"no queue, and the mark": ("closed.needs-queue", "closed.by-marks")},
    "Exists, Length, Closed": {"no role": ("looks.take-no-role",)},
    "Put": {"over-filling": ("put.overfills",)},
    "Put (Non-Blocking)": {
        "check the bound": ("put-nowait.needs-queue",),
        "check whether it is closed": ("put-nowait.closed",),
        "the role is taken": ("put-nowait.role-taken",),
        "name the producer": ("put-nowait.names-producer",),
        "no room": ("put-nowait.full",),
        "push and count": ("put-nowait.puts", "put-nowait.counts-bytes"),
        "refill, and reduce to one": ("put-nowait.refills",),
    },
    "Get": {"below the bound only": ("get.over-full",)},
    "Get (Non-Blocking)": {
        "check the bound": ("get-nowait.needs-queue",),
        "the role is taken": ("get-nowait.role-taken",),
        "name the consumer": ("get-nowait.names-consumer",),
        "nothing there": ("get-nowait.empty", "get-nowait.closed"),
        "below the bound only": ("get-nowait.refills",),
        "pop and count": ("get-nowait.gets", "get-nowait.counts-bytes"),
    },
}

PLACES: dict[str, tuple[str, ...]] = {
    "list-notes": (
        *("1", "2, LPUSH / RPUSH", "2, LPUSHX / RPUSHX", "2, LPOP / RPOP", "2, BLPOP / BRPOP"),
        *("2, LMOVE / BLMOVE", "2, LLEN", "2, LREM", "2, LTRIM", "2, LRANGE / LINDEX", "3", "4", "5", "6"),
    ),
    "distributed-queues": ("Queue with In-Progress Backup", "Circular Buffer with Item Locking"),
    "redismq": ("The Reliable Queue", "MQ.PUSH", "MQ.POP", "MQ.ACK", "MQ.RECOVER", "MQ.INSPECT"),
}
"""The sections of the documents whose clauses follow them line by line."""

MATRIX: Sentences = {
    "happy path, both ends, with and without a count": ("list.matrix.both-ends",),
    "at once, timeout, wake on push": ("list.matrix.blocking",),
    "multiple keys order": ("list.matrix.key-order",),
    "first in first out across waiters": ("list.matrix.fifo",),
    "right to left pipeline": ("list.matrix.pipeline",),
    "block and wake": ("list.matrix.move-wakes",),
    "cross-list atomicity": ("list.matrix.cross-list",),
    "acknowledgement by LREM": ("list.matrix.ack",),
    "type errors": ("list.matrix.types",),
    "key deletion on last pop": ("list.matrix.last-pop",),
}

ENGINE: Sentences = {
    "call time: keys in the user's order": ("list.block.at-once",),
    "register as blocked": ("list.block.registers", "list.block.several-keys"),
    "wake one, first in first out": ("list.block.wakes-on-push", "list.block.fifo"),
    "serve atomically with the push": ("list.block.atomic", "list.block.push-reply"),
    "timer": ("list.bpop.timed-out", "list.block.timeout-clears"),
    "connection close": ("list.block.disconnect",),
}

OPERATIONS: Sentences = {
    "push": ("backup.push", "ring.push"),
    "claim": ("backup.claim", "ring.claim", "ring.locked"),
    "complete": ("backup.complete", "ring.complete"),
    "what failed is in progress, and moved by hand": ("backup.left", "backup.by-hand"),
    "the lock expires": ("ring.expires",),
    "what is not completed is always there": ("backup.never-lost", "ring.stays"),
}

TABLES: list[tuple[str, str, Sentences]] = [
    *(("protocol-0.1", place, table) for place, table in SHARED.items()),
    *(("protocol-0.15", place, table) for place, table in SHARED.items()),
    *(("protocol-0.15", place, table) for place, table in LATER.items()),
    ("list-notes", "6", MATRIX),
    ("list-notes", "4", ENGINE),
    ("distributed-queues", "", OPERATIONS),
]


@for_each(("suite", "place", "table"), TABLES, ids=[f"{suite} {place}" for suite, place, _ in TABLES])
def test_every_sentence_has_its_clauses(suite: str, place: str, table: Sentences) -> None:
    for sentence, clauses in table.items():
        assert clauses, sentence
        for clause in clauses:
            assert clause in CLAUSES, f"{sentence}: {clause}"
            assert suite in CLAUSES[clause].suites, f"{sentence} of {place}: {clause}"


@pytest.mark.parametrize("suite", ["protocol-0.1", "protocol-0.15"])
def test_every_clause_of_the_protocol_has_its_sentence(suite: str) -> None:
    told = {
        clause for of, _, table in TABLES if of == suite for clauses in table.values() for clause in clauses
    }
    assert {clause.id for clause in CLAUSES.values() if suite in clause.suites} == told


@pytest.mark.parametrize("suite", PLACES)
def test_every_section_has_clauses(suite: str) -> None:
    found = {clause.place for clause in CLAUSES.values() if suite in clause.suites}
    assert set(PLACES[suite]) <= found


def test_every_clause_has_a_sentence_a_place_a_check_and_known_suites() -> None:
    for clause in CLAUSES.values():
        assert clause.text.endswith((".", ".)")), clause.id
        assert clause.place, clause.id
        assert CHECKS[clause.id], clause.id
        assert set(clause.suites) <= set(SUITES)


def test_each_clause_is_understood_without_the_one_before_it() -> None:
    """``--list``, reports and pytest show a clause alone."""
    assert [id_ for id_, clause in CLAUSES.items() if clause.place == "the same"] == []
    assert [id_ for id_, clause in CLAUSES.items() if clause.text.split()[0] in REFERRING] == []
