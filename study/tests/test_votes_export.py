"""The folder of an export: read back, read by the rest of casewise, free of what may identify."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest
from support.planned import a_plan, on_disk
from support.studied import World, a_study, simulate, some_cases

from casewise.errors import InputError
from casewise_study.study.schema import (
    Arm,
    Counting,
    Platform,
    SecondAccounts,
    Study,
)
from casewise_study.study.study_file import load_study, write_study
from casewise_study.votes.collected import Collected, Identity, SecondAccount
from casewise_study.votes.collected_csv import read_collected
from casewise_study.votes.data_card import ExportChoices
from casewise_study.votes.export import export_study
from casewise_study.votes.results import Results, summarise

SECRET = "I am the clerk of <b>Arden</b>, =1+1"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    return a_study(folder, queries=12, arms=tuple(Arm), votes=7, size=6, checks=2)


@pytest.fixture(scope="module")
def collected(study: Study) -> Collected:
    found = simulate(study, World(careless=0.2, panels=(0.0, 0.0)), seed=3).collected
    people = (replace(found.people[0], demographics=(("town", "Arden"),)), *found.people[1:])
    first = replace(found.votes[0], reason=SECRET, confidence=4, seconds=601.0)
    votes = (first, *found.votes[1:])
    return Collected(people, votes, found.checks)


@pytest.fixture(scope="module")
def results(study: Study, collected: Collected) -> Results:
    return summarise(study, collected)


@pytest.fixture(scope="module")
def folder(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "export"
    export_study(results, out, ExportChoices())
    return out


def card_of(folder: Path) -> str:
    return (folder / "data-card.md").read_text("utf-8")


def cases_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "cases.jsonl").read_text("utf-8").splitlines()]


def test_the_folder_is_read_back(study: Study, collected: Collected, folder: Path) -> None:
    read = read_collected(folder, study)
    bare = replace(
        collected,
        people=tuple(replace(one, demographics=()) for one in collected.people),
        votes=tuple(replace(one, reason=None) for one in collected.votes),
    )
    assert read == bare


def test_with_everything(
    study: Study, collected: Collected, results: Results, tmp_path: Path
) -> None:
    choices = ExportChoices(with_reasons=True, with_demographics=True)
    export_study(results, tmp_path / "one", choices)
    assert read_collected(tmp_path / "one", study) == collected


def test_what_may_identify_is_left_out(folder: Path) -> None:
    for path in folder.iterdir():
        assert b"Arden" not in path.read_bytes(), path.name


def test_without_flagged(
    study: Study, collected: Collected, results: Results, tmp_path: Path
) -> None:
    export_study(results, tmp_path / "one", ExportChoices())
    flagged = results.screened.flagged()
    raters = {vote["rater"] for case in cases_of(tmp_path / "one") for vote in case["votes"]}
    assert raters == {one.rater for one in collected.people} - flagged
    said = "the votes that count, without those of flagged people"
    summary = json.loads((tmp_path / "one/summary.json").read_text())
    assert summary["cases_votes"] == said
    assert said in card_of(tmp_path / "one")
    # Figures are those of the exported cases, beside everybody's.
    everybody_row, *_, unflagged = summary["sensitivity"]
    for arm in summary["arms"]:
        assert arm["share_safe"] == unflagged["share_safe"][arm["arm"]]
    assert everybody_row["votes"] == len(collected.votes) > unflagged["votes"]
    # Nothing is deleted: the votes themselves are all there.
    assert len(read_collected(tmp_path / "one", study).votes) == len(collected.votes)


def test_the_tables_say_who_is_flagged(
    collected: Collected, results: Results, folder: Path
) -> None:
    flagged = results.screened.flagged()
    assert flagged
    table = polars.read_parquet(folder / "votes.parquet")
    texts = polars.read_csv(folder / "votes.csv", infer_schema=False)
    assert table["case_id"].to_list() == texts["case_id"].to_list()
    assert table["time"].to_list() == [one.time for one in collected.votes]
    assert table["long"].to_list() == [True] + [False] * (table.height - 1)
    people = polars.read_csv(folder / "people.csv", infer_schema=False)
    for rows in (table, people):
        assert set(rows.filter(polars.col("flags").fill_null("") != "")["rater"]) == flagged
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["funnel"]["flagged_any"] == len(flagged)
    assert summary["people"][0]["chance_unread"] == pytest.approx(float(people["chance_unread"][0]))


def test_labels_that_turn_are_named_or_counted(study: Study, tmp_path: Path) -> None:
    """People are divided over every case, so that a few flagged ones turn many labels."""
    divided = World(careless=0.3, spread=0, effect=0)
    results = summarise(study, simulate(study, divided, seed=3).collected)
    export_study(results, tmp_path / "out", ExportChoices())
    summary = json.loads((tmp_path / "out/summary.json").read_text("utf-8"))
    card = card_of(tmp_path / "out")
    more = len(summary["turned"]) - card.count("with everybody, ")
    assert more > 0
    assert f"\n- {more} more (`turned` in" in card


def test_the_cases_carry_the_votes(study: Study, collected: Collected, tmp_path: Path) -> None:
    export_study(summarise(study, collected, with_flagged=True), tmp_path / "all", ExportChoices())
    made, before = cases_of(tmp_path / "all"), cases_of(study.folder)
    assert [one | {"votes": None} for one in made if one.get("context")] == [
        one | {"votes": None} for one in before
    ]
    alone = [case for case in made if not case.get("context")]
    assert (len(alone), {case.get("intended") for case in alone}) == (12, {None})
    for case in made:
        assert [(one["rater"], one["verdict"]) for one in case["votes"]] == [
            (one.rater, one.verdict) for one in collected.votes if one.case_id == case["id"]
        ]


def test_earlier_votes_are_other_peoples(tmp_path: Path) -> None:
    """A study over cases that have votes already: its own are given back alone, and it says so."""
    earlier: dict[str, object] = {"published_safe_rate": 0.5, "source": "a|b", "licence": "MIT"}
    earlier["tags"] = ("kept", "votes:sequential")
    cases = [case.model_copy(update=earlier) for case in some_cases(2)]
    study = on_disk(tmp_path, cases, a_plan(votes=2, tasks=2, arms=(Arm.SAFE, Arm.UNSAFE)))
    write_study(study, tmp_path / "study.yaml")
    study = load_study(tmp_path / "study.yaml")
    results = summarise(study, simulate(study, World(), seed=2).collected)
    export_study(results, tmp_path / "out", ExportChoices())
    for case in cases_of(tmp_path / "out"):
        assert (case.get("published_safe_rate"), case["tags"]) == (None, ["kept"])
    card = card_of(tmp_path / "out")
    assert "4 of the cases had votes or published shares before this study" in card
    assert "Sources of the cases: a\\|b. Their licences: MIT." in card


def test_the_card(study: Study, folder: Path) -> None:
    card = card_of(folder)
    for part in (
        "Planned GBP 12.00 an hour",
        "| without flagged |",
        "- Attention: of the attention checks more than 2 failed.",
        "| cases a person | 6 |",
        # Pages of 15 words.
        "within the time that the page's words take at 1000 a minute (2 to 2 s",
        "less than the words of the case take at 600 a minute, at least 3 s",
        "at 25 s a case (as set in the study file) and 6 minutes besides",
    ):
        assert part in card, part
    words = set(card.replace("|", " ").replace(",", " ").replace("]", " ").split())
    assert not {"nan", "[nan", "+nan", "None", "inf"} & words
    # Every row of a table has the cells of its head.
    tables = [block.splitlines() for block in card.split("\n\n") if block.startswith("|")]
    assert len(tables) >= 7
    for lines in tables:
        assert {line.replace("\\|", "").count("|") for line in lines} == {lines[0].count("|")}
    assert not [case for case in cases_of(study.folder) if case["query"] in card]


def test_a_failure_leaves_nothing(study: Study, results: Results, tmp_path: Path) -> None:
    out = tmp_path / "one"
    export_study(results, out, ExportChoices())
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    lost = study.model_copy(update={"cases": "gone.jsonl"})
    with pytest.raises(InputError):
        export_study(replace(results, study=lost), out, ExportChoices(force=True))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_the_card_says_what_was_checked_of_people(
    study: Study, collected: Collected, tmp_path: Path
) -> None:
    raters = [person.rater for person in collected.people]
    second = tuple(SecondAccount(raters[n], raters[0], "browser") for n in (1, 2))
    near = SecondAccount(raters[3], raters[2], "address")
    known = Identity(frozenset(raters[:1]), frozenset(raters[1:3]), (*second, near))
    platform = study.recruitment.model_copy(update={"platform": Platform.PROLIFIC})
    rules = SecondAccounts(browser=Counting.LEAVE_OUT, minutes=5)
    ruled = study.model_copy(update={"second_accounts": rules, "recruitment": platform})

    def told(name: str, identity: Identity | None) -> tuple[str, dict[str, Any]]:
        found = summarise(ruled, replace(collected, identity=identity))
        export_study(found, tmp_path / name, ExportChoices())
        summary = json.loads((tmp_path / name / "summary.json").read_text("utf-8"))
        return card_of(tmp_path / name), summary["funnel"]

    card, funnel = told("unknown", None)
    assert "Whether anybody confirmed who these people are is not known." in card
    assert "several ids shared a browser, is not known" in card
    assert (funnel["shared_browsers"], funnel["confirmed"]) == (None, None)
    card, funnel = told("known", known)
    nobody = len({vote.rater for vote in collected.votes if vote.counted}) - 3
    assert (
        "Of these people the platform's export confirmed 2, a signed link alone 1, and nobody yet "
        f"{nobody}." in card
    )
    assert "From the browsers of 3 ids the study was opened" in card
    assert "2 ids began within 5 minutes of another from one address range" in card
    assert "in one browser count for nothing, and those in one address range count" in card
    shared = (funnel["shared_browsers"], funnel["shared_addresses"], funnel["signed"])
    assert (*shared, funnel["second_left_out"]) == (3, 2, 1, 2)
    assert funnel["confirmed"] == {"export": 2, "link": 1, "nobody": nobody}
