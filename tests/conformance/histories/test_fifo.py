"""The checker of FIFO queues: it accepts correct histories and names each kind of violation."""

from __future__ import annotations

from conformance.histories import Facts, History, fifo
from conformance.histories.fifo import check, check_queue, rules_of
from tests.cases import for_each

from .notation import history, table

LEFT_A = Facts(final={"q": (b"a",)})
EMPTY = Facts(final={"q": ()})
TWO = Facts(bounds={"q": 2})

GOOD = {
    "sequential operations": ("p put a 0 1\np put b 2 3\nc get = a 4 5\nc get = b 6 7", EMPTY),
    "a get that begins before its put": ("c get = a 0 9\np put a 5 6", EMPTY),
    "concurrent puts in either order": (
        "p put a 0 9\no put b 1 8\nc get = b 10 11\nc get = a 12 13",
        EMPTY,
    ),
    "concurrent gets in either order": ("p put a 0 1\np put b 2 3\nc get = b 4 9\nd get = a 5 8", EMPTY),
    "a put that begins as another ends": ("p put a 0 2\no put b 2 3\nc get = b 4 5\nc get = a 6 7", EMPTY),
    "a put that begins as another ends, not got": ("p put a 0 2\no put b 2 3\nc get = b 4 5", Facts()),
    "a get that begins as another ends": ("p put a 0 1\np put b 2 3\nc get = b 4 6\nd get = a 6 7", EMPTY),
    "one client holds a role twice": ("c hold consumer 0 5\nc hold consumer 4 9", Facts()),
    "a value left in the queue": ("p put a 0 1", LEFT_A),
    "a queue whose final values are unknown": ("p put a 0 1", Facts()),
    "an open put that happened": ("p put a ? 0\nc get = a 5 6", EMPTY),
    "an open put that did not happen": ("p put a ? 0", EMPTY),
    "an open put whose value is left": ("p put a ? 0", LEFT_A),
    "an open get that took a value": ("p put a 0 1\nc get ? 2", EMPTY),
    "an open get that took an overtaken value": ("p put a 0 1\np put b 2 3\nc get ? 4\nd get = b 5 6", EMPTY),
    "an open get that took a value before a later one was received": (
        "p put a 0 1\np put b 2 3\nd get ? 3\nc receive = b 4 5\nc put_back b 6 7",
        Facts(),
    ),
    "an open get that took the end of a batch": (
        "p put_many a b 0 9\no put x 1 8\nc get = a 10 11\nd get ? 12\nc get = x 12 13",
        Facts(),
    ),
    "an open get_many": ("p put_many a b 0 1\nc get_many 3 ? 2", EMPTY),
    "empty before the first put": ("c get ! QueueEmptyError 0 1\np put a 2 3", LEFT_A),
    "empty between two values": (
        "p put a 0 1\nc get = a 2 9\nd get ! QueueEmptyError 3 8\np put b 7 10\nc get = b 11 12",
        EMPTY,
    ),
    "another error of a get does not mean empty": ("p put a 0 1\nc get ! QueueInUseError 2 3", LEFT_A),
    "a put that failed": ("p put a 0 1\np put b ! QueueFullError 2 3\nc get = a 4 5", EMPTY),
    "half a put_many": ("p put_many a b c ! QueueFullError 2 0 1\nc get_many 3 = a b 2 3", EMPTY),
    "received and acknowledged": ("p put a 0 1\nc receive = a 2 3\nc ack a 4 5", EMPTY),
    "received and put back": ("p put a 0 1\nc receive = a 2 3\nc put_back a 4 5\nc get = a 6 7", EMPTY),
    "put back, and left": ("p put a 0 1\nc receive = a 2 3\nc put_back a 4 5", LEFT_A),
    "received by a client that died": ("p put a 0 1\nc receive = a 2 3\nd get = a 9 10", EMPTY),
    "acknowledged by a client that died": ("p put a 0 1\nc receive = a 2 3\nc ack a ? 4", EMPTY),
    "not acknowledged by a client that died": (
        "p put a 0 1\nc receive = a 2 3\nc ack a ? 4\nd get = a 9 10",
        EMPTY,
    ),
    "an acknowledgement that failed because the role was taken": (
        "p put a 0 1\nc receive = a 2 3\nc ack a ! QueueInUseError 4 5\nd get = a 9 10",
        EMPTY,
    ),
    "at the bound": ("p put a 0 1\np put b 2 3\nc get = a 4 9\np put c 5 8", TWO),
    "one more where Gets refill": (
        "p put a 0 1\np put b 2 3\np put c 4 5",
        Facts(bounds={"q": 2}, slack=1),
    ),
    "over-filled": (
        "p put a 0 1\np put b 2 3\no put c 4 5\nx get = a 6 7\nx get = b 8 9\np put d 10 11",
        Facts(bounds={"q": 2}, overfilling=frozenset("o")),
    ),
    "put back behind more than there is room for": (
        "p put a 0 1\np put b 2 3\nc receive = a 4 5\np put c 6 7\nc put_back a 8 9\nc get_many 3 = a b c 10 11",
        TWO,
    ),
    "closed and drained": (
        "p put a 0 1\np close 2 3\np put b ! QueueClosedError 4 5\nc get = a 6 7\nc get ! QueueClosedError 8 9",
        EMPTY,
    ),
    "put while it closes": ("p close 0 9\no put a 1 8", LEFT_A),
    "concurrent batches": ("p put_many a b 0 9\no put_many c d 1 8\nx get_many 4 = c d a b 10 11", EMPTY),
    "holders in turn": ("c hold consumer 0 5\nd hold consumer 6 9\np put a 0 1\nd get = a 7 8", EMPTY),
    "holders of two roles": ("c hold consumer 0 5\nd hold producer 1 4", Facts()),
}

