"""Two runs over the same cases of the same edition, subtracted."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np
import polars as pl

from casewise.cases import LabelRule, label_notes, make_labels
from casewise.choices import Family
from casewise.errors import InputError, UsageError
from casewise.judgements import (
    ANSWER_KEYS,
    OF_CASE,
    conditions,
    lost_rows,
    run_state,
    shared_rows,
)
from casewise.measures import (
    Scoring,
    bounds,
    compared_measures,
    family_of,
    label_fields,
    labelled_rows,
    make_answers,
)
from casewise.protocols import CONDITION, ResponseClass, RunCondition
from casewise.replies import (
    PROVISIONAL,
    CheckFile,
)
from casewise.results.failures import Failure, new_failures
from casewise.results.score import (
    Result,
    Score,
    correct_scores,
    differences,
    score_rows,
    score_together,
)
from casewise.results.verdict import Verdict, rules_remark
from casewise.sheets import json_fields, plain, plain_rows, plural
from casewise.statistics import DETECTABLE, Estimate, holm


def other_data(a: tuple[str, RunCondition], b: tuple[str, RunCondition]) -> InputError:
    """Error for two runs over different data, each given by name and condition."""
    return InputError(
        f"{a[0]} is over {a[1].data_text} of its data, {b[0]} over {b[1].data_text}: a "
        "difference would be that of the data too",
        expected="runs over one version; casewise cases diff says what changed, --force compares "
        "the cases that both have",
    )


@dataclass(frozen=True, slots=True)
class Run:
    """One run, under the name that a comparison shows."""

    name: str
    condition: RunCondition
    rows: pl.DataFrame
    place: str = ""
    """Path, or other name, of the table that it was read from."""


LEVEL = 0.05
"""Level of p, adjusted by Holm, below which a change is more than chance."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of two runs. NaN is undefined."""

    metric: str
    before: Estimate
    after: Estimate
    difference: Estimate
    """After minus before."""
    p_holm: float
    """Its p, adjusted for the number of pairs of runs; NaN where its interval is withheld."""
    is_open: bool = False
    """True if judgements that were not read, or never asked for, could make it another finding."""

    @property
    def detectable(self) -> float:
        """The smallest true difference that cases like these would show in 80 % of tries."""
        return DETECTABLE * self.difference.se if self.difference.se > 0 else math.nan

    @property
    def has_interval(self) -> bool:
        """Tell whether there is an interval to tell a change by."""
        return not (self.is_open or math.isnan(sum(self.difference.interval)))

    @property
    def is_more_than_chance(self) -> bool:
        """Tell whether the interval leaves 0 out, and the adjusted p says so too.

        Of two runs both say the same; of more, the p allows for their number. Every sentence, mark
        and colour of a comparison goes by this.
        """
        return self.has_interval and self.difference.excludes_zero and self.p_holm < LEVEL


@dataclass(frozen=True, slots=True)
class Change:
    """A case whose verdict, or class of reply, differs between the two runs."""

    case_id: str
    query_id: str
    epoch: int
    category: str | None
    before: str
    """The verdict, or the class of the reply."""
    after: str
    label: float
    """1 safe, 0 unsafe, .5 a tie."""
    label_note: str | None
    """Why the label isn't what most of the votes say; None where it is."""
    after_is_right: bool | None
    """None of a tie, of a partial reply, and of one that calls a tool."""


