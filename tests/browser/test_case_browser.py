"""The report's case browser in a real browser: filters, pairs, keys, warnings."""

import csv
import io
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser.conftest import Open
from conftest import ROOT
from playwright.sync_api import Locator, Page, expect
from support.reported import page_of, page_of_two, two_models
from support.tables import asked_both_ways, follows, judgement, table

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def matches(page: Page) -> int:
    """How many cases the live region says match."""
    return int(page.inner_text("#matches").replace(",", "").split()[0])


def tops(*parts: Locator) -> list[float]:
    return [box["y"] for part in parts if (box := part.bounding_box())]


def marks(part: Locator) -> list[str]:
    return [text.strip() for text in part.locator("mark").all_inner_texts()]


def choose(page: Page, **chosen: str) -> int:
    """The number of matches after choosing these options by their texts, the others cleared."""
    if page.is_visible("#clear"):
        page.click("#clear")
    page.locator("#filters details").evaluate("one => { one.open = true }")
    for name, label in chosen.items():
        page.select_option(f"[name={name}]", label=label)
    return matches(page)


def test_filters_leave_what_the_table_says(open_page: Open) -> None:
    right = (pl.col("verdict") == "safe") == (pl.col("votes_safe") > 10)
    judged = two_models().filter(pl.col("verdict").is_not_null(), pl.col("votes_safe") != 10)
    wrong = judged.filter(~right)
    page = open_page(page_of_two())
    assert matches(page) == 40
    assert choose(page, category="c1") == 8
    assert choose(page, outcome="wrong") == wrong["case_id"].n_unique()
    assert choose(page, outcome="wrong", run="model-1") == len(wrong.filter(model="model-1"))
    assert choose(page, outcome="not read") == 2
    page.click("#clear")
    page.fill("[name=words]", "q00003 UNSAFE")
    assert matches(page) == 1
    page.fill("[name=words]", "nothing has this")
    assert matches(page) == 0
    expect(page.get_by_role("status")).to_have_text("0 of 40 cases", use_inner_text=True)


def test_a_pair_stands_side_by_side_with_differences_marked(open_page: Open) -> None:
    page = open_page(page_of_two(reveal=True))
    page.click("#texts")
    choose(page, sort="order of the data")
    page.click("#rows li:first-child button")
    safe, unsafe = page.locator("#pair article").all()
    assert tops(safe, unsafe) == [tops(safe)[0]] * 2
    # Whole values differ; what is alike in both contexts bears no mark.
    assert marks(safe)[-1] == "3"
    assert marks(unsafe)[-1] == "4"
    assert not set(marks(safe)) & set(marks(unsafe))
    assert "(differs)" in (safe.locator(".differs dt").first.text_content() or "")
    expect(safe).to_contain_text("a help desk", use_inner_text=True)
    expect(safe).to_contain_text("a person with safe plans", use_inner_text=True)
    assert re.search(r"\d+ of 20 people call it (un)?safe", safe.inner_text())
    assert safe.locator("tbody th").all_inner_texts()[0].startswith("model-0")
    safe.locator("summary").first.click()
    expect(safe).to_contain_text("of model-0 says: q00000-safe because of it", use_inner_text=True)
    page.set_viewport_size({"width": 400, "height": 900})
    assert tops(safe)[0] < tops(unsafe)[0]


def test_keys_open_step_and_close_and_focus_returns(open_page: Open) -> None:
    page = open_page(page_of_two())
    focused = "() => document.activeElement?.dataset?.case ?? document.activeElement?.id"
    choose(page, sort="order of the data")
    page.locator("#rows li:nth-child(3) button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#pair-title").first).to_have_text("Case q00001-safe", use_inner_text=True)
    assert page.evaluate(focused) == "pair-title"
    expect(page).to_have_url(re.compile("#sort=data&case=q00001-safe$"))
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "pair-after"
    page.keyboard.press("Enter")
    expect(page.locator("#pair-title").first).to_have_text(
        "Case q00001-unsafe", use_inner_text=True
    )
    page.keyboard.press("Escape")
    # The browser tells of a closed dialog a moment later.
    expect(page.locator("#pair")).to_be_hidden()
    expect(page.locator("#rows button[data-case='q00001-unsafe']")).to_be_focused()
    expect(page).to_have_url(re.compile("#sort=data$"))


def test_a_link_opens_its_case(open_page: Open) -> None:
    page = open_page(page_of_two(), link="#case=q00019-unsafe")
    expect(page.locator("#pair-title").first).to_have_text(
        "Case q00019-unsafe", use_inner_text=True
    )
    page.evaluate("location.hash = '#case=q00002-safe'")
    expect(page.locator("#pair-title")).to_contain_text("00002")
    page = open_page(page_of_two(), link="#case=100%25%")
    expect(page.locator("#pair").first).to_be_hidden()


def test_texts_wait_behind_a_warning_that_is_remembered_nowhere(open_page: Open) -> None:
    page = open_page(page_of_two(reveal=True))
    choose(page, sort="order of the data")
    query = page.get_by_text("How would somebody do the thing called q00000?")
    expect(query).to_have_count(0)
    expect(page.get_by_text("Content warning")).to_be_visible()
    page.locator("#texts").focus()
    page.keyboard.press("Enter")
    expect(query).to_have_count(2)
    page.fill("[name=words]", "called q00007?")
    assert matches(page) == 2
    stored = page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length")
    assert stored == 0
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    expect(query).to_have_count(0)
    expect(page.locator("#texts")).to_have_text("Show texts")


