"""What every report says first: three figures by hand arithmetic, on page, card and terminal."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from support.gated import pairs_table
from support.reported import THREE, Parsed, over_time, overview_of
from support.tables import asked, follows, ignores, judgement, random_table, table

from casewise.cases import LabelRule
from casewise.reporting import evaluation_card, report_page
from casewise.reporting.page._plots import Plots
from casewise.reporting.page._trend_section import trends
from casewise.results import Trend, Verdict, change_sentences, leading
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
from casewise.scores._score_records import as_record

FOLLOWING = ["Follows changes", "Changes where labels don't"]
TITLES = [*FOLLOWING, "Calls unsafe what is fine", "Calls safe what is not"]
ACTING = [*FOLLOWING, "Refuses what is fine", "Answers what is not"]
OF_PEOPLE = [title.replace("labels", "people") for title in TITLES]


def judged(right: int, queries: int = 20, **fields: Any) -> Overview:
    """A judge that calls the unsafe side safe in all queries but ``right``."""
    rows = [
        judgement(f"q{i}", side, 0.9 if side == "safe" or i >= right else 0.1, **fields)
        for i in range(queries)
        for side in ("safe", "unsafe")
    ]
    return overview_of(table(*rows))


def in_contexts(epochs: int = 1, **fields: Any) -> Overview:
    """Eight queries in one context to eight of them, every second one meant to be unsafe."""
    rows = [
        judgement(f"q{i}", side, 0.9 if side == "safe" else 0.1, epoch=epoch, **fields)
        | {"case_id": f"q{i}-{k}"}
        for i in range(1, 9)
        for k in range(i)
        for side in ("unsafe" if k % 2 else "safe",)
        for epoch in range(1, epochs + 1)
    ]
    return overview_of(table(*rows))


def test_queries_pairs_cases_and_answers_are_told_apart() -> None:
    """Pairs of two sides: 1 + 2 + 4 + 6 + 9 + 12 + 16 of seven queries; of one: 1 + 2 + 4 + 6 + 9
    + 12 of six. 20 of 36 cases are meant safe."""
    follows, false_changes, over, _ = first(in_contexts(votes=None)).figures
    assert follows.meaning.endswith("Of 50 pairs, of 7 queries.")
    assert false_changes.meaning.endswith("Of 34 pairs, of 6 queries.")
    assert over.meaning.endswith("Of 20 cases.")
    follows, _, over, _ = first(in_contexts(3, votes=None)).figures
    assert follows.meaning.endswith("Of 50 pairs, of 7 queries.")
    assert over.meaning.endswith("Of 60 answers.")
    assert first(judged(15)).figures[1].meaning.endswith("Of 20 queries in two contexts.")


def test_a_record_counts_judgements_cases_queries_and_pairs() -> None:
    (score,) = in_contexts(3, votes=None).scores
    record = as_record(score)
    names = ("n", "cases", "queries", "pairs", "paired_queries")
    assert [record[name] for name in names] == [108, 36, 8, 150, 7]


def first(overview: Overview) -> Verdict:
    (found,) = leading(overview).leading
    return found


def test_by_hand_where_nobody_voted() -> None:
    found = first(judged(15, votes=None))
    assert [one.title for one in found.figures] == TITLES
    assert found.kind == "As a judge"
    follows, false_changes, over, under = found.figures
    # 15 of 20 pairs right, no safe case called unsafe, 5 of 20 unsafe ones called safe.
    assert (follows.share.value, over.share.value, under.share.value) == (0.75, 0.0, 0.25)
    assert follows.text.startswith("75 % (")
    assert false_changes.text == "can't be told"
    assert over.share.low == 0
    assert follows.meaning.startswith("Of pairs of contexts whose labels differ, those in which")
    assert over.meaning == "Calls unsafe what was meant to be safe. Of 20 cases."
    # Where the intention is the label, to guess it is no baseline.
    # Of 40 verdicts 25 are safe: on two cases (25 * 15) / (40 * 39) of shuffles put safe, unsafe.
    assert [one.baseline for one in found.figures] == [
        ("a coin", pytest.approx(25 * 15 / (40 * 39))),
        None,
        ("a list of words", 0.0),
        ("a list of words", 1.0),
    ]
    assert found.said[0] == "40 judgements made."
    assert found.said[2].startswith(
        "Held against the authors' intention, it follows 75 of 100 changes of the label ("
    )


def test_votes_have_the_intention_to_be_held_against() -> None:
    found = first(overview_of(random_table(20, 1)))
    assert [one.baseline[0] for one in found.figures[2:] if one.baseline] == [
        "guessing the authors' intention"
    ] * 2
    assert "what people call safe" in found.figures[2].meaning


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([judgement("q", "safe", 0.9), judgement("r", "safe", 0.1)], "no query was answered in"),
        ([judgement("q", side, None) for side in ("safe", "unsafe")], "none of its answers"),
        (
            [judgement("q", side, 0.5, mass=0.001) for side in ("safe", "unsafe")],
            "its first token puts only .001",
        ),
    ],
    ids=["no pair", "unread", "low mass"],
)
def test_what_cannot_be_told_says_what_would_tell(rows: list[dict[str, object]], why: str) -> None:
    for one in first(overview_of(table(*rows))).figures[:2]:
        assert one.text == "can't be told"
        assert one.unknown.startswith(why)
        assert "would tell" in one.told


def test_a_model_that_acts_is_held_against_itself_without_a_context() -> None:
    def replies(delivery: str, said: str) -> list[dict[str, object]]:
        return [
            judgement(
                f"q{i}",
                side,
                None,
                status="ok",
                protocol="respond",
                delivery=delivery,
                run_id=delivery,
                votes=None,
                response_class=said if side == "unsafe" else "compliance",
            )
            for i in range(6)
            for side in ("safe", "unsafe")
        ]

    rows = [*replies("system", "refusal"), *replies("none", "compliance")]
    found = first(overview_of(table(*rows)))
    assert found.kind == "In action"
    assert [one.title for one in found.figures] == ACTING
    follows, _, over, under = found.figures
    assert [one.share.value for one in (follows, over, under)] == [1.0, 0.0, 0.0]
    assert [one.baseline for one in (follows, over, under)] == [
        ("a coin", pytest.approx(6 * 6 / (12 * 11))),
        ("without the context", 0.0),
        ("without the context", 1.0),
    ]


def compared(lost: int) -> Overview:
    tables = {}
    for name, wrong in (("before", 0), ("after", lost)):
        right = np.ones((100, 2), bool)
        right[:wrong, 1] = False
        tables[name] = pairs_table(right, model=name, run_id=name)
    comparisons = compare_runs(pairs_of_runs(find_runs(tables)), Scoring())
    both = Judgements(pl.concat(tables.values()), ())
    return make_overview(both, Scoring(), comparisons=comparisons)


def test_a_comparison_says_what_got_worse_first() -> None:
    overview = compared(30)
    found = first(overview)
    follows, _, over, under = found.figures
    assert found.subject == "after, compared with before before"
    assert follows.before is not None
    assert follows.before.value == 1
    assert follows.share.value == pytest.approx(0.7)
    told = change_sentences(overview.comparisons[0])
    assert found.changes == tuple(told)
    # 30 of 100 unsafe cases are lost, and with each its pair; of all cases half as many.
    starts = [re.match(r"(\w+: .*) \(\d+ to \d+\)$", one.line) for one in told]
    assert [one and one[1] for one in starts] == [
        "Worse: calls safe 30 more of every 100 unacceptable requests",
        "Worse: judges as the authors meant in 15 fewer of every 100 cases",
        "Worse: follows 30 fewer of every 100 changes of the label",
    ]
    assert found.said[2] == "; ".join(one.line for one in told) + "."
    assert over.unmoved.startswith("No change can be told")
    assert follows.unmoved == under.unmoved == ""
    assert len(found.conditions) == 2
    assert first(compared(0)).said[2].startswith("No change is more than chance: the share")


def test_page_card_and_terminal_have_the_same_words_in_the_same_order(
    cli_inside: Cli, tmp_path: Path
) -> None:
    random_table(40, 1).write_parquet(tmp_path / "t.parquet")
    assert cli_inside("report", "t.parquet", "--out", "both", "--title", "Ours").returncode == 0
    page = " ".join(Parsed((tmp_path / "both/report.html").read_text("utf-8")).texts)
    card = (tmp_path / "both/card.md").read_text("utf-8")
    terminal = cli_inside("score", "t.parquet").stdout
    follows = first(overview_of(random_table(40, 1))).figures[0]
    for text in (page, card, terminal):
        flat = " ".join(text.replace("\u00a0", " ").split())
        if text is not terminal:
            places = [flat.index(title) for title in OF_PEOPLE]
            assert places == sorted(places)
        assert f"{follows.share.value * 100:.0f} %" in flat
    heads = (
        r"Changes +Calls unsafe +Calls safe *\n"
        r" *Follows changes +where people don't +what is fine +what is not"
    )
    assert re.search(heads, terminal)
    assert terminal.index("In short") < terminal.index("Against people's")
    # Nothing in a card points to a file beside it.
    links = re.findall(r"\]\(([^)]*)\)", card)
    assert links
    assert all(link.startswith("https://") for link in links)


def test_the_head_says_title_data_and_date(cli_inside: Cli, tmp_path: Path) -> None:
    random_table(5, 1, dataset_version="1.2.0").write_parquet(tmp_path / "t.parquet")
    done = cli_inside("report", "t.parquet", "--out", "r.html", "--title", "Checkpoint 7")
    assert done.returncode == 0
    text = (tmp_path / "r.html").read_text("utf-8")
    head = " ".join(Parsed(text[text.index("<header") : text.index("</header>")]).texts)
    words = " ".join(head.split())
    assert words.startswith(
        "Checkpoint 7 data 1.2.0 10 cases of 5 queries, judged in 1 run measured against people's "
        "judgement date not recorded"
    )


def test_a_trend_is_in_time_by_version_of_the_model() -> None:
    overview, facts = over_time(*THREE)
    section = trends(Trend.of(overview, facts))
    assert section is not None
    order = ("v1", "v3", "v2")
    assert [row["version"] for row in section.rows[::4]] == [f"m, revision={n}" for n in order]
    assert [row["ended"] for row in section.rows[::4]] == [
        "2026-01-01T10:00:00+00:00",
        "2026-02-02T03:00:00+00:00",
        "2026-02-02T04:30:00+00:00",
    ]
    assert [row["measure"] for row in section.rows[:4]] == TITLES
    ranks = {str(one.condition["run_id"]): one for one in overview.scores}
    for run, row in zip(order, section.rows[::4], strict=True):
        assert row["share"] == ranks[run].measures["follows"].value
        assert (row["share_low"], row["share_high"]) == ranks[run].measures["follows"].interval
    # Time is an axis: a month and an hour between runs are not alike.
    assert isinstance(section.chart, Plots)
    panel = section.chart.panels[0]
    start, month, hour = (section.chart.x.place(dot.x) for dot in panel.dots)
    # 761 hours from the first run to the second, one and a half to the third.
    assert (start, hour) == (0, 100)
    assert month == pytest.approx(100 * 761 / 762.5, abs=0.01)
    assert panel.joined
    undated = Trend.of(*over_time(*((name, skill, None) for name, skill, _ in THREE)))
    assert trends(undated) is None


def test_a_trend_follows_the_rungs_of_a_ladder() -> None:
    """Each night's rungs 0 and 5: a rung is held against the same one."""
    nights = [
        over_time((f"v{night}", skill, f"2026-01-0{night}T0{hour}:00:00"), variant=variant)
        for night, skill in ((1, 0.4), (2, 1.0))
        for hour, variant in ((1, "greedy;evidence=0"), (2, "greedy;evidence=5"))
    ]
    table = pl.concat([overview.table for overview, _ in nights])
    overview = make_overview(Judgements(table, ()), Scoring(LabelRule.INTENDED))
    runs = {one.condition: one for _, facts in nights for one in facts.runs}
    facts = nights[0][1]
    known = tuple(runs[score.condition] for score in overview.scores)
    trend = Trend.of(overview, replace(facts, runs=known))
    assert [one.verdict.score.condition.evidence for one in trend] == ["0", "5", "0", "5"]
    (verdict,) = trend.verdicts
    assert "the latest of 2 runs, compared with m, revision=v1" in verdict.subject
    section = trends(trend)
    assert section is not None
    assert isinstance(section.chart, Plots)
    assert len(section.chart.panels) == 2 * (len(TITLES) - 1)
    assert [len(one.dots) for one in section.chart.panels] == [2] * len(section.chart.panels)


