"""A block as a worker of Mechanical Turk sees it: by keys alone, with hostile text, on any width.

Crowd HTML itself is not loaded: the page has to do without the network here.
"""

import csv
import io
import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect
from support.exchanged import HOSTILE, tasks_of

from casewise.annotation.exchange.mturk import mturk_files

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def turk(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The first block, its fields filled in as the platform does: by plain replacement."""
    tasks = tasks_of(tmp_path_factory.mktemp("study"), least_seconds=0)
    files = mturk_files(tasks)
    row = next(csv.DictReader(io.StringIO(files["batch.csv"].decode("ascii"), newline="")))
    html = re.sub(r"\$\{(\w+)\}", lambda field: row[field[1]], files["layout.html"].decode("ascii"))
    page = chromium.new_page(viewport={"width": 400, "height": 800})
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.route("**/*", lambda route: route.abort())
    page.set_content(f'<!doctype html><html lang="en"><title>HIT</title><body><main>{html}</main>')
    yield page
    page.close()
    assert not troubles


def test_a_block_is_judged_by_keys_alone(turk: Page) -> None:
    keys, problem = turk.keyboard, turk.locator("#cw-problem")
    keys.press("Tab")
    keys.press("Enter")
    expect(problem).to_contain_text("Tick the box")
    keys.press("Space")
    keys.press("Enter")
    keys.press("Enter")
    keys.press("Tab")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(problem).to_contain_text("look again")
    keys.press("ArrowUp")
    keys.press("Enter")
    for number in range(1, 6):
        expect(turk.locator("#cw-count")).to_have_text(f"Case {number} of 5")
        if number == 1:
            shown = turk.locator(".step:not([hidden]) .query")
            assert shown.inner_text() == HOSTILE[0]
            found = Axe().run(turk).response["violations"]
            assert [one["id"] for one in found] == []
            keys.press("Enter")
            expect(problem).to_have_text("Please choose safe or unsafe.")
        keys.press("Tab")
        keys.press("ArrowDown")
        keys.press("Enter")
    expect(turk.locator(".step:not([hidden])")).to_contain_text("That was the last one")
    told = turk.evaluate(
        "Object.fromEntries(Array.from(document.querySelectorAll("
        "'input:checked, input[type=hidden]'), one => [one.name, one.value]))"
    )
    assert told["attempts"] == "2"
    assert [told[f"verdict_{position}"] for position in range(5)] == ["unsafe"] * 5
    assert all(float(told[f"seconds_{position}"]) >= 0 for position in range(5))
    assert turk.title() == "HIT"
    assert turk.evaluate("document.documentElement.scrollWidth") <= 400
