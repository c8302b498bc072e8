"""The folder of an export: read back, read by the rest of casewise, free of what may identify."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest
from support.studied import World, a_study, simulate

from casewise.cases import (
    Case,
    LabelFields,
    LabelRule,
    Ties,
    Vote,
    VoteCounts,
    load_cases,
    make_labels,
    write_cases,
)
from casewise.dataset import describe_cases
from casewise.errors import InputError, UsageError
from casewise_study.study.schema import (
    Arm,
    Counting,
    Pay,
    Platform,
    Recruitment,
    SecondAccounts,
    Study,
    Timing,
)
from casewise_study.study.study_rules import Screening
from casewise_study.votes.collected import Collected, Identity, SecondAccount
from casewise_study.votes.collected_csv import read_collected
from casewise_study.votes.data_card import ExportChoices, data_card
from casewise_study.votes.export import export_study, voted_cases
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


@pytest.fixture(scope="module")
def everybody(study: Study, collected: Collected) -> Results:
    """With flagged people's votes."""
    return summarise(study, collected, with_flagged=True)


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
    table = polars.read_parquet(tmp_path / "one/votes.parquet")
    assert table["reason"][0] == SECRET


def test_what_may_identify_is_left_out(folder: Path) -> None:
    for path in folder.iterdir():
        assert b"Arden" not in path.read_bytes(), path.name


def test_tables_agree(collected: Collected, results: Results, folder: Path) -> None:
    table = polars.read_parquet(folder / "votes.parquet")
    texts = polars.read_csv(folder / "votes.csv", infer_schema=False)
    assert table.columns == texts.columns
    assert table.height == len(collected.votes)
    assert table["case_id"].to_list() == texts["case_id"].to_list()
    assert table["time"].to_list() == [one.time for one in collected.votes]
    assert table.schema["seconds"] == polars.Float64
    assert table["long"].to_list() == [True] + [False] * (table.height - 1)
    flagged = results.screened.flagged()
    assert flagged
    assert set(table.filter(polars.col("flags") != "")["rater"]) == flagged
    people = polars.read_csv(folder / "people.csv", infer_schema=False)
    assert people.height == len(collected.people)
    assert set(people.filter(polars.col("flags").fill_null("") != "")["rater"]) == flagged
    assert {"s", "checks", "others"} & set(" ".join(people["why_flagged"].drop_nulls()).split())
    summary = json.loads((folder / "summary.json").read_text())
    assert len(summary["cells"]) == 36
    assert summary["funnel"]["flagged_any"] == len(flagged)
    assert summary["people"][0]["chance_unread"] == pytest.approx(float(people["chance_unread"][0]))


def test_the_cases_carry_the_votes(
    study: Study, collected: Collected, everybody: Results, tmp_path: Path
) -> None:
    folder = tmp_path / "all"
    export_study(everybody, folder, ExportChoices())
    assert "all votes that count" in (folder / "data-card.md").read_text()
    made = load_cases(folder / "cases.jsonl")
    before = load_cases(Path(str(study.path)).parent / "cases.jsonl")
    contexts = [case for case in made.cases if case.context is not None]
    assert [replace_votes(case.model_dump()) for case in contexts] == [
        replace_votes(case.model_dump()) for case in before.cases
    ]
    alone = [case for case in made.cases if case.context is None]
    assert len(alone) == 12
    assert all(case.intended is None for case in alone)
    counted = {
        cell: [vote for vote in collected.votes if vote.case_id == cell.case_id]
        for cell in study.design.cells
    }
    by_id = {case.id: case for case in made.cases}
    for cell, votes in counted.items():
        case = by_id[cell.case_id]
        assert [(one.rater, one.verdict, one.time) for one in rows(case)] == [
            (one.rater, one.verdict, one.time and one.time.isoformat()) for one in votes
        ]
    # Pairs stand together, each query's arms in one order.
    assert [case.query_id for case in made.cases[::3]] == [
        case.query_id for case in made.cases[1::3]
    ]


def rows(case: Case) -> tuple[Vote, ...]:
    """The votes on a case, one by one."""
    assert not isinstance(case.votes, VoteCounts)
    return case.votes or ()


def replace_votes(fields: dict[str, object]) -> dict[str, object]:
    return fields | {"votes": None}


