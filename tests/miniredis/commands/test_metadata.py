"""COMMAND describes our commands as a real server does."""

import re
from typing import Any

import hiredis

from conformance.documents.recorded.player import RawClient
from miniredis.engine.declarations.registry import LOOKUP, Command, commands
from tests.cases import check_each

ALL = [each for parent in commands(LOOKUP) for each in (parent, *commands(parent.subcommands))]
OF_REDIS = [each for each in ALL if "module" not in each.flags]
"""What a real server has without any module; ``test_rqueues.py`` is about the others."""


def ask(address: tuple[str, int], line: str) -> Any:
    client, reader = RawClient(address), hiredis.Reader()
    client.send(line.encode() + b"\r\n")
    while (answer := reader.gets()) is False:
        reader.feed(client.socket.recv(1 << 20))
    client.close()
    return answer


def without_others(info: list[Any]) -> list[Any]:
    """COMMAND's sets have no order, and the real server has subcommands that we have not."""
    ours = {each.name for each in ALL}
    *head, flags, first, last, step, categories, tips, keys, parts = info
    return [
        *head, sorted(flags), first, last, step, categories, sorted(tips), keys,
        sorted(without_others(part) for part in parts if part[0] in ours),
    ]  # fmt: skip


NAMED = {each.name.decode(): each for each in OF_REDIS}


def test_command_info_is_that_of_a_real_server(
    embedded_address: tuple[str, int], redis_7_0_address: tuple[str, int]
) -> None:
    def compare(command: Command) -> None:
        line = f"COMMAND INFO {command.name.decode()}"
        (ours,), (theirs,) = ask(embedded_address, line), ask(redis_7_0_address, line)
        assert without_others(ours) == without_others(theirs)

    check_each(NAMED, compare)


def test_command_command_list_and_command_count_include_every_command(
    embedded_address: tuple[str, int],
) -> None:
    names = {info[0] for info in ask(embedded_address, "COMMAND")}
    assert names == {each.name for each in commands(LOOKUP)}
    assert {each.name for each in ALL} == set(ask(embedded_address, "COMMAND LIST"))
    assert ask(embedded_address, "COMMAND COUNT") == len(names)


def test_every_command_handler_has_a_docstring() -> None:
    assert [each.name for each in ALL if each.handler and not each.handler.__doc__] == []


# COMMAND DOCS

NOT_TOLD = {b"complexity", b"history"}
"""Sentences about a command that only its authors can write."""


def docs(address: tuple[str, int], name: str) -> dict[bytes, Any]:
    client, reader = RawClient(address), hiredis.Reader()
    client.send(b"HELLO 3\r\n")
    client.send(f"COMMAND DOCS {name}\r\n".encode())
    answers: list[Any] = []
    while len(answers) < 2:
        answer = reader.gets()
        if answer is False:
            data = client.socket.recv(1 << 20)
            assert data, "the server has hung up"
            reader.feed(data)
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


def test_command_docs_are_those_of_a_real_server(
    embedded_address: tuple[str, int], redis_7_0_address: tuple[str, int]
) -> None:
    def compare(command: Command) -> None:
        parent, _, part = command.name.decode().partition("|")
        ours, theirs = docs(embedded_address, parent), docs(redis_7_0_address, parent)
        if part:
            ours, theirs = (each[b"subcommands"][command.name] for each in (ours, theirs))
        assert comparable(ours) == comparable(theirs)
        assert ours[b"summary"] not in {b"", theirs[b"summary"]}

    check_each(NAMED, compare)