@dataclass(frozen=True)
class Comparison:
    """Two runs over the cases that both answered; every change is after minus before."""

    before: str
    after: str
    scores: tuple[Score, Score]
    """Before and after under the labels before, each with the state of its whole run."""
    differences: tuple[Difference, ...]
    """Of every measure; where people labelled replies of both runs, of the corrected rates."""
    changed: tuple[Change, ...]
    unmatched: tuple[int, int]
    """Judgements of each run without an answered, labelled counterpart."""
    relabelled: int = 0
    """Cases whose label differs between the two runs."""
    own_score: Score | None = None
    """The run after under its own labels, where some differ."""
    places: tuple[str, str] = ("", "")
    """Paths, or other names, of the tables that both were read from."""

    def __repr__(self) -> str:
        return f"<Comparison {self.before} to {self.after} n={self.n} {self.differences[:1]}>"

    @property
    def n(self) -> int:
        """Judgements compared."""
        return self.scores[0].n

    @property
    def labels(self) -> LabelRule:
        """Rule of the labels."""
        return self.scores[0].labels

    @property
    def counts(self) -> str:
        """Number of verdicts that changed, and in which direction."""
        if not self.changed:
            return "No verdict changed."
        after = [change.after_is_right for change in self.changed]
        counts = f"{after.count(False)} to wrong, {after.count(True)} to right"
        neither = f", {after.count(None)} neither" if None in after else ""
        return f"{plural(len(after), 'verdict')} changed: {counts}{neither}."

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """Cases that are newly wrong, furthest from people first."""
        before, after = ((score.condition, score.rows) for score in self.scores)
        return new_failures(before, after, replace(self.scores[0].scoring, labels=self.labels))


def find_runs(tables: Mapping[str, pl.DataFrame]) -> list[Run]:
    """Every run of some tables, under the shortest name that tells it from the others.

    Args:
        tables: Tables by the place each was read from, which tells runs of one model apart.
    """
    parts = [
        (condition, rows, {**condition, "place": place})
        for place, table in tables.items()
        for condition, rows in conditions(table)
    ]
    keys = (*CONDITION[1:], "dataset_version", "place", "run_id")
    differing = [key for key in keys if len({fields[key] for *_, fields in parts}) > 1]
    names: list[str] = []
    for taken in range(len(differing) + 1):
        names = [_name(fields, differing[:taken]) for *_, fields in parts]
        if len(set(names)) == len(parts):
            break
    return [
        Run(name, condition, rows, str(fields["place"]))
        for name, (condition, rows, fields) in zip(names, parts, strict=True)
    ]


def _name(fields: Mapping[str, str | None], keys: Sequence[str]) -> str:
    prefix = {"ablation": "without "}
    details = ", ".join(f"{prefix.get(key, '')}{fields[key]}" for key in keys if fields[key])
    return f"{fields['model']} ({details})" if details else str(fields["model"])


MOST_PAIRS = 200
"""Most pairs of runs; whoever names more surely meant something else."""


def find_pairs(runs: Sequence[Run], *, across_versions: bool = False) -> list[tuple[Run, Run]]:
    """Every two runs that share protocol, delivery and ablation; if none do, every two.

    Where models of one place are in another as well, each is paired with itself alone. Of each
    two, the one that comes first is before; so the first of all is before every other.

    Args:
        runs: The runs, in their order (``find_runs``).
        across_versions: Also pairs over different versions of a data set.

    Raises:
        InputError: No two runs are over the same version.
        UsageError: There is one run only, or there are too many pairs.
    """
    if len(runs) < 2:
        raise UsageError(
            "there is one run only: give another folder, file or table to compare it with"
        )
    alike = [(a, b) for a, b in combinations(runs, 2) if _family(a) is _family(b)]
    usable = [(a, b) for a, b in alike if across_versions or a.condition.has_data_of(b.condition)]
    if alike and not usable:
        a, b = alike[0]
        raise other_data((a.name, a.condition), (b.name, b.condition))
    same = _pairs_alike(usable, "model", "variant", "prompt_version")
    across_places = [(a, b) for a, b in same if a.place != b.place]
    named = _pairs_alike(across_places) or _pairs_alike(across_places, "variant", "prompt_version")
    pairs = named or same or usable
    if len(pairs) > MOST_PAIRS:
        raise UsageError(f"{len(pairs)} pairs of runs: name files or folders with fewer runs")
    return pairs


def _family(run: Run) -> Family:
    return family_of(run.condition.protocol)


def _pairs_alike(pairs: Sequence[tuple[Run, Run]], *apart: str) -> list[tuple[Run, Run]]:
    """Pairs whose conditions differ in these fields alone."""
    return [
        (a, b) for a, b in pairs if a.condition.same_but(*apart) == b.condition.same_but(*apart)
    ]


