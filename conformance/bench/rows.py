"""The table: what is measured, against what, and what is wanted.

Every ratio is miniredis to its reference, or pressure to its. A row's name is unique; its group selects it
together with others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from operator import attrgetter
from typing import Final

from .ceilings import made_up
from .durable import ELEMENTS, Cost, loading, replaying, saving
from .durable_queues import CLIENTS, QUEUES, beside_durable
from .enqueuing import PEERS, beside
from .every_command import LINES, processor_time_of
from .expiring import slowest_while_expiring
from .handover import behind_a_queue, beside_a_crowd, round_trip
from .healing import DEATHS, own_hold, until_it_works
from .histories import spark_to_one_process
from .inprocess import in_process_async_rates, in_process_rates
from .kinds import PATTERNS, by_hand
from .lists import NEAR_ENDS, growth
from .memory import blocked_clients, elements, idle_connections, memory_per, strings
from .microbatches import beside_nothing
from .model import Row, Target
from .queues import (
    beside_bare,
    beside_multiprocessing,
    between_processes,
    between_processes_beside_multiprocessing,
    in_the_shell,
    many,
    pairs,
)
from .redis_benchmark import VALUE, Load, cpu_per_command, rates
from .scaling import among_keys, by_clients, of_size
from .spark import JOBS, beside_one_core, beside_redis_py, json_beside_bytes
from .starting import CONTENTS, command_time, import_time, restore_time, start_time
from .workbench import Measure

__all__ = ["ROWS"]

LOADS: Final[Mapping[str, Load]] = {
    "lpush": Load(("LPUSH", "list", VALUE)),
    "rpop": Load(("RPOP", "list"), elements=int),
    "set": Load(("SET", "key", VALUE)),
    "get": Load(("GET", "key")),
    "incr": Load(("INCR", "number")),
}
"""The five commands, by 50 clients."""


def at_most(bound: float, unit: str = "") -> Target:
    """A target that is met by less."""
    return Target(bound, at_least=False, unit=unit)


def loads(clients: int = 50, pipeline: int = 1) -> Iterator[tuple[str, Load]]:
    for name, load in LOADS.items():
        yield name, Load(load.command, clients, pipeline, load.elements)


def rate_rows() -> Iterator[Row]:
    """The five commands against redis-server, with redis-benchmark."""
    for group, clients, pipeline, bound in (
        ("plain", 50, 1, 1.0),
        ("pipeline-16", 50, 16, 0.5),
        ("pipeline-100", 50, 100, 0.4),
        ("one-client", 1, 1, 0.9),
    ):
        crowd = "1 client" if clients == 1 else f"{clients} clients"
        queued = "" if pipeline == 1 else f", pipeline of {pipeline}"
        for name, load in loads(clients, pipeline):
            yield Row(
                f"{group}-{name}", group, f"{name.upper()}, {crowd}{queued}", "requests/s", "redis-server",
                Target(bound), rates(load, "redis-server"),
            )  # fmt: skip


def large_rows() -> Iterator[Row]:
    """Requests and replies that are large."""
    lrange = Load(("LRANGE", "list", "0", "99"), elements=lambda _: 100)
    lpush = Load(("LPUSH", "list", "x" * 10240))
    for name, what, bound, load in (
        ("lrange", "LRANGE of 100 elements", 0.5, lrange),
        ("lpush", "LPUSH of 10 KiB", 0.9, lpush),
    ):
        yield Row(
            f"large-{name}", "large", f"{what}, 50 clients", "requests/s", "redis-server", Target(bound),
            rates(load, "redis-server"),
        )  # fmt: skip


def cpu_rows() -> Iterator[Row]:
    """What the server's process computes for each command."""
    for name, load in loads():
        yield Row(
            f"cpu-{name}", "cpu", f"CPU time per {name.upper()}, 50 clients", "µs", "redis-server",
            at_most(2.0), cpu_per_command(load, "redis-server"),
        )  # fmt: skip


def slug(line: str) -> str:
    """A line as a name of one word."""
    return re.sub(r"\W+", "-", line.lower()).strip("-")


def every_command_rows() -> Iterator[Row]:
    """Each command by itself."""
    for line in LINES:
        yield Row(
            f"command-{slug(line)}", "commands", f"processor time of {line}", "µs", "redis-server",
            at_most(10.0), processor_time_of(line),
        )  # fmt: skip


def peer_rows() -> Iterator[Row]:
    """The first rows, against Valkey, and others that stand in for Redis in tests."""
    for peer, bound in (("valkey", 0.0), ("fakeredis", 10.0), ("go-miniredis", 1.0)):
        for pipeline in (1, 16):
            group = peer if pipeline == 1 else f"{peer}-{pipeline}"
            queued = "" if pipeline == 1 else f", pipeline of {pipeline}"
            for name, load in loads(pipeline=pipeline):
                yield Row(
                    f"{group}-{name}", group, f"{name.upper()}, 50 clients{queued}", "requests/s", peer,
                    Target(bound), rates(load, peer),
                )  # fmt: skip


