"""A run to make reports of: clauses of every verdict, and a server that sends markup."""

from __future__ import annotations

from datetime import UTC, datetime

from conformance.documents import Clause, Level
from conformance.failure import Evidence
from conformance.judging.runner import Outcome, Verdict
from conformance.reports import Judgement
from conformance.reports.conversation import compared
from conformance.reports.take import Take
from conformance.wire.recording import Move, Side

HOSTILE = "-ERR </script><script>alert(1)</script> <img src=x onerror=alert(2)> \" ' & \x1b[31m \u202e \ud800"

PICTURE = (
    '<svg width="900" height="60" viewBox="0 0 900 60" role="group" aria-label="Operations">'
    '<g fill="currentColor">'
    '<rect tabindex="0" x="0" y="5" width="300" height="20"><title>put 1, 0 to 3 ms</title></rect>'
    '<rect tabindex="0" x="350" y="30" width="400" height="20"><title>get 1, 4 to 8 ms</title></rect>'
    "</g></svg>"
)

STARTED = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def clause(id_: str, *suites: str, text: str = "", level: Level = "must") -> Clause:
    return Clause(id_, suites or ("lists",), "§ 1", level, text or f"What {id_} asks for.")


PUSH = clause("push.reply", text="LPUSH answers with the length.")
POP = clause("pop.first", "lists", "queues", text="LPOP takes the <first> value.")
WAIT = clause("wait.order", "queues", text="Who waits longest is served first.", level="may")
SAID = clause("said.hostile", "hostile", text="An error is an error.")
CLAUSES = (PUSH, POP, WAIT, SAID)


def outcome(asked: Clause, verdict: Verdict, reason: str = "", *evidence: Evidence) -> Outcome:
    return Outcome(asked, verdict, reason, evidence, 0.25)


def judgement(target: str, *outcomes: Outcome, problem: str = "", excused: bool = False) -> Judgement:
    origin = f"/opt/redis/bin/{target}, Redis 7.0.15"
    return Judgement(target, origin, "sync", outcomes, STARTED, 1.5, len(CLAUSES), problem, excused)


def take(server: str, reason: str, *said: bytes) -> Take:
    """A conversation: what the client said, what was answered, and so on."""
    sides: tuple[Side, ...] = ("client", "server") * len(said)
    moves = (
        Move(1, number, 0.0, side, data)
        for number, (side, data) in enumerate(zip(sides, said, strict=False), 1)
    )
    return Take(server, "violated" if reason else "passed", reason, tuple(moves), 0)


ASKED = b"*2\r\n$4\r\nLPOP\r\n$1\r\nk\r\n"
CONVERSATION = compared(
    take("good", "wanted 1, got 2", ASKED, b"$1\r\n2\r\n"),
    take("real", "", ASKED, b"$1\r\n1\r\n"),
)

RUN = (
    judgement(
        "good",
        outcome(PUSH, "passed"),
        outcome(POP, "violated", "wanted 1, got 2", CONVERSATION),
        outcome(WAIT, "error", "nobody came\nnot even late", Evidence("What happened", "flat", PICTURE)),
        outcome(SAID, "not asked", "the server has no errors"),
    ),
    judgement(
        "bad",
        outcome(PUSH, "passed"),
        outcome(POP, "passed"),
        outcome(WAIT, "not asked", "the server has no patience"),
        outcome(SAID, "violated", HOSTILE, Evidence(f"Said {HOSTILE}", HOSTILE)),
    ),
    judgement("there", outcome(PUSH, "passed"), problem="interrupted"),
    Judgement("away", "", "", (), STARTED, 0.0, len(CLAUSES), "no real Redis: none on PATH", excused=True),
)