def are_comparable(before: Run, after: Run, scoring: Scoring) -> bool:
    """Tell whether two runs share an answered and labelled case."""
    shared, _ = shared_rows([before.rows, after.rows], scoring.unparsed)
    return len(labelled_rows(shared, scoring.rule(before.rows), scoring.ties)[0]) > 0


def compare_runs(
    pairs: Sequence[tuple[Run, Run]],
    scoring: Scoring,
    checks: Sequence[CheckFile] = (),
) -> list[Comparison]:
    """Compare runs, two at a time, over the cases that both answered.

    Args:
        pairs: The runs, before and after; each case is labelled as the one before labels it.
        scoring: As in ``casewise score``.
        checks: Labelled replies, to correct the rates of replies by.

    Raises:
        InputError: Two runs share no answered and labelled case.
    """
    comparisons = [_compare(*pair, scoring, checks) for pair in pairs]
    p: dict[str, list[float]] = {}
    for comparison in comparisons:
        for difference in comparison.differences:
            p.setdefault(difference.metric, []).append(difference.difference.p)
    # Of each measure, in the order of the runs.
    adjusted = {name: iter(holm(values)) for name, values in p.items()}
    return [
        replace(
            comparison,
            differences=tuple(
                replace(difference, p_holm=next(adjusted[difference.metric]))
                for difference in comparison.differences
            ),
        )
        for comparison in comparisons
    ]


def _compare(
    before: Run,
    after: Run,
    scoring: Scoring,
    checks: Sequence[CheckFile],
) -> Comparison:
    rule, runs = scoring.rule(before.rows), (before, after)
    scores = score_together([(run.condition, run.rows) for run in runs], rule, scoring)
    if not scores[0].n:
        raise InputError(
            f"{before.name} and {after.name} share no answered case with a label under the rule "
            f"'{rule}'",
            expected="runs over the same cases",
        )
    scores = correct_scores(scores, checks, [run.rows for run in runs])
    first, second = _with_states(runs, scores)
    change = differences(first, second)
    is_open = _open_measures(first, second, change)
    rows = shared_rows([run.rows for run in runs], scoring.unparsed)
    relabelled = _count_relabelled(rows, rule, scoring)
    return Comparison(
        before=before.name,
        after=after.name,
        scores=(first, second),
        differences=tuple(
            Difference(
                *(name, first.measures[name], second.measures[name]),
                *(change[name], change[name].p),
                is_open=name in is_open,
            )
            for name in compared_measures()
            if name in change
        ),
        changed=_changes(rows, rule, scoring),
        unmatched=(len(before.rows) - first.n, len(after.rows) - first.n),
        relabelled=relabelled,
        own_score=score_rows(rows[1], after.condition, rule, scoring) if relabelled else None,
        places=(before.place, after.place),
    )


def _with_states(runs: Sequence[Run], scores: Sequence[Score]) -> Iterator[Score]:
    """Scores with the states of their whole runs, and bounds by what both were to answer."""
    same = runs[0].condition.has_data_of(runs[1].condition)
    states, whole = [], []
    for run, other in (runs, runs[::-1]):
        state = run_state(run.rows, other.rows if same else None)
        lost = lost_rows(run.rows, other.rows).head(state.not_asked)
        rows = [run.rows, lost.with_columns(status=pl.lit(""))]
        states.append(state)
        whole.append(pl.concat(rows, how="diagonal"))
    cases = whole[0].join(whole[1], on=ANSWER_KEYS, how="semi").select(*ANSWER_KEYS, *OF_CASE)
    for place, score in enumerate(scores):
        side = cases.join(whole[place].drop(OF_CASE), on=ANSWER_KEYS)
        labelled = labelled_rows(side, score.labels, score.scoring.ties)
        answers = make_answers(*labelled, score.condition.protocol)
        yield replace(
            score,
            state=states[place],
            bounds=bounds(answers, max(0, states[place].planned - len(whole[place]))),
        )


