"""What a check found, as one page of HTML that needs nothing else: no script, no other file, no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

from .. import evidence
from .findings import Finding
from .report import HEADS, rows
from .summary import Summary

__all__ = ["as_page", "write_page"]

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid GrayText; padding: .25rem .75rem; text-align: right; }
th:first-child, td:first-child { text-align: left; }
pre { overflow-x: auto; }
.wide { overflow-x: auto; }
"""

_DRAWN: Final = 20
"""Findings that are drawn."""


def write_page(summary: Summary, folder: Path) -> Path:
    """Writes the page into a folder, which is made if need be; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.html"
    path.write_text(as_page(summary), encoding="utf-8")
    return path


def as_page(summary: Summary) -> str:
    """The page."""
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>History: {summary.answer}</title><style>{_STYLE}</style></head><body>",
            f"<h1>History: {summary.answer}</h1>",
            *_head(summary),
            *_found(summary.findings),
            "</body></html>\n",
        )
    )


def _head(summary: Summary) -> Iterator[str]:
    figures, total = summary.figures, summary.total
    yield (
        f"<p>{figures.operations:,} operations in {figures.seconds:,.3f} s, "
        f"judged by {escape(summary.way)} in {summary.seconds:,.1f} s.</p>"
    )
    yield from _table("Queues", ("answer", "queues"), sorted(total.answers.items()))
    yield from _table("Violations", ("rule", "findings"), sorted(total.violations.items()))
    yield from _table("Operations", HEADS, rows(summary))


def _table(title: str, heads: Sequence[str], body: Iterable[Sequence[object]]) -> Iterator[str]:
    found = list(body)
    if not found:
        return
    yield f"<h2>{title}</h2><table><thead><tr>{_cells('th', heads)}</tr></thead><tbody>"
    yield from (f"<tr>{_cells('td', row)}</tr>" for row in found)
    yield "</tbody></table>"


def _cells(tag: str, row: Iterable[object]) -> str:
    shown = (f"{cell:,}" if isinstance(cell, int) else escape(str(cell)) for cell in row)
    return "".join(f"<{tag}>{cell}</{tag}>" for cell in shown)


def _found(findings: Sequence[Finding]) -> Iterator[str]:
    if findings:
        yield "<h2>Findings</h2>"
    for number, finding in enumerate(findings):
        yield f"<h3>{escape(str(finding))}</h3>"
        if finding.around and number < _DRAWN:
            shown = evidence(finding.history, finding.verdict)
            yield f'<div class="wide">{shown.markup or f"<pre>{escape(shown.text)}</pre>"}</div>'
