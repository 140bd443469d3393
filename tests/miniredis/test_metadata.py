"""What COMMAND says of our commands is what a real server says of them."""

from typing import Any

import hiredis
import pytest

from miniredis.engine.registry import LOOKUP, Command, commands

from .transcript import Client

ALL = [each for parent in commands(LOOKUP) for each in (parent, *commands(parent.subcommands))]


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
@pytest.mark.parametrize("command", ALL, ids=[each.name.decode() for each in ALL])
def test_metadata(command: Command, embedded_address: tuple[str, int], real_address: tuple[str, int]) -> None:
    line = f"COMMAND INFO {command.name.decode()}"
    (ours,), (theirs,) = ask(embedded_address, line), ask(real_address, line)
    assert without_others(ours) == without_others(theirs)


def test_command_tells_of_every_command(embedded_address: tuple[str, int]) -> None:
    names = {info[0] for info in ask(embedded_address, "COMMAND")}
    assert names == {each.name for each in commands(LOOKUP)} == set(ask(embedded_address, "COMMAND LIST"))
    assert ask(embedded_address, "COMMAND COUNT") == len(names)


def test_every_command_says_what_it_does() -> None:
    assert [each.name for each in ALL if each.handler and not each.handler.__doc__] == []
