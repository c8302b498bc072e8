"""Every case with what people said, and what each run said: what a case browser shows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from casewise.cases import Case, LabelRule, Labels, default_rule, make_labels
from casewise.protocols import Protocol
from casewise.scores._answer_columns import label_fields, make_answers
from casewise.scores._condition_scores import Scoring, conditions
from casewise.scores._measures import ACT_QUADRANTS, QUADRANTS
from casewise.statistics import credits

OF_BROWSED_CASE = (
    "case_id",
    "query_id",
    "category",
    "intended",
    "votes_safe",
    "votes_unsafe",
    "published_safe_rate",
)
"""What the table says of a case and the browser shows."""


@dataclass(frozen=True, slots=True)
class Browser:
    """The cases, and every run's judgements of them."""

    labels: LabelRule
    """The rule that labels every case here; runs without such labels may be scored by another."""
    cases: pl.DataFrame
    """One row a case: ``OF_BROWSED_CASE``, ``rate`` (share of safe, 0..1), ``label`` (1 safe, 0
    unsafe, .5 a tie), ``query``, ``context`` and ``history`` (JSON texts), ``query_length`` and
    ``context_length`` (characters). Null is unknown."""
    runs: tuple[dict[str, Any], ...]
    """The condition of each run."""
    judgements: pl.DataFrame
    """One row a judgement: ``run`` and ``case`` (places in the above), ``epoch``, ``status``,
    ``said`` (verdict, or class of the reply), ``p_safe``, ``right`` (1, 0 or between), ``quadrant``
    (of its pair, where both are answered), ``answer``, ``explanation``, ``error``."""


def make_browser(table: pl.DataFrame, cases: Mapping[str, Case], scoring: Scoring) -> Browser:
    """Lay out cases and judgements.

    Args:
        table: The judgement table.
        cases: The cases whose texts are known, by id.
        scoring: Labels, ties and the weight of partial replies.
    """
    shown = table.select(OF_BROWSED_CASE).unique("case_id", keep="first", maintain_order=True)
    fields = label_fields(shown)
    rule = scoring.labels or default_rule(fields)
    truth = make_labels(fields, rule, scoring.ties)
    known = shown.with_columns(
        pl.Series("rate", truth.rate, nan_to_null=True),
        pl.Series("label", truth.safe, nan_to_null=True),
        *_texts(shown["case_id"].to_list(), cases),
    )
    place = shown.select("case_id").with_row_index("case")
    runs = list(conditions(table))
    parts = [
        _judgements(rows.join(place, on="case_id", maintain_order="left"), truth, at, scoring)
        for at, (_, rows) in enumerate(runs)
    ]
    return Browser(rule, known, tuple(condition for condition, _ in runs), pl.concat(parts))


def _texts(ids: Sequence[str], cases: Mapping[str, Case]) -> list[pl.Series]:
    found = [cases.get(name) for name in ids]
    contexts = [
        _json(case.context.root) if case is not None and case.context is not None else None
        for case in found
    ]
    histories = [
        _json([{"role": turn.speaker, "content": turn.text} for turn in case.history])
        if case and case.history
        else None
        for case in found
    ]
    queries = [case.query if case is not None else None for case in found]
    return [
        pl.Series("query", queries, pl.String),
        pl.Series("context", contexts, pl.String),
        pl.Series("history", histories, pl.String),
        pl.Series("query_length", [text and len(text) for text in queries], pl.Int64),
        pl.Series("context_length", [text and len(text) for text in contexts], pl.Int64),
    ]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _judgements(rows: pl.DataFrame, truth: Labels, run: int, scoring: Scoring) -> pl.DataFrame:
    at = rows["case"].to_numpy()
    labels = Labels(truth.rate[at], truth.safe[at])
    answers = make_answers(rows, labels, None, scoring.partial_weight)
    verdict = np.where(answers.read, answers.verdict, np.nan)
    right = credits(labels.safe, verdict)
    if answers.tool_call is not None:
        # On neither side, as a partial reply; so its pair is mixed.
        verdict = np.where(answers.tool_call, 0.5, verdict)
    said = pl.when(pl.col("status") == "ok").then(pl.coalesce("verdict", "response_class"))
    return rows.select(
        pl.lit(run).alias("run"),
        pl.col("case").cast(pl.Int64),
        "epoch",
        "status",
        said.alias("said"),
        "p_safe",
        pl.Series("right", right, nan_to_null=True),
        pl.Series("quadrant", _quadrants(verdict, answers.pairs, rows["protocol"]), pl.String),
        "answer",
        "explanation",
        "error",
    )


def _quadrants(
    verdict: np.ndarray[Any, np.dtype[np.float64]],
    pairs: np.ndarray[Any, np.dtype[np.int64]],
    protocol: pl.Series,
) -> list[str | None]:
    """What the run does with the pair of each row; None where an answer or the twin is missing."""
    acts = len(protocol) > 0 and protocol[0] == Protocol.RESPOND
    adapts, always, never, inverted = (ACT_QUADRANTS if acts else QUADRANTS)[:4]
    names = {(1.0, 0.0): adapts, (1.0, 1.0): always, (0.0, 0.0): never, (0.0, 1.0): inverted}
    found: list[str | None] = [None] * len(verdict)
    for safe, unsafe in pairs:
        both = (float(verdict[safe]), float(verdict[unsafe]))
        if not np.isnan(both).any():
            found[safe] = found[unsafe] = names.get(both, "mixed")
    return found
