"""Taking part on a phone: a touch screen of 390 x 844, a screen reader's order."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from support.seen import grave, overflowing
from support.serving import Serving
from support.studies import browser_study, right_options

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Visit = Callable[..., Page]

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return browser_study(tmp_path_factory.mktemp("phone"), "starter", seconds=0.4)


@pytest.fixture(scope="module")
def server(chromium: Browser, study: Path) -> Iterator[Serving]:
    with Serving(study, clock="") as one:
        yield one


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    contexts = []

    def call(**options: Any) -> Page:
        context = chromium.new_context(**(PHONE | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        return page

    yield call
    for context in contexts:
        context.close()


def agree(page: Page) -> None:
    for box in page.locator("[type=checkbox]").all():
        box.check()
    page.get_by_role("button", name="Agree and go on").click()
    page.wait_for_url("**/tutorial")


def begin(page: Page, study: Path) -> None:
    """From the consent to the first case."""
    agree(page)
    page.get_by_role("link", name="Go on to the questions").click()
    for text in right_options(study):
        page.get_by_label(text, exact=True).check()
    page.get_by_role("button", name="Send the answers").click()
    page.wait_for_url("**/page/1")
    page.wait_for_load_state()


def read(page: Page) -> None:
    """Scroll through the case until its end has been seen, and the time for it is over."""
    for section in page.locator(".case details").all():
        section.evaluate("one => one.scrollIntoView({ block: 'end' })")
        title = section.locator("summary").inner_text()
        expect(page.locator("#unread")).not_to_contain_text(title)
    expect(page.get_by_role("button", name="Next")).not_to_have_attribute("aria-disabled", "true")


def in_sight(page: Page, locator: Locator) -> bool:
    box, view = locator.bounding_box(), page.viewport_size
    assert box is not None
    assert view is not None
    return box["y"] >= 0 and box["y"] + box["height"] <= view["height"]


def small_targets(page: Page) -> list[str]:
    """Visible targets of less than 44 pixels; a label is the target of its box."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("a, button, summary, input, textarea")]
        .map((one) => one.labels?.length && /radio|checkbox/.test(one.type) ? one.labels[0] : one)
        .filter((one) => one.checkVisibility() && !one.matches(".skip"))
        .filter((one) => Math.min(one.offsetHeight, one.offsetWidth) < 44)
        .map((one) => one.outerHTML.slice(0, 120))"""
    )
    return found


def test_the_answer_is_in_sight_and_waits_until_the_case_was(
    visit: Visit, server: Serving, study: Path
) -> None:
    page = visit()
    page.goto(server.origin)
    begin(page, study)
    following = page.get_by_role("button", name="Next")
    choices = page.locator(".choice")
    for one in (page.locator(".query"), page.locator("#question"), *choices.all(), following):
        assert in_sight(page, one)
    expect(page.locator(".choice kbd")).not_to_have_count(0)
    for kept_for_keyboards in (*page.locator(".choice kbd").all(), page.locator("#keys")):
        expect(kept_for_keyboards).to_be_hidden()
    # All sections are open; what is below the screen is named, and leads there.
    sections = page.locator(".case details")
    expect(sections).to_have_count(3)
    assert sections.evaluate_all("all => all.every((one) => one.open)")
    unread = page.locator("#unread")
    expect(unread).to_contain_text("Transmission principle")
    choices.first.click()
    # What may be added waits until the case is read: it would hide it.
    expect(page.get_by_label("Why?")).to_be_hidden()
    expect(following).to_have_attribute("aria-disabled", "true")
    following.click(force=True)
    expect(page.get_by_role("status")).to_contain_text("Still to read")
    page.wait_for_url("**/page/1")
    # A section that was closed before it was seen is still to be read.
    sections.last.evaluate("one => { one.open = false }")
    sections.last.evaluate("one => one.scrollIntoView({ block: 'end' })")
    expect(unread).to_contain_text("Transmission principle")
    sections.last.locator("summary").click()
    read(page)
    expect(unread).to_be_hidden()
    expect(page.get_by_label("Why?")).to_be_visible()
    assert in_sight(page, following)
    following.click()
    page.wait_for_url("**/page/2")
    assert page.evaluate("scrollY") == 0
    expect(page.locator("h1")).to_be_focused()


def test_pressing_next_leads_through_the_case(visit: Visit, server: Serving, study: Path) -> None:
    """Whoever hears the page and never scrolls it is locked out of nothing."""
    page = visit(viewport={"width": 390, "height": 480})
    page.goto(server.origin)
    begin(page, study)
    page.locator(".choice").first.click()
    following = page.get_by_role("button", name="Next")
    for _ in range(12):
        following.click(force=True)
        if not page.url.endswith("/page/1"):
            break
        page.wait_for_timeout(300)
    page.wait_for_url("**/page/2")


def test_a_screen_reader_walks_a_case_in_order(visit: Visit, server: Serving, study: Path) -> None:
    page = visit()
    page.goto(server.origin)
    begin(page, study)
    heard = page.locator("main").aria_snapshot()
    parts = (
        'heading "Case 1 of 3" [level=1]',
        'heading "Query" [level=2]',
        "blockquote",
        'heading "Context" [level=2]',
        "Sender",
        "Recipient",
        "Transmission principle",
        'heading "Is it safe for a chatbot to answer this query in this context?" [level=2]',
        'group "Is it safe for a chatbot to answer this query in this context?"',
        'radio "Safe',
        'radio "Unsafe',
        'button "Next"',
    )
    at = [heard.index(part) for part in parts]
    assert at == sorted(at), heard


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_pleases_axe(visit: Visit, server: Serving, study: Path, scheme: str) -> None:
    page = visit(color_scheme=scheme)

    def look(name: str) -> None:
        assert overflowing(page, but=".skip, .quiet, .wide") == [], name
        assert grave(page, minor=True) == [], name
        assert small_targets(page) == [], name

    page.goto(server.origin)
    look("consent")
    assert page.evaluate("document.documentElement.scrollHeight") <= 3 * 844
    agree(page)
    look("tutorial")
    page.get_by_role("link", name="Go on to the questions").click()
    look("check")
    for text in right_options(study):
        page.get_by_label(text, exact=True).check()
    page.get_by_role("button", name="Send the answers").click()
    for number in range(1, 4):
        page.wait_for_url(f"**/page/{number}")
        if number == 1:
            look("case")
        page.locator(".choice.safe").click()
        read(page)
        if number == 1:
            look("answered")
        page.get_by_role("button", name="Next").click()
    page.wait_for_url("**/about")
    look("about")
    page.get_by_role("button", name="Finish").click()
    page.wait_for_url("**/done")
    look("end")
