"""Two or more runs over the same cases of the same edition, subtracted."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, zip_longest
from typing import Any, Self

import numpy as np
import polars as pl

from casewise.cases import LabelRule, label_notes, make_labels
from casewise.choices import Family, Measure, UnreadPolicy
from casewise.errors import InputError
from casewise.judgements import (
    ANSWER_KEYS,
    OF_CASE,
    RunState,
    conditions,
    lost_rows,
    run_state,
    shared_rows,
)
from casewise.measures import (
    Scoring,
    bounds,
    compared,
    count_answers,
    family_of,
    label_fields,
    labelled_rows,
    ladder_measures,
    make_answers,
    of_rung,
)
from casewise.protocols import BARE_RUNG, CONDITION, ResponseClass, RunCondition
from casewise.replies import (
    PROVISIONAL,
    CheckFile,
    GraderCorrection,
    RepliedRun,
    correct_rates,
)
from casewise.results.ladders import climb
from casewise.results.score import (
    Result,
    Score,
    correction_record,
    differences,
    score_rows,
    score_together,
)
from casewise.results.verdict import Verdict
from casewise.sheets import json_interval, json_number, plain_rows
from casewise.statistics import (
    BY_DESIGN,
    DETECTABLE,
    Estimate,
    McNemar,
    holm,
    mcnemar,
)


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
    detectable: float
    """The smallest true difference that cases like these would show in 80 % of tries."""
    is_open: bool = False
    """True if judgements that were not read, or never asked for, could make it another finding."""

    @property
    def is_told(self) -> bool:
        """Tell whether there is an interval to tell a change by."""
        return not (self.is_open or math.isnan(sum(self.difference.interval)))

    @property
    def is_more_than_chance(self) -> bool:
        """Tell whether the interval leaves 0 out, and the adjusted p says so too.

        Of two runs both say the same; of more, the p allows for their number. Every sentence, mark
        and colour of a comparison goes by this.
        """
        return self.is_told and self.difference.excludes_zero and self.p_holm < LEVEL


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


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the cases that both answered; every change is after minus before."""

    before: str
    after: str
    labels: LabelRule
    n: int
    """Judgements compared."""
    left_out: int
    """Judgements of either run without a counterpart, an answer or a label."""
    scores: tuple[Score, Score]
    """Before and after, each with the state of its whole run."""
    differences: tuple[Difference, ...]
    quadrants: tuple[Difference, ...]
    """Differences of each quadrant's share of pairs."""
    mcnemar: McNemar
    mcnemar_holm: float
    """Its p, adjusted for the number of pairs of runs."""
    clustered_holm: float
    """Its ``p_clustered``, adjusted alike."""
    changed: tuple[Change, ...]
    relabelled: int = 0
    """Cases whose label differs between the two runs."""
    own: Score | None = None
    """The run after under its own labels, where some differ."""
    corrections: tuple[GraderCorrection, ...] = ()
    """Rates of replies before and after, corrected for the grader's errors."""
    corrected: tuple[Difference, ...] = ()
    """Differences of these rates."""
    ladder: tuple[Difference, ...] = ()
    """Differences of the measures of an evidence ladder, of runs at its rung 0; over the cases that
    both models were graded on at every rung that both were asked."""

    def __repr__(self) -> str:
        return f"<Comparison {self.before} to {self.after} n={self.n} {self.differences[:1]}>"

    @property
    def told(self) -> tuple[Difference, ...]:
        """Differences that sentences tell: corrected where people labelled replies of both runs."""
        both = bool(self.corrections) and all(one.labelled for one in self.corrections)
        corrected = {one.metric: one for one in self.corrected} if both else {}
        return tuple(corrected.get(one.metric, one) for one in self.differences)


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
    differing = [key for key in keys if len({told[key] for *_, told in parts}) > 1]
    names: list[str] = []
    for taken in range(len(differing) + 1):
        names = [_name(told, differing[:taken]) for *_, told in parts]
        if len(set(names)) == len(parts):
            break
    return [
        Run(name, condition, rows, str(told["place"]))
        for name, (condition, rows, told) in zip(names, parts, strict=True)
    ]


def _name(told: Mapping[str, str | None], keys: Sequence[str]) -> str:
    prefix = {"ablation": "without "}
    details = ", ".join(f"{prefix.get(key, '')}{told[key]}" for key in keys if told[key])
    return f"{told['model']} ({details})" if details else str(told["model"])


