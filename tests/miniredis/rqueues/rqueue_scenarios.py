"""Conversations about reliable queues, as text, with an engine whose clock is held.

No real Redis has these commands, so the replies are written by hand. ``#`` lines quote their source: a sentence
of RedisMQ's README or, after ``decided:``, our own decision where the README is silent.

    a: MQ.PUSH q x      client a sends an inline command
    a= ["<0-1>"]        client a gets this, and these very bytes: text for a bulk string, None for null
    a= +OK              or this line, where it begins with a sign
    a waits             client a got nothing, and is blocked
    a speaks 3          client a says HELLO 3, and passes over the answer
    a leaves            client a hangs up
    clock 250           250 milliseconds pass; with ``clock 250 -1000`` the wall clock moves back by 1000

``<5-2>`` is the id with that sequence number and the time 5 ms after the beginning; ``<5>`` is that time.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from miniredis.engine import Session

from ..engine.test_engine import BEGINNING, World

FOLDER = Path(__file__).parent
STEP = re.compile(r"(\w+)(:|=| waits| speaks| leaves|(?<=clock)) ?(.*)")
TIME = re.compile(r"<(-?\d+)(-\d+)?>")
RAW = tuple("+-:_$*>")


@dataclass
class Scenario:
    title: str
    sentences: list[str] = field(default_factory=list)
    steps: list[tuple[str, str, str]] = field(default_factory=list)


def read(path: Path) -> list[Scenario]:
    scenarios: list[Scenario] = []
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            scenarios.append(Scenario(line.removeprefix("== ")))
        elif line.startswith("#"):
            scenarios[-1].sentences.append(line)
        elif line:
            step = STEP.fullmatch(line)
            assert step, f"{path.name}: not a step: {line}"
            scenarios[-1].steps.append((step[1], step[2].strip(), step[3]))
    return scenarios


def at(match: re.Match[str]) -> str:
    return f"{BEGINNING.milliseconds + int(match[1])}{match[2] or ''}"


def encoded(value: Any, null: bytes) -> bytes:
    """An expected reply, as bytes of the protocol."""
    if value is None:
        return null
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(encoded(each, null) for each in value)
    return b"$%d\r\n%b\r\n" % (len(value), value.encode())


class Player:
    def __init__(self) -> None:
        self.world = World()
        self.clients: dict[str, Session] = {}
        self.got: dict[int, bytes] = {}

    def play(self, scenario: Scenario) -> None:
        for name, verb, text in scenario.steps:
            text = TIME.sub(at, text)
            if name == "clock":
                passes, _, on_the_wall = text.partition(" ")
                wall = int(on_the_wall) / 1000 if on_the_wall else None
                self.take(self.world.wait(int(passes) / 1000, wall=wall))
                continue
            if name not in self.clients:
                self.clients[name] = self.world.client()
            self.VERBS[verb](self, self.clients[name], text)
        assert not any(self.got.values()), self.got
        assert not self.world.engine.faults

    def take(self, outputs: dict[int, bytes]) -> None:
        for number, output in outputs.items():
            self.got[number] = self.got.get(number, b"") + output

    def send(self, client: Session, text: str) -> None:
        self.world.send(client, text)
        self.take(self.world.settle())

    def expect(self, client: Session, text: str) -> None:
        null = b"_\r\n" if client.resp == 3 else b"$-1\r\n"
        if text.startswith(RAW):
            wanted = text.encode().decode("unicode_escape").encode() + b"\r\n"
        else:
            wanted = encoded(ast.literal_eval(text), null)
        got = self.got.get(client.id, b"")
        assert got[: len(wanted)] == wanted, (text, got)
        self.got[client.id] = got[len(wanted) :]

    def wait(self, client: Session, _: str) -> None:
        assert client.waiter is not None
        assert not self.got.get(client.id)

    def speak(self, client: Session, text: str) -> None:
        assert self.world.ask(client, f"HELLO {text}")

    def leave(self, client: Session, _: str) -> None:
        self.world.engine.disconnect(client, self.world.now)
        self.take(self.world.settle())

    VERBS = {":": send, "=": expect, "waits": wait, "speaks": speak, "leaves": leave}  # noqa: RUF012
