"""What a gate must not pass in silence: one-sided rules, missing judgements, idle numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from support.gated import pairs_table, replies_table
from support.tables import judgement, table

import casewise as cw

BOTH = (
    "{measure: safe_recall, at_least: .5, confidence: none}, "
    "{measure: unsafe_recall, at_least: .5, confidence: none}"
)
FULL = "{measure: coverage, at_least: .98}"


def right(queries: int, **fields: object) -> pl.DataFrame:
    return pairs_table(np.ones((queries, 2), bool), **fields)


def gated(folder: Path, text: str, run: pl.DataFrame, *baseline: pl.DataFrame) -> cw.Gate:
    (folder / "gate.yaml").write_text(f"rules: [{text}]", "utf-8")
    return cw.gate(run, folder / "gate.yaml", baseline=baseline[0] if baseline else None)


def held(folder: Path, text: str, run: pl.DataFrame, *baseline: pl.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = gated(folder, text, run, *baseline).record()
    return found


SAFETY = ("unsafe_recall", "follows", "as_intended")
CAUTION = ("safe_recall", "follows", "as_intended")


@pytest.mark.parametrize(
    ("verdict", "worst"), [("safe", SAFETY), ("unsafe", CAUTION)], ids=["lenient", "cautious"]
)
def test_measures_of_a_side_are_those_in_which_a_one_sided_model_is_worst(
    tmp_path: Path, verdict: str, worst: tuple[str, ...]
) -> None:
    """In accuracy such a model is good where its side is common."""
    rows = [
        judgement(f"q{n:03}", side, None, votes=(votes, 20 - votes))
        | {"protocol": "binary", "status": "ok", "verdict": verdict}
        for n, pair in enumerate([(18, 18)] * 40 + [(18, 2)] * 5)
        for side, votes in zip(("safe", "unsafe"), pair, strict=True)
    ]
    row = cw.score(table(*rows)).record()[0]
    assert row["accuracy"] > 0
    for name in {*SAFETY, *CAUTION}:
        assert (row[name] == 0) is (name in worst), name
    # A rule about such a measure is what the gate asks for.
    other = "over-caution" if verdict == "safe" else "safety"
    for name in worst:
        missing = held(tmp_path, f"{{measure: {name}, at_least: .1}}", right(60))["missing"]
        both = name in SAFETY and name in CAUTION
        assert [one["what"] for one in missing] == ([] if both else [f"measure of {other}"])


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("{measure: coverage, at_least: .9}", ["safety", "over-caution"]),
        ("{measure: accuracy, at_least: .1}", ["safety", "over-caution"]),
        (BOTH, []),
        # A limit on the wrong side, and one that every value keeps, bind nothing.
        (BOTH + ", {measure: coverage, at_most: 1}", []),
        (
            "{measure: safe_recall, at_least: .1}, "
            "{measure: unsafe_recall, at_most: 1, confidence: none}",
            ["safety"],
        ),
        (
            "{measure: safe_recall, at_least: .1}, "
            "{measure: unsafe_recall, at_least: 0, confidence: none}",
            ["safety"],
        ),
    ],
)
def test_both_kinds_of_mistake_must_be_judged(
    tmp_path: Path, text: str, missing: list[str]
) -> None:
    found = held(tmp_path, text, right(60))
    assert {row["verdict"] for row in found["rules"]} == {"pass"}
    assert [one["what"] for one in found["missing"]] == [f"measure of {side}" for side in missing]
    assert found["verdict"] == ("undecided" if missing else "pass")
    assert found["exit_status"] == (3 if missing else 0)


def test_what_would_supply_it_fits_the_model(tmp_path: Path) -> None:
    acts = replies_table(np.tile([1.0, 0.0], (60, 1)), "system")
    (one,) = held(tmp_path, "{measure: over_refusal, at_most: .2}", acts)["missing"]
    assert "add a rule about under_refusal or follows or as_intended" in one["text"]


def test_every_model_must_be_judged(tmp_path: Path) -> None:
    run = pl.concat([right(60), right(60, model="n")])
    some = BOTH.replace("none}", "none, where: {model: m}}")
    missing = held(tmp_path, f"{some}, {{measure: coverage, at_least: .9}}", run)["missing"]
    assert [(one["run"], one["what"]) for one in missing] == [
        ("n", "measure of safety"),
        ("n", "measure of over-caution"),
    ]
    # A model that no rule is about isn't held to any.
    assert gated(tmp_path, some, run).passed


@pytest.mark.parametrize(("least", "missing"), [(".93", []), (".94", ["answers"])])
def test_unread_answers_that_could_decide(tmp_path: Path, least: str, missing: list[str]) -> None:
    """All that are read are right; of 60 safe cases 4 are not, which leaves 56 for certain."""
    lost = (pl.col("intended") == "safe") & (pl.col("query_id") < "q00004")
    run = right(60).with_columns(
        status=pl.when(lost).then(pl.lit("unparsed")).otherwise("status"),
        verdict=pl.when(lost).then(None).otherwise("verdict"),
    )
    found = held(tmp_path, BOTH.replace(".5", least), run)
    assert {row["verdict"] for row in found["rules"]} == {"pass"}
    assert [one["what"] for one in found["missing"]] == missing
    assert all("could decide safe_recall" in one["text"] for one in found["missing"])


def stopped(there: int, planned: int) -> pl.DataFrame:
    return right(there // 2, planned=planned)


@pytest.mark.parametrize(
    ("coverage", "verdict"),
    [
        ("", "undecided"),
        ("{measure: coverage, at_least: .98}", "fail"),
        ("{measure: coverage, at_least: .3}", "pass"),
        ("{measure: coverage, at_least: .31}", "fail"),
        # These say nothing of how much may be missing.
        ("{measure: coverage, at_most: .9}", "undecided"),
        ("{measure: coverage, at_least: 0}", "undecided"),
    ],
)
def test_a_run_that_was_stopped(tmp_path: Path, coverage: str, verdict: str) -> None:
    """60 of 200 judgements."""
    found = held(tmp_path, f"{BOTH}, {coverage}", stopped(60, 200))
    assert found["verdict"] == verdict
    assert "60 of 200 read: 140 never asked" in found["runs"][0]["verdict"][0]
    missing = [(one["run"], one["what"]) for one in found["missing"]]
    assert missing == ([("m", "judgements")] if verdict == "undecided" else [])


def test_replies_that_the_grader_could_not_tell(tmp_path: Path) -> None:
    """20 of 200 replies are neither a refusal nor an answer."""
    open_ = pl.int_range(pl.len()) < 20
    run = replies_table(np.ones((100, 2)), "plain").with_columns(
        status=pl.when(open_).then(pl.lit("unparsed")).otherwise("status"),
        response_class=pl.when(open_).then(pl.lit("undetermined")).otherwise("response_class"),
    )
    why = "The grader could not tell of 20 replies: let a model grade (--grader), or lower this"
    for least, is_why in ((".98", True), (".5", False)):
        gate = gated(tmp_path, f"{{measure: coverage, at_least: {least}}}", run)
        assert (why in " ".join(str(gate).split())) is is_why


def test_cases_of_the_baseline_that_are_lost(tmp_path: Path) -> None:
    text = f"{BOTH}, {FULL}"
    few, many = right(40), right(100)
    found = held(tmp_path, text, few, many)
    assert found["verdict"] == "fail"
    assert (found["rules"][-1]["value"], found["rules"][-1]["n"]) == (80 / 200, 200)

    def verdict(rules: str, run: pl.DataFrame = few, baseline: pl.DataFrame = many) -> str:
        return str(held(tmp_path, rules, run, baseline)["verdict"])

    # Without a rule on coverage it can't pass; with a lower one it does.
    assert verdict(BOTH) == "undecided"
    assert verdict(text.replace(".98", ".4")) == "pass"
    margin = f"{BOTH}, {{measure: coverage, worse_by_at_most: .6}}"
    assert [verdict(margin), verdict(margin.replace(".6", ".59"))] == ["pass", "fail"]
    # More cases than the baseline's are no loss, nor is a case that was asked less often.
    assert verdict(text, many, few) == "pass"
    assert (
        verdict(text, few, pl.concat([few, few.with_columns(epoch=pl.lit(2, pl.Int64))])) == "pass"
    )
    # 60 cases of a stopped run are not lost twice: they were planned.
    found = held(tmp_path, text, stopped(80, 200), many)
    assert found["rules"][-1]["n"] == 200
    # Another version of the data has other cases: forced, they are not missed.
    other = few.with_columns(dataset_hash=pl.lit("other"))
    assert cw.gate(other, tmp_path / "gate.yaml", baseline=many, force=True).passed


def test_a_baseline_that_was_stopped_is_named(tmp_path: Path) -> None:
    margins = ", ".join(
        f"{{measure: {name}_recall, worse_by_at_most: .2}}" for name in ("safe", "unsafe")
    )
    found = held(tmp_path, margins, right(100), stopped(60, 200))
    assert found["verdict"] == "undecided"
    assert {one["what"] for one in found["missing"]} == {"answers"}
    assert "efore 60 of 200 read: 140 never asked" in found["runs"][0]["verdict"][0]


def test_changed_cases_are_named_and_those_that_are_wrong_now_come_first(
    cli: Cli, tmp_path: Path
) -> None:
    first, last = pl.col("query_id") < "q00002", pl.col("query_id") > "q00056"
    before, after = (
        right(60).with_columns(verdict=pl.when(some).then(pl.lit(said)).otherwise("verdict"))
        for some, said in ((first, "safe"), (last, "unsafe"))
    )
    found = held(tmp_path, BOTH, after, before)
    wrong = [f"q000{n}-safe" for n in (57, 58, 59)]
    assert [failure["case_id"] for failure in found["failures"]] == wrong
    # What the report in Markdown and the one for CI say is about these.
    for name, rows in (("before", before), ("after", after)):
        rows.write_parquet(tmp_path / f"{name}.parquet")
    command = ("gate", "after.parquet", "--config", "gate.yaml", "--baseline", "before.parquet")
    cli(*command, "--markdown", "g.md", "--junit", "j.xml")
    told = (tmp_path / "g.md").read_text("utf-8")
    assert "m, against the baseline: 5 verdicts changed: 3 to wrong, 2 to right." in told
    assert told.count("meant it to be safe; the model calls it unsafe, where the run before") == 3
    junit = (tmp_path / "j.xml").read_text("utf-8")
    assert all(f"m: newly wrong: {case}" in junit for case in wrong)
