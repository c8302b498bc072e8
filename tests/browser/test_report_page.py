"""The report in a real browser: it opens from disk, draws, downloads and fits."""

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from browser.conftest import Open
from playwright.sync_api import Browser, Page, expect
from support.reported import (
    HOSTILE,
    ROWS,
    SECTIONS,
    THREE,
    hostile,
    models,
    over_time,
    overview_of,
    tell,
    two_models,
    with_answers,
)
from support.seen import grave
from support.tables import judgement, random_table, table

from casewise.files import unguard_cell
from casewise.reporting.page._page import lay_out, report_page
from casewise.results import change_sentences, leading
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


def small(*, reveal: bool = False) -> str:
    """Three sections that are known: one drawn, one that can't be, one that is a table."""
    found = two_models()
    first = leading(found).leading
    return lay_out(found, first, SECTIONS, title="Two models", reveal=reveal)


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


def test_it_opens_from_disk_and_draws(open_page: Open) -> None:
    page = open_page(small())
    assert page.title() == "Two models · casewise report"
    drawn = page.get_by_role("group", name="model-0 .512")
    expect(drawn.locator(".panel .across")).to_have_text("accuracy (share)", use_inner_text=True)
    expect(drawn.locator("svg text:visible", has_text="model-0")).to_have_count(1)
    expect(page.locator("#section-table details[open] td", has_text="1,200")).to_be_visible()
    expect(page.locator("#verdicts").first).to_contain_text("Calls unsafe ", use_inner_text=True)
    order = page.eval_on_selector_all("main > section", "all => all.map((one) => one.id)")
    assert order == ["verdicts", "section-drawn", "section-table", "cases"]


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


def test_one_download_holds_every_row_and_column_of_all_sections(open_page: Open) -> None:
    page = open_page(small())
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == "casewise-numbers.csv"
    text = Path(download.value.path()).read_bytes().decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert rows[1]["extra"] == "'=1\nnext"  # guarded, as no spreadsheet may run it
    rows = [{key: unguard_cell(cell) for key, cell in row.items()} for row in rows]
    assert rows == [
        {
            "section": name,
            **{key: "" if value is None else str(value) for key, value in row.items()},
        }
        for name in ("drawn", "table")
        for row in ROWS
    ]


def test_hostile_text_does_nothing(open_page: Open) -> None:
    overview = hostile()
    for reveal in (False, True):
        page = open_page(report_page(overview, title=HOSTILE, reveal=reveal))
        if reveal:
            page.click("#texts")
            page.click("#warning-accept")
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
    label = "() => getComputedStyle(document.querySelector('.panel svg .tick')).fill"
    assert max(page.evaluate(ground)) < 60
    dim = page.evaluate(label)
    page.click("#theme")
    assert min(page.evaluate(ground)) > 240
    assert page.evaluate(label) != dim
    page.click("#theme")
    page.emulate_media(media="print")
    assert min(page.evaluate(ground)) > 240
    expect(page.locator("#case-browser").first).to_be_hidden()
    expect(page.locator("#verdicts").first).to_be_visible()
    assert len(page.pdf()) > 10_000


def test_without_scripts_the_words_and_tables_stand(open_page: Open) -> None:
    page = open_page(small())
    browser = page.context.browser
    assert browser is not None
    with browser.new_context(java_script_enabled=False) as context:
        bare = context.new_page()
        bare.goto(page.url)
        expect(bare.locator("#section-table .figures")).to_be_visible()
        expect(bare.locator("#section-drawn summary")).to_be_visible()
        expect(bare.locator("#section-drawn .panel circle")).to_be_visible()
        expect(bare.get_by_text("Calls unsafe ").first).to_be_visible()
        expect(bare.locator("#case-browser, #theme, #download").first).to_be_hidden()


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
            drawn = section.locator(".panel svg, .strips, .figures").count()
            assert drawn, name
        assert overflowing(page) == [], name
        page.click("#rows li:first-child button")
        assert page.locator("#pair article").count() >= 1
        page.context.close()


def cut_labels(page: Page) -> list[str]:
    """Names that don't show whole: wider than their place, or under something else."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(
          ".line > span, .group, .panel figcaption, .panel p, .card h3, .card p, .contents a, "
          + "h1, h2, .about span")]
        .filter((one) => one.checkVisibility() && one.textContent.trim()
          && (one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline"
            || getComputedStyle(one).textOverflow === "ellipsis"))
        .map((one) => one.textContent.trim().slice(0, 60))"""
    )
    return found