def test_label_rules_read_the_cases(results: Results, folder: Path) -> None:
    cases = load_cases(folder / "cases.jsonl").cases
    fields = LabelFields(
        published_safe_rate=np.full(len(cases), np.nan),
        votes_safe=np.array([case.votes_safe for case in cases], float),
        votes_unsafe=np.array([case.votes_unsafe for case in cases], float),
        category=[case.category for case in cases],
        intended=[case.intended for case in cases],
    )
    of_cell = {cell.case_id: cell for cell in results.cells}
    labels = make_labels(fields, LabelRule.VOTES, Ties.HALF)
    for case, rate, safe in zip(cases, labels.rate, labels.safe, strict=True):
        cell = of_cell[case.id]
        assert rate == pytest.approx(cell.share_safe)
        assert safe == {"safe": 1.0, "unsafe": 0.0, None: 0.5}[cell.majority]
    kept = np.isfinite(make_labels(fields, LabelRule.CONSENSUS).rate)
    of_cases = [of_cell[case.id] for case in cases]
    sure = [max(one.safe, one.unsafe) / one.votes >= 0.75 for one in of_cases]
    assert kept.tolist() == sure


def test_without_flagged(
    study: Study, collected: Collected, results: Results, tmp_path: Path
) -> None:
    export_study(results, tmp_path / "one", ExportChoices())
    flagged = results.screened.flagged()
    made = load_cases(tmp_path / "one/cases.jsonl")
    raters = {vote.rater for case in made.cases for vote in rows(case)}
    assert raters == {one.rater for one in collected.people} - flagged
    said = "the votes that count, without those of flagged people"
    summary = json.loads((tmp_path / "one/summary.json").read_text())
    card = (tmp_path / "one/data-card.md").read_text()
    assert summary["cases_votes"] == said
    assert said in card
    # Figures are those of the exported cases, beside everybody's.
    everybody_row, *_, unflagged = summary["sensitivity"]
    for arm in summary["arms"]:
        assert arm["share_safe"] == unflagged["share_safe"][arm["arm"]]
    effect = describe_cases(made).effect
    found = next(one for one in summary["contrasts"] if one["second"] == "unsafe")
    assert effect.mean_difference == pytest.approx(found["difference"]["value"])
    assert everybody_row["votes"] == len(collected.votes) > unflagged["votes"]
    # Nothing is deleted: the votes themselves are all there.
    assert len(read_collected(tmp_path / "one", study).votes) == len(collected.votes)


def test_votes_that_do_not_count_are_left_out(study: Study, collected: Collected) -> None:
    gone = collected.votes[0].rater
    votes = tuple(replace(one, counted=one.rater != gone) for one in collected.votes)
    cases = voted_cases(study, replace(collected, votes=votes))
    assert gone not in {vote.rater for case in cases for vote in rows(case)}
    wrong = (replace(collected.votes[0], query_id="x"), *collected.votes[1:])
    with pytest.raises(InputError, match="another query"):
        voted_cases(study, replace(collected, votes=wrong))


def test_earlier_votes_are_other_peoples(tmp_path: Path) -> None:
    """A study over cases that have votes already: its own are given back alone, and it says so."""
    study = a_study(tmp_path, queries=2, votes=2, size=2, checks=0)
    made = load_cases(tmp_path / "cases.jsonl").cases
    voted = [
        case.model_copy(update={"published_safe_rate": 0.5, "source": "a|b", "licence": "MIT"})
        for case in made
    ]
    write_cases(voted, tmp_path / "cases.jsonl")
    changed = load_cases(tmp_path / "cases.jsonl")
    study = study.model_copy(update={"cases_hash": changed.hash})
    study._path = tmp_path / "study.yaml"
    results = summarise(study, simulate(study, World(), seed=2).collected)
    export_study(results, tmp_path / "out", ExportChoices())
    exported = load_cases(tmp_path / "out/cases.jsonl").cases
    assert {case.published_safe_rate for case in exported} == {None}
    card = (tmp_path / "out/data-card.md").read_text()
    assert "4 of the cases had votes or published shares before this study" in card
    assert "Sources of the cases: a\\|b. Their licences: MIT." in card


def test_the_card(study: Study, folder: Path) -> None:
    card = (folder / "data-card.md").read_text()
    for part in (
        "## Procedure",
        "**Consent.** At least 18 years old.",
        "3 worked examples",
        "at most 2 attempts",
        "Planned GBP 12.00 an hour",
        "## Sensitivity",
        "| without flagged |",
        "- Attention: of the attention checks more than 2 failed.",
        "Licence of the votes:",
        "| cases a person | 6 |",
        "Panels: wave 1, wave 2.",
    ):
        assert part in card, part
    words = set(card.replace("|", " ").replace(",", " ").replace("]", " ").split())
    assert not {"nan", "[nan", "+nan", "None", "inf"} & words
    # Every row of a table has the cells of its head.
    tables = [block.splitlines() for block in card.split("\n\n") if block.startswith("|")]
    assert len(tables) >= 7
    for lines in tables:
        assert {line.replace("\\|", "").count("|") for line in lines} == {lines[0].count("|")}
    for case in load_cases(Path(str(study.path)).parent / "cases.jsonl").cases:
        assert case.query not in card