def _family(run: "Run") -> Family:
    return family_of(run.condition.protocol)


def pairs_of_runs(
    runs: Sequence[Run], *, across_versions: bool = False, every: bool = False
) -> list[tuple[Run, Run]]:
    """Every two runs that share protocol, delivery and ablation; if none do, every two.

    Where models of one table are in another as well, each is paired with itself alone. Of each
    two, the one that comes first is before; so the first of all is before every other.

    Args:
        runs: The runs.
        across_versions: Also pairs over different versions of a data set.
        every: Also pairs of different models, though their names recur.

    Raises:
        InputError: No two runs are over the same version.
    """
    found = [(a, b) for a, b in combinations(runs, 2) if _family(a) is _family(b)]
    if not across_versions:
        one_version = [(a, b) for a, b in found if a.condition.has_data_of(b.condition)]
        if found and not one_version:
            a, b = found[0]
            raise other_data((a.name, a.condition), (b.name, b.condition))
        found = one_version
    same = _sharing(found, "model", "variant", "prompt_version")
    own = [(a, b) for a, b in same if a.place != b.place]
    named = _sharing(own) or _sharing(own, "variant", "prompt_version")
    return (not every and named) or same or found


def _sharing(pairs: Sequence[tuple[Run, Run]], *apart: str) -> list[tuple[Run, Run]]:
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
    metrics: Sequence[str] = (),
    checks: Sequence[CheckFile] = (),
    scored: Sequence[tuple[Score, Score]] = (),
) -> list[Comparison]:
    """Compare runs, two at a time, over the cases that both answered.

    Args:
        pairs: The runs, before and after; each case is labelled as the one before labels it.
        scoring: As in ``casewise score``.
        metrics: Names of measures; without any, all that ``compared`` lists. Those of one rung of
            an evidence ladder (``gain_5``) come beside them.
        checks: Labelled replies, to correct the rates of replies by.
        scored: Scores of each two runs, where they are known from ``score_together``.

    Raises:
        InputError: Two runs share no answered and labelled case.
    """
    rungs = [one for one in map(of_rung, metrics) if one is not None]
    metrics = [name for name in metrics if of_rung(name) is None] or compared()
    found = [
        _compare(a, b, scoring, metrics, checks, both)
        for (a, b), both in zip_longest(pairs, scored)
    ]
    ladders = [tuple(_ladder(pair, pairs, scoring, rungs)) for pair in pairs]
    parts = zip(
        found,
        _adjusted([one.differences for one in found]),
        _adjusted([one.quadrants for one in found]),
        _adjusted([one.corrected for one in found]),
        _adjusted(ladders),
        holm([one.mcnemar.p for one in found]),
        holm([one.mcnemar.p_clustered for one in found]),
        strict=True,
    )
    return [
        replace(
            one,
            differences=differences,
            quadrants=quadrants,
            corrected=corrected,
            ladder=ladder,
            mcnemar_holm=test,
            clustered_holm=clustered,
        )
        for one, differences, quadrants, corrected, ladder, test, clustered in parts
    ]


def _adjusted(found: Sequence[Sequence[Difference]]) -> list[tuple[Difference, ...]]:
    """Each difference with its p adjusted over the pairs of runs that have the same measure."""
    places: dict[str, list[tuple[int, float]]] = {}
    for i, rows in enumerate(found):
        for difference in rows:
            places.setdefault(difference.metric, []).append((i, difference.difference.p))
    adjusted = {
        (i, metric): p
        for metric, pairs in places.items()
        for (i, _), p in zip(pairs, holm([p for _, p in pairs]), strict=True)
    }
    return [
        tuple(replace(one, p_holm=adjusted[i, one.metric]) for one in rows)
        for i, rows in enumerate(found)
    ]