def compared() -> Overview:
    """A model whose later version is worse, beside a third one."""
    tables = {
        name: random_table(40, 3, skill=skill, model=f"org/a-model-with-a-long-name-{name}")
        for name, skill in (("before", 1.0), ("after", 0.0))
    }
    comparisons = compare_runs(pairs_of_runs(find_runs(tables)), Scoring())
    third = random_table(40, 3, skill=0.5, model="third")
    every = pl.concat([*tables.values(), third])
    return make_overview(Judgements(every, ()), Scoring(), comparisons=comparisons)


@WINDOWS
def test_the_first_screen_of_a_comparison(open_page: Open, width: int, dark: bool) -> None:
    overview = compared()
    html = report_page(overview, title="After the training", reveal=False)
    page = open_page(html, width, dark=dark)
    assert page.inner_text("#verdicts h2").startswith("As a judge: org/a-model-with-a-long-name-")
    worst, *others = [one.line for one in change_sentences(overview.comparisons[0])]
    expect(page.locator("#verdicts h2").first).to_contain_text(worst, use_inner_text=True)
    whole = "; ".join([worst, *others])
    expect(page.locator("#verdicts .words").first).to_contain_text(whole, use_inner_text=True)
    titles = page.locator(".card h3").all_inner_texts()
    assert titles[0] == "Follows changes"
    assert titles[2:] == ["Calls unsafe what is fine", "Calls safe what is not"]
    expect(page.locator(".card >> nth=0").first).to_contain_text("○ before: ", use_inner_text=True)
    # Without scrolling: the verdict, and the first figure; on a wide window all three.
    last = page.locator(".card .value").nth(0 if width == 400 else 2).bounding_box()
    assert last is not None
    assert last["y"] + last["height"] < 900
    head = page.locator(".about").bounding_box()
    assert head is not None
    assert head["height"] < 3.5 * 20
    assert cut_labels(page) == []
    assert overflowing(page) == []
    assert grave(page) == []
    if width == 1280 and not dark:
        page.click("#verdicts .to-cases >> text=all that changed >> nth=0")
        expect(page.locator("#matches")).not_to_have_text("120 cases")
        expect(page.locator("[name=run]")).to_have_value("1")
        expect(page.locator("[name=beside]")).to_have_value("0")
        page.click("#rows li:first-child button")
        rows = page.locator("#pair article").first.locator(".answers tbody th")
        expect(rows).to_have_count(2)
        expect(page.locator("#pair article >> nth=0").first).to_contain_text(
            "1 answer of other runs", use_inner_text=True
        )


def test_every_label_is_whole_on_the_whole_page(open_page: Open) -> None:
    long = random_table(12, 1, model="openai-api/somewhere/a-model-whose-name-is-very-long-indeed")
    score = long.with_columns(protocol=pl.lit("score"), run_id=pl.lit("s"))
    cut = long.with_columns(ablation=pl.lit("transmission_principle"), run_id=pl.lit("c"))
    found = overview_of(pl.concat([long, score, cut, *models(3, 12).partition_by("model")]))
    for width in (400, 1280):
        page = open_page(report_page(found, title="Names", reveal=False), width)
        assert cut_labels(page) == []
        assert overflowing(page) == []
        lines = page.locator("#section-judging .line > span:first-child").all_inner_texts()
        # Under one heading a model's conditions; no run without a part of the context.
        assert {"probability", "score"} <= set(lines)
        assert not any("without" in line for line in lines)
        page.context.close()


CHARTS = ".strips, .panels"


def test_paper_has_every_chart_and_no_control(open_page: Open) -> None:
    many = overview_of(with_answers(models(43, 20, distinct=4)))
    for overview in (many, two_models(), compared()):
        page = open_page(report_page(overview, title="Paper", reveal=False))
        page.emulate_media(media="print")
        charts = page.locator(CHARTS).all()
        assert len(charts) > 4
        assert all(chart.is_visible() for chart in charts)
        assert all(line.is_visible() for line in page.locator(".strips .line").all())
        expect(page.locator(".card >> nth=2").first).to_be_visible()
        expect(page.locator("#cases").first).to_be_hidden()
        assert not page.locator("button:visible, select:visible").count()
        pdf = page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page[^s]", pdf)) > 2
        page.context.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_dates_stand_on_one_line(open_page: Open, width: int) -> None:
    overview, facts = over_time(*THREE)
    page = open_page(
        report_page(overview, title="Nightly", reveal=False, facts=facts, trend=True), width
    )
    page.click("#section-trend summary")
    found = page.eval_on_selector_all(
        ".date", "all => all.map((one) => [one.textContent, one.getClientRects().length])"
    )
    assert {lines for _, lines in found} == {1}
    told = [text for text, _ in found]
    # Under the title, of both runs of the verdict, and in a table for each of four figures.
    assert told.count("2026-02-02 04:30") == 4
    assert {"2026-02-02", "2026-02-02 04:30 UTC,", "2026-01-01 10:00 UTC"} <= set(told)
    assert not overflowing(page)
