"""A run as JUnit XML, as Jenkins and GitLab read it: a test suite per suite and target, a case per clause.

A target that was not there, or was not judged to the end, is a suite with an error in it, so that no such run
looks green; one that nobody had asked for is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from ..judging.runner import Outcome
from .model import Judgement, counted, plain_origin, suites_of
from .text import readable, shortened

__all__ = ["as_junit"]

LONGEST: Final = 20_000
"""Characters of evidence with a failure; those who collect such files keep them in memory."""

HEADLINE: Final = 500


def as_junit(judgements: Sequence[Judgement]) -> str:
    """The document."""
    root = ET.Element("testsuites", name="conformance")
    root.extend(suite for judgement in judgements for suite in suites(judgement))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, 0)) for suite in root)))
    root.set("time", seconds(sum(judgement.seconds for judgement in judgements)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def suites(judgement: Judgement) -> Iterator[ET.Element]:
    for name, outcomes in suites_of(judgement.outcomes).items():
        count = counted(outcomes)
        suite = opened(judgement, name, len(outcomes), count["violated"], count["error"], count["not asked"])
        suite.set("time", seconds(sum(outcome.seconds for outcome in outcomes)))
        suite.extend(case(judgement, name, outcome) for outcome in outcomes)
        yield suite
    if judgement.problem:
        yield broken_off(judgement)


def broken_off(judgement: Judgement) -> ET.Element:
    kind = "skipped" if judgement.excused else "error"
    suite = opened(judgement, "run", 1, 0, kind == "error", kind == "skipped")
    there = ET.SubElement(suite, "testcase", name="judged to the end", classname=class_of(judgement, "run"))
    there.set("time", seconds(judgement.seconds))
    ET.SubElement(there, kind, message=headline(judgement.problem))
    return suite


def opened(
    judgement: Judgement, name: str, tests: int, failures: int, errors: int, skipped: int
) -> ET.Element:
    suite = ET.Element("testsuite", name=readable(f"{name} {judgement.name}"))
    counts = {"tests": tests, "failures": failures, "errors": errors, "skipped": skipped}
    for key, count in counts.items():
        suite.set(key, str(int(count)))
    suite.set("time", seconds(0))
    suite.set("timestamp", judgement.started.strftime("%Y-%m-%dT%H:%M:%S"))
    properties = ET.SubElement(suite, "properties")
    for key, value in {"origin": plain_origin(judgement.origin), "client": judgement.client}.items():
        ET.SubElement(properties, "property", name=key, value=readable(value))
    return suite


def case(judgement: Judgement, suite: str, outcome: Outcome) -> ET.Element:
    made = ET.Element("testcase", name=outcome.clause.id, classname=class_of(judgement, suite))
    made.set("time", seconds(outcome.seconds))
    if outcome.verdict == "not asked":
        ET.SubElement(made, "skipped", message=headline(outcome.reason))
    elif outcome.is_bad:
        kind = "failure" if outcome.verdict == "violated" else "error"
        told = ET.SubElement(made, kind, message=headline(outcome.reason), type=outcome.clause.level)
        told.text = readable(whole(outcome))
    return made


def class_of(judgement: Judgement, suite: str) -> str:
    return readable(f"{judgement.name}.{suite}")


def whole(outcome: Outcome) -> str:
    clause = outcome.clause
    parts = [outcome.reason, f"{clause.place} ({clause.level}): {clause.text}"]
    parts += [f"{each.title}\n{each.text}" for each in outcome.evidence]
    return shortened("\n\n".join(parts), LONGEST)


def headline(text: str) -> str:
    return shortened(readable(text), HEADLINE)


def seconds(count: float) -> str:
    return f"{count:.3f}"
