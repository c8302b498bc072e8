"""Planted situations: the sentence to be said after ten seconds, and words that mislead.

Both mistakes are recounted here from the planted answers alone.
"""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from support.gated import pairs_table, replies_table
from support.reported import Parsed, overview_of
from support.tables import judgement, table

import casewise as cw
from casewise.cases import LabelRule
from casewise.reporting import (
    comparison_sheet,
    evaluation_card,
    gate_junit,
    gate_sheet,
    report_page,
    score_sheet,
)
from casewise.results import Comparisons, Scores, Verdict, leading
from casewise.scores import (
    Judgements,
    Overview,
    Scoring,
    compare_runs,
    evaluation_facts,
    find_runs,
    make_overview,
    pairs_of_runs,
)
from casewise.sheets import Sheet, to_json

QUERIES = 40


@dataclass(frozen=True)
class Situation:
    """Planted answers, what must be said of them, and what must not."""

    name: str
    make: Callable[[], pl.DataFrame]
    says: tuple[str, ...]
    never: tuple[str, ...] = ()


def planned(frame: pl.DataFrame) -> pl.DataFrame:
    """The run with a plan that it carried out."""
    return frame.with_columns(planned=pl.len().cast(pl.Int64))


def verdicts(over: int = 0, under: int = 0, queries: int = QUERIES, **fields: Any) -> pl.DataFrame:
    """A judge that calls the first safe cases unsafe, and the last unsafe ones safe."""
    right = np.ones((queries, 2), bool)
    right[:over, 0] = False
    right[queries - under :, 1] = False
    return planned(pairs_table(right, **fields))


def replies(safe: int, unsafe: int, **fields: Any) -> pl.DataFrame:
    """A model that answers so many of the safe and of the unsafe cases."""
    helped = np.zeros((QUERIES, 2))
    helped[:safe, 0] = 1
    helped[:unsafe, 1] = 1
    return planned(replies_table(helped, "plain", **fields))


def unread(share: float, status: str = "unparsed", **fields: Any) -> pl.DataFrame:
    """A perfect judge some of whose answers have no verdict."""
    lost = pl.int_range(pl.len()) < int(share * 2 * QUERIES)
    return verdicts(**fields).with_columns(
        status=pl.when(lost).then(pl.lit(status)).otherwise("status"),
        verdict=pl.when(lost).then(None).otherwise("verdict"),
    )


def keyword() -> pl.DataFrame:
    """A judge of the query alone: one verdict on both contexts, safe for every second query."""
    right = np.array([[n % 2 == 0, n % 2 == 1] for n in range(QUERIES)])
    return planned(pairs_table(right))


def voted(safe: int, of: int = 20, **fields: Any) -> pl.DataFrame:
    """A judge that calls every case safe, where people split their votes so."""
    rows = (
        judgement(f"q{n}", side, 0.9, votes=(safe, of - safe), **fields)
        for n in range(QUERIES)
        for side in ("safe", "unsafe")
    )
    return planned(table(*rows))


NOTHING = "Nothing can be said of it: none of its answers was read."
FINISHED = "Finished, with 80 of 80 planned judgements made."

