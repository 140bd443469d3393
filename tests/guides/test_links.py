"""No link of a guide is dead: the file is there, the heading in it, and what the guide says is in a file of code."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cases import for_each

from .markdown import GUIDES, ROOT, anchors, links, text_of


@for_each("guide", GUIDES)
def test_every_link_of_a_guide_has_an_existing_target(guide: str) -> None:
    dead = [
        link for link in links(guide) if not link.startswith("https://") and not leads_somewhere(guide, link)
    ]
    assert not dead


@for_each("guide", GUIDES)
def test_every_name_that_a_guide_places_in_a_file_is_defined_there(guide: str) -> None:
    said = re.findall(r"`(\w+)`\s+in\s+\[[^]]+\]\(([^)]+\.py)\)", text_of(guide))
    assert [
        f"{name} in {path}" for name, path in said if not is_defined(name, (ROOT / guide).parent / path)
    ] == []


def is_defined(name: str, path: Path) -> bool:
    return (
        re.search(rf"^\s*(async def|def|class) {name}\b|^{name}\b", path.read_text(), re.MULTILINE)
        is not None
    )


def leads_somewhere(guide: str, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (ROOT / guide).parent / path if path else ROOT / guide
    if not target.exists() or not target.resolve().is_relative_to(ROOT):
        return False
    return not anchor or anchor in anchors(str(target.resolve().relative_to(ROOT)))


def test_dead_links_are_detected() -> None:
    assert leads_somewhere("README.md", "pressure/README.md")
    assert not leads_somewhere("README.md", "pressure/README.md#no-such-heading")
    assert not leads_somewhere("README.md", "no-such-file.md")
    assert not leads_somewhere("README.md", "#no-such-heading")
