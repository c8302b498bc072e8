"""Logs in the page of ``inspect view``: the list of a log's samples, and one of them."""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from conftest import clean_env
from inspect_ai.log import EvalLog, read_eval_log
from playwright.sync_api import Browser, Page, expect
from support.inspected import CASES, EPOCHS
from support.starts import free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def address(every_protocol: Path) -> Iterator[str]:
    """Where ``inspect view`` shows the logs."""
    port = free_port()
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--host", "127.0.0.1"]
    with subprocess.Popen(
        [*command, "--port", str(port), "--log-dir", str(every_protocol)],
        env=clean_env(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait(address: str) -> None:
    latest = time.monotonic() + 120
    while True:
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            assert time.monotonic() < latest, "inspect view does not answer"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def logs(every_protocol: Path) -> dict[Path, EvalLog]:
    """All logs, read before the browser's event loop runs: within one, Inspect patches asyncio, for
    good and for all tests that follow.
    """
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    return {path: read_eval_log(str(path)) for path in every_protocol.glob("*.eval")}


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Page]:
    """The viewer at its start; its scripts may not fail."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    yield page
    context.close()
    assert not troubles


@pytest.mark.parametrize("task", ["judge", "respond"])
def test_samples_of_a_log_and_one_of_them(
    logs: dict[Path, EvalLog], page: Page, address: str, task: str
) -> None:
    found = ((path, log) for path, log in logs.items() if f"_{task}_" in path.name)
    # A first token's answer has no text.
    path, log = next(one for one in found if (one[1].samples or [])[0].messages[-1].text)
    sample = (log.samples or [])[0]
    page.goto(f"{address}/#/logs/{path.name}")
    expect(page.get_by_text(str(log.eval.model)).first).to_be_visible(timeout=PATIENCE_MS)
    rows = page.get_by_text(re.compile("^(safe|unsafe)$"))
    expect(rows.first).to_be_visible(timeout=PATIENCE_MS)
    assert rows.count() >= CASES * EPOCHS
    page.goto(f"{address}/#/logs/{path.name}/samples/sample/{sample.id}/{sample.epoch}/messages")
    for message in sample.messages:
        role = page.get_by_text(re.compile(f"^{message.role}$", re.IGNORECASE))
        expect(role.first).to_be_visible(timeout=PATIENCE_MS)
    said = sample.messages[-1].text.split("\n")[0][:30]
    expect(page.get_by_text(said).last).to_be_visible(timeout=PATIENCE_MS)
