"""Revising in a real browser: two at one pair, drafts, votes, hostile text, keys, small windows."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.pairs import HOSTILE, a_case, a_pair, every_kind, write
from support.revising import Revising
from support.seen import grave, overflowing

from casewise.cases import Case, load_cases, to_line
from casewise_study.revision.revised_file import read_history

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Visit = Callable[..., Page]

PAIRS = (
    "both",
    "draft",
    "voted",
    "keys",
    HOSTILE,
    "values",
    "Every kind?",
    "looks " + "longwithoutabreak" * 20,
    "rename",
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cases: list[Case] = []
    for query in PAIRS:
        if query == "Every kind?":
            cases += every_kind()
        elif query == "voted":
            cases += a_pair(query, votes=(12, 8))
        else:
            cases += a_pair(query)
    place = next(at for at, case in enumerate(cases) if case.query == HOSTILE)
    cases[place] = a_case(
        HOSTILE,
        id=HOSTILE,
        category=HOSTILE,
        tags=[HOSTILE],
        context={"sender": {HOSTILE: HOSTILE, "nested": {HOSTILE: [HOSTILE]}}},
    )
    return write(tmp_path_factory.mktemp("revise") / "cases.jsonl", cases)


@pytest.fixture(scope="module")
def server(chromium: Browser, path: Path) -> Iterator[Revising]:
    with Revising(path) as one:
        yield one


@pytest.fixture
def visit(chromium: Browser, server: Revising) -> Iterator[Visit]:
    """Open a pair in a browser of its own (or the page of another), let in as a person is."""
    contexts, troubles, elsewhere = [], list[str](), list[str]()
    keys = {query: row["key"] for query, row in zip(PAIRS, server.pairs(), strict=True)}

    def call(
        where: str, width: int = 1280, *, dark: bool = False, beside: Page | None = None
    ) -> Page:
        if beside is None:
            context = chromium.new_context(
                viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
            )
            contexts.append(context)
            name, value = server.cookie.split("=")
            if where:
                context.add_cookies([{"name": name, "value": value, "url": server.origin}])
        else:
            context = beside.context
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())
        page.on("request", lambda one: elsewhere.extend([one.url] * (server.origin not in one.url)))
        if not where:
            page.goto(server.url)
        elif where in PAIRS:
            page.goto(f"{server.origin}/pairs/{keys[where]}")
        else:
            page.goto(f"{server.origin}{where}")
        ready(page)
        return page

    yield call
    for context in contexts:
        context.close()
    assert not troubles
    assert not elsewhere


def ready(page: Page) -> None:
    page.wait_for_selector("html[data-ready]", state="attached")


def field(page: Page, label: str) -> str:
    return page.get_by_label(label, exact=True).input_value()


def write_in(page: Page, label: str, text: str) -> None:
    page.get_by_label(label, exact=True).fill(text)


def save(page: Page, reason: str = "clearer") -> None:
    page.fill("#reason", reason)
    page.click("#save")


def said(page: Page, text: str) -> None:
    expect(page.locator("#said")).to_have_text(text)


def stored(path: Path, query: str) -> list[Case]:
    return [case for case in load_cases(path).cases if case.query == query]


def test_two_browsers_at_one_pair_lose_nothing(visit: Visit, path: Path) -> None:
    first, second = visit("both"), visit("both")
    write_in(first, "Type, safe", "a nurse")
    write_in(first, "Urgency, safe", "high")
    save(first, "first reason")
    said(first, "Saved.")
    write_in(second, "Type, safe", "a doctor")
    write_in(second, "Background, unsafe", "asks at night")
    save(second, "second reason")
    # The second is told, sees both texts, and has the draft as it was.
    expect(second.locator("#conflict-title")).to_be_focused()
    shown = second.locator("#conflict").inner_text()
    assert "saved by somebody else" in shown
    assert "first reason" in shown
    assert {"a doctor", "a nurse"} <= set(shown.split("\n"))
    assert field(second, "Type, safe") == "a doctor"
    expect(second.locator("#reason")).to_have_value("second reason")
    expect(second.locator("#save")).to_be_disabled()
    assert grave(second) == []
    # Also after a reload.
    second.reload()
    ready(second)
    expect(second.locator("#conflict")).to_contain_text("a nurse", use_inner_text=True)
    expect(second.locator("#reason")).to_have_value("second reason")
    second.click("text=Redo my changes on top of theirs")
    expect(second.locator("#conflict")).to_contain_text(
        "Fields that both of you changed", use_inner_text=True
    )
    expect(second.locator("#conflict .change")).to_have_count(1)
    assert field(second, "Urgency, safe") == "high"
    assert field(second, "Type, safe") == "a doctor"
    second.click("#save")
    said(second, "Saved.")
    expect(second.locator("#conflict").first).to_be_hidden()
    safe, unsafe = (case.context.root for case in stored(path, "both") if case.context)
    assert safe["recipient"]["type"] == "a doctor"  # type: ignore[index, call-overload]
    assert safe["transmission_principle"]["urgency"] == "high"  # type: ignore[index, call-overload]
    assert unsafe["recipient"]["background"] == "asks at night"  # type: ignore[index, call-overload]
    assert [one.reason for one in read_history(path)][-2:] == ["first reason", "second reason"]
    # Deciding about a text that is not that any more is refused too.
    first.click("#accept")
    expect(first.locator("#problem")).to_contain_text("Somebody revised this pair")
    assert field(first, "Type, safe") == "a doctor"
    first.click("#accept")
    said(first, "Accepted.")


def test_theirs_can_be_taken(visit: Visit) -> None:
    first, second = visit("rename"), visit("rename")
    write_in(first, "Query, of all cases", "renamed")
    save(first)
    said(first, "Saved.")
    write_in(second, "Query, of all cases", "called otherwise")
    save(second)
    second.click("text=Redo my changes on top of theirs")
    expect(second.locator("#conflict .change")).to_have_count(1)
    second.get_by_role("button", name="Take theirs").click()
    assert field(second, "Query, of all cases") == "renamed"
    expect(second.locator("#save")).to_be_disabled()
    assert second.url == first.url
    second.reload()
    ready(second)
    assert field(second, "Query, of all cases") == "renamed"


def test_a_draft_survives_a_reload_and_a_stop(visit: Visit, server: Revising, path: Path) -> None:
    page = visit("draft")
    write_in(page, "Background, safe", "drafted \u2028 text")
    page.fill("#reason", "half a reason")
    said(page, "Unsaved changes, kept as a draft in this browser.")
    page.reload()
    ready(page)
    assert field(page, "Background, safe") == "drafted \u2028 text"
    expect(page.locator("#reason")).to_have_value("half a reason")
    expect(page.locator("#restored").first).to_have_text(
        "Your draft is back: 1 field not saved yet.", use_inner_text=True
    )
    expect(page.locator("#accept")).to_be_disabled()
    page.click("#next")
    page.wait_for_selector("h1:has-text('Pair 3')")
    ready(page)
    listed = visit("/pairs", beside=page)
    expect(listed.locator("#rows li:nth-child(2) .draft")).to_have_count(1)
    expect(listed.locator(".draft")).to_have_count(1)
    page.go_back()
    page.wait_for_selector("h1:has-text('Pair 2')")
    ready(page)
    # A server that does not answer loses nothing.
    page.route("**/api/**", lambda route: route.abort())
    page.click("#save")
    expect(page.locator("#problem")).to_contain_text("does not answer")
    page.unroute("**/api/**")
    page.click("#save")
    said(page, "Saved.")
    assert "drafted \\u2028 text" in ascii(to_line(stored(path, "draft")[0]))
    assert page.evaluate("Object.keys(localStorage).filter((one) => one.includes('draft'))") == []
    write_in(page, "Background, safe", "to be dropped")
    page.click("#discard")
    said(page, "Discarded.")
    assert field(page, "Background, safe") == "drafted \u2028 text"


def test_votes_forbid_an_edit_until_a_new_version_is_opened(visit: Visit, path: Path) -> None:
    page = visit("voted")
    area = page.get_by_label("Type, safe", exact=True)
    assert area.get_attribute("readonly") is not None
    assert page.get_by_label("Query, of all cases").get_attribute("readonly") is not None
    expect(page.locator(".head.safe")).to_contain_text("12 safe, 8 unsafe", use_inner_text=True)
    expect(page.locator(".head.safe")).to_contain_text(
        "People voted on this text", use_inner_text=True
    )
    page.get_by_label("Open a new version of the safe case").click()
    assert grave(page) == []
    page.click("#open-version button.main")
    expect(page.locator("#open-version-problem")).to_have_text(
        "say why: a new version needs a reason"
    )
    page.fill("#open-version-reason", "the platform was wrong")
    page.keyboard.press("Enter")
    expect(page.locator(".head.safe")).to_contain_text("version 2, replaces")
    expect(page.locator(".head.safe")).not_to_contain_text("Votes", use_inner_text=True)
    assert page.get_by_label("Type, unsafe", exact=True).get_attribute("readonly") is not None
    write_in(page, "Type, safe", "a nurse")
    save(page)
    said(page, "Saved.")
    page.click("#revisions > li:first-child summary")
    expect(page.locator("#revisions > li:first-child")).to_contain_text(
        "a nurse", use_inner_text=True
    )
    safe, unsafe = stored(path, "voted")
    assert (safe.version, safe.votes) == (2, None)
    assert unsafe.votes_safe == 12


def test_hostile_text_does_nothing(visit: Visit, path: Path) -> None:
    page = visit("/pairs")
    page.fill("[name=words]", "onerror=")
    expect(page.locator("#rows li")).to_have_count(1)
    assert page.url == f"{page.url.split('/pairs')[0]}/pairs"
    page.click("#rows a")
    page.wait_for_selector("#editor:not([hidden])")
    assert field(page, "Query, of all cases") == HOSTILE
    write_in(page, f"{HOSTILE}, safe", f"{HOSTILE} again")
    save(page, HOSTILE)
    said(page, "Saved.")
    page.click("#revisions summary")
    expect(page.locator("#revisions .why").first).to_have_text(HOSTILE, use_inner_text=True)
    assert page.evaluate("typeof window.harmed") == "undefined"
    expect(page.locator("img, iframe, object")).to_have_count(0)
    context = stored(path, HOSTILE)[0].context
    assert context is not None
    assert context.root["sender"][HOSTILE] == f"{HOSTILE} again"  # type: ignore[index, call-overload]
    # Later, because what the browser's driver calls itself is let through.
    barred = page.evaluate(
        """() => new Promise((done) => setTimeout(() => {
        try { new Function("return 1")(); done("ran"); } catch { done("barred"); } }))"""
    )
    assert barred == "barred"


def test_values_keep_their_kinds_and_parameters_come_and_go(visit: Visit, path: Path) -> None:
    page = visit("Every kind?")
    before = stored(path, "Every kind?")[0].context
    page.get_by_label("Open to all, safe").select_option("no")
    write_in(page, "Years, safe (a number)", "four")
    assert page.get_by_label("Years, safe (a number)").get_attribute("aria-invalid") == "true"
    save(page)
    expect(page.locator("#problem")).to_have_text("years: not a number, such as 3 or 0.5")
    write_in(page, "Years, safe (a number)", "4.0")
    page.get_by_label("Add an item to Topics, safe").click()
    write_in(page, "Topics, safe, item 5", "cables")
    page.get_by_label("Remove item 1 of Topics, safe").click()
    page.get_by_label("Remove Platform type from the safe case").click()
    expect(page.get_by_label("Add Platform type to the safe case")).to_be_focused()
    page.get_by_label("Add a parameter to Rules").click()
    page.fill("#add-name", "kept")
    page.click("#add button.main")
    expect(page.locator("#add-problem")).to_have_text("The safe case has it already.")
    page.fill("#add-name", "who watches")
    page.get_by_role("checkbox", name="the unsafe case").uncheck()
    page.click("#add button.main")
    write_in(page, "Who watches, safe", "a mentor")
    save(page)
    said(page, "Saved.")
    after = stored(path, "Every kind?")[0].context
    assert before is not None
    assert after is not None
    root = before.root
    expected = {name: value for name, value in root["sender"].items() if name != "platform_type"}  # type: ignore[union-attr]
    expected |= {"open_to_all": False, "years": 4.0, "topics": ["tools", 2, False, "cables"]}
    expected["rules"] = {"kept": "yes", "deep": {"er": "down"}, "who_watches": "a mentor"}
    assert repr(after.root) == repr(root | {"sender": expected})


def test_keys_and_filters(visit: Visit, path: Path) -> None:
    page = visit("keys")
    page.keyboard.press("?")
    expect(page.locator("#help").first).to_be_visible()
    assert grave(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("r")
    expect(page.locator("#problem")).to_have_text("A rejection needs a reason.")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("a rank reason, narrated")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    said(page, "Rejected.")
    write_in(page, "Category, of all cases", "else")
    page.keyboard.press("a")
    assert field(page, "Category, of all cases") == "elsea"
    page.keyboard.press("Backspace")
    page.fill("#reason", "now it fits")
    page.keyboard.press("Control+s")
    said(page, "Saved.")
    expect(page.locator("#status")).to_have_text("undecided")
    page.keyboard.press("a")
    said(page, "Accepted.")
    page.keyboard.press("n")
    page.wait_for_selector("h1:has-text('Pair 5')")
    ready(page)
    page.keyboard.press("p")
    page.wait_for_selector("h1:has-text('Pair 4')")
    page.click("text=All pairs")
    page.wait_for_selector("#rows li")
    ready(page)
    page.select_option("[name=status]", "accepted")
    numbers = page.locator("#rows .number").all_inner_texts()
    assert "4" in numbers
    assert (
        page.inner_text("#matches")
        == f"{len(numbers)} pair{'s' * (len(numbers) > 1)} of {len(PAIRS)}"
    )
    assert [case.category for case in stored(path, "keys")] == ["else", "else"]


def test_differing_words_are_marked_while_one_writes(visit: Visit) -> None:
    page = visit("values")
    row = page.locator(".parameter").filter(has=page.get_by_label("Background, safe"))
    marks = [text.strip() for text in row.locator("mark").all_inner_texts()]
    assert marks == ["school", "game's forum"]
    expect(row.locator("h3")).to_contain_text("differs", use_inner_text=True)
    write_in(page, "Background, unsafe", field(page, "Background, safe"))
    expect(row.locator("mark")).to_have_count(0)
    expect(row.locator("h3")).not_to_contain_text("differs", use_inner_text=True)


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1280, True)])
def test_axe_finds_nothing_serious_and_nothing_sticks_out(
    visit: Visit, server: Revising, width: int, dark: bool
) -> None:
    page = visit("", width, dark=dark)
    rows = server.pairs()
    for where in ("/pairs", *((PAIRS[7], HOSTILE) if width == 400 else ("Every kind?", "voted"))):
        at = f"/pairs/{rows[PAIRS.index(where)]['key']}" if where in PAIRS else where
        page.goto(f"{server.origin}{at}")
        ready(page)
        assert overflowing(page, but=".skip, dialog:not([open])") == [], where
        if where != HOSTILE:
            assert grave(page) == [], where
