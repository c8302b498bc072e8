"""From every count of the page to its cases: two clicks at most, by the keyboard alone too."""

import re
from urllib.parse import parse_qs

import polars as pl
import pytest
from browser.conftest import Open
from playwright.sync_api import Page, expect
from support.reported import models, page_of, page_of_two
from support.tables import judgement, random_table, table

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


def test_the_verdict_leads_to_the_ten_worst(open_page: Open) -> None:
    judged = models(2, 30)
    page = open_page(page_of(judged))
    links = page.locator("#verdicts .to-cases a", has_text="the worst first")
    links.first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(ROWS).first).to_be_focused()
    told = re.search(r"\((\d+)\)$", links.first.inner_text())
    assert told is not None
    expect(page.locator(ROWS)).to_have_count(int(told[1]))
    run = page.input_value("[name=run]")
    worst = wrong_in(judged.filter(model=f"model-{run}"))
    assert ids(page) == worst
    for case in worst[:10]:
        page.keyboard.press("Enter")
        expect(page.locator("#pair-title").first).to_have_text(f"Case {case}", use_inner_text=True)
        page.keyboard.press("Escape")
        expect(page.locator(f"[data-case='{case}']")).to_be_focused()
        page.keyboard.press("Tab")


def test_the_keyboard_alone_reaches_the_last_newly_failed_pair(open_page: Open) -> None:
    before, after = changed(queries=80)
    new = [case for case in wrong_in(after) if case not in wrong_in(before)]
    page = open_page(page_of(after, before=before))
    link = page.locator("#verdicts .to-cases a >> nth=0")
    while not link.evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(ROWS).first).to_be_focused()
    for _ in new[1:]:
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#pair-title")).to_have_text(f"Case {new[-1]}")


def test_every_line_and_row_leads_to_its_cases(open_page: Open) -> None:
    page = open_page(page_of_two())
    links = page.eval_on_selector_all(
        ".line a, .pieces a, .figures a", "all => all.map((one) => one.getAttribute('href'))"
    )
    assert links
    for link in set(links):
        page.evaluate("to => { location.hash = to; }", link)
        chosen = {name: values[0] for name, values in parse_qs(link[1:]).items()}
        if "case" in chosen:
            expect(page.locator("#pair-title")).to_have_text(f"Case {chosen['case']}")
            close(page)
        for name in set(chosen) - {"case", "view"}:
            expect(page.locator(f"[name={name}]")).to_have_value(chosen[name])
    dead = page.eval_on_selector_all(
        ".line:not(.axis):not(.dim), .figures tbody tr",
        """all => all.filter((one) => !one.querySelector("a, [data-cases]")
          && !one.textContent.includes("baseline")).map((one) => one.textContent)""",
    )
    assert dead == []


def test_a_click_anywhere_on_a_line_or_mark_follows_it(open_page: Open) -> None:
    page = open_page(page_of_two())
    line = page.locator("#section-judging .line:has(a) >> nth=0")
    to = line.locator("a").get_attribute("href")
    line.locator("circle >> nth=0").click()
    expect(page).to_have_url(re.compile(re.escape(to or "") + "$"))
    expect(page.locator(ROWS).first).to_be_focused()
    piece = page.locator("#section-quadrants rect[data-cases] >> nth=0")
    piece.click()
    expect(page).to_have_url(re.compile(r"run=\d&quadrant="))
    dot = page.locator("#section-plane .panel a circle").first
    dot.click()
    expect(page).to_have_url(re.compile(r"run=\d&outcome=wrong$"))
    assert all("wrong" in one for one in page.locator("#rows .tally").all_inner_texts())


def test_a_dot_of_calibration_leads_to_the_answers_of_its_bin(open_page: Open) -> None:
    """Bins leave out their lower end: .3 is below it, and .30004 above."""
    sizes = {0.25: 20, 0.3: 5, 0.30004: 7, 0.36: 13, 0.0: 21}
    rows = [
        judgement(f"q{p}-{place}", "safe", p) for p, size in sizes.items() for place in range(size)
    ]
    page = open_page(page_of(table(*rows)))
    dots = page.locator("#section-reliability .panel a")
    told = {}
    for place in range(dots.count()):
        dots.nth(place).focus()
        page.keyboard.press("Enter")
        expect(page.locator(ROWS).first).to_be_focused()
        told[page.input_value("[name=above]")] = page.inner_text("#matches").split()[0]
        count, _, _ = (dots.nth(place).get_attribute("aria-label") or "").partition(" ")
        assert told[page.input_value("[name=above]")] == count
    assert told == {"0.0": "21", "0.1": "25", "0.3": "20"}
    assert (page.input_value("[name=above]"), page.input_value("[name=most]")) == ("0.3", "0.4")


def test_a_dot_of_a_case_opens_it_and_its_panel_lists_them_all(open_page: Open) -> None:
    before, after = changed()
    page = open_page(page_of(after, before=before))
    for section in ("votes", "changed"):
        dots = page.locator(f"#section-{section} circle[data-cases]")
        link = dots.last.get_attribute("data-cases") or ""
        dots.last.dispatch_event("click")
        expect(page.locator("#pair-title")).to_have_text(f"Case {link.partition('case=')[2]}")
        close(page)
    panel = page.locator("#section-votes .panel >> nth=1")
    wrong = wrong_in(after)
    panel.locator("figcaption a").focus()
    page.keyboard.press("Enter")
    expect(page.locator(ROWS).first).to_be_focused()
    assert page.inner_text("#matches").split()[0] == str(len(wrong))
    expect(panel.locator("circle")).to_have_count(len(wrong))
