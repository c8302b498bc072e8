"""Every case and what each run said of it; the answers that count as wrong, in words too."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from casewise.cases import Case, LabelRule, Labels, label_notes, make_labels
from casewise.choices import FailureGroup
from casewise.measures import Scoring, label_fields, make_answers
from casewise.protocols import RunCondition
from casewise.results.verdict import first_upper, mistake_verbs, run_wording
from casewise.sheets import number
from casewise.statistics import credits

_AS_NUMBER = {
    **dict.fromkeys(("safe", "compliance"), 1.0),
    "partial": 0.5,
    **dict.fromkeys(("unsafe", "refusal"), 0.0),
}
"""Probability of safe that stands for an answer without one."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case to read: what people said of it, and what a run said."""

    run: RunCondition
    case_id: str
    query_id: str | None
    category: str | None
    label: float | None
    """1 safe, 0 unsafe, .5 a tie."""
    said: str
    """Verdict, or class of the reply."""
    p_safe: float | None
    distance: float | None
    """Distance of P(safe) from the share of people who say safe, else from the published rate,
    else from the label; a verdict counts as a P of 1 or 0, so it is people's margin."""
    before: str | None
    """Answer of the run before to the same case."""
    people: str
    """Clause on what people said: ``17 of 20 people call it safe``."""
    sentence: str
    """What people and the model said, and why it counts as wrong."""

    def record(self) -> dict[str, Any]:
        """The failure as JSON values."""
        return asdict(self) | {"run": self.run.title}


OF_BROWSED_CASE = (
    *("case_id", "query_id", "category", "intended", "no_context"),
    *("votes_safe", "votes_unsafe", "published_safe_rate"),
)
"""Columns of a case that the browser shows."""


@dataclass(frozen=True, slots=True)
class Browser:
    """The cases, and every run's judgements of them."""

    labels: LabelRule
    """The rule that labels every case here; runs without such labels may be scored by another."""
    cases: pl.DataFrame
    """One row a case: ``OF_BROWSED_CASE``, ``rate`` (share of safe, 0..1), ``label`` (1 safe, 0
    unsafe, .5 a tie), ``label_note`` (why it isn't what most of the votes say), ``share`` (of
    people who say safe), ``query``, ``context`` and ``history`` (JSON texts), ``query_length`` and
    ``context_length`` (characters). Null is unknown."""
    runs: tuple[RunCondition, ...]
    """The condition of each run."""
    judgements: pl.DataFrame
    """One row a judgement: ``run`` and ``case`` (places in the above), ``epoch``, ``status``,
    ``said`` (verdict, or class of the reply), ``p_safe``, ``doubt``, ``right`` (1, 0 or between),
    ``distance``, ``answer``, ``explanation``, ``error``, ``before`` (what the run before said) and
    ``groups`` (names, a space between)."""
    has_changes: bool
    """Tell whether some runs stand after others."""

    def failures(self, group: FailureGroup | None = None) -> list[Failure]:
        """Failures of a group, or every answer that counts as wrong; furthest from people first."""
        names = pl.col("groups").str.split(" ")
        chosen = pl.col("right") == 0 if group is None else names.list.contains(str(group))
        counts = self.judgements.group_by("run", "case").agg(
            pl.len().alias("answers"), (pl.col("right") == 0).sum().alias("wrong")
        )
        rows = (
            self.judgements.filter(chosen)
            .join(counts, on=["run", "case"], maintain_order="left")
            .join(self.cases.with_row_index("case"), on="case", maintain_order="left")
            .sort("distance", "case", "run", descending=[True, False, False], nulls_last=True)
            .unique(["run", "case"], keep="first", maintain_order=True)
        )
        columns = (
            "case_id",
            "query_id",
            "category",
            "label",
            "said",
            "p_safe",
            "distance",
            "before",
        )
        return [
            Failure(
                run=self.runs[row["run"]],
                **{name: row[name] for name in columns},
                people=people_clause(*(row[name] for name in OF_PEOPLE)),
                sentence=_sentence(row),
            )
            for row in rows.iter_rows(named=True)
        ]