def blocking_rows() -> Iterator[Row]:
    """What a blocked client waits for, once somebody pushes."""
    for name, percent in (("median", 50), ("p99", 99)):
        yield Row(
            f"hand-over-{name}", "hand-over", f"BLPOP hand-over, there and back, {name}",
            "µs", "redis-server", at_most(1.2), round_trip(percent),
        )  # fmt: skip
    yield Row(
        "crowd-others", "crowd", "hand-over beside 10,000 clients blocked on other keys", "µs",
        "with 10 blocked", at_most(1.1), beside_a_crowd(10_000),
    )  # fmt: skip
    yield Row(
        "crowd-same", "crowd", "hand-over to the first of 1,000 clients blocked on its key", "µs",
        "with 10 blocked", at_most(1.1), behind_a_queue(1_000),
    )  # fmt: skip


def scaling_rows() -> Iterator[Row]:
    """What must not depend on how much there is."""
    for name, commands in NEAR_ENDS.items():
        length = 1_000_000 if name == "lpush-rpop" else 100_000
        words = "LPUSH and RPOP" if name == "lpush-rpop" else f"{name.upper()} near the ends"
        yield Row(
            f"length-{name}", "length", f"{words}: list of {length:,} to one of 100", "times as long",
            "redis-server", at_most(1.1), growth(commands, length),
        )  # fmt: skip
    yield Row(
        "expiring", "expiring", "99th percentile of GET and SET while 100,000 keys expire", "µs",
        "without", at_most(2.0), slowest_while_expiring(100_000),
    )  # fmt: skip


def growing_rows() -> Iterator[Row]:
    """What becomes of the time with more clients, larger values and more keys."""
    for clients in (1, 10, 100, 1_000, 10_000):
        yield Row(
            f"clients-{clients}", "growing", f"GET, clients: {clients:,}", "requests/s", "redis-server",
            Target(0.0), by_clients(clients),
        )  # fmt: skip
    for size in (1, 1_000, 100_000, 10_000_000):
        yield Row(
            f"size-{size}", "growing", f"processor time of SET and GET, bytes: {size:,}", "µs",
            "redis-server",
            at_most(10.0), of_size(size),
        )  # fmt: skip
    for count in (10, 10_000, 1_000_000):
        yield Row(
            f"keys-{count}", "growing", f"processor time of SET, GET and DEL, other keys: {count:,}", "µs",
            "redis-server", at_most(10.0), among_keys(count),
        )  # fmt: skip


def memory_rows() -> Iterator[Row]:
    """What there is more of takes memory."""
    for name, what, bound, measure in (
        ("element", "a 10-byte element of a long list", 64, memory_per(elements, 100_000)),
        ("idle", "an idle connection", 8192, memory_per(idle_connections, 10_000, connections=True)),
        ("blocked", "a blocked client", 10240, memory_per(blocked_clients, 10_000, connections=True)),
    ):
        yield Row(
            f"memory-{name}", "memory", f"memory for {what}", "bytes", "redis-server",
            at_most(bound, "bytes"), measure,
        )  # fmt: skip
    yield Row(
        "memory-string", "memory", "memory for a key with a string of 10 bytes, of 200,000", "bytes",
        "redis-server", at_most(1.3), memory_per(strings, 200_000),
    )  # fmt: skip


def starting_rows() -> Iterator[Row]:
    """What tests pay for before they begin."""
    for name, servers, which in (("start", 1, ""), ("start-again", 20, ", not the first of its process")):
        yield Row(
            name, "start", f"miniredis.start() until the first PONG{which}", "ms", "spawning redis-server",
            at_most(0.5), start_time(servers),
        )  # fmt: skip
    yield Row(
        "import", "start", "import miniredis, after trio and hiredis", "ms", "",
        at_most(30, "ms"), import_time,
    )  # fmt: skip
    for kind, content in CONTENTS.items():
        yield Row(
            f"restore-{kind.replace(' ', '-')}", "start", f"restore of a snapshot of 10,000 {kind}", "ms", "",
            at_most(10, "ms"), restore_time(content, 10_000),
        )  # fmt: skip


