"""The report's HTML without a browser: what is in it, what is kept out, how large it is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from support.reported import (
    HOSTILE,
    SECTIONS,
    Parsed,
    case_of,
    hostile,
    models,
    overview_of,
    two_models,
)
from support.tables import judgement, table

from casewise.cases import Turn
from casewise.reporting.page._page import lay_out, report_page
from casewise.reporting.page._parts import Section
from casewise.reporting.page._plots import Dot, Panel, Plots, share_axis
from casewise.results import leading
from casewise.scores import Scoring, make_overview, read_paths
from casewise.sheets import Column, Kind


def page(reveal: bool = False) -> str:
    found = two_models()
    first = leading(found).leading
    return lay_out(found, first, SECTIONS, title="Two models", reveal=reveal)


CANARY = "vermilion-canary"


def with_canaries() -> Any:
    """The canary in every text that a case and a judgement have, in another guise each."""
    rows = [
        judgement(
            "q",
            side,
            answer=f"{CANARY} answers",
            explanation=f"{CANARY} explains",
            error=f"{CANARY} errs",
        )
        for side in ("safe", "unsafe")
    ]
    context = {f"{CANARY} key": {"inner": f"{CANARY} value"}}
    cases = [
        case_of(row, f"{CANARY} asks", context).model_copy(
            update={"history": (Turn(role="user", content=f"{CANARY} said"),)}
        )
        for row in rows
    ]
    return overview_of(table(*rows), cases)


def test_texts_are_withheld_unless_asked_for() -> None:
    withheld = report_page(with_canaries(), title="t", reveal=False)
    parsed = Parsed(withheld)
    for text in (
        withheld,
        *(json.dumps(parsed.packed(name)) for name in ("chart-data", "case-data")),
    ):
        assert CANARY not in text
    lengths = parsed.packed("case-data")
    assert lengths["cases"]["query_length"] == [len(f"{CANARY} asks")] * 2
    assert lengths["judgements"]["error_length"] == [len(f"{CANARY} errs")] * 2
    assert lengths["cases"]["history_length"][0] > len(CANARY)
    revealed = json.dumps(
        Parsed(report_page(with_canaries(), title="t", reveal=True)).packed("case-data")
    )
    for word in ("asks", "key", "value", "said", "answers", "explains", "errs"):
        assert f"{CANARY} {word}" in revealed


def test_no_text_breaks_out_of_its_place() -> None:
    sections = [
        Section(
            "hostile",
            HOSTILE,
            HOSTILE,
            [Column(HOSTILE, Kind.TEXT, key="name"), Column(HOSTILE, Kind.COUNT, key="n")],
            [{"name": HOSTILE, "n": 1}],
            Plots(
                share_axis(HOSTILE),
                share_axis(HOSTILE),
                [Panel(HOSTILE, [Dot(0.5, 0.5, HOSTILE, label=HOSTILE, above=HOSTILE)], HOSTILE)],
            ),
            HOSTILE,
        ),
    ]
    found = hostile()
    first = leading(found).leading
    parsed = Parsed(lay_out(found, first, sections, title=HOSTILE, reveal=True))
    plain = Parsed(page(reveal=True))

    def scripts(one: Parsed) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in one.tags if tag == "script"]

    assert scripts(parsed) == scripts(plain)
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert not {"img", "iframe", "object", "embed"} & {tag for tag, _ in parsed.tags}
    assert parsed.packed("case-data")["cases"]["query"] == [HOSTILE, HOSTILE]
    assert json.loads(parsed.scripts["scores"])[0]["model"] == HOSTILE


def test_the_scores_are_those_of_casewise_score(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "two.parquet"
    models(2, 15).write_parquet(path)
    html = report_page(make_overview(read_paths([path]), Scoring()), title="t", reveal=False)
    printed = cli("score", path, "--format", "json").stdout
    assert json.loads(Parsed(html).scripts["scores"]) == json.loads(printed)


@pytest.mark.slow
def test_ten_models_and_900_cases_stay_under_5_megabytes() -> None:
    """With texts as long as CASE-Bench's, of words as rare as English ones."""
    made = models(10, 450)
    draw = np.random.default_rng(0)
    words = np.array([f"{word:x}" for word in draw.integers(16**2, 16**9, 20_000)])

    def prose(count: int) -> str:
        return " ".join(words[np.minimum(draw.zipf(1.3, count) - 1, len(words) - 1)])

    explanations = [prose(60) for _ in range(len(made))]
    made = made.with_columns(
        explanation=pl.Series(explanations),
        answer=pl.Series([json.dumps({"verdict": "safe", "why": text}) for text in explanations]),
    )
    cases = [
        case_of(row, prose(20), {"sender": {"type": prose(120)}})
        for row in made.head(900).iter_rows(named=True)
    ]
    overview = overview_of(made, cases)
    withheld = report_page(overview, title="t", reveal=False)
    revealed = report_page(overview, title="t", reveal=True)
    assert len(withheld.encode()) < 2_000_000
    assert len(withheld) < len(revealed.encode()) < 5_000_000


# Of the process alone: what the system tells of an ended one holds the memory of who started it.
_MEASURED = """
import re, sys, time
from casewise.cli import main
sys.argv[0] = "casewise"
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print(time.process_time(), re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
"""


@pytest.mark.slow
def test_43_published_files_take_25_seconds_and_500_megabytes(
    casebench: Path, tmp_path: Path
) -> None:
    """As ``benchmarks/report.py`` measures; of computing, whatever else the machine does."""
    if not Path("/proc/self/status").is_file():
        pytest.skip("this system doesn't say what memory a process took")
    sources = sorted((casebench / "exp").glob("*/*.json"))
    for place in range(43):
        source = sources[place % len(sources)]
        folder = tmp_path / "exp" / f"{source.parent.name}-{place // len(sources)}"
        folder.mkdir(parents=True, exist_ok=True)
        text = source.read_text("utf-8")
        model = source.parent.name.removeprefix("safety_")
        assert f'"{model}"' in text
        (folder / source.name).write_text(text.replace(f'"{model}"', f'"{model}-{place // 8}"'))
    command = [sys.executable, "-c", _MEASURED, "report", "exp", "--out", "r.html"]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    seconds, kilobytes = map(float, done.stdout.split()[-2:])
    assert "43 runs" in (tmp_path / "r.html").read_text("utf-8")
    assert kilobytes / 1000 < 500
    assert seconds < 25
