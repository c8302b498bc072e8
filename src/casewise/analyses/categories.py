"""Categories, where they differ by more than chance."""

import polars as pl

from casewise.analyses.pairing import Run
from casewise.choices import UnreadPolicy
from casewise.measures import (
    Answers,
    count_answers,
    headline,
    labelled_rows,
    make_answers,
    measure,
)
from casewise.results import Analysis, Line, Scores, analysis
from casewise.sheets import number
from casewise.statistics import kruskal_wallis

LEVEL = 0.05


@analysis
def categories(scores: Scores) -> Analysis:
    """Share of right answers by category, of the runs whose categories differ by a joint test.

    Kruskal and Wallis's test of the queries' shares of right answers: the most extreme of many
    categories are extreme by chance.
    """
    lines: list[Line] = []
    notes = []
    for run in scores.runs:
        if not run[0].plain or run[1]["category"].n_unique() < 2:
            continue
        rows, truth = labelled_rows(run[1], scores.scoring.rule(run[1]), scores.scoring.ties)
        answers = make_answers(rows, truth, run[0].protocol)
        p = _joint(rows["category"], answers)
        if p < LEVEL:
            lines += _by_category(run, rows["category"], answers)
        elif p == p:
            notes.append(f"{run[0].title}: no difference between categories shown (p {number(p)}).")
    return Analysis(
        "categories",
        "Right answers by category",
        "Where is it right less often?",
        lines,
        "Only of runs whose categories differ by a joint test. Panels of people, and label rules, "
        "differ between categories too: a stricter panel looks like a harder category.",
        notes=notes,
    )


def _joint(names: pl.Series, answers: Answers) -> float:
    """P-value of all categories being alike, by queries; NaN where it can't be told."""
    counted = count_answers(answers, UnreadPolicy.HONEST)
    query, right = counted.answers.clusters.index, counted.credits
    queries = (
        pl.DataFrame({"category": names.filter(answers.read), "query": query, "right": right})
        .group_by("query", maintain_order=True)
        .agg(pl.first("category"), pl.mean("right"))
    )
    groups = [rows["right"].to_numpy() for _, rows in queries.group_by("category")]
    return kruskal_wallis(groups).p


def _by_category(run: Run, names: pl.Series, answers: Answers) -> list[Line]:
    name = headline(run[0].protocol)
    lines = []
    for category in names.drop_nulls().unique().sort():
        part = answers.only((names == category).fill_null(False).to_numpy())
        lines.append(Line(run[0], category, int(part.read.sum()), measure(part, [name])))
    return lines
