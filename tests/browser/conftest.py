"""A real headless Chromium, and pages in it that are off the network."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

Open = Callable[..., Page]

CHROMIUM = shutil.which("chromium")

# A busy machine is slow: what is waited for comes, or the test fails.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium. By module: while it runs, no other event loop can in this thread."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open HTML from disk, with the network off; no page may ask for anything or log an error."""
    contexts, troubles, requests = [], list[str](), list[str]()
    file = tmp_path / "report.html"

    def call(html: str, width: int = 1280, *, dark: bool = False, link: str = "") -> Page:
        file.write_text(html, "utf-8")
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            offline=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.extend([said.text] * (said.type == "error")))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{file.as_uri()}{link}")
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield call
    for context in contexts:
        context.close()
    assert not troubles
    assert {url.split("#")[0] for url in requests} <= {file.as_uri()}
