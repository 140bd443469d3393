"""The guides of the project as text: which there are, their sections, their blocks of code and their links."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["GUIDES", "ROOT", "Block", "anchors", "blocks", "links", "section", "text_of"]

ROOT = Path(__file__).parents[2]


def guides() -> list[str]:
    """The paths of all Markdown files of the checkout, relative to its top."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = listed.stdout.split() if listed.returncode == 0 else []
    if not found:  # not a checkout of git, such as an unpacked sdist
        found = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md") if ".venv" not in path.parts]
    return sorted(name for name in found if (ROOT / name).exists() and not name.startswith("."))


GUIDES = guides()


@dataclass(frozen=True)
class Block:
    """A fenced block of code in a guide."""

    guide: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.guide}:{self.line}"


def text_of(guide: str) -> str:
    return (ROOT / guide).read_text()


def blocks(language: str) -> list[Block]:
    """Every block of a language in all guides."""
    return [each for guide in GUIDES for each in blocks_of(guide) if each.language == language]


def blocks_of(guide: str) -> Iterator[Block]:
    text = text_of(guide)
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(guide, text.count("\n", 0, found.start()) + 1, found[1], found[2])


def section(guide: str, title: str) -> str:
    """What stands under a heading of a guide, up to the next heading."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", text_of(guide), re.MULTILINE | re.DOTALL)
    assert found is not None, f"{guide} has no section {title!r}"
    return found[1]


def prose(guide: str) -> str:
    """A guide without its code."""
    fenced = re.sub(r"^```.*?^```$", "", text_of(guide), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("[", " ").replace("]", " "), fenced)


def links(guide: str) -> list[str]:
    """Where the links and pictures of a guide lead to."""
    text = prose(guide)
    return re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"\b(?:src|srcset|href)=\"([^\"]+)\"", text)


def anchors(guide: str) -> set[str]:
    """The anchors that a guide's headings have where Markdown is rendered on the web."""
    text = re.sub(r"^```.*?^```$", "", text_of(guide), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