BAD = {
    "got, never put": ("c get = a 0 1", Facts(), "fifo", "invented"),
    "reported as left, never put": ("c get ! QueueEmptyError 0 1", LEFT_A, "fifo", "invented"),
    "got before its put": ("c get = a 0 1\np put a 2 3", Facts(), "fifo", "invented"),
    "got though its put failed": ("p put a ! QueueFullError 0 1\nc get = a 2 3", Facts(), "fifo", "invented"),
    "overtaken": ("p put a 0 1\np put b 2 3\nc get = b 4 5\nc get = a 6 7", Facts(), "fifo", "order"),
    "overtaken, and left": (
        "p put a 0 1\np put b 2 3\nc get = b 4 5",
        Facts(final={"q": (b"a",)}),
        "fifo",
        "order",
    ),
    "left in the wrong order": (
        "p put a 0 1\np put b 2 3",
        Facts(final={"q": (b"b", b"a")}),
        "fifo",
        "order",
    ),
    "a batch in the wrong order": (
        "p put_many a b 0 1\nc get = b 2 3\nc get = a 4 5",
        Facts(),
        "fifo",
        "order",
    ),
    "got in one batch in the wrong order": (
        "p put a 0 1\np put b 2 3\nc get_many 2 = b a 4 5",
        Facts(),
        "fifo",
        "order",
    ),
    "a batch got in one batch in the wrong order": (
        "p put_many a b 0 1\nc get_many 2 = b a 4 5",
        Facts(),
        "fifo",
        "order",
    ),
    "put into a batch whose end is still in the queue": (
        "p put_many a b 0 9\no put x 1 8\nc get = a 10 11\nc get = x 12 13",
        Facts(),
        "exclusive",
        "exclusive",
    ),
    "received too early, and what was first never came": (
        "p put a 0 1\np put b 2 3\nc receive = b 4 5\nc put_back b 6 7",
        Facts(),
        "no-loss",
        "order",
    ),
    "received too early": (
        "p put a 0 1\np put b 2 3\nc receive = b 4 5\nc put_back b 6 7\nc get = a 8 9\nc get = b 10 11",
        Facts(),
        "fifo",
        "order",
    ),
    "put back behind others": (
        "p put a 0 1\np put b 2 3\nc receive = a 4 5\nc put_back a 6 7\nc get = b 8 9\nc get = a 10 11",
        Facts(),
        "fifo",
        "order",
    ),
    "reported empty with a value in it": (
        "p put a 0 1\nc get ! QueueEmptyError 2 3\nc get = a 4 5",
        Facts(),
        "fifo",
        "empty",
    ),
    "never empty, by turns": (
        "p put a 0 1\nd get ! QueueEmptyError 2 20\np put b 3 4\nc get = a 5 6\np put c 7 8\nc get = b 9 10\nc get = c 21 22",
        Facts(),
        "fifo",
        "empty",
    ),
    "reported closed with a value in it": (
        "p put a 0 1\np close 2 3\nc get ! QueueClosedError 4 5\nd get = a 6 7",
        Facts(),
        "fifo",
        "empty",
    ),
    "lost": ("p put a 0 1", EMPTY, "no-loss", "loss"),
    "a later value overtook it": ("p put a 0 1\np put b 2 3\nc get = b 4 5", Facts(), "no-loss", "order"),
    "an open get that began too late": (
        "p put a 0 1\np put b 2 3\nc get = b 4 5\nd get ? 6",
        EMPTY,
        "no-loss",
        "loss",
    ),
    "two lost, one open get": ("p put a 0 1\np put b 2 3\nd get ? 6", EMPTY, "no-loss", "loss"),
    "put back, and lost": ("p put a 0 1\nc receive = a 2 3\nc put_back a 4 5", EMPTY, "no-loss", "loss"),
    "got twice": ("p put a 0 1\nc get = a 2 3\nd get = a 4 5", Facts(), "no-duplicate", "duplicate"),
    "got twice at once": ("p put a 0 1\nc get_many 2 = a a 2 3", Facts(), "no-duplicate", "duplicate"),
    "got, and left": ("p put a 0 1\nc get = a 2 3", LEFT_A, "no-duplicate", "duplicate"),
    "left twice": ("p put a 0 1", Facts(final={"q": (b"a", b"a")}), "no-duplicate", "duplicate"),
    "received after its acknowledgement": (
        "p put a 0 1\nc receive = a 2 3\nc ack a 4 5\nd receive = a 6 7",
        Facts(),
        "no-duplicate",
        "duplicate",
    ),
    "over the bound": ("p put a 0 1\np put b 2 3\np put c 4 5", TWO, "bound", "bound"),
    "over the bound and one": (
        "p put a 0 1\np put b 2 3\np put c 4 5\np put d 6 7",
        Facts(bounds={"q": 2}, slack=1),
        "bound",
        "bound",
    ),
    "over the bound in one batch": ("p put_many a b c 0 1", TWO, "bound", "bound"),
    "an open get takes one at most": (
        "x get ? 0\np put a 0 1\np put b 2 3\np put c 4 5\np put d 6 7",
        TWO,
        "bound",
        "bound",
    ),
    "over the bound beside what was put back": (
        "p put a 0 1\np put b 2 3\nc receive = a 4 5\nc put_back a 8 9\np put c 10 11\np put d 12 13",
        TWO,
        "bound",
        "bound",
    ),
    "put onto what was over-filled": (
        "p put a 0 1\np put b 2 3\no put c 4 5\nx get = a 6 7\np put d 10 11",
        Facts(bounds={"q": 2}, overfilling=frozenset("o")),
        "bound",
        "bound",
    ),
    "another client's value in a batch of puts": (
        "p put_many a b 0 9\no put c 1 8\nx get = a 10 11\nx get = c 12 13\nx get = b 14 15",
        Facts(),
        "exclusive",
        "exclusive",
    ),
    "another client's get in a batch of gets": (
        "p put a 0 1\np put b 2 3\np put c 4 5\nx get_many 2 = a c 6 20\ny get = b 7 19",
        Facts(),
        "exclusive",
        "exclusive",
    ),
    "got while another receives": (
        "p put a 0 1\np put b 2 3\nc receive = a 4 5\nd get = b 6 7\nc ack a 8 9",
        Facts(),
        "exclusive",
        "exclusive",
    ),
    "two holders": ("c hold consumer 0 5\nd hold consumer 4 9", Facts(), "exclusive", "exclusive"),
    "put while another holds": ("c hold producer 0 9\np put a 3 4", Facts(), "exclusive", "exclusive"),
    "put when closed": ("p close 0 1\no put a 2 3", Facts(), "closed", "closed"),
    "reported closed early": ("o put a ! QueueClosedError 0 1\np close 2 3", Facts(), "closed", "closed"),
    "reported closed, never closed": ("c get ! QueueClosedError 0 1", Facts(), "closed", "closed"),
}