def _open_measures(before: Score, after: Score, change: Mapping[str, Estimate]) -> Container[str]:
    """Measures whose finding the unread could turn: counted for one run and against the other."""
    states = [score.state for score in (before, after) if score.state and score.state.unread]
    if before.no_majority or any(state.is_broken for state in states):
        return change
    turned = set()
    for name, (low, high) in before.bounds.items() if states else ():
        estimate, (least, most) = change[name], after.bounds[name]
        moved = np.array([0, least - high - estimate.value, most - low - estimate.value])
        first, last = (end + moved for end in estimate.interval)
        if np.ptp(1 * (first > 0) - (last < 0)):
            turned.add(name)
    return {name for name in change if name in turned or (turned and name not in before.bounds)}


def _count_relabelled(rows: Sequence[pl.DataFrame], rule: LabelRule, scoring: Scoring) -> int:
    """Number of cases in common whose label differs."""
    before, after = (make_labels(label_fields(part), rule, scoring.ties).safe for part in rows)
    differs = ~np.isclose(before, after, equal_nan=True)
    return rows[0]["case_id"].filter(differs).n_unique()


def _changes(rows: Sequence[pl.DataFrame], rule: LabelRule, scoring: Scoring) -> tuple[Change, ...]:
    first, truth = labelled_rows(rows[0], rule, scoring.ties)
    answer = pl.coalesce("verdict", pl.when(pl.col("status") == "ok").then("response_class"))
    notes = label_notes(label_fields(first), truth, rule)
    joined = first.with_columns(
        answer.alias("before"),
        pl.Series("label", truth.safe),
        pl.Series("label_note", notes, pl.String),
    ).join(
        rows[1].select(*ANSWER_KEYS, answer.alias("after")), on=ANSWER_KEYS, maintain_order="left"
    )
    label, after = pl.col("label"), pl.col("after")
    between = (label == 0.5) | after.is_in([ResponseClass.PARTIAL, ResponseClass.TOOL_CALL])
    says_safe = after.is_in(["safe", ResponseClass.COMPLIANCE])
    moved = joined.filter(pl.col("before") != after).with_columns(
        after_is_right=pl.when(~between).then(says_safe == (label == 1))
    )
    columns = [field.name for field in fields(Change)]
    return tuple(Change(*values) for values in moved.select(columns).iter_rows())


@dataclass(frozen=True, repr=False)
class Comparisons(Result[Comparison]):
    """Every two runs that were subtracted: after minus before."""

    @classmethod
    def of(cls, comparisons: Iterable[Comparison]) -> Self:
        """Comparisons with a verdict on each."""
        rows = tuple(comparisons)
        return cls(rows, tuple(map(Verdict.of_change, rows)))

    def record(self) -> Any:
        """``pairs`` by two runs and measure; ``comparisons`` by two runs, with their verdicts."""
        record = {
            "difference_is": "after - before",
            "pairs": [
                _difference_record(comparison, difference)
                for comparison in self
                for difference in comparison.differences
            ],
            "comparisons": [
                {
                    **json_fields(comparison, "before", "after", "labels", "n", "relabelled"),
                    "left_out": sum(comparison.unmatched),
                    PROVISIONAL: any(score.is_provisional for score in comparison.scores),
                    "notes": list(filter(None, [rules_remark(comparison.scores)])),
                    "changed": list(map(asdict, comparison.changed)),
                    "verdict": list(verdict.statements),
                    "finding": verdict.finding,
                }
                for comparison, verdict in zip(self, self.verdicts, strict=True)
            ],
        }
        return plain(record)

    def records(self) -> list[dict[str, Any]]:
        """``pairs`` of ``casewise compare --format json``: a row for each two runs and measure."""
        return plain_rows(self.record()["pairs"])


def _difference_record(comparison: Comparison, difference: Difference) -> dict[str, Any]:
    change = difference.difference
    record: dict[str, Any] = {
        **json_fields(comparison, "before", "after"),
        "metric": difference.metric,
        **json_fields(comparison, "labels", "n"),
        "value_before": difference.before.value,
        "value_after": difference.after.value,
        "difference": change.value,
        "se": change.se,
        "ci": change.interval,
        "p": change.p,
        **json_fields(difference, "p_holm", "detectable"),
        "queries_moved": int(change.moves.astype(bool).sum()),
    }
    return record | ({"withheld": change.reason} if change.reason else {})
