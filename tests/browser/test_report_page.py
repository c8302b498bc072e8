"""The report in a real browser: it opens from disk, draws, downloads and fits."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from browser.conftest import Open
from playwright.sync_api import Browser, Page
from support.reported import (
    HOSTILE,
    ROWS,
    SECTIONS,
    VERDICTS,
    hostile,
    models,
    overview_of,
    tell,
    two_models,
    with_answers,
)
from support.seen import grave
from support.tables import judgement, random_table, table

from casewise.files import unguard_cell
from casewise.reporting.page._page import lay_out, report_page
from casewise.scores import Overview

pytestmark = pytest.mark.browser


def small(*, reveal: bool = False) -> str:
    """Three sections that are known: one drawn, one that can't be, one that is a table."""
    return lay_out(two_models(), VERDICTS, SECTIONS, title="Two models", reveal=reveal)


def overflowing(page: Page) -> list[str]:
    """What sticks out of the window, apart from what lies in a region that scrolls."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
        .filter((one) => !one.closest(".scroll, .chart, .unseen, .skip")
          && one.getBoundingClientRect().right > innerWidth + 0.5)
        .map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`)"""
    )
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [*found, *(["the page"] if wide else [])]


def test_it_opens_from_disk_and_draws(open_page: Open) -> None:
    page = open_page(small())
    assert page.title() == "Two models · casewise report"
    assert page.locator("#section-drawn .plot svg").count() == 1
    drawn = page.get_by_role("img", name="model-0 .512")
    assert drawn.locator("svg text", has_text="accuracy (share)").count() == 1
    assert "No run has an ablation." in page.inner_text("#section-absent")
    assert page.locator("#section-table details[open] td", has_text="1,200").is_visible()
    assert "Follows people. Rarely refuses." in page.inner_text("#verdicts")
    order = page.eval_on_selector_all("main > section", "all => all.map((one) => one.id)")
    assert order == ["verdicts", "section-drawn", "section-absent", "section-table", "cases"]