def in_process_rows() -> Iterator[Row]:
    """Without sockets."""
    loads = {
        "five": "five commands in turn",
        "queue": "RPUSH and LPOP of 10 bytes",
        "pipelines": "these in pipelines of 100",
    }
    for load, at_least, async_at_least in (("five", 4.0, 5.0), ("queue", 6.0, 10.0), ("pipelines", 8.0, 8.0)):
        name = f"in-process-{load}"
        yield Row(
            name, "in-process", f"redis-py in-process, one thread, {loads[load]}", "requests/s",
            "fakeredis.FakeRedis", Target(at_least), in_process_rates(load, "fakeredis.FakeRedis"),
        )  # fmt: skip
        yield Row(
            f"{name}-async", "in-process", f"with asyncio, one task, {loads[load]}", "requests/s",
            "fakeredis.FakeAsyncRedis", Target(async_at_least),
            in_process_async_rates(load, "fakeredis.FakeAsyncRedis"),
        )  # fmt: skip
    yield Row(
        "in-process-queue-burner", "in-process", f"with asyncio, one task, {loads['queue']}", "requests/s",
        "burner_redis.BurnerRedis", Target(0.3), in_process_async_rates("queue", "burner_redis.BurnerRedis"),
    )  # fmt: skip


def durable_rows() -> Iterator[Row]:
    """With an append-only file, and with files to load; on the disk of temporary files."""
    always, everysec = "appendfsync always", "appendfsync everysec"
    for name, pipeline, policy, reference, bound in (
        ("always", 1, always, f"redis-server, {always}", 0.7),
        ("everysec", 1, everysec, "miniredis", 0.85),
        ("everysec-16", 16, everysec, "miniredis", 0.8),
    ):
        queued = "" if pipeline == 1 else f", pipeline of {pipeline}"
        load = Load(("LPUSH", "list", VALUE), 50, pipeline)
        yield Row(
            f"durable-{name}", "durable", f"LPUSH, 50 clients{queued}, {policy}", "requests/s", reference,
            Target(bound), rates(load, reference, f"miniredis, {policy}"),
        )  # fmt: skip
    for name, what, measure in kept_data():
        yield Row(
            f"durable-{name}", "durable", f"processor time to {what}", "s", "redis-server",
            at_most(3.0 if name == "replay" else 5.0), measure(attrgetter("seconds")),
        )  # fmt: skip
        yield Row(
            f"durable-{name}-memory", "durable-memory", f"most memory to {what}", "times", "redis-server",
            at_most(1.3, "times"), measure(attrgetter("memory")),
        )  # fmt: skip


def kept_data() -> Iterator[tuple[str, str, Callable[[Callable[[Cost], float]], Measure]]]:
    """What is done with the data in files: the name of the rows, what it is, and how it is measured."""
    yield "replay", "start with an append-only file of 1,000,000 commands", partial(replaying, 1_000_000)
    for what, element in ELEMENTS.items():
        list_of, name = f"a list of 1,000,000 {what}", what.replace(" ", "-")
        yield f"save-{name}", f"save {list_of}", partial(saving, 1_000_000, element)
        yield f"load-{name}", f"load {list_of}", partial(loading, 1_000_000, element)


def queue_rows() -> Iterator[Row]:
    """Our queues, against the documents' pseudocode."""
    plain, pseudocode = "pressure, plain batches", "the pseudocode"
    for name, what, bound, measure in (
        ("pairs", "put and get, pressure", 5.0, pairs(scripts=True)),
        ("pairs-plain", f"put and get, {plain}", 2.5, pairs(scripts=False)),
        ("many", "put_many and get_many of 100, pressure", 30.0, many(100, scripts=True)),
        ("many-plain", f"put_many and get_many of 100, {plain}", 30.0, many(100, scripts=False)),
    ):
        yield Row(f"pressure-{name}", "pressure", what, "values/s", pseudocode, Target(bound), measure)
    for limit in (1, 10, 1000, 0):
        what = f"from process to process, {f'a bound of {limit}' if limit else 'no bound'}, pressure"
        yield Row(
            f"pressure-processes-{limit or 'unbounded'}", "pressure", what, "values/s", pseudocode,
            Target(1.0), between_processes(limit),
        )  # fmt: skip
    for name, what, measure in (
        ("", "put and get", beside_multiprocessing),
        ("-processes", "from process to process, a bound of 1000", between_processes_beside_multiprocessing),
    ):
        yield Row(
            f"pressure-multiprocessing{name}", "pressure", f"{what}, pressure", "values/s",
            "multiprocessing.Queue", Target(0.0), measure,
        )  # fmt: skip
    for name, command, bound in (("put", "LPUSH", 0.8), ("get", "RPOP", 0.6)):
        yield Row(
            f"pressure-bare-{name}", "pressure", f"{name} of 100 bytes, pressure", "values/s",
            f"redis-py, {command}", Target(bound), beside_bare(name == "put"),
        )  # fmt: skip
    yield Row(
        "pressure-shell", "pressure", "lines through pressure put and pressure get", "lines/s", "get --run 1",
        Target(6.0), in_the_shell,
    )  # fmt: skip
    yield Row(
        "pressure-start", "pressure", "processor time of the command pressure exists", "ms", "python -c pass",
        at_most(120, "ms"), command_time,
    )  # fmt: skip
    for peer in PEERS:
        yield Row(
            f"pressure-enqueue-{peer}", "pressure", "put, pressure", "values/s", f"enqueue, {peer}",
            Target(0.0), beside(peer),
        )  # fmt: skip