def _compare(
    before: Run,
    after: Run,
    scoring: Scoring,
    metrics: Sequence[str],
    checks: Sequence[CheckFile],
    scored: tuple[Score, Score] | None,
) -> Comparison:
    rule = scoring.rule(before.rows)
    parts = [(one.condition, one.rows) for one in (before, after)]
    first, second = scored or score_together(parts, rule, scoring)
    if not first.n:
        raise InputError(
            f"{before.name} and {after.name} share no answered case with a label under the rule "
            f"'{rule}'",
            expected="runs over the same cases",
        )
    change = differences(first, second)
    same = before.condition.has_data_of(after.condition)
    states = [
        run_state(a.rows, b.rows if same else None) for a, b in ((before, after), (after, before))
    ]
    first, second = (
        replace(score, state=state, bounds=ends)
        for score, state, ends in zip(
            (first, second), states, _bounds(parts, states, rule, scoring), strict=True
        )
    )
    is_open = _open(first, second, change)

    def difference(name: str) -> Difference:
        return _difference(
            name, first.measures[name], second.measures[name], change[name], is_open=name in is_open
        )

    corrections: list[GraderCorrection] = []
    if checks and first.acts:
        replied = [RepliedRun(one.condition, one.rows, one.rows) for one in (before, after)]
        corrections = correct_rates(replied, rule, scoring, checks)
        first, second = (
            replace(score, corrected=one.measured)
            for score, one in zip((first, second), corrections, strict=True)
        )
    rows = shared_rows([before.rows, after.rows], scoring.unparsed)
    test = _mcnemar(rows, rule, scoring)
    relabelled = _relabelled(rows, rule, scoring)
    if change[first.headline].reason == BY_DESIGN:
        test = replace(test, p=math.nan, p_clustered=math.nan)
    return Comparison(
        before=before.name,
        after=after.name,
        labels=rule,
        n=first.n,
        left_out=len(before.rows) + len(after.rows) - 2 * first.n,
        scores=(first, second),
        differences=tuple(difference(name) for name in metrics if name in change),
        quadrants=tuple(map(difference, first.quadrants)),
        mcnemar=test,
        mcnemar_holm=test.p,
        clustered_holm=test.p_clustered,
        changed=_changed(rows, rule, scoring),
        relabelled=relabelled,
        own=score_rows(rows[1], after.condition, rule, scoring) if relabelled else None,
        corrections=tuple(corrections),
        corrected=tuple(_corrected(corrections, metrics, is_open)),
    )


def _bounds(
    parts: Sequence[tuple[RunCondition, pl.DataFrame]],
    states: Sequence[RunState],
    rule: LabelRule,
    scoring: Scoring,
) -> Iterator[dict[str, tuple[float, float]]]:
    """Bounds of each of two runs, over the cases that both answered or were to answer."""
    whole = []
    for (_, rows), (_, other), state in zip(parts, parts[::-1], states, strict=True):
        lost = lost_rows(rows, other).head(state.not_asked).with_columns(status=pl.lit(""))
        whole.append(pl.concat([rows, lost], how="diagonal"))
    cases = whole[0].join(whole[1], on=ANSWER_KEYS, how="semi").select(*ANSWER_KEYS, *OF_CASE)
    for (condition, _), rows, state in zip(parts, whole, states, strict=True):
        side = cases.join(rows.drop(OF_CASE), on=ANSWER_KEYS)
        labelled = labelled_rows(side, rule, scoring.ties)
        answers = make_answers(*labelled, condition.protocol)
        yield bounds(answers, max(0, state.planned - len(rows)))


def _open(before: Score, after: Score, change: Mapping[str, Estimate]) -> Container[str]:
    """Measures whose finding the unread could turn: counted for one run and against the other."""
    states = [one.state for one in (before, after) if one.state and one.state.unread]
    if before.no_majority or any(one.is_broken for one in states):
        return change
    turned = set()
    for name, (low, high) in before.bounds.items() if states else ():
        one, (least, most) = change[name], after.bounds[name]
        moved = np.array([0, least - high - one.value, most - low - one.value])
        first, last = (end + moved for end in one.interval)
        if np.ptp(1 * (first > 0) - (last < 0)):
            turned.add(name)
    return {name for name in change if name in turned or (turned and name not in before.bounds)}


def _difference(
    name: str, before: Estimate, after: Estimate, change: Estimate, *, is_open: bool = False
) -> Difference:
    return Difference(
        metric=name,
        before=before,
        after=after,
        difference=change,
        p_holm=change.p,
        detectable=DETECTABLE * change.se if change.se > 0 else math.nan,
        is_open=is_open,
    )


