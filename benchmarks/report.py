"""Time, peak memory and size of ``casewise report`` on as many outputs as were published.

    python benchmarks/report.py                          # 43 files, as upstream's exp has
    python benchmarks/report.py --write                  # and put it into docs/how-to/report.md
    python benchmarks/report.py --files 8 --reveal

The published outputs at hand are copied under other models' names until there are so many; one
process reads them and writes the page. CASE-Bench's files are looked for in
``../shared/data/casebench`` or ``$CASEWISE_CASEBENCH``.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("CASEWISE_CASEBENCH", ROOT.parent / "shared/data/casebench"))
OF_CASES = {"scores", "query", "context", "context_intended_to_be_safe", "safe_rate", "category"}
LIMIT_S, LIMIT_GB, LIMIT_MB, LIMIT_FILTER_S = 25, 0.5, 3.5, 0.5
DOCUMENT = ROOT / "docs/how-to/report.md"
BEGIN, END = "<!-- report -->", "<!-- end of report -->"

FIRST_FILTER = """() => {
    const start = performance.now();
    document.querySelector("[name=view][value=answers]").click();
    document.body.offsetHeight;
    return performance.now() - start; }"""


def copy_outputs(folder: Path, count: int) -> float:
    """Copies of the published outputs, each round of them by other models; their size in MB."""
    sources = sorted((DATA / "exp").glob("*/*.json"))
    if not sources:
        sys.exit(f"CASE-Bench's outputs are not at {DATA}/exp (set CASEWISE_CASEBENCH)")
    size = 0
    for place, source in enumerate(islice(cycle(sources), count)):
        mark = f"-{place // len(sources)}" if place >= len(sources) else ""
        records = json.loads(source.read_bytes())
        renamed = [
            {key if key in OF_CASES else f"{key}{mark}": value for key, value in one.items()}
            for one in records
        ]
        path = folder / f"{source.parent.name}{mark}" / source.name
        path.parent.mkdir(exist_ok=True)
        size += path.write_bytes(json.dumps(renamed).encode())
    return size / 1e6


def first_filter(page: Path) -> float:
    """Seconds from the click on a view to its laid-out list, in Debian's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.goto(page.as_uri())
        opened.wait_for_selector("html[data-ready]", state="attached")
        spent = float(opened.evaluate(FIRST_FILTER))
        browser.close()
    return spent / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=43)
    parser.add_argument("--reveal", action="store_true")
    parser.add_argument("--write", action="store_true", help="put it into docs/how-to/report.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, page = Path(name) / "exp", Path(name) / "report.html"
        folder.mkdir()
        read = copy_outputs(folder, options.files)
        command = [sys.executable, "-m", "casewise", "report", str(folder), "--out", str(page)]
        command += ["--reveal"] if options.reveal else []
        started = time.perf_counter()
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if status:
            sys.exit("casewise report failed")
        made = page.stat().st_size / 1e6
        spent = first_filter(page)
    unit = 1e9 if sys.platform == "darwin" else 1e6
    figures = (
        ("seconds of computing", f"{usage.ru_utime + usage.ru_stime:.1f}", f"{LIMIT_S}"),
        ("peak memory", f"{usage.ru_maxrss / unit:.2f} GB", f"{LIMIT_GB} GB"),
        ("the page", f"{made:.1f} MB", f"{LIMIT_MB} MB"),
        ("the first filter", f"{spent:.2f} s", f"{LIMIT_FILTER_S} s"),
    )
    rows = ["| | measured | bound |", "|---|---:|---:|"]
    rows += [f"| {' | '.join(one)} |" for one in figures]
    print(f"{options.files} files, {read:.0f} MB read: {seconds:.1f} s", *rows, sep="\n")
    if options.write:
        text = DOCUMENT.read_text("utf-8")
        head, rest = text.split(BEGIN)
        table = "\n".join([BEGIN, "", *rows, "", END])
        DOCUMENT.write_text(head + table + rest.split(END)[1], "utf-8")


if __name__ == "__main__":
    main()
