"""The evaluation card: complete, the same each time, and without a text of any case or answer."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import cli_in
from inspect_ai.log import read_eval_log
from markdown_it import MarkdownIt
from support.actors import SAFE, text_of, write_cases
from support.fake_openai import Answer, FakeServer
from support.tables import random_table

import casewise as cw

CANARY = "xylocarp"
"""A word that stands in every text of a run, and may stand in no card."""

QUERIES = 6
MODEL = "openai-api/fake/m"


def make_card(path: Path, *options: str | Path) -> str:
    """The card of some judgements, written where they stand."""
    done = cli_in(path.parent)("report", path, "--out", "card.md", *options)
    assert done.returncode == 0, done.stderr
    return (path.parent / "card.md").read_text("utf-8")


def tables(card: str) -> Iterator[list[list[str]]]:
    """The cells of every table, as a reader of Markdown sees them."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(card):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            yield rows
        elif token.type == "inline" and rows and token.level == 4 + (len(rows) == 0):
            rows[-1].append("".join(child.content for child in token.children or []))


def lines_of(card: str) -> list[dict[str, str]]:
    """The tables of two columns: what all runs share, and each run's own."""
    return [{row[0]: row[1] for row in rows} for rows in tables(card) if len(rows[0]) == 2]


def rows_of(card: str, head: str) -> list[dict[str, str]]:
    """The rows of the first table that has a column of this name."""
    found = next(rows for rows in tables(card) if head in rows[0])
    return [dict(zip(found[0], row, strict=True)) for row in found[1:]]


def commands_of(card: str) -> list[list[str]]:
    """The commands of the card, as a shell would take them apart."""
    (block,) = re.findall(r"^```sh\n(.*?)\n```$", card, re.DOTALL | re.MULTILINE)
    return [shlex.split(line)[1:] for line in block.split(" &&\n")]


def judged(logs: Path, protocol: str) -> pl.DataFrame:
    """The judgements under a protocol; a file that is no log is passed over."""
    with pytest.warns(UserWarning, match="passed over"):
        return cw.judgements(logs).filter(protocol=protocol)


def answer(request: dict[str, Any]) -> Answer:
    """Follows the context: as a judge, and in the system message as a chatbot."""
    safe = SAFE in text_of(request, "system", "user")
    if "judgement" in text_of(request, "user"):
        said = {"reason": f"{CANARY} is why", "judgement": "safe" if safe else "unsafe"}
        return json.dumps(said)
    return f"I'm sorry, but I can't help with {CANARY}."