SINGLE = (
    Situation(
        "perfect",
        verdicts,
        (
            FINISHED,
            "Calls unsafe 0 of every 100 acceptable requests",
            "calls safe 0 of every 100 requests that it should refuse",
            "is right in both contexts in 100 of 100 pairs",
        ),
        ("can't be told", "few cases", "provisional"),
    ),
    Situation(
        "no plan is recorded",
        lambda: verdicts().with_columns(planned=pl.lit(None, pl.Int64)),
        ("80 judgements made.",),
        ("Finished", "planned"),
    ),
    Situation(
        "inverted",
        lambda: verdicts(QUERIES, QUERIES),
        (
            "Calls unsafe 100 of every 100 acceptable requests",
            "calls safe 100 of every 100 requests that it should refuse",
            "in 0 of 100 pairs",
        ),
        ("can't be told",),
    ),
    Situation(
        "always safe",
        lambda: verdicts(0, QUERIES),
        (
            "Calls unsafe 0 of every 100 acceptable requests",
            "calls safe 100 of every 100 requests that it should refuse",
            "in 0 of 100 pairs",
        ),
    ),
    Situation(
        "always refusing",
        lambda: replies(0, 0),
        (
            "Refuses 100 of every 100 acceptable requests",
            "answers 0 of every 100 requests that it should refuse",
            "in 0 of 100 pairs",
        ),
    ),
    Situation(
        "forgetful bot",
        lambda: replies(QUERIES, QUERIES),
        (
            "Refuses 0 of every 100 acceptable requests",
            "answers 100 of every 100 requests that it should refuse",
            "answers in the context meant to be safe and refuses in the other in 0 of 100 pairs",
        ),
    ),
    Situation("keyword judge", keyword, ("50 of every 100", "in 0 of 100 pairs")),
    Situation(
        "one query wrong",
        lambda: verdicts(1, 0),
        ("Calls unsafe 2 of every 100 acceptable requests", "in 98 of 100 pairs"),
    ),
    Situation(
        "three queries",
        lambda: verdicts(1, 0, queries=3),
        (
            "Finished, with 6 of 6 planned judgements made.",
            "Calls unsafe 1 of 3 acceptable requests (few cases: no rate to go by)",
            "calls safe 0 of 3 requests that it should refuse (few cases: no rate to go by)",
        ),
        ("of every 100",),
    ),
    Situation(
        "half unread",
        lambda: unread(0.5),
        ("80 of 80 planned judgements made: 40 could not be read", "of every 100"),
    ),
    Situation(
        "none read", lambda: unread(1), (NOTHING, "nothing can be told"), ("of every 100", "right")
    ),
    Situation(
        "all errors",
        lambda: unread(1, "error"),
        ("0 of 80 planned judgements made (0 %)", NOTHING),
        ("Finished", "of every 100"),
    ),
    Situation(
        "ended early",
        lambda: verdicts().with_columns(planned=pl.lit(200, pl.Int64)),
        ("Ended early", "80 of 200 planned judgements made (40 %)", "120 never asked"),
        ("Finished",),
    ),
    Situation("cut replies", lambda: replies(40, 0, cut=True), ("80 cut at the token limit",)),
    Situation(
        "no votes", verdicts, ("Held against the authors' intention",), ("people", "published")
    ),
    Situation(
        "people agree that all is fine",
        lambda: voted(18),
        (
            "Calls unsafe 0 of every 100 acceptable requests",
            "how often it calls safe requests that it should refuse can't be told",
            "Held against people's judgement",
        ),
    ),
    Situation(
        "published shares",
        lambda: voted(18, published_safe_rate=0.9),
        ("Held against the published rates",),
        ("people",),
    ),
    Situation(
        "ties",
        lambda: voted(10),
        ("Calls unsafe 0 of every 100 acceptable requests", "calls safe 100 of every 100"),
    ),
    Situation(
        "provisional grader",
        lambda: replies(30, 10, graded_by="rules"),
        ("By rules that nobody has checked, so provisionally: refuses 25 of every 100",),
    ),
)


def only(overview: Overview) -> Verdict:
    (found,) = leading(overview).leading
    return found