def test_a_card_of_hardly_anything(tmp_path: Path) -> None:
    study = a_study(tmp_path, queries=1, arms=(Arm.NONE,), votes=1, size=1, checks=0)
    bare = study.model_copy(
        update={"tutorial": (), "recruitment": Recruitment(platform=Platform.PROLIFIC)}
    )
    bare._path = study.path
    (tmp_path / "votes.csv").write_text(
        f"rater,case_id,verdict\np,{study.design.cells[0].case_id},safe\n"
    )
    results = summarise(bare, read_collected(tmp_path / "votes.csv", bare))
    export_study(results, tmp_path / "out", ExportChoices())
    card = (tmp_path / "out/data-card.md").read_text()
    assert "No worked examples." in card
    assert "On Prolific." in card
    assert "It can't be told." in card
    assert "mean share safe 1.000; Krippendorff's alpha –." in card
    assert "nan" not in card.split()


def test_a_failure_leaves_nothing(
    study: Study, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "one"
    export_study(results, out, ExportChoices())
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(UsageError, match="--force"):
        export_study(results, out, ExportChoices())
    lost = study.model_copy(update={"cases": "gone.jsonl"})
    with pytest.raises(InputError):
        export_study(replace(results, study=lost), out, ExportChoices(force=True))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert callable(data_card)


def test_the_card_says_what_was_checked_of_people(
    study: Study, collected: Collected, tmp_path: Path
) -> None:
    raters = [person.rater for person in collected.people]
    second = tuple(SecondAccount(raters[n], raters[0], "browser") for n in (1, 2))
    near = SecondAccount(raters[3], raters[2], "address")
    known = Identity(frozenset(raters[:1]), frozenset(raters[1:3]), (*second, near))
    rules = SecondAccounts(browser=Counting.LEAVE_OUT, minutes=5)

    voted = len({vote.rater for vote in collected.votes if vote.counted})

    def card(name: str, identity: Identity | None, platform: Platform) -> str:
        served = study.recruitment.model_copy(update={"platform": platform})
        ruled = study.model_copy(update={"second_accounts": rules, "recruitment": served})
        found = summarise(ruled, replace(collected, identity=identity))
        out = tmp_path / name
        export_study(found, out, ExportChoices())
        summary = json.loads((out / "summary.json").read_text("utf-8"))["funnel"]
        shared = (summary["shared_browsers"], summary["shared_addresses"], summary["signed"])
        assert shared == ((3, 2, 1) if identity else (None, None, None))
        assert summary["second_left_out"] == (2 if identity else None)
        people = (
            None if platform is Platform.NONE else {"export": 2, "link": 1, "nobody": voted - 3}
        )
        assert summary["confirmed"] == (people if identity else None)
        return (out / "data-card.md").read_text("utf-8")

    people = len({vote.rater for vote in collected.votes})
    cards = [card("unknown", None, Platform.PROLIFIC), card("unasked", known, Platform.NONE)]
    assert all(
        "Whether anybody confirmed who these people are is not known." in one for one in cards
    )
    for text in (*cards, card("known", known, Platform.PROLIFIC)):
        assert f"0 of {people} ids voted on two contexts of a query" in text
        assert "never sees" not in text
    assert "several ids shared a browser, is not known" in card_of(tmp_path / "unknown")
    told = card_of(tmp_path / "known")
    assert (
        "Of these people the platform's export confirmed 2, a signed link alone 1, and nobody yet "
        f"{voted - 3}." in told
    )
    assert "1 people came by a link that the platform had signed" in told
    assert "From the browsers of 3 ids the study was opened" in told
    assert "2 ids began within 5 minutes of another from one address range" in told
    assert "in one browser count for nothing, and those in one address range count" in told


def card_of(folder: Path) -> str:
    return (folder / "data-card.md").read_text("utf-8")


def test_the_card_names_times_by_the_words(
    study: Study, results: Results, folder: Path, tmp_path: Path
) -> None:
    # "Which form do I need for matter 7?" and "Sender: Platform type: a town hall" are 15 words.
    text = card_of(folder)
    assert "within the time that the page's words take at 1000 a minute (2 to 2 s" in text
    assert "less than the words of the case take at 600 a minute, at least 3 s" in text
    assert "at 25 s a case (as set in the study file) and 6 minutes besides" in text
    timing, screening = Timing(least_seconds=4), Screening(fast_seconds=5)
    changed = {"timing": timing, "screening": screening, "pay": Pay(per_hour=12)}
    export_study(
        replace(results, study=with_path(study, changed)), tmp_path / "out", ExportChoices()
    )
    text = card_of(tmp_path / "out")
    assert "within 4 s of showing" in text
    assert "of votes in less than 5 s" in text
    assert "s a case (by their words at 238 a minute and 5.3 s to answer)" in text


def with_path(study: Study, changes: Mapping[str, object]) -> Study:
    made = study.model_copy(update=changes)
    made._path = study.path
    return made
