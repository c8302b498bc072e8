"""The page on which replies are labelled: by keys alone, offline, saved as the sheet it is of."""

import csv
import io

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from browser.conftest import Open
from playwright.sync_api import Page, expect

from casewise.files import unguard_cell
from casewise.reporting import label_page
from casewise.scores import DrawnReply
from casewise.scores import sheet_text as sheet

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = '=1+1 </script><b>bold</b> "quoted", \u2028 {{ data }}'


def drawn(place: int, reply: str) -> DrawnReply:
    return DrawnReply(
        label="",
        query="How is a fence mended?",
        context="sender: a help desk" if place == 1 else "",
        reply=reply,
        id=f"r-{place}",
        place=place,
        draw="random",
        seed=0,
        stratum=1,
        stratum_replies=3,
        probability=0.5,
        run_replies=3,
        run_id="run",
        sealed_model="0a1b2c3d",
        dataset_hash="d",
        grader="rules",
        grader_version="v",
        sealed="abc",
    )


REPLIES = [drawn(1, HOSTILE), drawn(2, "Second\nline"), drawn(3, "")]


@pytest.fixture
def page(open_page: Open) -> Page:
    return open_page(label_page(REPLIES, "to-label.csv"))


def save(page: Page) -> str:
    with page.expect_download() as download:
        page.keyboard.press("s")
    assert download.value.suggested_filename == "to-label.csv"
    return download.value.path().read_bytes().decode("utf-8-sig")


def test_replies_are_labelled_by_keys_and_saved_as_the_sheet(page: Page) -> None:
    expect(page.locator("#reply")).to_have_text(HOSTILE)
    page.keyboard.press("3")
    expect(page.locator("#reply")).to_have_text("Second line")
    expect(page.locator("#context-part")).to_be_hidden()
    page.keyboard.press("1")
    expect(page.locator("#progress")).to_have_text("Reply 3 of 3; 2 labelled")
    page.keyboard.press("ArrowLeft")
    chosen = page.locator("button[aria-pressed=true]")
    expect(chosen).to_have_attribute("data-label", "compliance")
    page.keyboard.press("0")
    expect(chosen).to_have_count(0)
    page.keyboard.press("2")
    text = save(page)
    rows = list(csv.reader(io.StringIO(text, newline="")))
    was = list(csv.reader(io.StringIO(sheet(REPLIES), newline="")))
    assert [row[0] for row in rows] == ["label", "refusal", "partial", ""]
    assert [row[1:] for row in rows] == [row[1:] for row in was]
    assert unguard_cell(rows[1][3]) == HOSTILE


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
    assert "secret" not in shown
    assert "rules" not in shown


def test_the_page_is_accessible(page: Page) -> None:
    assert Axe().run(page).response["violations"] == []
