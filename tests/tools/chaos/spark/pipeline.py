"""``pressure pipeline`` as a process that is killed, frozen and started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .judge import Told

__all__ = ["Pipeline"]


class Pipeline:
    """The command, started again whenever it has ended.

    Attributes:
        ends: how often it ended, by how.
        told: what it said of a server that has gone back.
    """

    def __init__(self, folder: Path, words: Sequence[str]) -> None:
        self._folder = folder
        self._words = [
            sys.executable, "-m", "pressure", "pipeline", *words, "--checkpoint", str(folder / "checkpoint"),
            "--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1",
            "--conf", "spark.sql.streaming.minBatchesToRetain=1000000",  # so that each batch that it names can be found
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None
        self.ends: Counter[str] = Counter()
        self.told = Told()

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Starts it, after a look at how it ended before; after a rollback it is to go on nevertheless."""
        if self.look():
            more = *more, "--on-server-rollback", "resume"
        with (self._folder / "said").open("wb") as said:
            self.process = subprocess.Popen(
                [*self._words, *more],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        return self.process

    def look(self) -> bool:
        """Ends it, and notes how it ended; returns whether it was because the server has gone back."""
        if self.process is None:
            return False
        self.kill()
        text = (self._folder / "said").read_text(errors="replace").strip()
        last = text.rpartition("\n")[2]
        self.ends[self._how(last)] += 1
        for first, last_lost in re.findall(r"it has lost the batches (\d+) to (\d+)", text):
            self.told.lost |= {*range(self._row_after(int(first) - 1), self._row_after(int(last_lost)))}
        seen = re.findall(r"seen the rows before (\d+), and the server knows those before (\d+)", text)
        self.told.again |= {(int(row), int(end)) for row, end in seen}
        return self.process.returncode > 0 and "the server has gone back" in last

    def _how(self, last: str) -> str:
        assert self.process is not None
        if self.process.returncode < 0:
            return "killed"
        return f"{self.process.returncode}: {re.sub('[0-9]+', 'N', last)[:150]}"

    def _row_after(self, batch: int) -> int:
        """The number of the row after the last one of a batch, in Spark's checkpoint."""
        file = self._folder / "checkpoint" / "offsets" / str(batch)
        return int(json.loads(file.read_text().splitlines()[-1])["row"]) if batch >= 0 else 0

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def workers(self) -> list[int]:
        """The processes of Python that its Java has started."""
        return self._started(b"pyspark.daemon")

    @property
    def executors(self) -> list[int]:
        """The Java processes of its executors; none with a ``local`` master, whose driver is its executor."""
        return self._started(b"CoarseGrainedExecutorBackend")

    def _started(self, word: bytes) -> list[int]:
        known, found = _processes(), {self.process.pid} if self.process else set()
        while more := {pid for pid, parent, _ in known if parent in found and pid not in found}:
            found |= more
        return [pid for pid, _, words in known if pid in found and word in words]

    def signal(self, number: signal.Signals) -> None:
        """To the driver: its Python and its Java. Its workers are in groups of their own."""
        groups = {os.getpgid(pid) for pid in self._drivers()}
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, number)

    def _drivers(self) -> list[int]:
        assert self.process is not None
        mine = [self.process.pid] if self.is_running else []
        return mine + [pid for pid, parent, _ in _processes() if parent == self.process.pid]

    def kill(self) -> None:
        if self.process is not None and self.is_running:
            self.signal(signal.SIGKILL)
            self.process.wait()


def _processes() -> list[tuple[int, int, bytes]]:
    found = (_stat(int(each.name)) for each in Path("/proc").glob("[0-9]*"))
    return [each for each in found if each]


def _stat(pid: int) -> tuple[int, int, bytes] | None:
    """A process, its parent, and its words; None if it is gone."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        return pid, int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]), words
    except (OSError, IndexError):
        return None