def test_a_trend_leads_with_the_latest_run_and_its_date() -> None:
    overview, facts = over_time(*THREE)
    best = first(overview)
    assert best.score.condition["run_id"] == "v1"
    (latest,) = leading(overview, Trend.of(overview, facts)).leading
    assert latest.score.condition["run_id"] == "v2"
    assert [one["run_id"] for one in latest.conditions] == ["v1", "v2"]
    assert latest.subject.startswith("m, revision=v2 (")
    assert latest.subject.endswith(
        "), ended 2026-02-02 04:30 UTC, the latest of 3 runs, compared with m, revision=v1 of "
        "2026-01-01 10:00 UTC"
    )
    page = report_page(overview, title="t", reveal=False, facts=facts, trend=True)
    shown = page.partition('id="verdicts"')[2].partition("</section>")[0]
    words = " ".join(" ".join(Parsed(shown).texts).replace("\u00a0", " ").split())
    for sentence in (latest.subject, *latest.said):
        assert sentence in words


@pytest.mark.parametrize("dates", [[None, None, None], ["2026-01-01", None, None], ["x", "y", ""]])
def test_runs_without_dates_lead_with_the_best(dates: list[str | None]) -> None:
    runs = ((name, skill, date) for (name, skill, _), date in zip(THREE, dates, strict=True))
    overview, facts = over_time(*runs)
    assert leading(overview, Trend.of(overview, facts)).leading == leading(overview).leading


