"""The fuzzer finds no fault in miniredis, and finds those planted for it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from miniredis.engine.declarations.registry import LOOKUP
from miniredis.engine.protocol.replies import Encoded
from tests.cases import exhaustive
from tests.tools.hostile.__main__ import main
from tests.tools.hostile.fuzz import Findings, Fuzzer
from tests.tools.hostile.mutation import Frames
from tests.tools.hostile.sockets import fuzz_sockets

SEED = 20


def run_with(monkeypatch: pytest.MonkeyPatch, handler: Any, longest_lull: float = 2) -> Findings:
    monkeypatch.setattr(LOOKUP[b"get"], "handler", handler)
    return Fuzzer(SEED, longest_lull).run(600)


@pytest.mark.parametrize("frames", [3_000, exhaustive(12_000)])
def test_thousands_of_fuzzed_frames_find_no_fault(frames: int) -> None:
    findings = Fuzzer(SEED).run(frames)
    assert findings.faults == {}
    assert findings.frames == frames
    assert findings.commands > frames * 0.4
    assert findings.clients > frames / 40


def test_a_mutation_that_asks_for_a_snapshot_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Frames, "next", lambda _: b"SYNC\r\n")
    assert Fuzzer(SEED).run(20).faults == {}


def test_fuzzed_frames_over_tcp_find_no_fault() -> None:
    assert fuzz_sockets(1_000, SEED) == []


def test_a_crash_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_session: object, args: list[bytes]) -> int:
        return [3, 1][len(args)]

    findings = run_with(monkeypatch, crash)
    assert [kind.partition(" ")[0] for kind in findings.faults] == ["IndexError"]
    assert b"get" in next(iter(findings.faults.values())).lower().encode()


def test_a_crash_is_found_over_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (b"get", b"set", b"incr", b"llen", b"lpush", b"exists", b"type", b"ttl"):
        monkeypatch.setattr(LOOKUP[name], "handler", lambda *_: 1 // 0)
    assert any("ZeroDivisionError" in story for story in fuzz_sockets(3_000, SEED))


def test_an_endless_loop_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(*_: object) -> int:
        while True:
            pass

    assert list(run_with(monkeypatch, loop, longest_lull=0.5).faults) == ["stuck"]


def test_a_malformed_reply_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = run_with(monkeypatch, lambda *_: Encoded(b"*2\r\n:1\r\n"))
    assert any(kind.startswith("HalfAReplyError") for kind in findings.faults)


@pytest.mark.slow
def test_memory_that_grows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    hoard: list[list[str]] = []

    def keep(*_: object) -> int:
        hoard.append([f"{time.perf_counter_ns()}" for _ in range(2000)])
        return 0

    monkeypatch.setattr(LOOKUP[b"get"], "handler", keep)
    assert "memory grows" in Fuzzer(SEED).run(12_000).faults


def test_a_session_that_is_never_removed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def stay(session: Any, _args: list[bytes]) -> int:
        session.engine.sessions[-1] = session
        return 0

    assert "left behind: sessions" in run_with(monkeypatch, stay).faults


def test_the_same_seed_makes_the_same_run() -> None:
    one, other = (Fuzzer(SEED).run(300) for _ in range(2))
    assert (one.pieces, one.bytes_in, one.commands) == (other.pieces, other.bytes_in, other.commands)


def test_the_fuzz_command_prints_its_frames_and_faults(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--frames", "200", "--over-tcp", "50"]) == 0
    assert "200 frames" in capsys.readouterr().out
    monkeypatch.setattr(LOOKUP[b"llen"], "handler", lambda *_: 1 // 0)
    assert main(["--frames", "1500", "--over-tcp", "0"]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
