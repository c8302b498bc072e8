"""Two runs, subtracted: what changed, and is it more than noise?"""

from typing import Any

import altair as alt

from casewise.reporting.page._parts import (
    BLUE,
    GREY,
    ROWS,
    VERMILLION,
    Section,
    by_run,
    choose,
    colours,
    finish,
    known,
    rows_height,
    run_names,
    spread,
    tips,
)
from casewise.scores import Comparison, Estimate, Overview, right_after
from casewise.sheets import Column, Kind

_NOISE = "within noise"
_MORE = "more than noise (p < .05, Holm)"


def comparisons(overview: Overview) -> Section:
    """Every measure's difference, and the quadrants'."""
    found = overview.comparisons
    pairs = [_pair(one) for one in found]
    rows = [row for name, one in zip(pairs, found, strict=True) for row in _rows(name, one)]
    rows = [row for row in rows if row["difference"] is not None]
    base = alt.Chart(ROWS).transform_filter("datum.pair === chosen")
    palette = {_MORE: VERMILLION, _NOISE: BLUE}
    y = alt.Y("measure:N", sort=None, title=None, axis=alt.Axis(labelLimit=200))
    zero = alt.Chart().mark_rule(color=GREY).encode(x=alt.X(datum=0))
    bars = (
        base.transform_filter("isValid(datum.difference_low)")
        .mark_rule(strokeWidth=2)
        .encode(
            alt.X("difference_low:Q"),
            y,
            x2="difference_high:Q",
            color=colours("verdict", palette),
        )
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        alt.X("difference:Q", title="after minus before", axis=alt.Axis(format="+.2f")),
        y,
        colours("verdict", palette),
        shape=alt.Shape("verdict:N", scale=alt.Scale(domain=list(palette))),
        tooltip=tips({"measure:N": "measure", "difference": "difference", "p": "p (Holm)"}),
    )
    measures = {row["measure"] for row in rows}
    chart = alt.layer(zero, bars, dots).add_params(choose(pairs, "pair"))
    surely = sum(row["verdict"] == _MORE for row in rows)
    return Section(
        "comparisons",
        _title(overview),
        "Differences, after minus before, over the cases that both answered, with 95 % intervals "
        "clustered by query; p-values are adjusted over the pairs of runs, not over the measures: "
        "of twenty measures one is expected beyond .05 by chance.",
        (
            Column("runs", Kind.TEXT, key="pair"),
            Column("measure", Kind.TEXT, key="measure"),
            Column("cases", Kind.COUNT, key="n"),
            Column("before", Kind.NUMBER, key="before"),
            Column("after", Kind.NUMBER, key="after"),
            Column("after minus before", Kind.NUMBER, key="difference"),
            Column("95 % from", Kind.NUMBER, key="difference_low"),
            Column("to", Kind.NUMBER, key="difference_high"),
            Column("p (Holm)", Kind.NUMBER, key="p"),
        ),
        rows,
        finish(chart, rows_height(list(measures), 40)),
        f"{surely} of {len(rows)} differences are more than noise.",
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
    title = "Which cases changed"
    if not rows:
        return Section("changed", title, "", missing="No verdict and no reply changed.")
    return Section(
        "changed",
        title,
        "Every case that both runs answered, and not alike. The case browser below has the pair "
        "and both answers.",
        (
            Column("runs", Kind.TEXT, key="pair"),
            Column("case", Kind.TEXT, key="case_id"),
            Column("category", Kind.TEXT, key="category"),
            Column("before", Kind.TEXT, key="before"),
            Column("after", Kind.TEXT, key="after"),
            Column("label", Kind.TEXT, key="label"),
            Column("change", Kind.TEXT, key="change"),
        ),
        rows,
        alternative=f"{len(rows)} changed answers.",
        open=len(rows) <= _FEW,
    )


_FEW = 30
"""Rows that a table may have and still stand open."""

_LABELS = {1.0: "safe", 0.0: "unsafe"}
_CHANGES = {True: "better", False: "worse", None: "neither"}


def _pair(one: Comparison) -> str:
    return f"{one.after} minus {one.before}"


def _rows(pair: str, one: Comparison) -> list[dict[str, Any]]:
    before, after = (score.measures for score in one.scores)
    measured = [
        _row(pair, part.metric.replace("_", " "), one.n, part.before, part.after)
        | _verdict(part.difference, part.p_holm)
        for part in one.differences
    ]
    return measured + [
        _row(pair, f"pairs: {name.replace('_', ' ')}", one.n, before[name], after[name])
        | _verdict(change, change.p)
        for name, change in one.quadrants.items()
    ]


def _row(pair: str, measure: str, n: int, before: Estimate, after: Estimate) -> dict[str, Any]:
    ends = {"before": known(before.value), "after": known(after.value)}
    return {"pair": pair, "measure": measure, "n": n} | ends


def _verdict(difference: Estimate, p: float) -> dict[str, Any]:
    said = {"p": known(p), "verdict": _MORE if p < 0.05 else _NOISE}
    return spread("difference", difference) | said


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
    title = "What it took: tokens, time, money"
    used = overview.usages
    names = run_names([one.condition for one in used])
    rows = [
        {
            "run": name,
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
    if all(row[fact] is None for row in rows for fact in facts):
        return Section(
            "usage",
            title,
            "",
            missing="The judgements don't say: published outputs hold neither tokens nor times.",
        )
    chart = (
        alt.Chart(ROWS)
        .mark_bar(color=BLUE)
        .encode(
            alt.X("tokens:Q", title="tokens, read and written", axis=alt.Axis(format="~s")),
            by_run(),
            tooltip=tips({"run:N": "run", "tokens": "tokens", "latency_s": "seconds a judgement"}),
        )
    )
    return Section(
        "usage",
        title,
        "Sums over the judgements that say; the time is the median and the 95th percentile of one "
        "judgement. Costs are known only where prices are.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("judgements", Kind.COUNT, key="n"),
            Column("tokens read", Kind.COUNT, key="input_tokens"),
            Column("tokens written", Kind.COUNT, key="output_tokens"),
            Column("seconds, median", Kind.NUMBER, key="latency_s"),
            Column("seconds, 95th percentile", Kind.NUMBER, key="latency_p95_s"),
            Column("US dollars", Kind.NUMBER, key="cost_usd"),
            Column("US dollars, grader", Kind.NUMBER, key="grader_cost_usd"),
        ),
        rows,
        finish(chart, rows_height(rows)),
        f"Tokens of {len(rows)} run{'s' * (len(rows) != 1)}.",
    )
