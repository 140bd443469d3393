"""Users, rules, categories and refusals in other versions than 7.0, as real servers of those versions have them.

What they say is in ``acl_versions.json``; ``python -m tests.miniredis.versions.test_acl_versions NAME=PATH...`` asks
them anew.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any, Final

import miniredis
from conformance.documents.recorded.player import RawClient
from conformance.targets import target_named
from tests.cases import for_each

from .test_versions import NOT_HERE, ask

RECORDED: Final = Path(__file__).with_name("acl_versions.json")

CATEGORIES: Final = (
    "keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin fast slow "
    "blocking dangerous connection transaction scripting"
).split()

REQUESTS: Final = (
    *("ACL LIST", "ACL CAT", "ACL CAT nosuch", "ACL CAT a b", *(f"ACL CAT {name}" for name in CATEGORIES)),
    *("ACL GETUSER default", "ACL GETUSER nobody", "ACL SETUSER bob", "ACL GETUSER bob"),
    *("ACL SETUSER bob on >secret +get +set ~k:*", "ACL GETUSER bob", "ACL LIST"),
    *(
        "ACL SETUSER bob +foo",
        "ACL SETUSER bob +@foo",
        "ACL SETUSER bob nonsense",
        "ACL SETUSER bob +client|",
    ),
    *("ACL SETUSER bob +client|id", "ACL SETUSER bob +client|foo", "ACL SETUSER bob -client|id"),
    *("ACL SETUSER bob +select|0 +SELECT|Aa", "ACL SETUSER bob +config|get|x", "ACL GETUSER bob"),
    *(
        "ACL SETUSER bob %R~x:*",
        "ACL SETUSER bob &ch:*",
        "ACL SETUSER bob (+get ~x)",
        "ACL SETUSER bob (+get",
    ),
    *(
        "ACL SETUSER bob clearselectors",
        "ACL SETUSER bob allchannels &x",
        "ACL SETUSER bob resetchannels &ch:*",
    ),
    *("ACL SETUSER bob resetkeys ~k:*", "ACL SETUSER bob sanitize-payload", "ACL GETUSER bob"),
    *("ACL SETUSER bob skip-sanitize-payload", "ACL GETUSER bob", "ACL LIST"),
    *("ACL SETUSER cat +@all -@dangerous nopass on", "ACL GETUSER cat", "ACL SETUSER cat +@read +@hash -get"),
    *("ACL GETUSER cat", "ACL SETUSER dog reset allkeys +client|id +client +@hash -hset", "ACL GETUSER dog"),
    *("ACL SETUSER dog reset", "ACL GETUSER dog", "ACL GENPASS 1 2", "ACL LOG 1 2", "ACL LOAD", "ACL SAVE"),
    *("ACL DRYRUN bob get k:1", "ACL DRYRUN bob get x", "ACL DRYRUN bob del k:1", "ACL DRYRUN nobody get x"),
    *("ACL SETUSER bob +multi +exec +eval +publish +config|get +mget +sort +hello", "ACL LOG RESET"),
    *(
        "AUTH bob wrong",
        "AUTH bob secret",
        "ACL WHOAMI",
        "GET k:1",
        "GET x",
        "MGET k:1 x",
        "DEL k:1",
        "GET x",
    ),
    *("CONFIG GET hz", "CONFIG SET hz 10", "CLIENT LIST", "PUBLISH other x", "PUBLISH ch:1 x", "MULTI"),
    *("GET x", "DEL k:1", "EXEC", "SORT k:l BY w*", 'EVAL \'return redis.call("get","x")\' 0', "ACL LIST"),
    *('EVAL \'return redis.call("publish","other","x")\' 0', "AUTH cat any", "CONFIG GET hz", "KEYS *"),
    *("SHUTDOWN NOSAVE x", "AUTH default x", "ACL WHOAMI", "ACL LOG 3", "ACL LOG RESET", "ACL LOG"),
)
"""One after the other, from one client."""

NOT_SAME: Final = {
    "6.0": ("EVAL ", "DEBUG ", "SORT k:l"),
    "6.2": ("EVAL ", "DEBUG "),
    "valkey-9.1": ("EVAL ",),
}
"""Requests whose answers differ for reasons that VERSIONS.md tells."""


def told(address: tuple[str, int]) -> list[Any]:
    """What a server answers."""
    client = RawClient(address)
    replies = []
    for request in REQUESTS:
        words = [json.dumps(word) for word in shlex.split(request)]
        replies.append(comparable(request, ask(client, " ".join(words))))
    client.close()
    return replies


def comparable(request: str, reply: Any) -> Any:
    """A reply without what is chance, of the moment, or about commands that are not here."""
    if request.startswith("ACL CAT ") and isinstance(reply, list):
        return sorted(name for name in reply if not is_lacking(name))
    if request == "ACL LIST" and isinstance(reply, list):
        return [in_order(line) for line in reply]
    if request.startswith("ACL GETUSER ") and reply:
        return [in_order(each) if at == COMMANDS else each for at, each in enumerate(reply)]
    if request.startswith("ACL LOG") and isinstance(reply, list):
        return [without_moment(entry) for entry in reply]
    return reply


COMMANDS: Final = 5
"""The place of the rules about commands in ACL GETUSER."""


def is_lacking(name: str) -> bool:
    return name in NOT_HERE or name.partition("|")[0] in NOT_HERE


def in_order(rules: str) -> str:
    """The rules about single commands come in the order of a hash table until 7.0."""
    return " ".join(sorted(rules.split()))


def without_moment(entry: list[Any]) -> dict[str, Any]:
    facts = dict(zip(entry[::2], entry[1::2], strict=True))
    moments = {"age-seconds", "client-info", "timestamp-created", "timestamp-last-updated"}
    return facts | {name: type(value).__name__ for name, value in facts.items() if name in moments}


@for_each("version", json.loads(RECORDED.read_text()) if RECORDED.exists() else [])
def test_users_and_what_they_are_refused_are_those_of_the_version(version: str) -> None:
    theirs = json.loads(RECORDED.read_text())[version]
    with miniredis.start(version=version) as server:
        ours = told((server.host, server.port))
    for request, mine, expected in zip(REQUESTS, ours, theirs, strict=True):
        if not request.startswith(NOT_SAME.get(version, ())):
            assert (request, mine) == (request, expected)


def record(paths: list[str]) -> None:
    """Asks real servers, each given as VERSION=PATH, and keeps what they say."""
    recorded = {}
    for each in paths:
        with target_named(each).up() as address:
            recorded[each.partition("=")[0]] = told((address.host, address.port))
    lines = [
        f'"{version}": [\n' + ",\n".join(map(json.dumps, replies)) + "\n]"
        for version, replies in recorded.items()
    ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record(sys.argv[1:])
