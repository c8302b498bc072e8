"""From every count of the page to its cases: two clicks at most, by the keyboard alone too."""

import re
from urllib.parse import parse_qs

import pytest
from browser.conftest import Open
from playwright.sync_api import Page, expect
from support.reported import models, overview_of, two_models
from support.tables import judgement, random_table, table

from casewise.choices import FailureGroup
from casewise.reporting.page._page import report_page
from casewise.scores import (
    Judgements,
    Overview,
    Scoring,
    compare_runs,
    find_runs,
    make_overview,
    pairs_of_runs,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROWS = "#rows button"


def html(overview: Overview) -> str:
    return report_page(overview, title="Failures", reveal=False)


def ids(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(ROWS, "all => all.map((one) => one.dataset.case)")
    return found


def close(page: Page) -> None:
    page.click("#pair-close")
    # The browser tells of a closed dialog a moment later.
    expect(page).not_to_have_url(re.compile("case="))


def compared(queries: int = 30) -> Overview:
    """A model before and after: half of its skill is lost."""
    parts = [
        random_table(queries, 7, skill=skill, model="m", run_id=name)
        for name, skill in (("before", 0.9), ("after", 0.2))
    ]
    runs = find_runs({"before": parts[0], "after": parts[1]})
    whole = Judgements(table(*(row for part in parts for row in part.to_dicts())), (), {})
    changes = compare_runs(pairs_of_runs(runs), Scoring())
    return make_overview(whole, Scoring(), comparisons=changes)


def test_the_verdict_leads_to_the_ten_worst(open_page: Open) -> None:
    overview = overview_of(models(2, 30))
    page = open_page(html(overview))
    links = page.locator("#verdicts .to-cases a", has_text="the worst first")
    links.first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(ROWS).first).to_be_focused()
    told = re.search(r"\((\d+)\)$", links.first.inner_text())
    assert told is not None
    expect(page.locator(ROWS)).to_have_count(int(told[1]))
    run = int(page.input_value("[name=run]"))
    failures = overview.browser.failures()
    worst = [one.case_id for one in failures if one.run == overview.browser.runs[run]]
    assert ids(page) == worst
    for case in worst[:10]:
        page.keyboard.press("Enter")
        expect(page.locator("#pair-title").first).to_have_text(f"Case {case}", use_inner_text=True)
        page.keyboard.press("Escape")
        expect(page.locator(f"[data-case='{case}']")).to_be_focused()
        page.keyboard.press("Tab")


def test_the_keyboard_alone_reaches_the_last_newly_failed_pair(open_page: Open) -> None:
    overview = compared(queries=80)
    new = [one.case_id for one in overview.browser.failures(FailureGroup.NEW)]
    page = open_page(html(overview))
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
    page = open_page(html(two_models()))
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
    page = open_page(html(two_models()))
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
    page = open_page(html(overview_of(table(*rows))))
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
    overview = compared()
    page = open_page(html(overview))
    for section in ("votes", "changed"):
        dots = page.locator(f"#section-{section} circle[data-cases]")
        link = dots.last.get_attribute("data-cases") or ""
        dots.last.dispatch_event("click")
        expect(page.locator("#pair-title")).to_have_text(f"Case {link.partition('case=')[2]}")
        close(page)
    panel = page.locator("#section-votes .panel >> nth=1")
    wrong = overview.browser.judgements.filter(run=1, right=0)
    panel.locator("figcaption a").focus()
    page.keyboard.press("Enter")
    expect(page.locator(ROWS).first).to_be_focused()
    assert page.inner_text("#matches").split()[0] == str(len(wrong))
    expect(panel.locator("circle")).to_have_count(len(wrong))