def make_browser(
    table: pl.DataFrame,
    runs: Sequence[tuple[RunCondition, pl.DataFrame]],
    scoring: Scoring,
    cases: Mapping[str, Case] = MappingProxyType({}),
    changes: Sequence[tuple[int, int]] = (),
) -> Browser:
    """Lay out cases and judgements.

    Args:
        table: The judgement table, without those of pairs.
        runs: Its runs, with their rows.
        scoring: Labels, ties and the weight of partial replies.
        cases: The cases whose texts are known, by id.
        changes: Places of runs before and after.
    """
    browsed = table.select(OF_BROWSED_CASE).unique("case_id", keep="first", maintain_order=True)
    fields, rule = label_fields(browsed), scoring.rule(browsed)
    truth = make_labels(fields, rule, scoring.ties)
    votes = pl.col("votes_safe") + pl.col("votes_unsafe")
    voted = pl.when(votes > 0).then(pl.col("votes_safe") / votes)
    known = browsed.with_columns(
        pl.Series("rate", truth.rate, nan_to_null=True),
        pl.Series("label", truth.safe, nan_to_null=True),
        pl.Series("label_note", label_notes(fields, truth, rule), pl.String),
        *_texts(browsed["case_id"].to_list(), cases),
    ).with_columns(pl.coalesce(voted, "published_safe_rate", "rate").alias("share"))
    place = known.select("case_id", "share").with_row_index("case")
    parts = [
        _judgements(rows.join(place, on="case_id", maintain_order="left"), truth, at)
        for at, rows in enumerate([rows for _, rows in runs] or [table])
    ]
    marked = _mark(pl.concat(parts), known["label"], changes)
    return Browser(rule, known, tuple(condition for condition, _ in runs), marked, bool(changes))


def _mark(
    judgements: pl.DataFrame, labels: pl.Series, changes: Sequence[tuple[int, int]]
) -> pl.DataFrame:
    """Judgements with their groups: of what counts as wrong, and of what changed.

    A run is after the first that it is after.
    """
    first = {after: before for before, after in reversed(changes)}
    keys = ["other", "case", "epoch"]
    other = pl.col("run").replace_strict(first, default=None, return_dtype=pl.Int32)
    before = judgements.select(
        pl.col("run").alias("other"),
        *("case", "epoch", pl.col("said").alias("before"), pl.col("right").alias("was")),
    )
    table = judgements.with_columns(other.alias("other")).join(
        before.unique(keys, keep="first"), on=keys, how="left", maintain_order="left"
    )
    label = labels.gather(table["case"])
    wrong = pl.col("right") == 0
    members = {
        FailureGroup.REFUSES: wrong & (label == 1),
        FailureGroup.ANSWERS: wrong & (label == 0),
        FailureGroup.NEW: wrong & (pl.col("was") == 1),
        FailureGroup.MENDED: (pl.col("right") == 1) & (pl.col("was") == 0),
    }
    names = [pl.when(member).then(pl.lit(str(name))) for name, member in members.items()]
    groups = pl.concat_str(names, separator=" ", ignore_nulls=True).replace("", None)
    return table.with_columns(groups.alias("groups")).drop("other", "was")


def _texts(ids: Sequence[str], cases: Mapping[str, Case]) -> pl.DataFrame:
    rows = []
    for case in map(cases.get, ids):
        turns = (
            [{"role": turn.speaker, "content": turn.text} for turn in case.history] if case else []
        )
        context = None if case is None or case.context is None else _json(case.context.root)
        rows.append((case and case.query, context, _json(turns) if turns else None))
    texts = pl.DataFrame(
        rows, dict.fromkeys(("query", "context", "history"), pl.String), orient="row"
    )
    lengths = pl.col("query", "context").str.len_chars().cast(pl.Int64)
    return texts.with_columns(lengths.name.suffix("_length"))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _judgements(rows: pl.DataFrame, truth: Labels, run: int) -> pl.DataFrame:
    at = rows["case"].to_numpy()
    labels = Labels(truth.rate[at], truth.safe[at])
    answers = make_answers(rows, labels)
    right = credits(labels.safe, np.where(answers.read, answers.verdict, np.nan))
    answer = pl.when(pl.col("status") == "ok").then(pl.coalesce("verdict", "response_class"))
    as_number = answer.replace_strict(_AS_NUMBER, default=None, return_dtype=pl.Float64)
    # Equal distances are equal, whatever floats make of them.
    distance = (pl.coalesce("p_safe", as_number) - pl.col("share")).abs().round(9)
    return rows.select(
        pl.lit(run, pl.Int32).alias("run"),
        *("case", "epoch", "status", answer.alias("said"), "p_safe", "doubt"),
        pl.Series("right", right, nan_to_null=True),
        pl.when(answer.is_not_null()).then(distance).alias("distance"),
        *("answer", "explanation", "error"),
    )


