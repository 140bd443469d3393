"""The report as a chart: bars for a terminal, and a picture made by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["as_text", "draw"]

Hour = Mapping[str, Any]

_WIDTH: Final = 60


@dataclass(frozen=True, slots=True)
class _Colours:
    ground: str
    text: str
    lines: str
    requests: str
    failures: str


_LIGHT: Final = _Colours("#ffffff", "#1f2328", "#d0d7de", "#4477aa", "#cc3311")
_DARK: Final = _Colours("#0d1117", "#e6edf3", "#30363d", "#66aadd", "#ff7755")


def as_text(hours: Sequence[Hour]) -> str:
    """A line for each hour: how many requests, and how many of them failed."""
    most = max(hour["requests"] for hour in hours)
    return "\n".join(
        f"{hour['hour']:02d}:00 {'█' * round(_WIDTH * hour['requests'] / most):<{_WIDTH}} "
        f"{hour['requests']:>6}" + (f"  {hour['failed']} failed" if hour["failed"] else "")
        for hour in hours
    )


def draw(hours: Sequence[Hour], target: Path, *, dark: bool = False) -> None:
    """Write a picture of the report, on a light or a dark ground: requests above, failures below.

    Each has a panel and a scale of its own: beside the requests, the failures could not be seen.

    Args:
        hours: The report.
        target: The file; its suffix says which format it has, such as ``.svg`` or ``.png``.
        dark: Whether its ground is dark.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    colours = _DARK if dark else _LIGHT
    style = {
        "font.family": "sans-serif", "svg.fonttype": "none", "svg.hashsalt": "report",
        **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), colours.ground),
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), colours.text),
        **dict.fromkeys(("axes.edgecolor", "grid.color", "legend.edgecolor"), colours.lines),
    }  # fmt: skip
    with mpl.rc_context(style):
        figure = Figure(figsize=(9, 5.4), layout="constrained")
        figure.suptitle(f"Requests to the web server by the hour, {_total(hours, 'requests')} in all")
        panels = (
            ("requests", "requests", "requests", colours.requests),
            ("failed", "failures", "failures (status 500 and above)", colours.failures),
        )
        for panel, (name, what, label, colour) in zip(
            figure.subplots(2, 1, sharex=True), panels, strict=True
        ):
            panel.bar(
                [hour["hour"] for hour in hours],
                [hour[name] for hour in hours],
                color=colour,
                label=f"{label}: {_total(hours, name)}",
            )
            panel.set_ylabel(f"{what} per hour")
            panel.yaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
            panel.yaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:,.0f}"))
            panel.grid(axis="y", linewidth=0.6)
            panel.set_axisbelow(True)
            panel.spines[["top", "right"]].set_visible(False)
            panel.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.3, frameon=False)
            panel.margins(x=0.01, y=0.05)
        figure.align_ylabels()
        panel.set_xlabel("hour of the day (UTC)")
        panel.set_xticks(range(24), [f"{hour:02d}" for hour in range(24)])
        figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


def _total(hours: Sequence[Hour], name: str) -> str:
    return f"{sum(hour[name] for hour in hours):,}"