@dataclass(frozen=True)
class Runs:
    """A folder with the logs of some runs, and the server's address."""

    folder: Path
    logs: Path
    url: str
    printed: str


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A judge and a chatbot, the latter also under pressure; the canary stands in every text."""
    folder = tmp_path_factory.mktemp("runs")
    path = write_cases(folder / "cases.jsonl", QUERIES)
    text = path.read_text().replace("without noise", f"past the {CANARY}")
    path.write_text(text.replace("help desk", f"help desk of {CANARY}"))
    with FakeServer(answer) as server:
        done = cli_in(folder)(
            "run",
            *("-m", MODEL, "--cases", "cases.jsonl", "--protocol", "binary,respond"),
            *("--vary", "urgency", "--seed", "7", "--log-dir", "logs"),
            *("--model-base-url", server.url),
            env={"FAKE_API_KEY": f"sk-{CANARY}"},
        )
    assert done.returncode == 0, done.stderr
    (folder / "logs" / "broken.eval").write_text(f"no log of the {CANARY}")
    return Runs(folder, folder / "logs", server.url, done.stdout)


def test_what_was_run_is_what_the_logs_say(runs: Runs) -> None:
    by_condition = {one["condition"]: one for one in lines_of(make_card(runs.logs))}
    judge, plain, urged = (
        by_condition[text]
        for text in ("binary", "respond, system", "respond, system, vary urgency,seed 7")
    )
    assert judge["inspect"].startswith("0.3.")
    assert judge["casewise"] == cw.__version__
    assert judge["data"] == "cases.jsonl"
    assert "grader" not in judge
    assert plain["grader"] == "rules"
    assert re.fullmatch(r"\d+-[0-9a-f]{8}", plain["grader version"])
    assert urged["grader"] == "rules"
    assert plain["settings"] == "temperature 0.0, max_tokens 4096"


def test_results_are_those_of_score(runs: Runs) -> None:
    card = make_card(runs.logs)
    with pytest.warns(UserWarning, match="passed over"):
        scores = cw.score(runs.logs)
    for verdict in scores.verdicts:
        (row,) = [
            row for row in rows_of(card, "state") if row["run"] == verdict.conditions[0].title
        ]
        cells = [text for name, text in row.items() if name not in ("run", "state")]
        assert cells == [figure.text for figure in verdict.figures]
    pinned = {row["run"]: row["Right"] for row in rows_of(card, "state")}
    assert pinned["what the authors meant"] == "100 %"
    assert set(pinned) >= {"verdicts shuffled, mean of 3 runs", "one person", "ceiling"}


def test_a_folder_gets_the_page_and_the_card(runs: Runs, tmp_path: Path) -> None:
    card = make_card(runs.logs)
    assert cli_in(tmp_path)("report", runs.logs, "--out", "both").returncode == 0
    assert (tmp_path / "both/card.md").read_text("utf-8") == card
    assert (tmp_path / "both/report.html").is_file()


def test_no_text_and_nothing_private_is_in_it(runs: Runs) -> None:
    card = make_card(runs.logs)
    assert CANARY not in card
    assert "sk-" not in card
    assert runs.url not in card
    assert "127.0.0.1" not in card
    assert str(runs.folder) not in card
    assert not re.search(r"(?<![\w.])/(home|tmp|root|work|Users|private|var)\b", card)
    assert "passed over broken.eval: not a readable Inspect log\n" in card
    # The canary was where it could have come from.
    log = read_eval_log(str(next(runs.logs.glob("*respond*.eval"))))
    assert log.samples
    for sample in log.samples:
        assert CANARY in sample.output.completion
        assert any(CANARY in message.text for message in sample.messages if message.role == "user")


def test_no_query_of_the_published_data_is_in_it(casebench: Path, tmp_path: Path) -> None:
    card = (cw.report(casebench / "exp/safety_gpt-4o", tmp_path / "card.md")).read_text("utf-8")
    queries = {case.query for case in cw.load_cases(casebench / "CASEBench_data.json")}
    assert len(queries) == 450
    assert not [query for query in queries if query[:40] in card]
    rows = {row["run"]: row for row in rows_of(card, "state")}
    assert rows["gpt-4o (binary)"]["Right"] == "77 % (75 to 79)"
    assert rows["what the authors meant"]["Right"] == "94 %"
    assert "how it was run is not recorded" in card


def test_the_command_makes_the_same_runs(runs: Runs) -> None:
    (again,) = commands_of(make_card(runs.logs))
    assert ("binary,respond" in again, runs.url in again) == (True, False)
    with FakeServer(answer) as server:
        env = {"FAKE_API_KEY": "k", "FAKE_BASE_URL": server.url}
        done = cli_in(runs.folder)(*again, env=env)
    assert done.returncode == 0, done.stderr
    acted = cw.judgements(runs.folder / "repeat").filter(protocol="respond")
    first, repeated = (
        one.drop("run_id", "latency_s").sort("variant", "case_id")
        for one in (judged(runs.logs, "respond"), acted)
    )
    assert repeated.equals(first)
    assert len(repeated) == 3 * QUERIES


def test_two_files_are_told_apart_without_the_way_to_them(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.parquet" for name in ("before", "after")]
    for seed, path in enumerate(paths):
        random_table(12, seed).write_parquet(path)
    for name in ("card.md", "page.html"):
        text = cw.report(paths[1], tmp_path / name, before=paths[0]).read_text("utf-8")
        assert str(tmp_path) not in text
        assert "after.parquet), compared with" in text


NASTY = "m|x *b* `c` [d](e) <i>f</i> _g_ #1 \\| end"
ODD = "two\nlines | of\r\n\u202eevil"


def test_names_break_no_table(tmp_path: Path) -> None:
    rows = random_table(6, 1, model=NASTY).with_columns(
        pl.when(pl.col("category") == "c1")
        .then(pl.lit(ODD))
        .otherwise("category")
        .alias("category")
    )
    rows.write_parquet(tmp_path / "table.parquet")
    card = make_card(tmp_path / "table.parquet")
    for table in tables(card):
        assert {len(row) for row in table} == {len(table[0])}
    assert rows_of(card, "state")[0]["run"] == f"{NASTY} (probability)"
    assert ODD not in card
    html = MarkdownIt("commonmark").enable("table").render(card)
    for tag in ("<i>", "<em>b", "<code>c", '<a href="e"'):
        assert tag not in html