@for_each("name", GOOD)
def test_correct_histories_are_ok(name: str) -> None:
    lines, facts = GOOD[name]
    assert {verdict.answer: verdict.reason for verdict in check_queue(table(lines), facts, "q").values()} == {
        "ok": ""
    }


@for_each("name", BAD)
def test_each_violation_is_named(name: str) -> None:
    lines, facts, rule, violation = BAD[name]
    verdict = check_queue(table(lines), facts, "q")[rule]
    assert (verdict.answer, verdict.violation) == ("illegal", violation)
    assert verdict.reason
    mine = set(table(lines))
    assert set(verdict.operations) <= mine
    assert verdict.operations or "final" in str(facts)


@for_each("rule", fifo.RULES)
def test_each_rule_has_a_history_that_violates_it(rule: str) -> None:
    assert any(mine == rule for _, _, mine, _ in BAD.values())


REPEATED = "p put a 0 1\np put a 2 3\n"


def test_values_put_twice_are_counted_and_their_order_is_unknown() -> None:
    once = check_queue(table(REPEATED + "c get = a 4 5\nc get = a 6 7"), EMPTY, "q")
    assert {verdict.answer for verdict in once.values()} == {"unknown"}
    assert "2 times" in once["fifo"].reason
    thrice = "c get = a 4 5\nc get = a 6 7\nc get = a 8 9"
    assert check_queue(table(REPEATED + thrice), EMPTY, "q")["no-duplicate"].violation == "duplicate"
    assert check_queue(table(REPEATED + "c get = a 4 5"), EMPTY, "q")["no-loss"].violation == "loss"
    assert (
        check_queue(table(REPEATED + "c get = a 4 5\nc get ? 6"), EMPTY, "q")["no-loss"].answer == "unknown"
    )
    assert check_queue(table(REPEATED + "c get = a 4 5"), LEFT_A, "q")["no-loss"].answer == "unknown"


def test_queues_are_judged_apart() -> None:
    good, bad = history("p put a 0 1\nc get = a 2 3"), history("c get = a 2 3", queue="other")
    both = History([*good.operations, *bad.operations])
    assert check(good).answer == "ok"
    assert check(both).violation == "invented"
    assert rules_of(both)["fifo"].operations == tuple(bad.operations)
    assert rules_of(both)["bound"].answer == "ok"