def durable_queue_rows() -> Iterator[Row]:
    """Queues on the disk that processes, or the threads of one process, share."""
    for name, queue in QUEUES.items():
        if queue.is_peer:
            what = f"put and get, {CLIENTS} processes, pressure, appendfsync {queue.policy}"
            yield Row(
                f"durable-queues-{name}", "durable-queues", what, "pairs/s", name,
                Target(3.0), beside_durable(name),
            )  # fmt: skip
            what = f"put and get, {CLIENTS} threads, miniredis in the process, appendfsync {queue.policy}"
            yield Row(
                f"embedded-queues-{name}", "embedded-queues", what, "pairs/s", name,
                Target(3.0), beside_durable(name, in_one_process=True),
            )  # fmt: skip


def healing_rows() -> Iterator[Row]:
    """Roles whose holders have died."""
    for name in DEATHS:
        yield Row(
            f"healing-{name}", "healing", f"until a role works again, its holder {name}", "s", "",
            at_most(15.0, "s"), until_it_works(name),
        )  # fmt: skip
    yield Row(
        "healing-own", "healing", "until a role works again, its holder our own cut connection", "s", "",
        at_most(0.1, "s"), own_hold,
    )  # fmt: skip


def kind_rows() -> Iterator[Row]:
    """The other kinds of queues, against the same pattern by hand."""
    for name, pattern in PATTERNS.items():
        for server in pattern.servers:
            what = f"push, take, complete, {pattern.title} on {server}"
            yield Row(
                f"kinds-{name}-{server}", "kinds", what, "messages/s",
                "by hand, redis-py", Target(1.0 if server == "redis-server" else 0.0), by_hand(name, server),
            )  # fmt: skip


SPARK_TARGETS: Final = {"write": 0.4, "read": 0.3, "through": 0.25}
"""For a million rows on redis-server."""


def spark_rows() -> Iterator[Row]:
    """Queues in Spark, against redis-py; by the number of rows, and of processors."""
    for server, name, count in product(("redis-server", "miniredis"), JOBS, (10_000, 100_000, 1_000_000)):
        aimed = server == "redis-server" and count == 1_000_000
        yield Row(
            f"spark-{name}-{server}-{count}", "spark", f"{JOBS[name].title}, {count:,} rows, {server}",
            "rows/s", f"redis-py: {JOBS[name].reference}", Target(SPARK_TARGETS[name] if aimed else 0.0),
            beside_redis_py(name, server, count),
        )  # fmt: skip
    yield Row(
        "spark-made-up", "spark", "read of 1,000,000 rows that a source in Python makes up", "rows/s",
        f"redis-py: {JOBS['read'].reference}", Target(0.0), made_up(1_000_000),
    )  # fmt: skip
    yield Row(
        "spark-json", "spark", "read JSON of 100 bytes, 1,000,000 rows, redis-server", "rows/s",
        "the same as bytes", Target(0.5), json_beside_bytes(1_000_000),
    )  # fmt: skip
    yield Row(
        "spark-batch", "spark", "a micro-batch of 1,000 rows from queue to queue, redis-server", "ms",
        "a source and a sink that do nothing", at_most(1.1), beside_nothing(1_000),
    )  # fmt: skip
    for name, job in JOBS.items():
        yield Row(
            f"spark-cores-{name}", "spark-cores", f"{job.title}, 1,000,000 rows, all processors", "rows/s",
            "one processor", Target(0.0), beside_one_core(name, 1_000_000),
        )  # fmt: skip


def history_rows() -> Iterator[Row]:
    """Recorded histories, checked on Spark."""
    for count, bound in ((1_000_000, 0.0), (3_000_000, 0.0), (10_000_000, 0.5)):
        yield Row(
            f"histories-spark-{count}", "histories", f"FIFO check through Spark, {count:,} operations",
            "operations/s", "one process", Target(bound), spark_to_one_process(count),
        )  # fmt: skip


TABLE: Final = (
    rate_rows, large_rows, cpu_rows, blocking_rows, scaling_rows, growing_rows, memory_rows, starting_rows,
    in_process_rows,
    durable_rows, queue_rows, durable_queue_rows, healing_rows, kind_rows, spark_rows, history_rows,
    every_command_rows, peer_rows,
)  # fmt: skip

ROWS: Final[Mapping[str, Row]] = {row.name: row for rows in TABLE for row in rows()}
"""All rows, by name, in the order in which they run."""