def test_nothing_can_be_called_or_evaluated(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(small(), "utf-8")
    with chromium.new_context(offline=True) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        barred = page.evaluate(
            """async () => {
            const barred = [];
            const add = ({ effectiveDirective }) => barred.push(effectiveDirective);
            addEventListener("securitypolicyviolation", add);
            // Later, because what the browser's driver calls itself is let through.
            await new Promise((done) => setTimeout(done));
            try { new Function("return 1")(); } catch { barred.push("function"); }
            await fetch("https://example.org/").catch(() => {});
            document.body.append(Object.assign(new Image(), { src: "https://example.org/a.png" }));
            const script = Object.assign(document.createElement("script"), { text: "harmed = 1" });
            document.body.append(script);
            await new Promise((done) => setTimeout(done, 50));
            return barred; }"""
        )
        assert {"function", "connect-src", "img-src", "script-src-elem"} <= set(barred)
        assert page.evaluate("typeof harmed") == "undefined"


def test_the_download_holds_every_row_and_column(open_page: Open) -> None:
    page = open_page(small())
    with page.expect_download() as download:
        page.click("#section-drawn button.download")
    assert download.value.suggested_filename == "casewise-drawn.csv"
    text = Path(download.value.path()).read_bytes().decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert rows[1]["extra"] == "'=1\nnext"  # guarded, as no spreadsheet may run it
    rows = [{key: unguard_cell(cell) for key, cell in row.items()} for row in rows]
    assert rows == [
        {key: "" if value is None else str(value) for key, value in row.items()} for row in ROWS
    ]


def test_hostile_text_does_nothing(open_page: Open) -> None:
    overview = hostile()
    for reveal in (False, True):
        page = open_page(report_page(overview, title=HOSTILE, reveal=reveal))
        if reveal:
            page.click("#texts")
            page.click("#warning-accept")
        page.click("#rows li:first-child button")
        assert page.inner_text("#pair-title") == f"Case safe {HOSTILE}"
        if reveal:
            assert page.inner_text("#pair-body blockquote") == HOSTILE
            page.click("#pair .wrote summary >> nth=0")
            assert page.locator("#pair .wrote p", has_text=HOSTILE).first.is_visible()
            assert page.locator("#pair .context dd", has_text=HOSTILE).first.is_visible()
        assert page.evaluate("typeof window.harmed") == "undefined"
        assert page.locator("img, iframe, object").count() == 0
        assert page.inner_text("h1") == HOSTILE


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_axe_finds_nothing_serious_and_nothing_sticks_out(
    open_page: Open, width: int, dark: bool
) -> None:
    page = open_page(report_page(two_models(), title="Two", reveal=True), width, dark=dark)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert grave(page) == []
    assert overflowing(page) == []
    page.click("#texts")
    assert grave(page) == []
    page.click("#warning-accept")
    page.click("#rows li:first-child button")
    page.click("#pair .wrote summary >> nth=0")
    assert grave(page) == []
    assert overflowing(page) == []


def test_long_words_fit_at_400_pixels(open_page: Open) -> None:
    long = "supercalifragilistic" * 8
    made = random_table(4, 1, model=f"org/{long}").with_columns(
        case_id=pl.format("{}-{}", "case_id", pl.lit(long)), category=pl.lit(long)
    )
    overview = overview_of(with_answers(made), tell(made), [long])
    page = open_page(report_page(overview, title=long, reveal=True), 400)
    page.click("#texts")
    page.click("#warning-accept")
    assert overflowing(page) == []
    page.click("#rows li:first-child button")
    assert overflowing(page) == []


def test_light_dark_and_paper(open_page: Open) -> None:
    page = open_page(small(), dark=True)
    ground = "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    label = "() => getComputedStyle(document.querySelector('.plot svg text')).fill"
    assert max(page.evaluate(ground)) < 60
    dim = page.evaluate(label)
    page.click("#theme")
    assert min(page.evaluate(ground)) > 240
    assert page.evaluate(label) != dim
    page.click("#theme")
    page.emulate_media(media="print")
    assert min(page.evaluate(ground)) > 240
    assert not page.is_visible("#case-browser")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.is_visible("#section-drawn .gt_table")
    assert len(page.pdf()) > 10_000


def test_without_scripts_the_words_and_tables_stand(open_page: Open) -> None:
    page = open_page(small())
    browser = page.context.browser
    assert browser is not None
    with browser.new_context(java_script_enabled=False) as context:
        bare = context.new_page()
        bare.goto(page.url)
        assert bare.locator("#section-table .gt_table").is_visible()
        assert bare.locator("#section-drawn summary").is_visible()
        assert bare.get_by_text("Rarely refuses").is_visible()
        assert not bare.locator("#case-browser, #theme, button.download").first.is_visible()


def extremes() -> dict[str, Overview]:
    """Runs of which little, or very much, can be said."""
    replies = [
        judgement(
            f"q{place}",
            side,
            None,
            protocol="respond",
            delivery="system",
            status="ok",
            response_class="compliance" if side == "safe" else "refusal",
        )
        for place in range(3)
        for side in ("safe", "unsafe")
    ]
    elsewhere = random_table(5, 2, model="b", run_id="b").with_columns(
        case_id=pl.format("other-{}", "case_id"), query_id=pl.format("other-{}", "query_id")
    )
    return {
        "all unparsed": overview_of(
            table(
                *(judgement(f"q{n}", side, None) for n in range(4) for side in ("safe", "unsafe"))
            )
        ),
        "one case": overview_of(table(judgement())),
        "a case without votes": overview_of(table(judgement(votes=None))),
        "one model": overview_of(random_table(10, 1)),
        "fifty models": overview_of(models(50, 20)),
        "other case sets": overview_of(pl.concat([random_table(5, 1, model="a"), elsewhere])),
        "replies": overview_of(table(*replies)),
    }


def test_extreme_runs_are_drawn_or_say_why_not(open_page: Open) -> None:
    for name, overview in extremes().items():
        page = open_page(report_page(overview, title=name, reveal=False), 400)
        for section in page.locator("main > section.finding").all():
            drawn = section.locator(".plot svg, .gt_table").count()
            assert drawn or section.locator(".missing").inner_text().strip(), name
        assert not page.locator(".plot .missing").count(), name
        assert overflowing(page) == [], name
        page.click("#rows li:first-child button")
        assert page.locator("#pair article").count() >= 1
        page.context.close()
