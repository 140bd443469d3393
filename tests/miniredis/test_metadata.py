"""What COMMAND says of our commands is what a real server says of them."""

import re
from typing import Any

import hiredis
import pytest

from miniredis.engine.registry import LOOKUP, Command, commands

from .transcript import Client

ALL = [each for parent in commands(LOOKUP) for each in (parent, *commands(parent.subcommands))]
OF_REDIS = [each for each in ALL if "module" not in each.flags]
"""What a real server has without any module; ``test_rqueues.py`` is about the others."""


def ask(address: tuple[str, int], line: str) -> Any:
    client, reader = Client(address), hiredis.Reader()
    client.send(line.encode() + b"\r\n")
    while (answer := reader.gets()) is False:
        reader.feed(client.socket.recv(1 << 20))
    client.close()
    return answer


@pytest.fixture(scope="module")
def real_version(real_address: tuple[str, int]) -> None:
    info = ask(real_address, "INFO server")
    if b"redis_version:7.0." not in info:
        pytest.skip("the real server at hand is not Redis 7.0")


def without_others(info: list[Any]) -> list[Any]:
    """COMMAND's sets have no order, and the real server has subcommands that we have not."""
    ours = {each.name for each in ALL}
    *head, flags, first, last, step, categories, tips, keys, parts = info
    return [
        *head, sorted(flags), first, last, step, categories, sorted(tips), keys,
        sorted(without_others(part) for part in parts if part[0] in ours),
    ]  # fmt: skip


@pytest.mark.usefixtures("real_version")
@pytest.mark.parametrize("command", OF_REDIS, ids=[each.name.decode() for each in OF_REDIS])
def test_metadata(command: Command, embedded_address: tuple[str, int], real_address: tuple[str, int]) -> None:
    line = f"COMMAND INFO {command.name.decode()}"
    (ours,), (theirs,) = ask(embedded_address, line), ask(real_address, line)
    assert without_others(ours) == without_others(theirs)


def test_command_tells_of_every_command(embedded_address: tuple[str, int]) -> None:
    names = {info[0] for info in ask(embedded_address, "COMMAND")}
    assert names == {each.name for each in commands(LOOKUP)}
    assert {each.name for each in ALL} == set(ask(embedded_address, "COMMAND LIST"))
    assert ask(embedded_address, "COMMAND COUNT") == len(names)


def test_every_command_says_what_it_does() -> None:
    assert [each.name for each in ALL if each.handler and not each.handler.__doc__] == []


# COMMAND DOCS

NOT_TOLD = {b"complexity", b"history"}
"""Sentences about a command that only its authors can write."""


def docs(address: tuple[str, int], name: str) -> dict[bytes, Any]:
    client, reader = Client(address), hiredis.Reader()
    client.send(b"HELLO 3\r\n")
    client.send(f"COMMAND DOCS {name}\r\n".encode())
    answers: list[Any] = []
    while len(answers) < 2:
        answer = reader.gets()
        if answer is False:
            reader.feed(client.socket.recv(1 << 20))
        else:
            answers.append(answer)
    client.close()
    found: dict[bytes, Any] = answers[1][name.encode()]
    return found


def comparable(told: Any) -> Any:
    """What is fact in COMMAND DOCS: not the words of a summary, nor the order of flags."""
    if isinstance(told, list):
        return [comparable(each) for each in told]
    if not isinstance(told, dict):
        return told
    kept = {
        name: value for name, value in told.items() if name not in NOT_TOLD | {b"summary", b"subcommands"}
    }
    if b"replaced_by" in kept:
        kept[b"replaced_by"] = re.findall(rb"`!?(\w+)`", kept[b"replaced_by"])
    return {
        name: sorted(value) if name.endswith(b"flags") else comparable(value) for name, value in kept.items()
    }


@pytest.mark.usefixtures("real_version")
@pytest.mark.parametrize("command", OF_REDIS, ids=[each.name.decode() for each in OF_REDIS])
def test_docs(command: Command, embedded_address: tuple[str, int], real_address: tuple[str, int]) -> None:
    parent, _, part = command.name.decode().partition("|")
    ours, theirs = docs(embedded_address, parent), docs(real_address, parent)
    if part:
        ours, theirs = (each[b"subcommands"][command.name] for each in (ours, theirs))
    assert comparable(ours) == comparable(theirs)
    assert ours[b"summary"] not in {b"", theirs[b"summary"]}
