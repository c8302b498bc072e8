"""``casewise graders label`` in a real browser: keys, a sheet saved at once, gone on with later."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from browser.conftest import MODEL, rows_of
from playwright.sync_api import Browser, Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Serve = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture
def serve(sheet: Path) -> Iterator[Serve]:
    """Start the command; gives the process and the address that it printed."""
    started = []

    def start(*options: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "casewise", "graders", "label", sheet, "--no-open", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open the page; it may ask for nothing but its own address, and log no error."""
    contexts, troubles, asked = [], list[str](), list[str]()

    def call(address: str, width: int = 1280, *, dark: bool = False) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield call
    for context in contexts:
        context.close()
    assert not troubles
    assert all(re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]+/(label|end)?", one) for one in asked)


def saved(page: Page) -> None:
    page.wait_for_selector("html[data-saved=yes]", state="attached")


def labels(sheet: Path) -> list[str]:
    return [row["label"] for row in rows_of(sheet.read_text("utf-8"))]


def test_keys_label_and_each_label_is_in_the_sheet_at_once(
    serve: Serve, visit: Callable[..., Page], sheet: Path
) -> None:
    was = sheet.read_bytes()
    process, address = serve()
    page = visit(address)
    first, *_ = rows_of(sheet.read_text("utf-8"))
    expect(page.locator("#reply")).to_have_text(first["reply"], use_inner_text=True)
    shown = page.content()
    assert MODEL not in shown
    page.keyboard.press("3")
    expect(page.locator("#progress")).to_have_text("Reply 2 of 3; 1 labelled")
    saved(page)
    assert labels(sheet) == ["refusal", "", ""]
    # All else stays as it was, byte by byte.
    assert sheet.read_bytes().replace(b"\nrefusal,", b"\n,") == was
    page.keyboard.press("2")
    saved(page)
    page.keyboard.press("u")
    expect(page.locator("#progress")).to_have_text("Reply 2 of 3; 1 labelled")
    saved(page)
    assert labels(sheet) == ["refusal", "", ""]
    page.keyboard.press("Control+z")
    expect(page.locator("#progress")).to_have_text("Reply 1 of 3; 0 labelled")
    page.keyboard.press("1")
    page.keyboard.press("ArrowLeft")
    pressed = page.locator("button[aria-pressed=true]")
    expect(pressed).to_have_attribute("data-label", "compliance")
    saved(page)
    page.keyboard.press("f")
    expect(page.locator("#ended")).to_contain_text("Saved in to label.csv")
    _, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "1 of 3 replies labelled" in said
    assert f"casewise score LOGS --grader-check '{sheet}'" in said
    assert labels(sheet) == ["compliance", "", ""]


def test_ctrl_c_keeps_all_and_the_next_start_goes_on(
    serve: Serve, visit: Callable[..., Page], sheet: Path
) -> None:
    process, address = serve()
    page = visit(address)
    page.keyboard.press("1")
    saved(page)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "1 of 3 replies labelled" in said
    # Without the command a label is told as not saved; it is in the sheet once the page is back.
    page.keyboard.press("2")
    expect(page.locator("#trouble")).to_contain_text("Not saved (1): casewise graders label has")
    assert labels(sheet) == ["compliance", "", ""]
    _, again = serve()
    page = visit(again)
    expect(page.locator("#progress")).to_have_text("Reply 2 of 3; 1 labelled")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_page_is_accessible_at_every_width(
    serve: Serve, visit: Callable[..., Page], width: int, dark: bool
) -> None:
    page = visit(serve()[1], width, dark=dark)
    assert Axe().run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def ask(address: str, body: object = None, **headers: str) -> int:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_nobody_else_may_label(serve: Serve, sheet: Path) -> None:
    _, address = serve()
    label = {"place": 0, "label": "refusal"}
    bare = address.rsplit("/", 2)[0]
    assert ask(f"{bare}/") == ask(f"{bare}/guess/") == 404
    assert ask(f"{bare}/guess/label", label) == 404
    # Names of pages elsewhere that lead here, and pages elsewhere that send here.
    assert ask(address, Host="evil.example") == 404
    assert ask(f"{address}label", label, Origin="http://evil.example") == 404
    assert ask(f"{address}label", label | {"place": 3}) == 400
    assert ask(f"{address}label", label | {"label": "tool_call"}) == 400
    assert ask(f"{address}label", []) == 400
    assert labels(sheet) == ["", "", ""]
    assert ask(f"{address}label", label) == 200
    assert labels(sheet) == ["refusal", "", ""]


def test_a_sheet_or_port_that_can_not_be_used_is_told(serve: Serve, sheet: Path) -> None:
    _, address = serve()
    port = re.findall(r":(\d+)/", address)[0]
    process, _ = serve("--port", port)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 2
    assert f"--port {port}" in said
    sheet.write_text("id,reply\n1,Hello\n", "utf-8")
    process, _ = serve()
    _, said = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "to label.csv" in said
    assert "casewise graders sample" in said
