"""The pictures of the guides are what the script makes, agree with the code, and are shown in a guide."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import trio

import miniredis
from pressure.keys import Keys
from tests.tools.pictures import page, queue_keys, ratios, top
from tests.tools.pictures.__main__ import main
from tests.tools.pictures.album import PICTURES, Picture
from tests.tools.pictures.server_tick import STEPS

from .markdown import GUIDES, ROOT, links, text_of

PACKAGE = Path(miniredis.__file__).parent

each_picture = pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.file)


@pytest.mark.parametrize(
    "picture", [each for each in PICTURES if each.repeatable], ids=lambda picture: picture.file
)
def test_a_picture_equals_what_its_script_makes(picture: Picture) -> None:
    assert picture.path.read_bytes() == picture.make(), "python -m tests.tools.pictures makes it anew"


def test_an_unknown_picture_name_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["kes.svg"])
    assert "there is no picture 'kes.svg'; did you mean 'keys.svg'?" in capsys.readouterr().err


@pytest.mark.slow
def test_the_picture_of_top_can_be_made_again() -> None:
    assert_small_and_whole(top.make(), ".svg")


@pytest.mark.slow
def test_the_picture_of_the_report_can_be_made_again() -> None:
    pytest.importorskip("fakeredis", reason="the report needs the extra 'targets'")
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not on PATH")
    assert_small_and_whole(page.make_dark(), ".png")


def test_the_picture_of_top_shows_a_full_queue_waiting_clients_and_a_lost_one() -> None:
    shown = (ROOT / "pressure" / "top.svg").read_text()
    assert all(words in shown for words in ("100/100", ">waiting", ">working", ">gone"))


@each_picture
def test_a_picture_is_small_and_complete_and_loads_nothing_from_the_network(picture: Picture) -> None:
    assert_small_and_whole(picture.path.read_bytes(), picture.path.suffix)


def assert_small_and_whole(found: bytes, suffix: str) -> None:
    if suffix == ".png":
        assert found.startswith(b"\x89PNG\r\n")
        assert found.endswith(b"IEND\xaeB`\x82")
        assert len(found) < 150_000
        return
    assert ET.fromstring(found).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314  (our own)
    assert found.count(b"//") == found.count(b"http://www.w3.org/2000/svg")
    assert b"prefers-color-scheme" in found
    assert len(found) < 20_000


@each_picture
def test_every_picture_is_linked_from_a_guide(picture: Picture) -> None:
    assert picture.path in linked()


def test_every_picture_linked_from_a_guide_is_made_by_a_script() -> None:
    """Every picture that a guide shows is made by the script."""
    assert linked() <= {picture.path for picture in PICTURES}


def linked() -> set[Path]:
    """The pictures that guides show, or lead to."""
    return {
        ((ROOT / guide).parent / link).resolve()
        for guide in GUIDES
        for link in links(guide)
        if link.endswith((".svg", ".png"))
    }


def test_the_chart_has_the_numbers_of_the_benchmark_table() -> None:
    guide = text_of("conformance/bench/README.md")
    bars = {bar.label: bar.better for group in ratios.groups(guide) for bar in group.bars}
    assert 6 <= len(bars) <= 10
    assert bars["LPUSH, 50 clients"] == 0.61
    assert bars["from start to the first PONG"] == 1 / 0.53
    with pytest.raises(LookupError, match="no row 'GET, 1 client'"):
        ratios.groups(guide.replace("| GET, 1 client |", "| GET, no client |"))


def test_the_picture_of_keys_shows_every_key_of_a_queue() -> None:
    keys = Keys.of(queue_keys.NAME)
    assert set(queue_keys.SHOWN) == {queue_keys.short(keys, key) for key in keys.twelve}
    assert sorted(queue_keys.SHOWN) == sorted(key for part in queue_keys.PARTS.values() for key in part)


def test_each_blocking_operation_waits_on_the_keys_in_the_picture() -> None:
    assert queue_keys.look().waits == {
        "other producers": (":producer_free",),
        "put, while full": (":not_full",),
        "get, while empty": ("", ":closed"),
        "wait_closed": (":closed",),
        "other consumers": (":consumer_free",),
    }


def test_a_tick_runs_the_modules_in_the_picture_in_that_order() -> None:
    entered = iter(trio.run(modules_of_a_tick))
    for step in STEPS:
        assert step.module in entered, step


async def modules_of_a_tick() -> list[str]:
    """The modules that are entered, one after the other, while one client pushes what another one waits for."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            name = path.relative_to(PACKAGE).as_posix()
            if entered[-1:] != [name]:
                entered.append(name)

    async with two_clients() as (waiter, pusher):
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            await pusher.send_all(b"LPUSH k v\r\n")
            await waiter.receive_some()
        finally:
            sys.setprofile(before)
    return entered


@asynccontextmanager
async def two_clients() -> AsyncIterator[tuple[trio.SocketStream, trio.SocketStream]]:
    """One that waits for the key ``k``, and one that does nothing yet."""
    async with trio.open_nursery() as nursery:
        server = await nursery.start(miniredis.serve)
        waiter = await trio.open_tcp_stream("127.0.0.1", server.port)
        pusher = await trio.open_tcp_stream("127.0.0.1", server.port)
        async with waiter, pusher:
            await waiter.send_all(b"PING\r\nBLPOP k 0\r\n")
            await waiter.receive_some()  # the answer to PING: BLPOP was run in the same tick
            yield waiter, pusher
        nursery.cancel_scope.cancel()
