"""The report in a real browser: it opens from disk, draws, downloads and fits."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from browser.conftest import Open
from playwright.sync_api import Browser, Page, expect
from support.reported import (
    HOSTILE,
    Parsed,
    hostile_page,
    models,
    page_of,
    page_of_two,
    texts_of,
    with_answers,
)
from support.seen import grave
from support.tables import random_table

pytestmark = [pytest.mark.browser, pytest.mark.slow]


WINDOWS = pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(400, True, id="400-dark"),
        pytest.param(1280, False, id="1280-light"),
        pytest.param(400, False, id="400-light"),
        pytest.param(1280, True, id="1280-dark"),
    ],
)
"""Each width and each ground; all of both among the long tests."""


def overflowing(page: Page) -> list[str]:
    """What sticks out of the window, apart from what lies in a region that scrolls."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
        .filter((one) => !one.closest(".scroll, .unseen, .skip")
          && one.getBoundingClientRect().right > innerWidth + 0.5)
        .map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`)"""
    )
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [*found, *(["the page"] if wide else [])]


def test_nothing_can_be_called_or_evaluated(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page_of_two(), "utf-8")
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


def test_one_download_holds_every_score_and_every_figure(open_page: Open) -> None:
    html = page_of(random_table(6, 1, model="=1\nnext"))
    page = open_page(html)
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == "casewise-numbers.csv"
    text = Path(download.value.path()).read_bytes().decode("utf-8")
    reader = list(csv.DictReader(io.StringIO(text, newline="")))
    # Guarded, as no spreadsheet may run it.
    assert reader[0]["model"] == "'=1\nnext"
    scores = json.loads(Parsed(html).scripts["scores"])
    sections = [analysis["analysis"] for row in scores for analysis in row.get("analyses", ())]
    assert [one["section"] for one in reader] == ["scores"] * len(scores) + sections


def test_any_column_sorts_the_runs_by_the_keyboard(open_page: Open) -> None:
    page = open_page(page_of(models(3, 20)))
    values = """() => [...document.querySelectorAll(".runs tbody:first-of-type tr")]
        .map((row) => Number(row.lastElementChild.dataset.value))"""
    page.locator(".runs thead button", has_text="Right").focus()
    page.keyboard.press("Enter")
    falling = page.evaluate(values)
    assert falling == sorted(falling, reverse=True)
    page.keyboard.press("Enter")
    assert page.evaluate(values) == falling[::-1]
    expect(page.locator(".runs thead th").last).to_have_attribute("aria-sort", "ascending")


def test_hostile_text_does_nothing(open_page: Open) -> None:
    for reveal in (False, True):
        page = open_page(hostile_page(reveal=reveal))
        if reveal:
            page.click("#texts")
        page.click("#rows li:first-child button")
        expect(page.locator("#pair-title").first).to_have_text(
            f"Case safe {HOSTILE}", use_inner_text=True
        )
        if reveal:
            expect(page.locator("#pair-body blockquote").first).to_have_text(
                HOSTILE, use_inner_text=True
            )
            page.click("#pair .wrote summary >> nth=0")
            expect(page.locator("#pair .wrote p", has_text=HOSTILE).first).to_be_visible()
            expect(page.locator("#pair .context dd", has_text=HOSTILE).first).to_be_visible()
        assert page.evaluate("typeof window.harmed") == "undefined"
        expect(page.locator("img, iframe, object")).to_have_count(0)
        expect(page.locator("h1").first).to_have_text(HOSTILE, use_inner_text=True)


@WINDOWS
def test_axe_finds_nothing_serious_and_nothing_sticks_out(
    open_page: Open, width: int, dark: bool
) -> None:
    page = open_page(page_of_two(reveal=True), width, dark=dark)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert grave(page) == []
    assert overflowing(page) == []
    page.click("#texts")
    page.click("#rows li:first-child button")
    page.click("#pair .wrote summary >> nth=0")
    assert grave(page) == []
    assert overflowing(page) == []


def test_long_words_fit_at_400_pixels(open_page: Open) -> None:
    long = "supercalifragilistic" * 8
    made = random_table(4, 1, model=f"org/{long}").with_columns(
        case_id=pl.format("{}-{}", "case_id", pl.lit(long)), category=pl.lit(long)
    )
    page = open_page(page_of(with_answers(made), texts_of(made), title=long, reveal=True), 400)
    page.click("#texts")
    assert overflowing(page) == []
    page.click("#rows li:first-child button")
    assert overflowing(page) == []


def test_light_dark_and_paper(open_page: Open) -> None:
    ground = "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    assert min(open_page(page_of_two()).evaluate(ground)) > 240
    runs = {"whole": None, "short": "recipient"}
    ablated = [random_table(30, 1, run_id=name, ablation=gone) for name, gone in runs.items()]
    page = open_page(page_of(pl.concat(ablated)), dark=True)
    assert max(page.evaluate(ground)) < 60
    page.emulate_media(media="print")
    assert min(page.evaluate(ground)) > 240
    # Paper has every chart and no control.
    expect(page.locator("#cases").first).to_be_hidden()
    expect(page.locator("#verdicts h2").first).to_be_visible()
    expect(page.locator("#section-ablation .bar").first).to_be_visible()
    assert not page.locator("main > p button:visible, select:visible").count()
    assert len(page.pdf()) > 10_000


def test_without_scripts_the_words_and_tables_stand(open_page: Open) -> None:
    page = open_page(page_of_two())
    browser = page.context.browser
    assert browser is not None
    with browser.new_context(java_script_enabled=False) as context:
        bare = context.new_page()
        bare.goto(page.url)
        expect(bare.locator(".runs circle").first).to_be_visible()
        expect(bare.get_by_text("calls unsafe ").first).to_be_visible()
        expect(bare.locator("#case-browser, #download").first).to_be_hidden()


def test_three_hundred_runs_are_readable(open_page: Open) -> None:
    page = open_page(page_of(models(300, 12, distinct=4)))
    expect(page.locator(".runs tbody:first-of-type tr")).to_have_count(300)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
