"""The example's log and chart; tests/spark/real runs the example."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pressure.spark.example.chart import as_text, draw
from pressure.spark.example.lines import BROKEN, lines
from pressure.spark.example.steps import _LINE


def test_the_generated_log_is_the_same_for_the_same_seed() -> None:
    found = list(lines(2000))
    assert hashlib.sha256(b"\n".join(found)).hexdigest()[:16] == "79d949bafb2785a9"
    assert list(lines(2000, seed=2)) != found


def test_the_generated_lines_have_the_access_log_format() -> None:
    found = [line.decode() for line in lines(5000)]
    whole = [line for line in found if re.match(_LINE, line)]
    assert 0 < len(found) - len(whole) < 5000 / BROKEN * 3
    assert {re.match(_LINE, line)[5] for line in whole} == {"200", "304", "404", "500", "503"}  # type: ignore[index]
    times = [line.split("[")[1].split("]")[0] for line in whole]
    assert times == sorted(times)


HOURS = [{"hour": 0, "requests": 30, "failed": 0}, {"hour": 1, "requests": 60, "failed": 15}]


def test_the_chart_is_drawn_as_text() -> None:
    first, second = as_text(HOURS).splitlines()
    assert (first.count("█"), second.count("█")) == (30, 60)
    assert second.endswith("60  15 failed")


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_has_a_panel_with_a_scale_for_requests_and_one_for_failures(
    tmp_path: Path, dark: bool
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed; it is in the extra 'spark'")
    draw(HOURS, tmp_path / "chart.svg", dark=dark)
    text = (tmp_path / "chart.svg").read_text()
    picture = ET.fromstring(text)  # noqa: S314, our own
    told = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "Requests to the web server by the hour, 90 in all" in told
    assert {"requests: 90", "failures (status 500 and above): 15"} <= set(told)
    assert {"requests per hour", "failures per hour", "hour of the day (UTC)"} <= set(told)
    assert {"00", "01", "23"} <= set(told)
    scales = [int(each) for each in told if each and re.fullmatch(r"0|[1-9]\d*", each)]
    assert scales.count(0) == 2, "each panel has its scale"
    first = scales[: scales.index(0, 1)]
    for name, scale in (("requests", first), ("failed", scales[len(first) :])):
        most, step = max(hour[name] for hour in HOURS), scale[1] - scale[0]
        assert most - step < max(scale) < most + step, "the scale ends near the highest bar"
    assert ("#0d1117" in text) == dark
