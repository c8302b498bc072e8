"""A whole study in a real browser: by keyboard, on a phone without scripts, and in German."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from support.seen import grave, overflowing
from support.serving import Serving
from support.studies import browser_study, read_yaml, right_options, some_cases, write_cases

# Each page by itself is in test_study_page.py.
pytestmark = [pytest.mark.browser, pytest.mark.slow]

Come = Callable[..., Page]
Look = Callable[[Page], None]


def look(page: Page) -> None:
    """No page may stick out, or have what axe calls serious."""
    assert overflowing(page, but=".skip, .quiet, .wide") == [], page.url
    assert grave(page) == [], page.url


@pytest.fixture
def come(chromium: Browser) -> Iterator[Come]:
    contexts = []

    def call(server: Serving, **options: Any) -> Page:
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(server.origin)
        return page

    yield call
    for context in contexts:
        context.close()


def by_keyboard(page: Page, study: Path) -> None:
    def tab_to(name: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate(
                "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
            ).startswith(name):
                return
        raise AssertionError(f"{name} can't be reached at {page.url}")

    look(page)
    for name in ("I am at least", "I have read"):
        tab_to(name)
        page.keyboard.press("Space")
    tab_to("Agree and go on")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("What you will do")
    look(page)
    tab_to("Go on to the questions")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("A few questions first")
    look(page)
    for question in read_yaml(study)["comprehension"]["questions"]:
        tab_to(question["options"][0])
        page.keyboard.press("Space")
        for _ in range(question["answer"]):
            page.keyboard.press("ArrowDown")
    tab_to("Send the answers")
    page.keyboard.press("Enter")
    for number in range(1, 4):
        expect(page.locator("h1")).to_have_text(f"Case {number} of 3")
        look(page)
        page.keyboard.press("End")
        page.keyboard.press("u")
        expect(page.locator("#unread")).to_be_hidden()
        page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Last questions")
    look(page)
    tab_to("Prefer not to say")
    page.keyboard.press("ArrowUp")
    tab_to("Finish")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Thank you: you are done")


def by_hand(page: Page, study: Path, look: Look = look) -> None:
    """By touch or mouse, in any language: what is pressed is found by its place, not its words."""
    look(page)
    for box in page.locator("[type=checkbox]").all():
        box.check()
    page.locator("button[value=yes]").click()
    page.wait_for_url("**/tutorial")
    look(page)
    page.locator('a[href="/check"].main').click()
    page.wait_for_url("**/check")
    for text in right_options(study):
        page.get_by_label(text, exact=True).check()
    look(page)
    page.locator("form button.main").click()
    for number in range(1, 4):
        expect(page.locator("progress")).to_have_attribute("value", str(number - 1))
        page.locator(".choice.safe").click()
        look(page)
        page.locator(".case section").last.evaluate("one => one.scrollIntoView({ block: 'end' })")
        page.locator("#answer button.main").click()
    page.wait_for_url("**/about")
    page.locator("#remark").fill("Fine.")
    look(page)
    page.locator("form button.main").click()
    page.wait_for_url("**/done")


def test_people_from_consent_to_the_end(come: Come, tmp_path: Path) -> None:
    for name in ("en", "de"):
        write_cases(tmp_path / name, some_cases(2))
    study, ours = (browser_study(tmp_path / name, language=name) for name in ("en", "de"))
    # Its clock stands still: each page is answered at once, however busy the machine is.
    with Serving(study) as server:
        page = come(server)
        by_keyboard(page, study)
        look(page)
        phone = come(server, viewport={"width": 360, "height": 740}, java_script_enabled=False)
        # Axe is a script itself, and so can't look here: the same page with scripts is looked at.
        by_hand(phone, study, look=lambda page: None)
        expect(phone.locator("h2").first).to_have_text("About this study")
        assert server.rows("SELECT status FROM participant") == ["completed"] * 2
        assert server.rows("SELECT count(*) FROM answer WHERE place IS NOT NULL") == [4]
        one, two = map(json.loads, server.rows("SELECT about FROM participant ORDER BY id"))
        assert (len(one), list(two.values())) == (1, ["Fine."])
    with Serving(ours) as server:
        page = come(server, viewport={"width": 900, "height": 900}, locale="de-DE")
        expect(page.locator("button[value=yes]")).to_have_text("Zustimmen und weiter")
        by_hand(page, ours)
        look(page)
        expect(page.locator("h1")).to_have_text("Danke: Sie sind fertig")
        expect(page.locator("#debriefing")).to_have_text("Über diese Studie")
        # With the code alone, in another browser, all of it is deleted.
        other = come(server)
        other.goto(f"{server.origin}/resume")
        other.locator("#code-typed").fill(page.locator("#personal-code").inner_text())
        other.locator("form button.main").click()
        other.goto(f"{server.origin}/withdraw")
        look(other)
        other.locator("form button.main").click()
        expect(other.locator("h1")).to_have_text("Sie haben Ihre Teilnahme widerrufen")
        assert not server.rows("SELECT * FROM answer")
