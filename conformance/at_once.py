"""Judges targets: one after the other in this process, or all at once, each in a process of its own."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

from .clients.adapter import Adapter
from .clients.flavours import FLAVOURS
from .clients.judged import Client
from .documents import CLAUSES
from .judging.environment import Failure
from .judging.runner import Outcome, describe
from .judging.ways import why_not_by_scripts
from .reports import Files, Judgement, Reporting, failed, lines, show, why
from .reports.terminal import wrote
from .reports.text import readable
from .targets import Address, NotInstalledError, target_named
from .wire.masking import without_secret

__all__ = ["Task", "compared_once", "in_parts", "judge_all", "judge_one"]

COMPARED: Final = ("embedded", "real")
"""Two targets that ``wire`` compares with each other, whichever of them is judged."""

ELSEWHERE: Final = "it compares a real Redis with miniredis, and this run does so for embedded: see there"


@dataclass(frozen=True, slots=True)
class Task:
    """A target to judge.

    Attributes:
        target: its name, as on the command line.
        clauses: the ids of the clauses.
        flavours: the flavours of our client to judge it with.
        adapters: the commands to judge it with.
        asked_for: whether somebody named it, so that it has to be there.
        may_choose: whether nobody chose a flavour, so that the one is taken that gets on with the server.
        strict: whether what is only recommended or allowed fails the run, too.
        elsewhere: the ids of clauses that are not asked, since another task of the run asks the same.
        is_part: whether another task judges the same target by its other clauses, and tells how far it is.
    """

    target: str
    clauses: tuple[str, ...]
    flavours: tuple[str, ...]
    adapters: tuple[str, ...]
    asked_for: bool
    may_choose: bool
    strict: bool
    elsewhere: tuple[str, ...] = ()
    is_part: bool = False

    @property
    def clients(self) -> Mapping[str, Client]:
        """The clients, by name."""
        return {name: FLAVOURS[name] for name in self.flavours} | {
            command: Adapter(command) for command in self.adapters
        }


def is_of_wire(id_: str) -> bool:
    return CLAUSES[id_].suites == ("wire",)


def compared_once(tasks: Sequence[Task]) -> Iterator[Task]:
    """The tasks, none with a comparison that another one makes."""
    once = {task.target for task in tasks}.issuperset(COMPARED)
    for task in tasks:
        if once and task.target == COMPARED[1]:
            elsewhere = tuple(filter(is_of_wire, task.clauses))
            rest = tuple(id_ for id_ in task.clauses if id_ not in elsewhere)
            yield replace(task, clauses=rest, elsewhere=elsewhere)
        else:
            yield task


def in_parts(tasks: Iterable[Task]) -> Iterator[Task]:
    """The tasks, ``wire`` beside other suites as one of its own: it has servers of its own, too."""
    for task in tasks:
        wire = tuple(filter(is_of_wire, task.clauses))
        rest = tuple(id_ for id_ in task.clauses if id_ not in wire)
        if not wire or not rest:
            yield task
        else:
            yield replace(task, clauses=rest)
            yield replace(task, clauses=wire, is_part=True)


def judge_one(run: Reporting, task: Task, say: Callable[[str], None]) -> int:
    """Judges a target, and tells what is found; the exit status.

    Each adapter opens a queue first. If one cannot, nothing is judged, and the status is 2.
    """
    target, clauses = target_named(task.target), [CLAUSES[id_] for id_ in task.clauses]
    known = [Outcome(CLAUSES[id_], "not asked", ELSEWHERE) for id_ in task.elsewhere]
    found = 0
    try:
        with target.up() as address:
            if not task.is_part:
                say(f"{target.name} is {address.origin}")
            if problem := why_not_judged(task.adapters, address):
                run.absent(target.name, len(clauses), problem.partition("\n")[0], excused=False)
                say(problem)
                return 2
            if task.may_choose and (why_not := why_not_by_scripts(address)):
                say(f"{target.name}: our client takes plain commands, since its scripts fail: {why_not}")
                task = replace(task, flavours=("plain",))
            for client, make in task.clients.items():
                judged = run.judge(target.name, client, address, clauses, make, known)
                for line in lines(judged.name, judged.outcomes):
                    say(line)
                found |= failed(judged.outcomes, strict=task.strict)
    except (NotInstalledError, OSError) as error:
        run.absent(target.name, len(clauses), str(error), excused=not task.asked_for)
        say(f"{target.name}: {error}{'' if task.asked_for else '; only miniredis is judged'}")
        return 2 if task.asked_for else 0
    except BaseException as error:
        run.absent(target.name, len(clauses), why(error), excused=False)
        raise
    return found


def why_not_judged(adapters: Sequence[str], address: Address) -> str:
    """Why one of these commands cannot be judged, and below it what it wrote; empty if each opens a queue."""
    for command in adapters:
        client = Adapter(command)("trial", url=address.url, prefix="conformance:trial")
        try:
            client.open()
        except Exception as error:
            reason = (
                describe(error) if isinstance(error, Failure) else f"it answered open by {describe(error)}"
            )
            evidence = error.evidence if isinstance(error, Failure) else ()
            text = "\n".join(
                [readable(f"--adapter {command!r} cannot be judged: {reason}"), *wrote(evidence)]
            )
            return without_secret(text, address.password)
        finally:
            client.disconnect()
    return ""


def judge_all(run: Reporting, tasks: Sequence[Task], files: Files, say: Callable[[str], None]) -> int:
    """Judges targets at the same time; the exit status. Lines about a clause name the target."""
    context = get_context("spawn")
    ways: dict[Connection, Task] = {}
    processes: list[SpawnProcess] = []
    order = [target_named(task.target).name for task in tasks]
    for task in tasks:
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=judge_apart, args=(theirs, task, files))
        process.start()
        theirs.close()
        ways[mine] = task
        processes.append(process)
    try:
        return hear(run, ways, order, say)
    except BaseException:
        for process in processes:
            process.terminate()
        hear(run, ways, order, say)  # what was judged by then
        raise
    finally:
        for process in processes:
            process.join()


def hear(
    run: Reporting, ways: dict[Connection, Task], order: Sequence[str], say: Callable[[str], None]
) -> int:
    """Tells what processes say until all have ended, and keeps what they found; the exit status.

    Processes that have ended are removed from ``ways``, so ``order`` names the targets of all of them.
    """
    status = 0
    found: set[Connection] = set()
    while ways:
        for way in wait(list(ways)):
            assert isinstance(way, Connection)
            task = ways[way]
            name = target_named(task.target).name
            try:
                kind, what = way.recv()
            except EOFError:
                del ways[way]
                if way not in found:
                    run.absent(name, len(task.clauses), "its process ended", excused=False)
                    status = max(status, 2)
                continue
            if kind == "line":
                show("")
                say(f"  {name}: {what.strip()}" if what.startswith(" ") else what)
            elif kind == "progress":
                if not task.is_part:
                    show(what)
            else:
                status = max(status, what[0])
                found.add(way)
                run.judgements += what[1]
    run.judgements[:] = sorted(whole(run.judgements), key=lambda each: order.index(each.target))
    return status


def whole(parts: Sequence[Judgement]) -> Iterator[Judgement]:
    """The judgements, those of one target and client as one."""
    for name in dict.fromkeys((each.target, each.client) for each in parts):
        first, *rest = (each for each in parts if (each.target, each.client) == name)
        outcomes = {outcome.clause.id: outcome for each in (first, *rest) for outcome in each.outcomes}
        yield replace(
            first,
            outcomes=tuple(outcomes[id_] for id_ in CLAUSES if id_ in outcomes),
            started=min(each.started for each in (first, *rest)),
            seconds=max(each.seconds for each in (first, *rest)),
            chosen=sum(each.chosen for each in (first, *rest)),
            problem=first.problem or next((each.problem for each in rest if each.problem), ""),
        )


def judge_apart(way: Connection, task: Task, files: Files) -> None:
    """Judges a target in this process, and sends what is found to another."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    status = 2

    def say(line: str) -> None:
        way.send(("line", line))

    run = Reporting(files, say, lambda line: way.send(("progress", line)), writes=False)
    try:
        with run:
            status = judge_one(run, task, say)
    except KeyboardInterrupt:
        pass  # the other process shows it
    finally:
        way.send(("found", (status, run.judgements)))
        way.close()


def stop(number: int, _: object) -> None:
    """Ends what this process does, once: it stops its servers while it ends."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
