"""The page on which replies are labelled: by keys alone, offline, saved as the sheet it is of."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from browser.conftest import HOSTILE, MODEL, Open, rows_of
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def page(open_page: Open, sheet: Path) -> Page:
    return open_page(sheet.with_suffix(".html").read_text("utf-8"))


def save(page: Page) -> str:
    with page.expect_download() as download:
        page.keyboard.press("s")
    assert download.value.suggested_filename == "to label.csv"
    return download.value.path().read_bytes().decode("utf-8-sig")


def test_replies_are_labelled_by_keys_and_saved_as_the_sheet(page: Page, sheet: Path) -> None:
    was = rows_of(sheet.read_text("utf-8"))
    assert HOSTILE in [row["reply"] for row in was]
    for row in was:
        expect(page.locator("#reply")).to_have_text(row["reply"])
        expect(page.locator("#context-part")).to_be_visible(visible=bool(row["context"]))
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("3")
    page.keyboard.press("1")
    expect(page.locator("#progress")).to_have_text("Reply 3 of 3; 2 labelled")
    page.keyboard.press("ArrowLeft")
    chosen = page.locator("button[aria-pressed=true]")
    expect(chosen).to_have_attribute("data-label", "compliance")
    page.keyboard.press("0")
    expect(chosen).to_have_count(0)
    page.keyboard.press("2")
    rows = rows_of(save(page))
    assert [row["label"] for row in rows] == ["refusal", "partial", ""]
    # As JavaScript writes a whole number.
    assert {row.pop("probability") for row in rows} == {"1"}
    assert {row.pop("probability") for row in was} == {"1.0"}
    assert [row | {"label": ""} for row in rows] == was


def test_labels_stay_until_they_are_saved(page: Page) -> None:
    page.keyboard.press("4")
    expect(page.locator("#progress")).to_have_text("Reply 2 of 3; 1 labelled")
    # What a page stores reaches the next one in the browser's own time.
    for _ in range(20):
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        if page.locator("#progress").inner_text() == "Reply 2 of 3; 1 labelled":
            return
    pytest.fail("labels are lost by a reload")


def test_nothing_is_shown_of_the_model_or_the_grader(page: Page) -> None:
    shown = page.locator("body").inner_text()
    assert MODEL not in shown
    assert "rules" not in shown


def test_the_page_is_accessible(page: Page) -> None:
    assert Axe().run(page).response["violations"] == []