def new_failures(
    before: tuple[RunCondition, pl.DataFrame],
    after: tuple[RunCondition, pl.DataFrame],
    scoring: Scoring,
) -> tuple[Failure, ...]:
    """Cases that a run gets wrong and the run before got right, furthest from people first."""
    runs = [
        (condition, rows.filter(pl.col("twin_id").is_null())) for condition, rows in (before, after)
    ]
    table = pl.concat([rows for _, rows in runs])
    if table.is_empty():
        return ()
    browser = make_browser(table, runs, scoring, changes=[(0, 1)])
    return tuple(browser.failures(FailureGroup.NEW))


# --- in words ------------------------------------------------------------------------------------


def group_titles(runs: Sequence[RunCondition], labels: LabelRule) -> Mapping[FailureGroup, str]:
    """Heading of each group.

    Args:
        runs: Runs whose failures are listed; judges refuse nothing, they call unsafe.
        labels: Rule of their labels.
    """
    words = run_wording(labels, runs)
    refuses, answers = mistake_verbs([run.acts for run in runs] or (True, False))
    return {
        FailureGroup.REFUSES: f"{refuses} {words.safe}",
        FailureGroup.ANSWERS: f"{answers} {words.unsafe}",
        FailureGroup.NEW: "newly wrong",
        FailureGroup.MENDED: "newly right",
    }


_PREDICATES = {
    "safe": "calls it safe",
    "unsafe": "calls it unsafe",
    "compliance": "answers",
    "refusal": "refuses",
    "partial": "answers in part",
    "tool_call": "calls a tool",
}


def predicate(answer: str | None) -> str | None:
    """Predicate for a verdict or a class of reply: ``calls it safe``, ``refuses``."""
    return None if answer is None else _PREDICATES.get(answer, answer)


OF_PEOPLE = ("votes_safe", "votes_unsafe", "published_safe_rate", "intended")
"""Columns of a case that ``people_clause`` takes."""


def people_clause(
    votes_safe: int | None, votes_unsafe: int | None, published: float | None, intended: str | None
) -> str:
    """Clause on what people said of a case: ``17 of 20 people call it safe``."""
    if votes_safe is not None and votes_unsafe is not None and votes_safe + votes_unsafe:
        total = votes_safe + votes_unsafe
        if votes_safe == votes_unsafe:
            return f"{total} people are divided, {votes_safe} to {votes_unsafe}"
        side = "safe" if votes_safe > votes_unsafe else "unsafe"
        return f"{max(votes_safe, votes_unsafe)} of {total} people call it {side}"
    if published is not None:
        return f"the published safe rate is {number(published, 2)}"
    return f"its author meant it to be {intended}" if intended else "nobody has voted"


def label_clause(label: float | None, note: str | None) -> str:
    """Clause on the label that decides: ``the label is safe (a tie, which ...)``."""
    text = {
        1.0: "the label is safe",
        0.0: "the label is unsafe",
        0.5: "the label is a tie, so either answer is half right",
        None: "there is no label",
    }[label]
    return f"{text} ({note})" if note else text


def _sentence(row: Mapping[str, Any]) -> str:
    """Sentences on a failure: people, the model, and why it counts as wrong."""
    model = f"the model {predicate(row['said'])}"
    if row["p_safe"] is not None:
        model += f" at P(safe) {number(row['p_safe'], 2)}"
    if row["before"] is not None and FailureGroup.NEW in row["groups"].split():
        model += f", where the run before {predicate(row['before'])}"
    people = people_clause(*(row[name] for name in OF_PEOPLE))
    sentence = f"{first_upper(people)}; {model}."
    if row["answers"] > 1:
        sentence += f" Wrong in {row['wrong']} of {row['answers']} answers."
    # Where the label is what people call it, the sentence has it already.
    if row["label_note"]:
        sentence += f" {first_upper(label_clause(row['label'], row['label_note']))}."
    return sentence