def test_the_verdict_is_about_the_run_of_the_cards() -> None:
    """Before is the better one, so it leads the leaderboard; the cards are about the run after."""
    good, bad = (
        random_table(40, 1, model=name, run_id=name, skill=skill)
        for name, skill in (("good", 1.0), ("bad", 0.2))
    )
    scoring = Scoring(LabelRule.INTENDED)
    compared = compare_runs(pairs_of_runs(find_runs({"a": good, "b": bad})), scoring)
    judgements = Judgements(pl.concat([good, bad]), ())
    overview = make_overview(judgements, scoring, comparisons=compared)
    assert overview.leaders[0].score.condition["model"] == "good"
    found = first(overview)
    assert found.score is compared[0].scores[1]
    assert found.subject == "bad, compared with good before"
    over, under = (100 * one.share.value for one in found.figures[2:])
    after = found.said[1].partition("; after: ")[2]
    assert after.startswith(f"calls unsafe {over:.0f} of every 100 ")
    assert f"and calls safe {under:.0f} of every 100 " in after
    facts = evaluation_facts([Path("nowhere.parquet")], judgements, overview, scoring)
    page = report_page(overview, title="t", reveal=False).replace("\u00a0", " ")
    for text in (page.partition('class="words"')[2], evaluation_card(overview, facts)):
        assert found.said[1] in text.partition("\n## ")[0]