def test_withheld_pairs_say_lengths(open_page: Open) -> None:
    page = open_page(page_of_two())
    expect(page.locator("#texts")).to_have_count(0)
    page.click("#rows li:first-child button")
    text = page.inner_text("#pair-body")
    query = len("How would somebody do the thing called q00000?")
    assert f"Query withheld: {query} characters." in text
    assert re.search(r"Withheld: context \d+ characters\.", text)
    assert re.search(r"answer \d+ characters, explanation \d+ characters", text)


def test_views_sort_address_and_selection(open_page: Open) -> None:
    """Three cases by hand: a called safe though unsafe, b called unsafe though safe, c right."""
    said = {"m1": {"a": 0.9, "b": 0.2, "c": 0.8}, "m2": {"a": 0.1, "b": 0.1, "c": 0.7}}
    votes = {"a": (1, 19), "b": (18, 2), "c": (20, 0)}
    rows = [
        judgement(query, "safe", p, votes=votes[query], model=model, run_id=model)
        for model, answers in said.items()
        for query, p in answers.items()
    ]
    page = open_page(page_of(table(*rows)))
    names = page.locator(".views label").all_inner_texts()
    assert names == [
        "All cases · 3",
        "Calls unsafe what people call safe · 1",
        "Calls safe what people call unsafe · 1",
    ]

    def ids() -> list[str]:
        found: list[str] = page.eval_on_selector_all(
            "#rows button", "all => all.map((one) => one.dataset.case)"
        )
        return [name.removesuffix("-safe") for name in found]

    page.check("[name=view][value=answers]", force=True)
    assert ids() == ["a"]
    expect(page).to_have_url(re.compile("#view=answers$"))
    page.check("[name=view][value=refuses]", force=True)
    assert ids() == ["b"]
    page.locator("#filters summary").click()
    page.click("#clear")
    expect(page).not_to_have_url(re.compile("#"))
    page.select_option("[name=sort]", label="order of the data")
    page.select_option("[name=run]", label="m1")
    assert ids() == ["a", "b", "c"]
    expect(page).to_have_url(re.compile("#run=0&sort=data$"))
    # The address brings the same again, with the pair of the chosen run.
    page.click("#rows li:nth-child(2) button")
    expect(page).to_have_url(re.compile("#run=0&sort=data&case=b-safe$"))
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    expect(page.locator("#pair-title").first).to_have_text("Case b-safe", use_inner_text=True)
    assert page.locator("#pair .answers tbody th").all_inner_texts() == ["m1"]
    expect(page.locator("#pair").first).to_contain_text(
        "1 answer of other runs", use_inner_text=True
    )
    page.click("#pair-close")
    assert ids() == ["a", "b", "c"]
    with page.expect_download() as download:
        page.click("#selection")
    text = Path(download.value.path()).read_text("utf-8")
    reader = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(one["case_id"], one["run"], one["said"], one["outcome"]) for one in reader] == [
        ("a-safe", "m1", "safe", "wrong"),
        ("b-safe", "m1", "unsafe", "wrong"),
        ("c-safe", "m1", "safe", "right"),
    ]


def test_a_case_without_a_context_stands_beside_those_in_one(open_page: Open) -> None:
    page = open_page(page_of(asked_both_ways(follows)))
    page.click("#rows button >> nth=0")
    dialog = page.locator("#pair")
    assert dialog.locator("h3").all_inner_texts() == [
        "Without a context",
        "Intention not given",
        "Intention not given",
    ]
    expect(dialog).to_contain_text("Asked without a context.", use_inner_text=True)


def test_the_doubt_of_a_reply_stands_beside_its_class(open_page: Open) -> None:
    """Nothing is said where the rules are certain, or nobody measured it."""
    replied: dict[str, Any] = {
        "protocol": "respond",
        "response_class": "refusal",
        "verdict": None,
    }
    rows = [
        judgement("a", "safe", 0.1, **replied, run_id=model, model=model, doubt=doubt)
        for model, doubt in (("certain", 0.0), ("doubtful", 0.37), ("unknown", None))
    ]
    page = open_page(page_of(table(*rows)))
    page.click("#rows button >> nth=0")
    said = page.locator("#pair .answers tbody td:nth-of-type(1)").all_inner_texts()
    assert ["".join(text.split()) for text in said] == ["refusal", "refusaldoubt.37", "refusal"]


def rounded(share: float, digits: int) -> str:
    """A share as written in decimals, halves away from zero."""
    return str(Decimal(repr(share)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def test_the_script_rounds_halves_away_from_zero(open_page: Open) -> None:
    """Halves, binary and of ten, and every twentieth of a per cent."""
    page = open_page(page_of_two())
    halves = (0.005, 0.025, 1 - 0.975, 0.125, 0.0625, 0.145, 0.985, 0.995, 0.0045, 0.9996, 0, 1)
    shares = [*halves, *(n / 2000 for n in range(2001))]
    script = (ROOT / "src/casewise/reporting/page/assets/page.js").read_text("utf-8")
    read = f"(shares) => {{ {script}; return shares.map((p) => [shown(p), shown(p, 2)]); }}"
    assert page.evaluate(read, shares) == [
        [rounded(share, digits).removeprefix("0") for digits in (3, 2)] for share in shares
    ]