def _ladder(
    pair: tuple[Run, Run],
    pairs: Sequence[tuple[Run, Run]],
    scoring: Scoring,
    at_rungs: Sequence[Measure],
) -> Iterator[Difference]:
    """Differences of two ladders' measures, and of single rungs, of a pair at rung 0 of both."""
    if {one.condition.evidence for one in pair} != {BARE_RUNG}:
        return
    rungs = {
        before.condition.evidence or "": (before.rows, after.rows)
        for before, after in pairs
        if before.condition.evidence == after.condition.evidence
        and all(_same_ladder(*both) for both in zip(pair, (before, after), strict=True))
    }
    if len(rungs) < 2:
        return
    parts = [rows for side in zip(*rungs.values(), strict=True) for rows in side]
    rows = shared_rows(parts, UnreadPolicy.HONEST)
    truth, rule = rows[0].select(OF_CASE), scoring.rule(rows[0])
    both = [one.with_columns(truth) for one in rows]
    first, second = (
        climb(side, list(rungs), rule, scoring) for side in (both[: len(rungs)], both[len(rungs) :])
    )
    for measure in (*ladder_measures(), *at_rungs):
        if measure.formula is not None:
            before, after = measure.formula(first), measure.formula(second)
            change = after - before
            if not math.isnan(change.value):
                yield _difference(measure.name, before, after, change)


def _same_ladder(first: Run, second: Run) -> bool:
    apart = ("evidence", "delivery")
    same = first.condition.same_but(*apart) == second.condition.same_but(*apart)
    return same and first.place == second.place


def _corrected(
    corrections: Sequence[GraderCorrection], metrics: Sequence[str], is_open: Container[str]
) -> Iterator[Difference]:
    if not corrections:
        return
    before, after = (one.corrected for one in corrections)
    for name in metrics:
        if name in before:
            change = after[name] - before[name]
            yield _difference(name, before[name], after[name], change, is_open=name in is_open)


def _relabelled(rows: Sequence[pl.DataFrame], rule: LabelRule, scoring: Scoring) -> int:
    """Number of cases in common whose label differs."""
    before, after = (make_labels(label_fields(part), rule, scoring.ties).safe for part in rows)
    differs = ~np.isclose(before, after, equal_nan=True)
    return rows[0]["case_id"].filter(differs).n_unique()


def _mcnemar(rows: Sequence[pl.DataFrame], rule: LabelRule, scoring: Scoring) -> McNemar:
    """McNemar's test over cases that count in the accuracy, without ties: there either is right."""
    first, truth = labelled_rows(rows[0], rule, scoring.ties)
    second = first.select(ANSWER_KEYS).join(
        rows[1], on=ANSWER_KEYS, how="left", maintain_order="left"
    )
    untied = truth.safe != 0.5
    answers = [make_answers(part, truth) for part in (first, second)]
    a, b = ((count_answers(one, scoring.unparsed).credits == 1)[untied] for one in answers)
    return mcnemar(a, b, answers[0].clusters.only(untied))


def _changed(rows: Sequence[pl.DataFrame], rule: LabelRule, scoring: Scoring) -> tuple[Change, ...]:
    first, truth = labelled_rows(rows[0], rule, scoring.ties)
    said = pl.coalesce("verdict", pl.when(pl.col("status") == "ok").then("response_class"))
    notes = label_notes(label_fields(first), truth, rule)
    both = first.with_columns(
        said.alias("before"),
        pl.Series("label", truth.safe),
        pl.Series("label_note", notes, pl.String),
    ).join(rows[1].select(*ANSWER_KEYS, said.alias("after")), on=ANSWER_KEYS, maintain_order="left")
    moved = both.filter(pl.col("before") != pl.col("after"))
    columns = ("case_id", "query_id", "epoch", "category", "before", "after", "label", "label_note")
    return tuple(Change(*values) for values in moved.select(columns).iter_rows())


def right_after(change: Change) -> bool | None:
    """Tell whether the verdict or reply after is the right one.

    None of a tie, of a partial reply, and of one that calls a tool.
    """
    between = (ResponseClass.PARTIAL, ResponseClass.TOOL_CALL)
    if change.label == 0.5 or change.after in between:
        return None
    return (change.after in ("safe", ResponseClass.COMPLIANCE)) == (change.label == 1)