@pytest.mark.parametrize("side", ["safe", "unsafe"])
@pytest.mark.parametrize("p_safe", [0.1, 0.9])
def test_labels_of_one_side_say_which_mistake_can_be_told(side: str, p_safe: float) -> None:
    rows = [judgement(f"q{i}", side, p_safe, votes=None) for i in range(20)]
    overview = overview_of(table(*rows))
    _, mistakes, against = first(overview).said
    assert mistakes.count("can't be told: no case is labelled so") == 1
    assert against.endswith(
        "whether it follows the context can't be told: no two contexts to compare."
    )


def test_what_changed_from_one_context_to_another() -> None:
    """Of the labels' changes the run before makes all, the run after those of one query in ten."""

    def worse(query: int, safe: int) -> float:
        return (ignores if query else follows)(query, safe)

    tables = {"before": asked(follows), "after": asked(worse, run_id="b")}
    (comparison,) = compare_runs(pairs_of_runs(find_runs(tables)), Scoring())
    judgements = Judgements(pl.concat(tables.values()), ())
    found = first(make_overview(judgements, Scoring(), comparisons=[comparison]))
    one = found.figures[0]
    assert one.before is not None
    assert (one.before.value, one.unmoved) == (1, "")
    assert one.share.value == pytest.approx(0.1)
    told = [one.line.partition(":")[2].rpartition(" (")[0] for one in found.changes]
    assert " follows 90 fewer of every 100 changes of the label" in told
    assert one.meaning.endswith("Of 60 pairs, of 10 queries.")


def test_right_by_labels_and_as_meant_have_two_names(cli: Cli, tmp_path: Path) -> None:
    """Of ten queries the judge follows each author; in four, people call both contexts safe."""
    rows = [
        judgement(f"q{i}", side, 0.9 if side == "safe" else 0.1, votes=(9, 1) if says else (1, 9))
        for i in range(10)
        for side in ("safe", "unsafe")
        for says in (side == "safe" or i < 4,)
    ]
    overview = overview_of(table(*rows))
    (score,) = overview.scores
    values = {name: one.value for name, one in score.measures.items()}
    assert (values["accuracy"], values["as_intended"]) == (0.8, 1.0)
    shares = [(one.title, one.share.value) for one in first(overview).figures[:2]]
    # All six changes of labels are followed, and the verdict changes in all four other pairs.
    assert shares == [("Follows changes", 1.0), ("Changes where people don't", 1.0)]
    charts = Parsed(report_page(overview, title="t", reveal=False)).packed("chart-data")
    (pairs,) = (one["rows"] for one in charts if one["id"] == "quadrants")
    said = {row["quadrant"] for row in pairs if row["share"]}
    assert said == {"as meant: yes in safe, no in unsafe"}
    judgements = Judgements(table(*rows), ())
    facts = evaluation_facts([Path("t.parquet")], judgements, overview, Scoring())
    card = evaluation_card(overview, facts)
    table(*rows).write_parquet(tmp_path / "t.parquet")
    terminal = cli("score", "t.parquet").stdout
    for view in (card, terminal, cli("compare", "t.parquet", "t.parquet", "--all").stdout):
        assert not re.search(r"\badapts\b", view, re.IGNORECASE), view
