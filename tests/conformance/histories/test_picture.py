"""Pictures of histories: text and SVG show where the violation is, in words and patterns rather than colours."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from conformance.histories import Facts, History, Verdict, as_svg, as_text, evidence, fifo, judged, worst
from conformance.histories import linearizable as lists
from conformance.histories.scene import MOST, scene_of

from .notation import history, table

OVERTAKEN = "p put a 0 1000\np put b 2000 3000\nc get = b 1500 5000\nd get = a 6000 9000\nx get ? 6500\nx put c 8000 8500"


def elements(markup: str, name: str) -> list[ET.Element]:
    """Those of a drawing, which is well-formed."""
    root = ET.fromstring(markup.replace("<br>", "<br/>"))  # noqa: S314  (our own)
    return [each for each in root.iter() if each.tag.rpartition("}")[2] == name]


def overtaken() -> tuple[History, Verdict]:
    made = history(OVERTAKEN)
    return made, fifo.check(made)


def test_a_picture_in_text_shows_verdict_operations_and_time() -> None:
    assert as_text(*overtaken()).splitlines() == [
        "illegal: order: b'a' was put before b'b', and came after it",
        "  p: put a -> ok",
        "  p: put b -> ok",
        "  c: get -> b",
        "  d: get -> a",
        "              c                       d                       p                       x                       ",
        "        0.0 µs                                                 ┌!put a",
        "        1.0 µs                                                 └!ok",
        "        1.5 µs ┌!get",
        "        2.0 µs ┊                                               ┌!put b".replace("┊", "│"),
        "        3.0 µs │                                               └!ok",
        "        5.0 µs └!b",
        "        6.0 µs                         ┌!get",
        "        6.5 µs                         │                                               ┌get",
        "        8.0 µs                         │                                               ┌put c",
        "        8.5 µs                         │                                               └ok",
        "        9.0 µs                         └!a",
    ]


def test_a_wait_is_dotted_until_the_value_it_gets_is_being_put() -> None:
    made = history("c get = a 0 9000\nd get ? 1000\np put a 5000 6000")
    lines = as_text(made, Verdict("ok")).splitlines()[2:]
    assert [line[15:17].strip() for line in lines] == ["┌g", "┊", "│", "│", "└a"]
    assert [line[39:40] for line in lines] == ["", "┌", "?", "?", "?"]
    drawing = as_svg(made, Verdict("ok"))
    dotted = [each for each in elements(drawing, "rect") if "url(" in each.get("style", "")]
    assert len(dotted) == 1
    assert len([each for each in elements(drawing, "path") if each.get("stroke-dasharray")]) == 1


def test_every_bar_can_be_focused_and_its_title_describes_the_operation() -> None:
    made, verdict = overtaken()
    bars = [each for each in elements(as_svg(made, verdict), "g") if each.get("tabindex") == "0"]
    assert len(bars) == len(made.operations)
    titles = [each[0].text or "" for each in bars]
    assert titles[0] == "p: put a -> ok (began at 0.0 µs, took 1.0 µs; this is what is wrong)"
    assert titles[-2] == "x: get -> open (began at 6.5 µs, never came back)"
    assert [each.get("aria-label") for each in bars] == titles


def test_operations_of_a_violation_are_marked_without_colour() -> None:
    drawing = as_svg(*overtaken())
    texts = [each.text or "" for each in elements(drawing, "text")]
    assert sum(text.startswith("✗") for text in texts) == 4
    assert len([each for each in elements(drawing, "rect") if each.get("stroke-width") == "3.0"]) == 4
    assert not re.search(r"#[0-9a-f]{3,6}[\"; }]|rgb|red|green", drawing.replace('href="#', ""))


def test_a_picture_loads_nothing_and_runs_no_script() -> None:
    drawing = as_svg(*overtaken())
    assert "http" not in drawing.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "<script" not in drawing


def test_operations_are_numbered_in_the_order_that_was_found() -> None:
    made = history("a RPUSH x = 2 0 9\nb RPUSH y = 1 1 8\nc LRANGE 0 -1 = y x 10 11")
    verdict = lists.check(made)
    assert [
        line.split("┌")[1].split(" ")[0] for line in as_text(made, verdict).splitlines() if "┌" in line
    ] == [
        "#2",
        "#1",
        "#3",
    ]
    middle = [
        each.text for each in elements(as_svg(made, verdict), "text") if each.get("text-anchor") == "middle"
    ]
    assert middle == ["2", "1", "3"]


def test_the_point_at_which_no_order_goes_on_is_shown() -> None:
    made = history("a RPUSH x = 1 0 1\nb LLEN = 0 2 3")
    drawing = as_svg(made, lists.check(made))
    assert "no order goes on beyond here" in [each.text for each in elements(drawing, "text")]
    assert "no order goes on" not in as_svg(*overtaken())


def test_markup_in_client_names_and_values_is_escaped() -> None:
    made = history('<c> put <b>&" 0 1')
    titles = [each.text or "" for each in elements(as_svg(made, Verdict("ok")), "title")]
    assert titles == ['<c>: put <b>&" -> ok (began at 0.0 µs, took 0.0 µs)']


def test_of_many_operations_those_nearest_to_the_violation_are_shown() -> None:
    lines = [f"p put v{number} {number * 10} {number * 10 + 5}" for number in range(1000)]
    lines += ["c get = v500 5006 5007", "c get = v500 5008 5009"]
    made = history("\n".join(lines))
    verdict = fifo.rules_of(made)["no-duplicate"]
    scene = scene_of(made, verdict)
    assert (len(scene.operations), scene.left_out) == (MOST, 802)
    assert set(verdict.operations) <= set(scene.operations)
    assert "802 other operations are not shown" in as_svg(made, verdict)
    assert {int(each.argument[0][1:]) for each in scene.operations if each.argument} <= set(range(390, 610))


def test_only_the_queue_with_the_violation_is_shown() -> None:
    made = History([*table("p put a 0 1"), *table("c get = a 2 3", "other")])
    assert [each.queue for each in scene_of(made, fifo.check(made)).operations] == ["other"]


def test_evidence_holds_the_picture_as_text_and_as_markup() -> None:
    made, verdict = overtaken()
    shown = evidence(made, verdict, "what happened")
    assert (shown.title, shown.text, shown.markup) == (
        "what happened",
        as_text(made, verdict),
        as_svg(made, verdict),
    )


def test_pictures_of_different_histories_share_no_element_ids() -> None:
    marks = [
        re.findall(r'id="([^"]+)"', as_svg(history(f"p put {value} 0 1"), Verdict("ok"))) for value in "ab"
    ]
    assert set(marks[0]).isdisjoint(marks[1])


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        ("p put a 0 1", set(fifo.RULES)),
        ("p RPUSH a = 1 0 1", {"linearizable"}),
        ("p BLPOP 0 ? 0\np blocked 1 1", {"linearizable", "waiters"}),
        ("p RPUSH a = 1 0 1\np put a 2 3", {*fifo.RULES, "linearizable"}),
    ],
)
def test_a_history_is_judged_by_the_rules_for_its_kind_of_operations(lines: str, rules: set[str]) -> None:
    verdicts = judged(history(lines, Facts()))
    assert verdicts.keys() == rules
    assert worst(verdicts.values()).answer == "ok"
