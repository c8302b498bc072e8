"""From every count of the page to its cases: two clicks at most, by the keyboard alone too."""

import re

import polars as pl
import pytest
from browser.conftest import Open
from playwright.sync_api import Page, expect
from support.reported import models, page_of
from support.tables import random_table

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROWS = "#rows button"


def ids(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(ROWS, "all => all.map((one) => one.dataset.case)")
    return found


def close(page: Page) -> None:
    page.click("#pair-close")
    # The browser tells of a closed dialog a moment later.
    expect(page).not_to_have_url(re.compile("case="))


def wrong_in(run: pl.DataFrame) -> list[str]:
    """Cases whose verdict is not that of most votes, the furthest from the share of safe first."""
    share = pl.col("votes_safe") / 20
    wrong = run.filter((pl.col("verdict") == "safe") != (share > 0.5), share != 0.5)
    return wrong.sort((pl.col("p_safe") - share).abs(), descending=True)["case_id"].to_list()


def changed(queries: int = 30) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A model before and after: most of its skill is lost."""
    before, after = (
        random_table(queries, 7, skill=skill, model="m", run_id=name)
        for name, skill in (("before", 0.9), ("after", 0.2))
    )
    return before, after


def test_a_run_leads_to_its_worst_cases(open_page: Open) -> None:
    judged = models(2, 30)
    page = open_page(page_of(judged))
    link = page.locator(".runs tbody a").nth(1)
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator(ROWS).first).to_be_focused()
    worst = wrong_in(judged.filter(model="model-1"))
    assert page.input_value("[name=run]") == "1"
    assert ids(page) == worst[:5]
    page.click("#more")
    assert ids(page) == worst[:105]
    page.locator(ROWS).first.focus()
    for case in worst[:7]:
        page.keyboard.press("Enter")
        expect(page.locator("#pair-title").first).to_have_text(f"Case {case}", use_inner_text=True)
        close(page)
        page.keyboard.press("Tab")


def test_a_comparison_begins_with_what_is_newly_wrong(open_page: Open) -> None:
    before, after = changed()
    page = open_page(page_of(after, before=before))
    expect(page.locator("[name=view]:checked")).to_have_value("new")
    share = pl.col("votes_safe") / 20
    right = ((pl.col("verdict") == "safe") == (share > 0.5)) & (share != 0.5)
    was = set(before.filter(right)["case_id"])
    newly = [case for case in wrong_in(after) if case in was]
    assert page.inner_text("#matches").split()[0] == str(len(newly))
    assert set(ids(page)) <= set(newly)
    page.locator(".runs tbody tr").first.click()
    expect(page).to_have_url(re.compile("run=1&view=new$"))