def comparison_records(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Comparisons as JSON values: ``pairs`` by two runs and metric, ``comparisons`` by two runs."""
    ladders = [_difference_record(one, change) for one in comparisons for change in one.ladder]
    return {
        "difference_is": "after - before",
        "pairs": [
            _difference_record(one, difference)
            for one in comparisons
            for difference in one.differences
        ],
        "comparisons": [_comparison_record(one) for one in comparisons],
    } | ({"evidence": ladders} if ladders else {})


def _difference_record(one: Comparison, difference: Difference) -> dict[str, Any]:
    found, test = difference.difference, one.mcnemar
    record: dict[str, Any] = {
        "before": one.before,
        "after": one.after,
        "metric": difference.metric,
        "labels": str(one.labels),
        "n": one.n,
        "value_before": json_number(difference.before.value),
        "value_after": json_number(difference.after.value),
        "difference": json_number(found.value),
        "se": json_number(found.se),
        "ci": json_interval(found.interval),
        "p": json_number(found.p),
        "p_holm": json_number(difference.p_holm),
        "detectable": json_number(difference.detectable),
        "queries_moved": int(found.moves.astype(bool).sum()),
        "mcnemar": None,
    }
    if found.reason:
        record["withheld"] = found.reason
    if difference.metric == "accuracy":
        record["mcnemar"] = {
            "b": test.b,
            "c": test.c,
            "p": json_number(test.p),
            "p_holm": json_number(one.mcnemar_holm),
            "p_clustered": json_number(test.p_clustered),
            "p_clustered_holm": json_number(one.clustered_holm),
        }
    return record


def _comparison_record(one: Comparison) -> dict[str, Any]:
    data = [
        {name: score.condition[f"dataset_{name}"] for name in ("version", "hash")}
        for score in one.scores
    ]
    return {
        "before": one.before,
        "after": one.after,
        "data": data,
        "labels": str(one.labels),
        "weigh_by": str(one.scores[0].scoring.weigh_by),
        "n": one.n,
        "left_out": one.left_out,
        "relabelled": one.relabelled,
        PROVISIONAL: any(score.is_provisional for score in one.scores),
        "scores": [
            score.record() | {"statuses": dict(score.state.statuses) if score.state else {}}
            for score in one.scores
        ],
        "quadrants": _changes_record(one.quadrants),
        **_corrected_record(one),
        "changed": [
            {**asdict(change), "after_is_right": right_after(change)} for change in one.changed
        ],
    }


def _corrected_record(one: Comparison) -> dict[str, Any]:
    """The corrected rates of both runs, and their differences; nothing where none was asked."""
    if not one.corrections:
        return {}
    return {
        "grader_check": [correction_record(correction) for correction in one.corrections],
        "corrected": _changes_record(one.corrected),
    }


def _changes_record(found: Sequence[Difference]) -> dict[str, Any]:
    """Differences by metric: ``{difference, se, ci, p, p_holm}`` each, and why one is withheld.

    ``p_holm`` is adjusted for the number of pairs of runs.
    """
    return {
        one.metric: {
            "difference": json_number(change.value),
            "se": json_number(change.se),
            "ci": json_interval(change.interval),
            "p": json_number(change.p),
            "p_holm": json_number(one.p_holm),
        }
        | ({"withheld": change.reason} if change.reason else {})
        for one in found
        for change in [one.difference]
    }


@dataclass(frozen=True, repr=False)
class Comparisons(Result[Comparison]):
    """Every two runs that were subtracted: after minus before."""

    @classmethod
    def of(cls, found: Iterable[Comparison]) -> Self:
        """Comparisons with a verdict on each."""
        rows = tuple(found)
        return cls(rows, tuple(map(Verdict.of_change, rows)))

    def record(self) -> dict[str, Any]:
        """``pairs`` by two runs and measure; ``comparisons`` by two runs, with their verdicts."""
        record = comparison_records(self.rows)
        for part, verdict in zip(record["comparisons"], self.verdicts, strict=True):
            part |= {"verdict": list(verdict.said), "finding": verdict.finding}
        return record

    def records(self) -> list[dict[str, Any]]:
        """``pairs`` of ``casewise compare --format json``: a row for each two runs and measure."""
        return plain_rows(comparison_records(self.rows)["pairs"])
