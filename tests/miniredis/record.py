"""Records what a real server answers into the conversations: ``python -m tests.miniredis.record HOST PORT [FILE...]``.

What clients send stays as written; the replies are recorded anew. Look at the difference before you keep it.
"""

from __future__ import annotations

import re
import select
import sys
from itertools import takewhile
from pathlib import Path
from typing import Final

from conformance.documents.recorded import FILES
from conformance.documents.recorded.player import Player, RawClient, Scenario, Step, escape, read
from conformance.judging.limits import pauses

TURNS: Final = 5
"""How many turns of the server's event loop without a byte show that no reply is under way.

A turn accepts a new client, the next one reads its request, and its end, or that of one more, sends the reply.
"""

MOMENT: Final = 0.25
"""Seconds in which a client that is blocked can time out, and what is written down to come with time can come."""

BLOCKED: Final = re.compile(rb" flags=\w*b")

ACTS: Final = {":", "!", "speaks", "leaves"}


class Recorder(Player):
    def record(self, scenario: Scenario) -> Scenario:
        recorded = Scenario(scenario.title)
        steps = scenario.steps
        for at, step in enumerate(steps):
            if step.verb in ACTS:
                written = takewhile(lambda each: each.verb not in ACTS, steps[at + 1 :])
                wanted = {each.client for each in written if each.verb != "waits"}
                recorded.steps += [step, *self.outcome(step, wanted)]
        return recorded

    def outcome(self, step: Step, wanted: set[str]) -> list[Step]:
        """What follows a step: for the clients that are ``wanted``, and for one that it blocks, time may pass."""
        getattr(self, self.VERBS[step.verb])(step)
        heard: dict[str, list[bytes]] = {}
        self.listen(heard, wanted)
        asks = step.verb in {":", "!"}
        if asks and step.client not in heard:
            self.listen(heard, {step.client} if self.is_blocked() else set())
        steps = [
            Step(name, "closed") if not data else Step(name, "=", escape(data))
            for name, parts in sorted(heard.items())
            for data in parts
        ]
        if asks and step.client not in heard and self.is_blocked():
            self.waiting.add(step.client)
            steps.append(Step(step.client, "waits"))
        return steps

    def is_blocked(self) -> bool:
        """Whether one more client is blocked than those that wait; MONITOR does not show that this is asked."""
        return len(BLOCKED.findall(self.control.ask("CLIENT LIST"))) > len(self.waiting)

    def listen(self, heard: dict[str, list[bytes]], wanted: set[str]) -> None:
        """Hears what all clients get, and what some that are wanted get in a moment."""
        for _ in pauses(MOMENT):
            self.read_all(heard)
            if wanted <= heard.keys():
                return

    def read_all(self, heard: dict[str, list[bytes]]) -> None:
        """Adds the bytes that are on their way to each client; an empty last part if the server hung up."""
        open_clients = {name: client for name, client in self.clients.items() if name not in self.gone}
        quiet = 0
        while quiet < TURNS:
            self.control.ask("TURN")  # no such command: neither SLOWLOG nor MONITOR shows it
            ready = self.readable(open_clients)
            quiet = 0 if ready else quiet + 1
            for name in ready:
                data = open_clients[name].socket.recv(1 << 20)
                parts = heard.setdefault(name, [b""])
                if data:
                    parts[0] += data
                else:
                    parts[:] = [part for part in (*parts, b"") if part] + [b""]
                    self.gone.add(name)
                    del open_clients[name]
                self.waiting.discard(name)

    @staticmethod
    def readable(clients: dict[str, RawClient]) -> list[str]:
        sockets = {client.socket: name for name, client in clients.items()}
        return [sockets[each] for each in select.select(list(sockets), [], [], 0)[0]]


def record(path: Path, address: tuple[str, int]) -> None:
    lines: list[str] = []
    for scenario in read(path):
        with Recorder(address) as recorder:
            recorded = recorder.record(scenario)
        lines += [f"== {recorded.title}", *map(str, recorded.steps), ""]
    path.write_text("\n".join(lines))


if __name__ == "__main__":
    host, port, *files = sys.argv[1:]
    for path in [Path(file) for file in files] or FILES.values():
        record(path, (host, int(port)))
