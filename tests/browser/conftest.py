"""A real headless Chromium, pages in it that are off the network, and a sheet of replies."""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import cli_in
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


QUERY = "How is a fence mended?"
HOSTILE = '=1+1 </script><b>bold</b> "quoted", \u2028 {{ data }}'
REPLIES = (HOSTILE, "Second\nline", "Third " * 400)
MODEL = "secret/model"


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """A sheet with these replies, the first after an earlier turn."""
    asked = {"role": "user", "content": QUERY}
    earlier = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
    lines = []
    for number, reply in enumerate(REPLIES):
        messages = [*(() if number else earlier), asked, {"role": "assistant", "content": reply}]
        lines.append({"messages": messages, "case_id": f"c{min(number, 1)}", "model": MODEL})
    cases = [
        {"id": f"c{n}", "query": QUERY, "intended": "safe", "history": history}
        for n, history in enumerate((earlier, []))
    ]
    for name, records in (("cases", cases), ("replies", lines)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)), "utf-8")
    cli, out = cli_in(tmp_path), "to label.csv"
    for command in (
        ("grade", "replies.jsonl", "--cases", "cases.jsonl", "--reveal", "--out", "t.parquet"),
        ("graders", "sample", "t.parquet", "--n", "3", "--out", out),
    ):
        cli.ok(*command)
    return tmp_path / out


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of a sheet, each reply as it was given."""
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    for row in rows:
        row["reply"] = row["reply"].removeprefix("'")
    return rows
