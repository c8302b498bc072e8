"""Photograph a report of the starter cases, and a study about them.

In Debian's Chromium.

make images
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, count
from pathlib import Path

import numpy as np
import yaml
from make_gallery import judgements
from playwright.sync_api import Browser, Page, sync_playwright

from casewise.cases import STARTER, dataset_hash, open_cases, write_cases
from casewise.judgements import Judgements, make_table
from casewise.measures import Scoring
from casewise.reporting.page.page import report_page
from casewise.results import Overview, make_overview
from casewise_study.store.study_store import Store, Visitor
from casewise_study.study.accounts import load_secrets
from casewise_study.study.schema import Arm, Ask, Consent, Design, Study, StudyCell, Timing
from casewise_study.study.study_file import by_arm, load_study

IMAGES = Path(__file__).resolve().parent / "images"
MOST_BYTES = 150_000

MODELS = {
    "scripted/attentive": (0.5, 0.22),
    "scripted/cautious": (0.33, 0.22),
    "scripted/lenient": (0.7, 0.22),
    "scripted/keyword": (0.5, 0.02),
}
"""The probability of safe on average, and how far it moves with the context."""

SIZES = ((400, 900, 1.0), (1280, 960, 0.7))
"""Width and height of the window, and how much smaller the image is."""


def overview() -> Overview:
    """The starter cases with all that the scripted models say of them."""
    cases = list(open_cases(STARTER).cases)
    table = make_table(judgements(cases, MODELS))
    return make_overview({"": Judgements(table, ())}, Scoring(), cases=cases)


def photograph(browser: Browser, html: Path, folder: Path) -> Iterator[Path]:
    """The first screen, and an open pair, in both sizes, light and dark."""
    for width, height, scale in SIZES:
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": height},
                device_scale_factor=scale,
                color_scheme="dark" if scheme == "dark" else "light",
                reduced_motion="reduce",
                offline=True,
            )
            page = context.new_page()
            page.goto(html.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            name = folder / f"report-{width}-{scheme}.png"
            page.screenshot(path=name)
            yield name
            page.click("#texts")
            page.click("#rows li:first-child button")
            name = folder / f"report-pair-{width}-{scheme}.png"
            page.screenshot(path=name)
            yield name
            context.close()


def write_study(folder: Path) -> Path:
    """A study of eight starter cases, of which scripted people have judged a part."""
    made = open_cases(STARTER)
    write_cases(made.cases, folder / "cases.jsonl")
    kinds = (Arm.SAFE, Arm.UNSAFE)
    found = [key for key in by_arm(made.cases) if key[0] in kinds]
    cells = [StudyCell(*key) for key in found[:16]]
    blocks = [tuple(range(side, 16, 2)) for side in (0, 1)] * 6
    study = Study(
        id="starter",
        title="When may a chatbot answer?",
        cases="cases.jsonl",
        cases_hash=dataset_hash(made.cases),
        arms=kinds,
        votes=6,
        ask=Ask(confidence=True),
        timing=Timing(least_seconds=0),
        consent=Consent(
            text="We ask how people judge what chatbots are asked.",
            warning="Some queries touch on crime and may distress.",
            contact="study@example.org",
        ),
        instructions="Read the query and its context, then judge.",
        design=Design(cells=tuple(cells), blocks=tuple(blocks)),
    )
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(study.model_dump(mode="json"), sort_keys=False), "utf-8")
    loaded = load_study(path)
    random = np.random.default_rng(0)
    address, keys = f"sqlite:///{folder / 'study.db'}", load_secrets(folder / "study.secrets.json")
    ticks = count()

    def clock() -> datetime:
        return datetime.now(UTC) - timedelta(seconds=1800 - next(ticks) * 5)

    with Store(loaded, address, keys, clock=clock) as store:
        for number, pages in enumerate((8, 8, 8, 8, 8, 8, 8, 5, 3, 0)):
            key = f"person-{number}"
            store.enter(Visitor(key))
            for attempt in (1, 2):
                store.answer_comprehension(key, attempt, passed=number != 9)
            for position in range(pages):
                odds = 0.85 if number % 2 == 0 else 0.25
                store.answer(key, position, "safe" if random.random() < odds else "unsafe")
    return path


def photograph_study(browser: Browser, scratch: Path, folder: Path) -> Iterator[Path]:
    """A case as people judge it, wide and light, narrow and dark; the administrator's page."""
    place = scratch / "study"
    place.mkdir()
    path = write_study(place)
    command = [sys.executable, "-m", "casewise", "annotate", "serve", path.name, "--port", "0"]
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        study, admin = (server.stdout.readline().split()[1] for _ in range(2))

        def case(page: Page) -> None:
            page.goto(study)
            for box in page.get_by_role("checkbox").all():
                box.check()
            page.click("text=Agree and go on")
            page.click("text=Start")
            page.keyboard.press("s")
            page.evaluate("scrollTo(0, 0)")

        shots = (("case", case), ("admin", lambda page: page.goto(admin)))
        for (width, height, scale), scheme in zip(SIZES, ("dark", "light"), strict=True):
            for what, show in shots:
                context = browser.new_context(
                    viewport={"width": width, "height": min(height, 800)},
                    device_scale_factor=scale,
                    color_scheme="dark" if scheme == "dark" else "light",
                )
                page = context.new_page()
                show(page)
                name = folder / f"annotate-{what}-{width}-{scheme}.png"
                page.screenshot(path=name)
                yield name
                context.close()
        server.terminate()


def main() -> None:
    """Write the images, and stop at one that is too large."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGES)
    folder = parser.parse_args().out
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed (Debian: apt-get install chromium)")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        html = Path(scratch) / "report.html"
        page = report_page(overview(), title="Four scripted judges, the starter cases", reveal=True)
        html.write_text(page, "utf-8")
        arguments = ["--no-sandbox", "--disable-lcd-text"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        images = (
            photograph(browser, html, folder),
            photograph_study(browser, Path(scratch), folder),
        )
        for image in chain(*images):
            size = image.stat().st_size
            print(f"{image}: {size:,} bytes")
            if size > MOST_BYTES:
                sys.exit(f"{image} is larger than {MOST_BYTES:,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
