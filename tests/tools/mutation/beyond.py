"""The files and lines that the suite is not asked about, each with the reason; the project's tests still are.

A clause says what a document asks for, and judges it over connections to one server. What nobody wrote down for others,
or what takes more than that, no clause can know.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import chain
from typing import Final

from .model import ROOT, Mutant

__all__ = ["BEYOND", "BEYOND_LINES", "is_beyond"]

_PEOPLE: Final = "it tells people about a queue, in our own words, and no document says which"
_REPLICA: Final = "it takes a second server, a replica, and a clause has one"
_DISK: Final = "it is about files on a server's disk, and a clause has connections"
_CLUSTER: Final = "it takes a server that is part of a cluster"
_INSIDE: Final = "only programs that have the server in their own process see it"
_VERSION: Final = "it takes a server that answers as another version than 7.0"
_MEMORY: Final = "it takes a server whose memory is full, which miniredis never is"
_INTERNAL: Final = "DEBUG is there for those who develop Redis, and Redis documents none of it"
_OURS: Final = "miniredis alone limits it, and says so in its guide"
_ESTIMATE: Final = "it is an estimate of a server's own overhead"
_FREES: Final = "it frees a few bytes, and a clause has connections"
_HUGE: Final = "it takes a value of four gigabytes"
_CROWD: Final = "it takes a hundred clients, each of which changes a key between two messages of another"
_THOUSAND: Final = (
    "it takes a thousand waits that are served while others wait, and within the shortest of their times"
)
_MODULE: Final = "no document says what COMMAND INFO tells of MQ.POP, which has such keys alone"
_LACKS: Final = "a server that lacks commands says so, and is not asked about them"
_PROCESS: Final = "it depends on how much memory the server's process has"

BEYOND: Final = {
    "pressure/protocol/doctor.py": _PEOPLE,
    "pressure/protocol/diagnosis.py": _PEOPLE,
    "pressure/kinds/overview.py": _PEOPLE,
    "pressure/protocol/scanning.py": _PEOPLE,
    "miniredis/engine/commands/replication/replicas.py": _REPLICA,
    "miniredis/engine/commands/replication/failovers.py": _REPLICA,
    "miniredis/engine/commands/replication/replication.py": _REPLICA,
    "miniredis/engine/commands/server/rewriting.py": _DISK,
    "miniredis/engine/commands/server/reloading.py": _INTERNAL,
    "miniredis/engine/commands/server/debugging.py": _INTERNAL,
    "miniredis/engine/commands/server/faulting.py": _INTERNAL,
    "miniredis/engine/commands/cluster/cluster.py": _CLUSTER,
    "miniredis/engine/commands/cluster/changes.py": _CLUSTER,
    "miniredis/engine/commands/hashes/field_expiry.py": _VERSION,
    "miniredis/engine/commands/hashes/valkey_fields.py": _VERSION,
    "miniredis/engine/commands/strings/valkey_strings.py": _VERSION,
    "miniredis/engine/commands/strings/stralgo.py": _VERSION,
    "miniredis/engine/commands/scripting/valkey_scripts.py": _VERSION,
    "miniredis/engine/commands/replication/waitaof.py": _VERSION,
    "miniredis/engine/commands/connections/newer_clients.py": _VERSION,
    "miniredis/engine/commands/server/commandlog.py": _VERSION,
    "miniredis/engine/commands/geo/polygons.py": _VERSION,
    "miniredis/engine/commands/connections/client_filters.py": _VERSION,
}
"""By file, why the suite is not asked about its mutants."""

BEYOND_FUNCTIONS: Final = {
    ("miniredis/engine/commands/server/server.py", "save"): _DISK,
    ("miniredis/engine/commands/server/acl.py", "acl_load"): _DISK,
    ("miniredis/engine/commands/server/acl.py", "acl_save"): _DISK,
    ("miniredis/engine/commands/server/memory.py", "memory_doctor"): _PROCESS,
    ("miniredis/engine/commands/server/memory.py", "memory_malloc_stats"): _PROCESS,
    ("miniredis/engine/commands/strings/hyperloglogs.py", "pfselftest"): _INTERNAL,
    ("miniredis/engine/commands/streams/info.py", "known_to_6"): _VERSION,
    ("miniredis/engine/commands/streams/reading.py", "before_last_of_any"): _VERSION,
    ("miniredis/engine/commands/streams/reading.py", "from_the_last"): _VERSION,
}
"""The same by file and function."""

BEYOND_LINES: Final = {
    **{
        ("miniredis/engine/commands/server/server.py", line): _DISK
        for line in (
            "may_wait = session.flags & EXECUTING or len(args) > 1",
            "if (session.flags & EXECUTING or saves.must_wait) and may_wait and saves.began is None:",
            "saves.schedule()",
            "return SCHEDULED",
            "saves.start()",
            "return STARTED",
            "session.engine.saves.cancel()",
            'elif not session.engine.saves.write_at_end(is_asked_for=b"SAVE" in options) and b"FORCE" not in options:',
            "raise CommandError(errors.NO_SHUTDOWN_NOW)",
        )
    },
    ("miniredis/engine/commands/keys/generic.py", "if to.index:"): _CLUSTER,
    (
        "miniredis/engine/commands/keys/generic.py",
        "check_not_in_cluster(session, cluster_errors.COPY_IN_CLUSTER)",
    ): _CLUSTER,
    ("miniredis/engine/commands/server/memory.py", "KEY_OVERHEAD: Final = 160"): _ESTIMATE,
    ("miniredis/engine/commands/server/memory.py", "EXPIRY_OVERHEAD: Final = 32"): _ESTIMATE,
    ("miniredis/engine/commands/drawing.py", "if -count > MOST_REPEATED:"): _OURS,
    ("miniredis/engine/commands/drawing.py", "raise CommandError(errors.OUT_OF_RANGE)"): _OURS,
    ("miniredis/engine/commands/drawing.py", "MOST_REPEATED: Final = 1_000_000"): _OURS,
    ("miniredis/engine/commands/sorted_sets/samples.py", "if count < -MOST_REPEATED:"): _OURS,
    (
        "miniredis/engine/commands/drawing.py",
        'if count < 0 and sum(map(len, found)) > session.engine.config.integer("proto-max-bulk-len"):',
    ): _OURS,
    ("miniredis/engine/commands/keys/generic.py", "to.note_fields(key, value)"): _VERSION,
    (
        "miniredis/engine/commands/keys/generic.py",
        "raise CommandError(replication_errors.WAIT_ON_REPLICA)",
    ): _REPLICA,
    (
        "miniredis/engine/commands/server/server.py",
        "return role_of_replica(engine.replication.upstream, engine.replication.upstream.address)",
    ): _REPLICA,
    (
        "miniredis/engine/commands/server/server.py",
        'check_not_in_cluster(session, cluster_errors.not_in_cluster(b"SWAPDB"))',
    ): _CLUSTER,
    (
        "miniredis/engine/commands/keys/generic.py",
        "return acks.wait_for(session, lambda: acks.reached(offset), lambda count: count >= least, timeout)",
    ): _REPLICA,
    ("miniredis/engine/clients/waiting.py", "reply = effects.record("): _DISK,
    (
        "miniredis/engine/clients/waiting.py",
        "waiter.session.reached = waiter.session.engine.replication.history.offset",
    ): _REPLICA,
    ("miniredis/engine/clients/waiting.py", "return reply"): _DISK,
    ("miniredis/engine/clients/waiting.py", "if effects is None or command is None:"): _DISK,
    **{
        ("miniredis/engine/clients/waiting.py", line): _FREES
        for line in ("del queues[waiter.waits_for]", "del waiters[key]")
    },
    **{
        ("miniredis/engine/commands/streams/reading.py", line): _REPLICA
        for line in (
            "consumer = attending(session, key, group, reading.consumer, None if reading.keeps else reading.group)",
            "if named is not None:",
            "elif entries:",
        )
    },
    ("miniredis/engine/clients/waiting.py", "return tuple(self._blocked)"): _INSIDE,
    ("miniredis/engine/clients/waiting.py", "heapq.heapify(self.deadlines)"): _THOUSAND,
    (
        "miniredis/engine/commands/connections/pubsub.py",
        "session.engine.cluster.publish(args[1], args[2])",
    ): _CLUSTER,
    (
        "miniredis/engine/commands/connections/pubsub.py",
        "session.engine.cluster.publish(args[1], args[2], to_shard=True)",
    ): _CLUSTER,
    ("pressure/kinds/kind.py", "return bool(hash_tag(self.main))"): _CLUSTER,
    (
        "pressure/kinds/kind.py",
        "self._context = replace(self._context, keys=replace(place, all=(place.main, *keys)))",
    ): _CLUSTER,
    (
        "pressure/kinds/kind_check.py",
        'wrong = f"; if that is wrong, delete {key}" if suffix == MARK else ""',
    ): _PEOPLE,
    ("pressure/kinds/ring/lua.py", "redis.call('RPOP', ring, 0)"): _MEMORY,
    ("pressure/kinds/backup/lua.py", "redis.call('RPOP', pending, 0)"): _MEMORY,
    ("pressure/kinds/commands.py", "raise QueueInUseError("): _CROWD,
    (
        "pressure/protocol/put.py",
        'error.add_note(f"{progress.stored} of {len(values)} values were put into queue {ctx.keys}")',
    ): _PEOPLE,
    (
        "miniredis/engine/commands/connections/connection.py",
        'check_not_in_cluster(session, cluster_errors.not_in_cluster(b"SELECT"))',
    ): _CLUSTER,
    ("miniredis/engine/protocol/requests.py", "lines = len(requests) + 2 * sum(map(len, requests))"): _DISK,
    ("miniredis/engine/commands/__init__.py", "load(WHEN_ASKED_FOR)"): _LACKS,
    (
        "miniredis/engine/commands/__init__.py",
        "load((*BEFORE_OTHERS, *IN_OTHER_VERSIONS, AFTER_OTHERS))",
    ): _VERSION,
    ("miniredis/engine/commands/strings/lcs.py", "LONGEST: Final = (1 << 32) - 2"): _HUGE,
    ("miniredis/engine/commands/server/memory.py", "SAMPLES: Final = 5"): _ESTIMATE,
    (
        "miniredis/engine/commands/server/memory.py",
        "overhead = sum(KEY_OVERHEAD * len(db) + EXPIRY_OVERHEAD * len(db.deadlines) for db in databases)",
    ): _ESTIMATE,
    ("miniredis/engine/commands/server/memory.py", "**{name.encode(): 0 for name in UNKNOWN},"): _PROCESS,
    (
        "miniredis/engine/commands/server/config.py",
        "if session.engine.conditions.loading and not NOT_WHILE_LOADING.isdisjoint(map(canonical, names)):",
    ): _DISK,
    ("miniredis/engine/commands/streams/pending.py", "MOST_ALLOCATED: Final = 1 << 43"): _PROCESS,
    (
        "miniredis/engine/commands/server/introspection.py",
        'found = {b"keynumidx": 0, b"firstkey": 1, b"keystep": 1}',
    ): _MODULE,
}
"""The same by file and line, as it stands there."""


def is_beyond(mutant: Mutant) -> bool:
    """Whether the suite is not asked about a mutant, as about all commands of other versions."""
    return (
        mutant.file in BEYOND
        or (mutant.file, (line := mutant.changed()[0]).partition("\n")[0]) in BEYOND_LINES
        or ".also_propagate(" in line  # only replicas and files on a disk get it
        or line.startswith("wrap_in_versions(")
        or not left_out(mutant.file).isdisjoint(mutant.lines)
    )


OTHER_VERSIONS: Final = re.compile(
    r"in_versions\(|instead_of\(|command\(.*since='(?:7\.[2-9]|8|9|valkey)"
).match
"""A decorator of a function that only other versions than 7.0 have."""


@cache
def left_out(file: str) -> frozenset[int]:
    """The lines of ``BEYOND_FUNCTIONS``, and of those that other versions alone have for a command."""
    functions = [
        each for each in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(each, ast.FunctionDef)
    ]
    lines = (
        range(first, (each.end_lineno or 0) + 1)
        for each in functions
        for first in (
            *(above.lineno for above in each.decorator_list if OTHER_VERSIONS(ast.unparse(above))),
            *([each.body[0].lineno] if (file, each.name) in BEYOND_FUNCTIONS else []),
        )
    )
    return frozenset(chain.from_iterable(lines))
