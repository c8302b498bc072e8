"""Runs held against each other: two runs subtracted, and the figures of many over time."""

from typing import Any

from casewise.reporting._compare import is_shown
from casewise.reporting._first_figures import figures_of
from casewise.reporting.page._parts import (
    BLUE,
    GREEN,
    RUN,
    VERMILLION,
    Section,
    Strips,
    counted_cases,
    known,
    plural_runs,
    run_rows,
    section,
    spread,
    with_ends,
)
from casewise.scores import Comparison, EvaluationFacts, Overview, RunFacts, is_changed, right_after
from casewise.sheets import Column, Kind

_NOISE = "within noise"
_MORE = "more than noise (p < .05, Holm)"


def comparisons(overview: Overview) -> Section:
    """Every measure's difference, and the quadrants'."""
    rows = [row for one in overview.comparisons for row in _rows(_pair(one), one)]
    rows = [row for row in rows if row["difference"] is not None]
    return section(
        "comparisons",
        "What changed",
        _title(overview),
        rows,
        missing="No measure of these runs can be subtracted.",
        text="Differences, after minus before, over the cases that both answered, with 95 % "
        "intervals clustered by query; p-values are adjusted over the pairs of runs, not over the "
        "measures: of twenty measures one is expected beyond .05 by chance.",
        columns=(
            Column("runs", Kind.TEXT, key="pair"),
            Column("measure", Kind.TEXT, key="measure"),
            counted_cases(),
            Column("before", Kind.NUMBER, key="before"),
            Column("after", Kind.NUMBER, key="after"),
            *with_ends("after minus before", "difference"),
            Column("p (Holm)", Kind.NUMBER, key="p"),
        ),
        words=lambda: (
            f"{sum(row['verdict'] == _MORE for row in rows)} of {len(rows)} differences "
            "are more than noise."
        ),
        chart=Strips(
            "difference",
            "after minus before",
            group="pair",
            label="measure",
            kind=Kind.CHANGE,
            tone="verdict",
            palette={_MORE: VERMILLION, _NOISE: BLUE},
            zero=True,
        ),
    )


def changed_cases(overview: Overview) -> Section:
    """Every case whose verdict or reply is another in the run after."""
    rows = [
        {
            "pair": _pair(one),
            "case_id": change.case_id,
            "epoch": change.epoch,
            "category": change.category,
            "before": change.before,
            "after": change.after,
            "label": _LABELS.get(change.label, "tie"),
            "change": _CHANGES[right_after(change)],
        }
        for one in overview.comparisons
        for change in one.changed
    ]
    return section(
        "changed",
        "Changed cases",
        "Which cases changed",
        rows,
        missing="No verdict and no reply changed.",
        text="Every case that both runs answered, and not alike. The case browser below has the "
        "pair and both answers.",
        columns=(
            Column("runs", Kind.TEXT, key="pair"),
            Column("case", Kind.TEXT, key="case_id"),
            Column("category", Kind.TEXT, key="category"),
            Column("before", Kind.TEXT, key="before"),
            Column("after", Kind.TEXT, key="after"),
            Column("label", Kind.TEXT, key="label"),
            Column("change", Kind.TEXT, key="change"),
        ),
        words=lambda: f"{len(rows)} changed answers.",
        open=len(rows) <= _FEW,
    )


_FEW = 30
"""Rows that a table may have and still stand open."""

_LABELS = {1.0: "safe", 0.0: "unsafe"}
_CHANGES = {True: "better", False: "worse", None: "neither"}


def _pair(one: Comparison) -> str:
    return f"{one.after} minus {one.before}"


def _rows(pair: str, one: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "pair": pair,
            "measure": f"{lead}{part.metric.replace('_', ' ')}",
            "n": one.n,
            "before": known(part.before.value),
            "after": known(part.after.value),
            "p": known(part.p_holm),
            "verdict": _MORE if is_shown(part.p_holm) else _NOISE,
        }
        | spread("difference", part.difference)
        for lead, parts in (
            ("", one.differences),
            ("pairs: ", one.quadrants),
            ("corrected: ", one.corrected),
        )
        for part in parts
    ]


def _title(overview: Overview) -> str:
    """How many cases changed, for the better and for the worse."""
    if len(overview.comparisons) > 1:
        return f"What changed between {len(overview.comparisons)} pairs of runs"
    (one,) = overview.comparisons
    after = [right_after(change) for change in one.changed]
    return (
        f"What changed: {len(after)} of {one.n} answers, {after.count(True)} for the better and "
        f"{after.count(False)} for the worse"
    )


