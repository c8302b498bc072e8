"""What each run does in each category."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from casewise.analysis._answers import label_fields, labelled_rows, make_answers
from casewise.analysis._measures import measure
from casewise.analysis._score import Scoring, conditions
from casewise.analysis.overview._leaders import is_plain
from casewise.cases import default_rule
from casewise.protocols import Protocol
from casewise.statistics import Estimate, ratio


@dataclass(frozen=True, slots=True)
class CategoryScore:
    """A run over the cases of one category; the figures are those of ``score --by category``."""

    condition: dict[str, Any]
    category: str | None
    n: int
    """Judgements whose case has a label."""
    coverage: float
    measures: dict[str, Estimate]

    @property
    def acts(self) -> bool:
        """Whether the model replied, and did not judge."""
        return bool(self.condition["protocol"] == Protocol.RESPOND)


def category_scores(table: pl.DataFrame, scoring: Scoring) -> list[CategoryScore]:
    """Measure every plain run in every category, without a bootstrap."""
    return [
        score
        for condition, rows in conditions(table)
        if is_plain(condition)
        for score in _scores(condition, rows, scoring)
    ]


def _scores(
    condition: dict[str, Any], rows: pl.DataFrame, scoring: Scoring
) -> Sequence[CategoryScore]:
    """Rows are laid out once and cut, which is several times as fast as to score each part."""
    rule = scoring.labels or default_rule(label_fields(rows))
    kept, truth = labelled_rows(rows, rule, scoring.ties)
    answers = make_answers(kept, truth, None, scoring.partial_weight, condition["protocol"])
    found = []
    for category in kept["category"].unique().sort():
        part = answers.only(kept["category"].eq_missing(category).to_numpy())
        n, read = len(part.read), int(part.read.sum())
        found.append(
            CategoryScore(
                condition, category, n, ratio(read, n), measure(part, scoring.unparsed).values
            )
        )
    return found