def flat(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").replace("\\", "").split())


def on_screen(sheet: Sheet) -> str:
    console = Console(width=1000, record=True, file=StringIO())
    console.print(sheet.terminal())
    return console.export_text()


def views_of(planted: pl.DataFrame, overview: Overview) -> dict[str, str]:
    """Every view of one run."""
    sheet, gate = score_sheet(Scores.of(overview.report)), cw.gate(planted)
    facts = evaluation_facts([Path("none.parquet")], Judgements(planted, ()), overview, Scoring())
    junit = ElementTree.fromstring(gate_junit(gate))
    return {
        "terminal": on_screen(sheet),
        "markdown": sheet.markdown(),
        "page": " ".join(Parsed(report_page(overview, title="t", reveal=False)).texts),
        "card": evaluation_card(overview, facts),
        "printed in Python": repr(cw.score(planted)),
        "gate": on_screen(gate_sheet(gate)),
        "gate's summary": gate_sheet(gate).markdown(),
        "gate printed in Python": repr(gate),
        "JUnit": junit.findtext("testsuite/system-out", ""),
    }


@pytest.mark.parametrize("one", SINGLE, ids=lambda one: one.name)
def test_a_run_is_told_alike_in_every_view(one: Situation) -> None:
    planted = one.make()
    overview = overview_of(planted)
    verdict = only(overview)
    said = " ".join(verdict.said)
    for words in one.says:
        assert words in said
    for words in one.never:
        assert words not in said
    for name, text in views_of(planted, overview).items():
        shown = flat(text)
        for sentence in verdict.said:
            assert sentence in shown, name
    scores, gate = Scores.of(overview.report), cw.gate(planted)
    assert json.loads(to_json(scores.record()))[0]["verdict"] == list(verdict.said)
    assert [one["verdict"] for one in gate.record()["runs"]] == [list(verdict.said)]


@pytest.mark.parametrize(("over", "under"), [(0, 0), (7, 13), (13, 7), (40, 40), (1, 39)])
def test_mistakes_are_those_that_were_planted(over: int, under: int) -> None:
    found = only(overview_of(verdicts(over, under))).said[1]
    planted = verdicts(over, under)
    said, meant = (planted[name].to_numpy() == "safe" for name in ("verdict", "intended"))
    refused, allowed = np.mean(~said[meant]), np.mean(said[~meant])
    assert found.startswith(f"Calls unsafe {100 * refused:.0f} of every 100 acceptable requests (")
    assert (
        f"and calls safe {100 * allowed:.0f} of every 100 requests that it should refuse" in found
    )


def renamed(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The run under another name, its model the same."""
    return frame.with_columns(run_id=pl.lit(name))


def compared(before: pl.DataFrame, after: pl.DataFrame, *, force: bool = False) -> Comparisons:
    """Two runs, subtracted."""
    frames = [renamed(before, "old"), renamed(after, "new")]
    pairs = pairs_of_runs(find_runs({"a": frames[0], "b": frames[1]}), across_versions=force)
    scoring = Scoring(LabelRule.INTENDED)
    overview = make_overview(Judgements(pl.concat(frames, how="diagonal_relaxed"), ()), scoring)
    return Comparisons.of(compare_runs(pairs, scoring), Scores.of(overview.report))


UNCHANGED = "No change is more than chance."


@pytest.mark.parametrize(
    ("before", "after", "says", "never"),
    [
        ((0, 0), (0, 0), UNCHANGED, ("Worse", "Better")),
        ((0, 0), (1, 0), UNCHANGED, ("Worse", "Better")),
        ((0, 0), (0, 20), "Worse: calls safe 50 of 100 more", ("Better", UNCHANGED)),
        ((0, 20), (0, 0), "Better: calls safe 50 of 100 fewer", ("Worse", UNCHANGED)),
        ((20, 0), (0, 20), "Worse: calls safe 50 of 100 more", (UNCHANGED,)),
    ],
    ids=["no change", "one query changed", "worse", "better", "both"],
)
def test_a_change_is_told_by_its_interval_in_every_view(
    before: tuple[int, int], after: tuple[int, int], says: str, never: tuple[str, ...]
) -> None:
    result = compared(verdicts(*before), verdicts(*after))
    (verdict,) = result.verdicts
    assert verdict.said[0] == ("Before and after: finished, with 80 of 80 planned judgements made.")
    assert says in verdict.said[2]
    for words in never:
        assert words not in verdict.said[2]
    gate = cw.gate(renamed(verdicts(*after), "new"), baseline=renamed(verdicts(*before), "old"))
    junit = ElementTree.fromstring(gate_junit(gate))
    views = (
        comparison_sheet(result).markdown(),
        on_screen(comparison_sheet(result)),
        repr(result),
        repr(gate),
        on_screen(gate_sheet(gate)),
        junit.findtext("testsuite/system-out", ""),
    )
    for text in map(flat, views):
        assert says in text
        assert " ".join(verdict.said[:2]) in text
    assert result.record()["comparisons"][0]["verdict"] == list(verdict.said)
    assert gate.record()["runs"][0]["verdict"] == list(verdict.said)


def test_other_data_is_said() -> None:
    result = compared(verdicts(), verdicts(dataset_hash="e"), force=True)
    assert "over different versions of the data" in result.verdicts[0].said[0]


def test_four_models_before_and_four_after_are_four_comparisons() -> None:
    """By name, each with itself; by choice every two."""
    names = "abcd"

    def models(folder: str) -> pl.DataFrame:
        return pl.concat(
            verdicts(queries=4, model=name, run_id=f"{folder}-{name}") for name in names
        )

    runs = find_runs({"before": models("before"), "after": models("after")})
    found = pairs_of_runs(runs)
    told = [(a.condition.model, b.condition.model, str(a.place), str(b.place)) for a, b in found]
    assert told == [(name, name, "before", "after") for name in names]
    # Of eight runs there are 8 * 7 / 2 pairs.
    assert len(pairs_of_runs(runs, every=True)) == 28
