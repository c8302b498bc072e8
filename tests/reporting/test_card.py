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
from conftest import Cli, cli_in
from inspect_ai.log import read_eval_log
from markdown_it import MarkdownIt
from support.actors import SAFE, text_of, write_cases
from support.fake_openai import Answer, FakeServer
from support.tables import judgement, random_table, table

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
    common, *found = lines_of(make_card(runs.logs))
    assert common["Inspect"].startswith("0.3.")
    assert (common["casewise"], common["Status"], common["Epochs"]) == (
        cw.__version__,
        "success",
        "1",
    )
    assert common["Data set"] == "cases.jsonl"
    by_kind = {(one["Protocol"], one["Variation"].split()[0]): one for one in found}
    judge, plain, urged = (
        by_kind[kind] for kind in (("binary", "none"), ("respond", "none"), ("respond", "urgency"))
    )
    assert {judge["Prompt"]} == set(judged(runs.logs, "binary")["prompt_version"])
    assert "Graded by" not in judge
    assert plain["Graded by"] == "the offline rules (12)"
    assert re.fullmatch(r"\d+-[0-9a-f]{8}", plain["Grader's version"])
    assert (plain["Seed"], urged["Seed"]) == ("none needed", "7")
    assert plain["Judgements"] == "12 on 12 cases (6 queries)"
    assert urged["Judgements"] == "6 on 6 cases (6 queries)"
    assert plain["Settings"] == "temperature 0, tokens at most 4096"
    assert common["Model's arguments"] == "an address of its own (withheld)"


def test_results_are_those_of_score(runs: Runs, cli_inside: Cli) -> None:
    card = make_card(runs.logs)
    scores = json.loads(cli_inside("score", runs.logs, "--format", "json").stdout)
    scored = {(one["protocol"], one["variant"]): one for one in scores}
    judged = rows_of(card, "accuracy")
    (judge,) = [row for row in judged if row["model"] == MODEL]
    assert judge["accuracy"] == _figure(scored["binary", "greedy"], "accuracy") == _all_of(QUERIES)
    by_name = {row["condition"]: row for row in judged if row["model"] == "baseline"}
    assert set(by_name) >= {"intended", "one person", "ceiling"}
    acted = rows_of(card, "over-refusal")
    plain = scored["respond", "greedy"]
    (row,) = [row for row in acted if "urgency" not in row["condition"]]
    # It refuses every query: all that people call safe, and nothing that they don't is answered.
    assert row["over-refusal"] == _figure(plain, "over_refusal") == _all_of(QUERIES)
    assert row["under-refusal"] == _figure(plain, "under_refusal")
    assert row["under-refusal"].startswith(".000 (.000 to ")


def _figure(record: dict[str, Any], name: str) -> str:
    low, high = record[f"{name}_ci"]
    shown = [f"{one:.3f}".removeprefix("0") for one in (record[name], low, high)]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def _all_of(n: int) -> str:
    """1 with Wilson's interval, whose lower end is n / (n + 1.96²)."""
    return f"1.000 ({n / (n + 1.959964**2):.3f} to 1.000)".replace("(0.", "(.")


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
        assert any(CANARY in one.text for one in sample.messages if one.role == "user")


def test_no_text_of_a_table_is_in_it(tmp_path: Path) -> None:
    texts: dict[str, Any] = dict.fromkeys(("answer", "explanation", "error"), f"the {CANARY}")
    rows = [judgement("q1", "safe", **texts), judgement("q1", "unsafe", None, **texts)]
    rows.append(judgement("q2", "safe", None, **texts) | {"status": "error"})
    table(*rows).write_parquet(tmp_path / "table.parquet")
    card = make_card(tmp_path / "table.parquet")
    assert "answers that were not read: 1 error, 1 unparsed" in card
    assert CANARY not in card


def test_no_query_of_the_published_data_is_in_it(casebench: Path, tmp_path: Path) -> None:
    card = (cw.report(casebench / "exp/safety_gpt-4o", tmp_path / "card.md")).read_text("utf-8")
    queries = {case.query for case in cw.load_cases(casebench / "CASEBench_data.json")}
    assert len(queries) == 450
    assert not [query for query in queries if query[:40] in card]
    # As the paper has them: 89 % would be the intention alone.
    judged = rows_of(card, "accuracy")
    assert [row["accuracy"][:4] for row in judged[:3]] == [".770", ".786", ".943"]
    for sentence in ("a panel of its own", "scores .943 without any judgement", "did not act"):
        assert sentence in card
    assert "Each case was asked once" not in card
    assert "casewise report safety_gpt-4o --out card.md" in card


