"""The example's log and chart; tests/spark/real runs the example."""

from __future__ import annotations

import hashlib
import re
from xml.etree import ElementTree as ET

from pressure.spark.example.chart import as_svg, as_text
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


def test_the_chart_is_drawn_as_text_and_as_svg() -> None:
    first, second = as_text(HOURS).splitlines()
    assert (first.count("█"), second.count("█")) == (30, 60)
    assert second.endswith("60  15 failed")
    picture = ET.fromstring(as_svg(HOURS))  # noqa: S314, our own
    heights = [float(each.attrib["height"]) for each in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert heights == [110.0, 0.0, 220.0, 55.0]
