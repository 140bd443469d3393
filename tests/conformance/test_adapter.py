"""Clients that are other programs: the protocol of JSON lines, and programs that hang, die or never answer."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import conformance.clients.adapter
from conformance import command
from conformance.clients.adapter import Adapter
from conformance.clients.adapter.__main__ import OPERATIONS as SERVED
from conformance.clients.adapter.__main__ import serve
from conformance.clients.adapter.client import OPERATIONS, Foreign
from conformance.clients.adapter.process import ERRORS, AdapterError, ClientProcess
from conformance.documents import CLAUSES
from conformance.documents.protocol.put import needs_queue
from conformance.judging import runner
from conformance.judging.capabilities import REASONS
from conformance.judging.environment import Environment, Failure, Unsupported
from conformance.judging.runner import Outcome, judge
from conformance.targets import Address
from pressure import QueueFullError

from ..cases import exhaustive, for_each

pytestmark = pytest.mark.usefixtures("forked")

OURS = Adapter(f"{sys.executable} -m conformance.clients.adapter")

FEW = (
    "put.pushes-left",
    "get.wakes-at-close",
    "decided.wait-closed",
)
"""What the client in JavaScript is asked in every run; the rest takes it a minute."""


def textbook(fault: str = "") -> Adapter:
    """The client in JavaScript, which does wrong what its fault says."""
    if shutil.which("node") is None:
        pytest.skip("node is not on PATH")
    return Adapter(f"node {Path(__file__).parent / 'adapters' / 'textbook.js'} {fault}")


def judged(address: Address, client: Adapter, *ids: str) -> list[Outcome]:
    return judge(address, [CLAUSES[id_] for id_ in ids], client)


@pytest.fixture(params=["embedded_server", pytest.param("real_server", marks=pytest.mark.slow)])
def address(request: pytest.FixtureRequest) -> Address:
    server: Address = request.getfixturevalue(request.param)
    return server


def test_a_client_in_another_language_is_judged_by_the_same_clauses(address: Address) -> None:
    outcomes = {each.clause.id: each for each in judged(address, textbook(), *FEW)}
    unsupported = outcomes.pop("decided.wait-closed")
    assert (unsupported.verdict, unsupported.reason) == (
        "not asked",
        "not supported by the client: wait_closed",
    )
    assert [each for each in outcomes.values() if each.verdict != "passed"] == []


@pytest.mark.slow
@pytest.mark.parametrize("server", ["embedded_server", "real_server"])
@pytest.mark.parametrize("suite", ["protocol-0.1", "protocol-0.15", "decisions"])
@pytest.mark.parametrize("client", ["textbook", "ours"])
def test_a_client_passes_the_whole_protocol_and_what_was_decided(
    client: str, suite: str, server: str, request: pytest.FixtureRequest
) -> None:
    made = OURS if client == "ours" else textbook()
    outcomes = runner.run(request.getfixturevalue(server), made, [suite])
    allowed = ("passed", "not asked") if suite == "decisions" else ("passed",)
    assert [each for each in outcomes if each.verdict not in allowed] == []


def test_our_client_is_judged_as_a_process(
    embedded_server: Address, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--adapter", OURS.command, "--clause", "decided.one-token", "--clause", "put.gives-up"]
    assert command.main(["--target", embedded_server.url, *asked]) == 0
    said = capsys.readouterr().out
    assert f"decisions {embedded_server.url} {OURS.command}: 1/1" in said
    assert f"protocol-0.15 {embedded_server.url}: " not in said


@pytest.mark.exhaustive
def test_a_client_in_another_language_shares_a_queue_with_ours(address: Address) -> None:
    (outcome,) = judged(address, textbook(), "queue.beside-ours")
    assert outcome.verdict == "passed", outcome.reason


def test_clauses_for_other_kinds_or_only_for_our_client_are_not_asked(embedded_server: Address) -> None:
    outcomes = judged(
        embedded_server, OURS, "backup.push", "decided.standard-errors", "decided.reliable-done"
    )
    assert [(each.verdict, each.reason) for each in outcomes] == [
        ("not asked", "not supported by the client: BackupQueue"),
        ("not asked", REASONS["our-client"]),
        ("not asked", REASONS["our-client"]),
    ]


# Those that do wrong


def test_a_client_that_keeps_its_role_fails(embedded_server: Address) -> None:
    outcomes = judged(embedded_server, textbook("keeps-role"), "put.gives-up", "put.pushes-left")
    assert [each.verdict for each in outcomes] == ["violated", "passed"]
    assert "elements of the two role lists" in outcomes[0].reason


def test_a_client_that_dies_fails_and_its_last_output_is_shown(embedded_server: Address) -> None:
    died, lived = judged(embedded_server, textbook("dies"), "put.pushes-left", "create.saves-bound")
    assert (died.verdict, died.reason) == ("error", "the client ended with status 3")
    assert "dying, as I was told to" in died.evidence[0].text
    assert lived.verdict == "passed"


def test_a_client_that_hangs_fails(embedded_server: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.clients.adapter.client.ANSWER_LIMIT", 3.0)
    monkeypatch.setattr("conformance.clients.adapter.client.WAIT_LIMIT", 0.0)
    hung, other = judged(embedded_server, textbook("hangs"), "put.pushes-left", "create.saves-bound")
    assert hung.verdict == "error"
    assert hung.reason.startswith("the client has not answered put for ")
    assert other.verdict == "passed"


@pytest.mark.parametrize(
    ("hangs_at", "verdict", "words"),
    [
        (1, "error", "the client has not answered open for "),
        (2, "violated", "the client has not answered put for "),
    ],
)
def test_an_operation_that_does_not_end_names_the_request_without_an_answer(
    hangs_at: int, verdict: str, words: str, embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Environment(embedded_server, Adapter("unused")):
        pass  # the first INFO of a server takes longer
    monkeypatch.setattr("conformance.judging.running.PATIENCE", 0.3)
    code = f"""
