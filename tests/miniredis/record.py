"""Records what a real server answers into the conversations: ``python -m tests.miniredis.record HOST PORT [FILE...]``.

What clients send stays as written; the replies are recorded anew. Look at the difference before you keep it.
"""

from __future__ import annotations

import re
import select
import sys
from pathlib import Path
from typing import Final

from conformance.documents.recorded import FILES
from conformance.documents.recorded.player import Player, RawClient, Scenario, Step, escape, read

TURNS: Final = 3
"""How many turns of the server's event loop without a byte show that no reply is under way.

A reply is sent at the end of the turn that has read the request, or of the next one.
"""

TIMES_OUT: Final = re.compile(r"\b0\.0\d+\b|\bBLOCK [1-9]\d?\b|^WAIT \d+ [1-9]\d?$")
"""Requests that block for a moment only, so that there will be a reply."""


class Recorder(Player):
    def record(self, scenario: Scenario) -> Scenario:
        recorded = Scenario(scenario.title)
        for step in scenario.steps:
            if step.verb in {":", "!", "speaks", "leaves"}:
                recorded.steps += [step, *self.outcome(step)]
        return recorded

    def outcome(self, step: Step) -> list[Step]:
        getattr(self, self.VERBS[step.verb])(step)
        heard = self.listen(step)
        steps = [
            Step(name, "closed") if not data else Step(name, "=", escape(data))
            for name, parts in sorted(heard.items())
            for data in parts
        ]
        if step.verb in {":", "!"} and step.client not in heard and self.is_blocked():
            self.waiting.add(step.client)
            steps.append(Step(step.client, "waits"))
        return steps

    def is_blocked(self) -> bool:
        return f"\r\nblocked_clients:{len(self.waiting) + 1}\r\n".encode() in self.control.ask("INFO clients")

    def listen(self, step: Step) -> dict[str, list[bytes]]:
        """The bytes that each client gets for a step; an empty last part if the server hung up."""
        heard: dict[str, list[bytes]] = {}
        open_clients = {name: client for name, client in self.clients.items() if name not in self.gone}
        quiet = 0
        while quiet < TURNS or (TIMES_OUT.search(step.text) and step.client not in heard):
            self.control.ask("PING")
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
        return heard

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
