"""The report's HTML: what it contains, and that text from servers is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from conformance.reports import as_page

from .sample import CLAUSES, PICTURE, RUN

EMPTY = {"meta", "link", "input", "br", "img", "hr"}


class Page(HTMLParser):
    """The elements of a page, each with its attributes, the elements it is in, and its own text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], tuple[str, ...], list[str]]] = []
        self._open: list[int] = []
        self.feed(text)
        assert not self._open, "something is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), tuple(self.found[at][0] for at in self._open), []))
        if tag not in EMPTY:
            self._open.append(len(self.found) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.found[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for at in self._open:
            self.found[at][3].append(data)

    def each(self, tag: str, **wanted: str) -> Iterator[tuple[dict[str, str | None], str]]:
        """The elements of a tag with such attributes, with all the text in them."""
        for name, attributes, _, text in self.found:
            if name == tag and all(attributes.get(key) == value for key, value in wanted.items()):
                yield attributes, "".join(text)


TEXT = as_page(RUN)
PAGE = Page(TEXT)


def test_the_table_has_a_row_for_each_clause_and_a_column_for_each_target() -> None:
    columns = [text for _, text in PAGE.each("th", role="columnheader", scope="col")]
    assert columns == ["clause", "place", "level", "rule", "good", "bad", "there", "away"]
    rows = [text for _, text in PAGE.each("th", role="rowheader", scope="row")]
    assert rows == [clause.id for clause in CLAUSES]
    cells = [text for attributes, text in PAGE.each("td", role="cell") if attributes.get("data-of") == "good"]
    assert cells == ["✓ passed", "✗ violated", "! error", "○ not askedthe server has no errors"]


def test_every_cell_has_its_verdict_in_words() -> None:
    for attributes, text in PAGE.each("td", role="cell"):
        if "data-of" in attributes:
            assert any(word in text for word in ("passed", "violated", "error", "not asked", "not judged"))


def test_each_failing_cell_leads_to_its_failure() -> None:
    links = {str(a.get("href"))[1:] for a, _ in PAGE.each("a") if "failure" in str(a.get("href"))}
    failures = {str(attributes["id"]) for attributes, _ in PAGE.each("details", **{"class": "failure"})}
    assert links == failures
    assert len(links) == 3


def test_the_bytes_of_both_sides_stand_beside_each_other() -> None:
    talks = [text for _, text in PAGE.each("div", **{"class": "talk"})]
    assert len(talks) == 2
    assert r"$1\r\n2\r\n" in talks[0]
    assert r"$1\r\n1\r\n" in talks[1]
    assert all(r"*2\r\n$4\r\nLPOP\r\n$1\r\nk\r\n" in text for text in talks)
    assert [text for _, text in PAGE.each("mark")].count("≠") >= 3  # one is in the legend
    texts = "".join(text for _, text in PAGE.each("section"))
    assert "violated: wanted 1, got 2" in texts
    assert "realpassed" in texts


def test_pictures_stay_markup_and_all_other_text_is_escaped() -> None:
    assert PICTURE in TEXT
    assert len(list(PAGE.each("script"))) == 1
    assert list(PAGE.each("img")) == []
    assert "<script>alert(1)" not in TEXT
    assert not {"\x1b", "\u202e"} & set(TEXT)
    assert any("<img src=x onerror=alert(2)>" in text for _, text in PAGE.each("pre"))


def test_the_page_loads_nothing_from_elsewhere() -> None:
    for tag, attributes, _, _ in PAGE.found:
        source = attributes.get("src") or (attributes.get("href") if tag == "link" else "") or ""
        assert source in ("", "data:,")
    assert "url(" not in TEXT
    assert "@import" not in TEXT


def test_missing_and_interrupted_targets_are_reported_as_problems() -> None:
    problems = [text for _, text in PAGE.each("p", **{"class": "problem"})]
    assert problems == ["! interrupted", "! no real Redis: none on PATH"]


def test_a_run_without_failures_says_so() -> None:
    assert "No clause fails of those that were judged." in as_page(RUN[2:3])
    assert "Nothing was judged." in as_page([])


def test_the_page_shows_no_folder_of_the_machine() -> None:
    assert "/opt/redis/bin" not in TEXT
    assert "good, Redis 7.0.15" in TEXT
