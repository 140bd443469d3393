"""A run as one HTML page that needs nothing else: no other file, no network, no script to be read.

What comes from elsewhere is escaped; only pictures of evidence are markup, and they are made by this package.
As a second wall the page forbids by its own policy every script but its one, and every request. The parts are
functions that return markup; looks are in ``page.css``, the filter in ``page.js``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from ..markup import escaped
from ..model import Judgement
from .failures import failures
from .head import head
from .table import coverage

__all__ = ["as_page"]


def as_page(judgements: Sequence[Judgement]) -> str:
    """The page."""
    style, script = part("page.css"), part("page.js")
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            tag_of_policy(script),
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            f"<title>Conformance: {title(judgements)}</title>",
            f"<style>{style}</style></head>",
            "<body>",
            '<a class="skip" href="#failing">To the failing clauses</a>',
            head(judgements),
            "<main>",
            failures(judgements),
            coverage(judgements),
            "</main>",
            f"<script>{script}</script>",
            "</body></html>\n",
        )
    )


def part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


def tag_of_policy(script: str) -> str:
    """What the browser is to allow: this very script, styles and pictures in the page, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'


def title(judgements: Sequence[Judgement]) -> str:
    bad = sum(outcome.is_bad for judgement in judgements for outcome in judgement.outcomes)
    names = ", ".join(dict.fromkeys(judgement.name for judgement in judgements))
    return escaped(f"{bad} failing, {names}" if bad else names)