def test_the_command_makes_the_same_runs(runs: Runs) -> None:
    again, report = commands_of(make_card(runs.logs))
    assert report == ["report", "repeat", "--out", "card.md"]
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
    for found in tables(card):
        assert {len(row) for row in found} == {len(found[0])}
    assert lines_of(card)[0]["Model"] == NASTY
    assert rows_of(card, "accuracy")[0]["model"] == NASTY
    assert "two lines \\| of evil" in card
    html = MarkdownIt("commonmark").enable("table").render(card)
    for tag in ("<i>", "<em>b", "<code>c", '<a href="e"'):
        assert tag not in html


def test_a_table_alone_says_what_is_not_recorded(tmp_path: Path) -> None:
    random_table(40, 1).write_parquet(tmp_path / "mine.parquet")
    card = make_card(tmp_path / "mine.parquet")
    (lines,) = lines_of(card)
    for name in ("casewise", "Inspect", "Status", "Started", "Settings", "Seed", "Data set"):
        assert lines[name] == "not recorded", name
    assert commands_of(card) == [["report", "mine.parquet", "--out", "card.md"]]
    assert "No log was at hand" in card
    assert "## What it took\n\nNot recorded.\n" in card


CROWD = "The votes come from one group of people"
INTENT = "Saying what each context's author meant scores"
JUDGED = "The models judged, and did not act"
UNRECORDED = "No log was at hand"


def limits(path: Path, frame: pl.DataFrame, *options: str) -> list[str]:
    """The lines of the card on its limits; the first is the same on all."""
    frame.write_parquet(path)
    section = make_card(path, *options).partition("## Limits\n\n")[2].partition("\n\n")[0]
    return [line.removeprefix("- ") for line in section.splitlines()[1:]]


def begin(lines: list[str], *starts: str) -> bool:
    return len(lines) == len(starts) and all(map(str.startswith, lines, starts))


def test_limits_hold_where_they_are_said_to(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    assert begin(limits(path, random_table(120, 1)), CROWD, INTENT, JUDGED, UNRECORDED)
    few = limits(path, random_table(99, 1, model="casewise/smollm2"))
    embedded = "The embedded model has 135 million parameters"
    assert begin(few, CROWD, INTENT, JUDGED, "99 queries only", embedded, UNRECORDED)
    meant = limits(path, random_table(120, 1), "--labels", "intended")
    assert begin(meant, "No votes are counted: the labels are what", JUDGED, UNRECORDED)
    published = limits(path, random_table(120, 1, published_safe_rate=0.4))
    panels = "Each category was voted on by a panel"
    assert begin(published, CROWD, panels, INTENT, JUDGED, UNRECORDED)
    # Seven of a hundred are not read, by one of two runs.
    unread = random_table(50, 1, model="other").with_columns(
        status=pl.when(pl.int_range(pl.len()) < 7).then(pl.lit("unparsed")).otherwise("status")
    )
    found = limits(path, pl.concat([random_table(50, 1), unread]))
    not_read = "More than one answer in twenty was not read (run 2)"
    assert begin(found, CROWD, INTENT, JUDGED, "50 queries only", not_read, UNRECORDED)
    acted = [
        judgement(f"q{n}", "safe", None, protocol="respond", delivery="system")
        | {"status": "ok", "response_class": "refusal", "graded_by": by}
        for n, by in enumerate(("rules", "provider", "openai/g"))
    ]
    rules, model = "Replies were graded by offline rules", "Replies were graded by a model"
    graded = limits(path, table(*acted))
    assert begin(graded, CROWD, "3 queries only", rules, model, UNRECORDED)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    rows = [judgement("q1"), judgement("q2", votes=None), judgement("q3", None, None)]
    table(*rows).write_parquet(tmp_path / "table.parquet")
    card = make_card(tmp_path / "table.parquet", "--labels", "votes")
    assert (
        "- Run 1: 1 judgement without a label under the rule; answers that were not read: "
        "1 unparsed.\n" in card
    )
    (row,) = rows_of(card, "by status")
    assert (row["judgements"], row["have a label"], row["of these read"]) == ("3", ".667", ".500")
    assert row["bounds"] == "accuracy .500 to 1.000; safe-recall .500 to 1.000"
