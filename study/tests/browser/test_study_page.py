"""Taking part in a study in a real browser: what its scripts do."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from support.seen import grave, overflowing
from support.serving import Serving
from support.studies import ADMIN, HOSTILE, write_study

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Visit = Callable[..., Page]

WAIT = 0.4
"""Seconds that a case is to be read."""


@pytest.fixture(scope="module")
def server(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("study")
    queries = ("first", HOSTILE, "looks " + "longwithoutabreak" * 20)
    path = write_study(folder, queries, blocks=13, timing={"least_seconds": WAIT})
    with Serving(path, clock="") as one:
        yield one


@pytest.fixture
def visit(chromium: Browser, server: Serving) -> Iterator[Visit]:
    """Come to the study in a browser of one's own; no page may break or ask elsewhere."""
    contexts, troubles, elsewhere = [], list[str](), list[str]()

    def call(where: str = "/", *, clock: bool = False) -> Page:
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        if clock:
            page.clock.install()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.extend([said.text] * _is_trouble(said.text)))
        page.on("request", lambda one: elsewhere.extend([one.url] * (server.origin not in one.url)))
        page.goto(f"{server.origin}{where}")
        return page

    yield call
    for context in contexts:
        context.close()
    assert not troubles
    assert not elsewhere


def _is_trouble(said: str) -> bool:
    return "Content Security Policy" in said or "Uncaught" in said


def begin(page: Page) -> None:
    """As far as the first case, by mouse."""
    page.get_by_label("at least 18").check()
    page.get_by_label("I have read").check()
    page.click("text=Agree and go on")
    page.click("text=Go on to the questions")
    page.get_by_label("answers").check()
    page.click("text=Send the answers")
    # Until it is loaded: an address changes before the page hears keys.
    page.wait_for_url("**/page/1")


def may_send(page: Page) -> None:
    """The case was read to its end, and the time for it is over."""
    page.locator(".case section").last.evaluate("one => one.scrollIntoView({ block: 'end' })")
    button = page.get_by_role("button", name="Next")
    expect(button).not_to_have_attribute("aria-disabled", "true")


def wait_for_focus(page: Page) -> None:
    """Until a page has the focus. Its policy lets no expression be polled from within it."""
    for _ in range(200):
        if page.evaluate("document.hasFocus()"):
            return
        page.wait_for_timeout(50)
    pytest.fail("the page never had the focus")


def test_leaving_copying_and_pasting_are_counted_and_hidden_text_is_hidden(
    visit: Visit, server: Serving
) -> None:
    page = visit()
    begin(page)
    # Nobody sees the hidden field, and neither tabs nor a screen reader's tree lead to it.
    trap = page.locator("[name=word]")
    expect(trap).to_be_hidden()
    assert "leave it empty" not in page.locator("body").aria_snapshot()
    reached = []
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.name ?? ''"))
    assert "reason" in reached
    assert "word" not in reached

    def on_with(answer: str = ".choice.safe") -> None:
        page.locator(answer).click()
        may_send(page)
        page.click("text=Next")

    # The first page is left for another tab, twice.
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setFocusEmulationEnabled", {"enabled": False})
    page.bring_to_front()
    wait_for_focus(page)
    for _ in range(2):
        other = page.context.new_page()
        other.bring_to_front()
        page.wait_for_timeout(600)
        page.bring_to_front()
        wait_for_focus(page)
        other.close()
    on_with()
    page.wait_for_url("**/page/2")
    # On the second a word of the query is copied; on the third, it is pasted. Words of other
    # places count for nothing.
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("h1").evaluate("one => getSelection().selectAllChildren(one)")
    page.keyboard.press("Control+c")
    page.locator(".query blockquote").evaluate("one => getSelection().selectAllChildren(one)")
    page.keyboard.press("Control+c")
    on_with()
    page.wait_for_url("**/page/3")
    page.get_by_label("Why?").click()
    page.keyboard.press("Control+v")
    on_with()
    page.wait_for_url("**/page/4")
    # A program reads the source, and does what it says.
    trap.evaluate("one => { one.value = one.parentElement.textContent.match(/write (\\w+)/)[1] }")
    on_with()
    page.wait_for_url("**/done")
    pages = "SELECT honeypot, left > 0, copied + pasted > 0, away FROM answer WHERE "
    found = server.rows(pages + "participant = (SELECT participant FROM answer WHERE honeypot)")
    trapped, left, copied, away = map(sum, zip(*found, strict=True))
    assert (len(found), trapped, left, copied) == (4, 1, 1, 2)
    assert 1.2 <= away < 20