for number in range(1, {hangs_at}):
    input(); print('{{"id": %d, "result": null}}' % number, flush=True)
import time; time.sleep(100)
"""
    check = runner.run_check(
        needs_queue, lambda: Environment(embedded_server, Adapter(shlex.join(program(code))))
    )
    assert check is not None
    assert runner.verdict_of(check) == verdict
    assert f"put to no queue: still waiting after 0 s; {words}" in str(check)


def test_a_client_that_never_answers_is_not_asked_again(
    embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.clients.adapter.client.ANSWER_LIMIT", 1.0)
    monkeypatch.setattr(runner, "ANSWER_LIMIT", 0.5)
    silent = Adapter(f"{sys.executable} -Sc 'import time; time.sleep(100)'")
    first, second, third = judged(
        embedded_server, silent, "create.saves-bound", "put.gives-up", "get.refills"
    )
    assert first.reason.startswith("the client has not answered open for ")
    assert second.reason == third.reason == "the client no longer answers"


def program(code: str) -> list[str]:
    return [sys.executable, "-Sc", code]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import nosuch", "ended with status 1\n    | Traceback"),
        ("print(1)", "answered open by b'1'\n"),
        ("print(1, end='')", "ended with status 0 after it wrote b'1'\n"),
        ("import time; time.sleep(100)", "has not answered open for "),
        ("print(input())", "answered open by {'id': 1, 'op': 'open', "),
        ("""print('{"id": 1, "unsupported": true}')""", "not supported by the client: open\n"),
        (
            """print('{"id": 1, "error": "ValueError", "text": "no"}')""",
            "it answered open by ValueError: no\n",
        ),
    ],
)
def test_a_run_ends_at_once_if_the_client_does_not_open_a_queue(
    code: str, words: str, embedded_server: Address, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if "sleep" in code:
        monkeypatch.setattr("conformance.clients.adapter.client.ANSWER_LIMIT", 0.1)
    assert command.main(["judge", embedded_server.url, "--adapter", shlex.join(program(code))]) == 2
    _, said = capsys.readouterr().out.split(" cannot be judged: ")
    assert words in said
    assert code != "import nosuch" or said.endswith("    | ModuleNotFoundError: No module named 'nosuch'\n")


def test_what_a_client_that_dies_wrote_last_is_printed_and_it_passes_no_history(
    embedded_server: Address, capsys: pytest.CaptureFixture[str]
) -> None:
    code = """input(); print('{"id": 1, "result": null}', flush=True); input(); import sys; sys.exit("1\\n2\\n3\\n4\\n5\\nthe end")"""
    asked = [
        word
        for id_ in ("create.saves-bound", "history.waiters", "history.linearizable")
        for word in ("--clause", id_)
    ]
    assert command.main(["judge", embedded_server.url, "--adapter", shlex.join(program(code)), *asked]) == 1
    said = capsys.readouterr().out
    assert "error create.saves-bound: the client ended with status 1\n    | 2\n" in said
    assert "    | the end\n" in said
    assert ": 0/0 (2 not asked)\n" in said


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('hello?', flush=True); input(); input()", "answered open by b'hello?'"),
        ('print(\'{"id": 7, "result": 1}\', flush=True); input(); input()', "answered open by b'{"),
        ("print('{\"id\": 1}', flush=True); input(); input()", "answered open by {'id': 1}"),
        ("print('[]', flush=True); input(); input()", "answered open by b'[]'"),
        ("input()", "ended with status 0"),
        ("import os; os.close(1); input(); input()", "closed its output"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended with status -9"),
    ],
)
def test_a_client_program_that_answers_wrongly_or_ends_fails_with_the_reason(
    code: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.clients.adapter.process.GRACE", 0.5 if "close(1)" in code else 10.0)
    process = ClientProcess(program(code))
    with pytest.raises(Failure) as failure:
        process.ask("open", {}, 10)
    process.end(kill=True)
    assert words in str(failure.value)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        ('"error": "QueueFullError", "text": "no room"', QueueFullError, "no room"),
        ('"error": "ValueError"', ValueError, ""),
        ('"error": "KeyError", "text": "nowhere"', AdapterError, "KeyError: nowhere"),
        ('"unsupported": true', Unsupported, "not supported by the client: put"),
    ],
)
def test_error_replies_become_exceptions_with_their_messages(
    reply: str, kind: type[Exception], words: str
) -> None:
    process = ClientProcess(program(f"print('{{\"id\": 1, {reply}}}', flush=True); input(); input()"))
    with pytest.raises(kind) as error:
        process.ask("put", {}, 10)
    process.end(kill=False)
    assert str(error.value) == words


@pytest.mark.parametrize(("said", "done"), [('"done": 2', 2), ('"text": "no room"', None)])
def test_an_error_reply_says_how_much_was_put_if_the_client_knows(said: str, done: int | None) -> None:
    process = ClientProcess(
        program(f'print(\'{{"id": 1, "error": "QueueFullError", {said}}}\', flush=True); input(); input()')
    )
    with pytest.raises(QueueFullError) as error:
        process.ask("put_many", {}, 10)
    process.end(kill=False)
    assert error.value.done == done


def test_a_request_that_is_not_supported_leaves_the_process_running(embedded_server: Address) -> None:
    with Environment(embedded_server, textbook()) as env:
        queue: Any = env.created()
        processes = list(queue._idle)
        with pytest.raises(Unsupported):
            queue.put_many([b"a"])
        assert queue._idle == processes


def test_an_adapter_command_that_cannot_be_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--target", "embedded", "--adapter", "/nowhere/client --fast"])
    assert "no command '/nowhere/client --fast' that can be run" in capsys.readouterr().err
    with pytest.raises(Failure, match="does not start"):
        ClientProcess(["/nowhere/client"])


def test_no_process_is_left_behind(embedded_server: Address) -> None:
    with Environment(embedded_server, textbook()) as env:
        queue: Any = env.created()
        waiting = env.start(queue.get)
        env.until_blocked(1)
        assert queue.length() == 0  # by a second process, since the first one waits
        processes = [*queue._busy, *queue._idle]
    assert len(processes) == 2
    assert all(process._process.poll() is not None for process in processes)
    assert isinstance(waiting.error("a get that waits when its client is ended"), Failure)


HEEDS_NO_ENVIRONMENT = """
import os, sys
from conformance.clients.adapter import __main__ as adapter
from pressure import Queue
adapter.opened = lambda name, url=None, host="127.0.0.1", port=6379, db=0, prefix="__pressure__": Queue(
    name, prefix=prefix, url=url or f"redis://{host}:{port}/{db}"
)
adapter.serve(sys.stdin, sys.stdout)
"""


def test_a_client_that_reads_no_environment_passes_by_its_defaults(embedded_server: Address) -> None:
    client = Adapter(shlex.join([sys.executable, "-c", HEEDS_NO_ENVIRONMENT]))
    (outcome,) = judged(embedded_server, client, "broker.default-host-and-database")
    assert outcome.verdict == "passed", outcome.reason


@pytest.mark.parametrize("clause", [*map(exhaustive, ["history.no-loss", "history.killed-clients"])])
def test_a_client_that_cannot_do_everything_passes_the_histories(
    embedded_server: Address, clause: str
) -> None:
    (outcome,) = judged(embedded_server, textbook(), clause)
    assert outcome.verdict == "passed", outcome.reason


def test_a_client_that_refuses_everything_fails_the_clause_about_killed_clients(
    embedded_server: Address,
) -> None:
    (outcome,) = judged(embedded_server, textbook("refuses"), "history.killed-clients")
    assert outcome.verdict == "violated"
    assert "the clients put less than half of what they were to" in outcome.reason


# What is said


def talk(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """What the reference answers."""
    lines = "".join(json.dumps({"id": place, **request}) + "\n" for place, request in enumerate(requests))
    replies = io.StringIO()
    serve(io.StringIO(lines), replies)
    return [json.loads(line) for line in replies.getvalue().splitlines()]


def asked(op: str, **args: Any) -> dict[str, Any]:
    return {"op": op, "args": args}


def test_the_reference_adapter_answers_each_line_with_a_line(address: Address) -> None:
    with Environment(address, OURS) as env:
        where = {"name": "jobs", "url": address.url, "prefix": env.prefix}
        replies = talk(
            asked("open", **where), asked("create", bound=1), asked("put", value="\xff\x00"),
            asked("put", value="v", timeout=0), asked("put", value="w", overfill=True), asked("length"),
            asked("get"), asked("exists"), asked("get_many", count=5), asked("repair"), asked("fly"),
            asked("create", bound=-1), asked("wait_closed", timeout=0.001), asked("delete"),
        )  # fmt: skip
    assert [reply["id"] for reply in replies] == list(range(14))
    results = [reply.get("result", reply.get("error", "unsupported")) for reply in replies]
    assert results == [
        *(None, None, None, "QueueFullError", None, 2),
        *("\xff\x00", True, ["w"], None, "unsupported"),
        *("ValueError", False, None),
    ]


def said_for(method: str, *args: Any, **options: Any) -> tuple[str, Any]:
    told: list[tuple[str, Any]] = []

    class Silent(Foreign):
        def _ask(self, name: str, arguments: Any, limit: float) -> Any:
            told.append((name, dict(arguments)))

    getattr(Silent([], {}), method)(*args, **options)
    return told[0]


@for_each(
    ("method", "args", "options", "said"),
    [
        ("put", [b"\xff"], {}, ("put", {"value": "\xff"})),
        ("put", ["schlüssel"], {}, ("put", {"value": "schl\xc3\xbcssel"})),
        ("put", [b"v", True, 0.5], {}, ("put", {"value": "v", "timeout": 0.5})),
        ("put", [b"v", False], {}, ("put_nowait", {"value": "v"})),
        ("put", [b"v"], {"overfill": True}, ("put", {"value": "v", "overfill": True})),
        ("get", [], {"timeout": None}, ("get", {})),
        ("create", [None], {}, ("create", {"bound": None})),
        ("put_many", [[b"a", b"b"]], {}, ("put_many", {"values": ["a", "b"]})),
    ],
)
def test_calls_of_methods_become_requests(method: str, args: Sequence[Any], options: Any, said: Any) -> None:
    assert said_for(method, *args, **options) == said


def test_every_operation_and_error_is_documented() -> None:
    text = conformance.clients.adapter.__doc__ or ""
    assert [name for name in OPERATIONS if f"``{name}" not in text] == []
    assert [name for name in ERRORS if name != "PressureError" and name not in text] == []
    assert set(SERVED) == set(OPERATIONS)
