"""The report's page in a browser: by keyboard, without colours, on narrow and dark screens, without requests."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.reports import as_page

from .sample import RUN

pytestmark = pytest.mark.exhaustive  # a browser takes seconds to start

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()

CONTRAST = """
const channels = (text) => text.match(/[\\d.]+/g).map(Number);
const luminance = (rgb) => {
  const [r, g, b] = rgb.slice(0, 3).map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const behind = (element) => {
  for (let each = element; each; each = each.parentElement) {
    const colour = channels(getComputedStyle(each).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("body *")]
  .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .filter((each) => each.getClientRects().length && !each.closest("script, style, svg"))
  .map((each) => {
    const text = luminance(channels(getComputedStyle(each).color)), back = luminance(behind(each));
    return [(Math.max(text, back) + .05) / (Math.min(text, back) + .05), each.outerHTML.slice(0, 80)];
  })
  .filter(([ratio]) => ratio < 4.5);
"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("chromium and chromedriver are not on PATH")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed here")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver, env=dict(os.environ)))
    try:
        yield browser
    finally:
        browser.quit()


@pytest.fixture
def page(chromium: Any, tmp_path: Path) -> Any:
    """The page of the sample run, as wide as a desk's."""
    file = tmp_path / "index.html"
    file.write_text(as_page(RUN), encoding="utf-8")
    prefer(chromium, scheme="light")
    resize(chromium, 1200)
    chromium.get_log("performance")
    chromium.get(file.as_uri())
    return chromium


def resize(browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(browser: Any, *, scheme: str) -> None:
    """A light or a dark page, and nothing that moves: what moves cannot be clicked."""
    wishes = {"prefers-reduced-motion": "reduce", "prefers-color-scheme": scheme}
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def focused(browser: Any) -> str:
    """What has the focus, as a person would call it."""
    return str(
        browser.execute_script(
            "const at = document.activeElement; return at === document.body ? '' : "
            "at.querySelector(':scope > title')?.textContent || at.closest('details.failure')?.id "
            "&& at.matches('summary') && at.closest('details.failure').id || at.getAttribute('aria-label') "
            "|| at.id || at.textContent.trim()"
        )
    )


def tabbed(browser: Any, limit: int = 60) -> list[str]:
    """What Tab comes to, from the top to the bottom."""
    from selenium.webdriver.common.keys import Keys

    found = []
    for _ in range(limit):
        press(browser, Keys.TAB)
        found.append(focused(browser))
        if not found[-1]:
            break
    return found


def test_the_tab_key_reaches_every_control_and_failure(page: Any) -> None:
    page.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    found = tabbed(page)
    assert found[0] == "To the failing clauses"
    wanted = [
        "By suite", "Open all", "Close all", "failure-1-pop.first", "Conversation with good", "Conversation with real",
        "failure-1-wait.order", "put 1, 0 to 3 ms", "get 1, 4 to 8 ms", "failure-2-said.hostile",
        "text", "suite", "All", "✗ Violated", "! Error", "○ Not asked", "✓ Passed", "✗ violated",
    ]  # fmt: skip
    places = [found.index(each) for each in wanted]
    assert places == sorted(places)


@pytest.mark.parametrize("key", ["ENTER", "SPACE"])
def test_a_failure_is_opened_and_closed_by_key(page: Any, key: str) -> None:
    from selenium.webdriver.common.keys import Keys

    def is_open() -> bool:
        return bool(page.execute_script("return document.querySelector('details.failure').open"))

    page.execute_script("document.querySelector('details.failure summary').focus()")
    assert not is_open()
    press(page, getattr(Keys, key))
    assert is_open()
    press(page, getattr(Keys, key))
    assert not is_open()


def test_a_link_opens_its_failure(page: Any) -> None:
    page.execute_script("document.querySelector('td.violated a').click()")
    until(page, "document.querySelector('details.failure').open")
    assert focused(page) == "failure-1-pop.first"


def until(browser: Any, condition: str) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 10, 0.01).until(lambda each: each.execute_script(f"return {condition}"))


def rows(browser: Any) -> list[str]:
    return list(
        browser.execute_script(
            "return [...document.querySelectorAll('#clauses > tr')].filter((each) => each.checkVisibility())"
            ".map((each) => each.querySelector('th').textContent)"
        )
    )


def count(browser: Any) -> str:
    return str(browser.execute_script("return document.getElementById('count').textContent"))


@pytest.mark.parametrize(
    ("label", "left"),
    [
        ("✗ Violated", ["pop.first", "said.hostile"]),
        ("! Error", ["wait.order"]),
        ("○ Not asked", ["wait.order", "said.hostile"]),
        ("✓ Passed", ["push.reply"]),
        ("All", ["push.reply", "pop.first", "wait.order", "said.hostile"]),
    ],
)
def test_a_verdict_button_filters_the_clauses(page: Any, label: str, left: list[str]) -> None:
    (button,) = (each for each in page.find_elements("css selector", "[data-verdict]") if each.text == label)
    button.click()
    assert rows(page) == left
    assert count(page) == f"{len(left)} of 4 clauses"
    assert button.get_attribute("aria-pressed") == "true"


def test_text_and_suite_filter_the_clauses(page: Any) -> None:
    from selenium.webdriver.support.select import Select

    text = page.find_element("id", "text")
    text.send_keys("FIRST takes")
    assert rows(page) == ["pop.first"]
    text.clear()
    text.send_keys("nothing is like this")
    assert rows(page) == []
    assert page.find_element("id", "none").is_displayed()
    text.clear()
    Select(page.find_element("id", "suite")).select_by_visible_text("queues")
    assert rows(page) == ["pop.first", "wait.order"]


def test_the_page_loads_nothing_and_logs_no_errors(page: Any) -> None:
    assert [each for each in page.get_log("browser") if each["level"] != "INFO"] == []
    asked = [
        each["message"]
        for each in page.get_log("performance")
        if 'Network.requestWillBeSent"' in each["message"]
    ]
    assert [each for each in asked if '"url":"file:' not in each and '"url":"data:,' not in each] == []
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_page_fits_the_width_of_a_phone(page: Any) -> None:
    resize(page, 400)
    page.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.execute_script("return document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize(("scheme", "width"), [*itertools.product(["light", "dark"], [1200, 400])])
def test_all_text_has_enough_contrast(page: Any, scheme: str, width: int) -> None:
    resize(page, width)
    prefer(page, scheme=scheme)
    page.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.execute_script(CONTRAST) == []


def test_hostile_text_is_not_run_as_markup_or_script(page: Any) -> None:
    assert page.execute_script("return document.images.length") == 0
    assert page.execute_script("return document.scripts.length") == 1
    assert page.title.startswith("Conformance: 3 failing")