def test_keys_can_be_switched_off(visit: Visit) -> None:
    page = visit()
    begin(page)
    safe = page.locator("[name=verdict][value=safe]")
    page.get_by_label("Why?").press("s")
    expect(safe).not_to_be_checked()
    page.click("text=Keyboard shortcuts")
    page.get_by_label("Use these keys").uncheck()
    page.locator("main").press("s")
    expect(safe).not_to_be_checked()
    expect(page.locator(".choice kbd:visible")).to_have_count(0)
    page.reload()
    page.locator("main").press("s")
    expect(safe).not_to_be_checked()
    page.click("text=Keyboard shortcuts")
    page.get_by_label("Use these keys").check()
    page.locator("main").press("s")
    expect(safe).to_be_checked()


def test_the_button_waits_and_an_outage_keeps_the_choice(visit: Visit) -> None:
    page = visit(clock=True)
    # Routed before the page is there: what is routed later may come too late for its request.
    page.route(
        "**/page/1",
        lambda route: route.abort() if route.request.method == "POST" else route.fallback(),
    )
    begin(page)
    page.keyboard.press("s")
    may_send(page)
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("does not answer")
    expect(page.locator("[name=verdict][value=safe]")).to_be_checked()
    page.unroute("**/page/1")
    # No time passes on the new page, however busy the machine is: it waits again.
    page.clock.pause_at(page.evaluate("Date.now() + 1000"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/page/2")
    # The browser tells a moment later that the whole case was on the screen.
    expect(page.locator("#unread")).to_be_hidden()
    page.keyboard.press("u")
    page.keyboard.press("Enter")
    expect(page.locator("#waiting")).to_contain_text("read first")
    page.wait_for_url("**/page/2")
    page.clock.resume()
    page.go_back()
    expect(page.locator("h1")).to_have_text("This page is answered")
    page.click("text=Go on with the next case")
    page.wait_for_url("**/page/2")


def test_axe_finds_nothing_serious_and_nothing_sticks_out(visit: Visit, server: Serving) -> None:
    link = "/?participant=account"
    page = visit(link)

    def look(page: Page = page) -> None:
        assert overflowing(page, but=".skip, .quiet, .wide") == [], page.url
        assert grave(page) == [], page.url

    look()
    page.get_by_label("at least 18").check()
    page.click("text=Agree and go on")
    expect(page.locator(".problem")).to_be_focused()
    look()
    page.get_by_label("at least 18").check()
    page.get_by_label("I have read").check()
    page.click("text=Agree and go on")
    page.wait_for_url("**/tutorial")
    look()
    page.click("text=Go on to the questions")
    page.get_by_label("people").check()
    page.click("text=Send the answers")
    expect(page.get_by_role("alert")).to_contain_text("Not all answers are right yet")
    expect(page.get_by_role("alert")).to_be_focused()
    look()
    page.get_by_label("answers").check()
    page.click("text=Send the answers")
    for number in range(1, 5):
        page.wait_for_url(f"**/page/{number}")
        page.locator(".choice.safe").click()
        if number < 3:
            page.click("text=Keyboard shortcuts")
            page.click("text=Pause and come back later")
            look()
        may_send(page)
        page.click("text=Next")
    page.wait_for_url("**/done")
    look()
    # Hostile text did nothing in any of the pages.
    assert page.evaluate("typeof window.harmed") == "undefined"
    code = page.locator("#personal-code").inner_text()
    other = visit(link)
    expect(other.locator("h1")).to_have_text("This id is in use")
    look(other)
    other.get_by_label("Personal code").fill("0000")
    other.get_by_role("button", name="Go on").click()
    expect(other.locator(".problem")).to_contain_text("not your personal code")
    look(other)
    other.get_by_label("Personal code").fill(code.lower())
    other.get_by_role("button", name="Go on").click()
    other.wait_for_url("**/done")
    page.goto(f"{server.origin}/?participant=%7B%7B%25ID%25%7D%7D")
    expect(page.locator("code").first).to_have_text("{{%ID%}}")
    look()
    for where in ("/withdraw", "/none", "/admin", f"/admin/enter/{ADMIN}"):
        page.goto(f"{server.origin}{where}")
        if page.url.endswith("/admin") and "enter" in where:
            page.click("text=Every person")
        look()