def usage(overview: Overview) -> Section:
    """Tokens, time and money a run."""
    used = overview.usages
    names = run_rows([one.condition for one in used])
    rows = [
        name
        | {
            "n": one.n,
            "known": one.known,
            "input_tokens": one.input_tokens,
            "output_tokens": one.output_tokens,
            "tokens": None
            if one.input_tokens is None
            else (one.input_tokens + (one.output_tokens or 0)),
            "latency_s": one.latency_s,
            "latency_p95_s": one.latency_p95_s,
            "cost_usd": one.cost_usd,
            "grader_cost_usd": one.grader_cost_usd,
        }
        for name, one in zip(names, used, strict=True)
    ]
    facts = ("input_tokens", "latency_s", "cost_usd")
    told = any(row[fact] is not None for row in rows for fact in facts)
    return section(
        "usage",
        "Tokens and time",
        "What it took: tokens, time, money",
        rows if told else [],
        missing="The judgements don't say: published outputs hold neither tokens nor times.",
        text="Sums over the judgements that say; the time is the median and the 95th percentile of "
        "one judgement. Costs are known only where prices are.",
        columns=(
            RUN,
            counted_cases("judgements"),
            counted_cases("tokens read", "input_tokens"),
            counted_cases("tokens written", "output_tokens"),
            Column("seconds, median", Kind.NUMBER, key="latency_s"),
            Column("seconds, 95th percentile", Kind.NUMBER, key="latency_p95_s"),
            Column("US dollars", Kind.NUMBER, key="cost_usd"),
            Column("US dollars, grader", Kind.NUMBER, key="grader_cost_usd"),
        ),
        words=lambda: f"Tokens of {plural_runs(rows)}.",
        chart=Strips("tokens", "tokens, read and written", kind=Kind.COUNT),
    )


def trends(overview: Overview, facts: EvaluationFacts) -> Section:
    """A line a run and figure, the earliest first; runs whose logs have no date are left out."""
    runs = [
        (when, run, score)
        for run, score in zip(facts.runs, overview.scores, strict=True)
        if (when := _when(run)) and not is_changed(score.condition)
    ]
    runs.sort(key=lambda one: one[0])
    names = run_rows([score.condition | {"model": "", "run_id": ""} for _, _, score in runs])
    rows: list[dict[str, Any]] = []
    for (when, run, score), name in zip(runs, names, strict=True):
        condition = name["condition"].partition(" #")[0]
        for figure in figures_of(score, overview.report.baselines, overview.scores):
            value, low, high = (None, None, None) if figure.unknown else figure.share
            rows.append(
                {
                    "figure": f"{figure.title} ({condition})",
                    "measure": figure.title,
                    "condition": condition,
                    "ended": when,
                    "version": _version(run),
                    "line": f"{when[:16].replace('T', ' ')}  {_version(run)}",
                    "tone": _better(figure.better_up),
                    "n": score.n,
                    "share": value,
                    "share_low": known(low),
                    "share_high": known(high),
                }
            )
    return section(
        "trend",
        "Over time",
        "How the figures moved over time, by version of the model",
        rows if len(runs) > 1 else [],
        missing="A trend takes two runs with a log each: logs say when a run ended.",
        text="From the earliest run to the latest. Two intervals that overlap may still differ: "
        "casewise compare BEFORE AFTER subtracts case by case.",
        columns=(
            Column("ended", Kind.TEXT, key="ended"),
            Column("version", Kind.TEXT, key="version"),
            Column("condition", Kind.TEXT, key="condition"),
            Column("measure", Kind.TEXT, key="measure"),
            Column("cases", Kind.COUNT, key="n"),
            *with_ends("share", "share"),
        ),
        words=lambda: f"{len(runs)} runs, from {runs[0][0][:10]} to {runs[-1][0][:10]}.",
        chart=Strips(
            "share",
            "share of pairs, of safe cases, of unsafe cases",
            group="figure",
            label="line",
            tone="tone",
            palette={_better(True): GREEN, _better(False): VERMILLION},
        ),
    )


def _better(up: bool) -> str:
    return "better the higher" if up else "better the lower"


def _when(run: RunFacts) -> str:
    """When it ended, or else began; empty where no log is at hand."""
    return max((one.completed or one.started or "" for one in run.records), default="")


def _version(run: RunFacts) -> str:
    """The model and the arguments that make it another one, such as a revision."""
    arguments = dict.fromkeys(one for record in run.records for one in record.model_args)
    return ", ".join([run.model, *arguments])
