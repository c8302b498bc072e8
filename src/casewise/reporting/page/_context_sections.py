"""What the parts of the context do, and what pressure does."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt

from casewise.reporting.page._parts import (
    BLUE,
    GREEN,
    GREY,
    MOST,
    ORANGE,
    ROWS,
    VERMILLION,
    Section,
    Spec,
    by_run,
    colours,
    finish,
    interval_dots,
    rows_height,
    run_names,
    some,
    spread,
    tips,
)
from casewise.scores import Estimate, Overview, variation_of
from casewise.sheets import Column, Kind, number

_METRICS = {False: ("accuracy", "both_right", "pcc"), True: ("appropriate", "adapts")}
"""The measures whose changes are shown: of judges, and of models that act."""

_WORDS = {
    "accuracy": ("accuracy", BLUE),
    "both_right": ("both contexts right", GREEN),
    "pcc": ("correlation with the labels (PCC)", ORANGE),
    "appropriate": ("appropriate replies", BLUE),
    "adapts": ("adapts to the context", GREEN),
    "over_refusal": ("over-refusal", VERMILLION),
    "under_refusal": ("under-refusal", ORANGE),
}

COLUMNS = (
    Column("run", Kind.TEXT, key="run"),
    Column("cases", Kind.COUNT, key="n"),
    Column("measure", Kind.TEXT, key="measure"),
    Column("change", Kind.NUMBER, key="change"),
    Column("95 % from", Kind.NUMBER, key="change_low"),
    Column("to", Kind.NUMBER, key="change_high"),
)


def change_rows(
    name: str, n: int, found: Mapping[str, Estimate], metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """A row a measure: the change with its interval."""
    return [
        {"run": name, "n": n, "measure": _WORDS[metric][0]} | spread("change", found[metric])
        for metric in metrics
        if metric in found and found[metric].value == found[metric].value
    ]


def change_chart(rows: Sequence[Mapping[str, Any]], title: str) -> Spec:
    """Dots with intervals around zero, a colour a measure."""
    palette = some(dict(_WORDS.values()), (row["measure"] for row in rows))
    base = alt.Chart(ROWS)
    y = by_run()
    offset = alt.YOffset("measure:N", sort=list(palette))
    zero = alt.Chart().mark_rule(color=GREY).encode(x=alt.X(datum=0))
    bars = (
        base.transform_filter("isValid(datum.change_low)")
        .mark_rule(strokeWidth=2)
        .encode(
            alt.X("change_low:Q"),
            y,
            offset,
            x2="change_high:Q",
            color=colours("measure", palette),
        )
    )
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(
        alt.X("change:Q", title=title, axis=alt.Axis(format="+.2f")),
        y,
        offset,
        colours("measure", palette),
        tooltip=tips(
            {
                "run:N": "run",
                "measure:N": "measure",
                "change": "change",
                "change_low": "from",
                "change_high": "to",
            }
        ),
    )
    runs = {row["run"] for row in rows}
    return finish(alt.layer(zero, bars, dots), rows_height(range(len(runs) * 2), 30))


def ablations(overview: Overview) -> Section:
    """The change when parts of the context are removed."""
    return changes(
        overview,
        "ablations",
        "What is lost when a part of the context is removed",
        lambda condition: bool(condition["ablation"]),
        "Shortened minus whole, over the cases that both answered. Left of zero the model needed "
        "what was taken away.",
        "No shortened run stands beside its whole one: casewise run --ablate makes them.",
    )


def changes(
    overview: Overview,
    id: str,
    title: str,
    wanted: Callable[[Mapping[str, str | None]], bool],
    text: str,
    missing: str,
    metrics: Mapping[bool, Sequence[str]] = _METRICS,
) -> Section:
    """The changes of the rows that are wanted, in the measures of judges and of models that act."""
    scored = sorted(
        (row for row in overview.report.rows if row.change and wanted(row.score.condition)),
        key=lambda row: [str(row.score.condition[key]) for key in ("model", "protocol", "variant")],
    )
    names = run_names([row.score.condition for row in scored])
    rows = [
        one
        for name, row in zip(names, scored, strict=True)
        if row.change is not None
        for one in change_rows(name, row.change.n, row.change.change, metrics[row.score.acts])
    ]
    if not rows:
        return Section(id, title, "", missing=missing)
    shown = set(names[:MOST])
    chart = change_chart([row for row in rows if row["run"] in shown], "change (of a share or PCC)")
    return Section(id, title, text, COLUMNS, rows, chart, _in_words(rows))


def _in_words(rows: Sequence[Mapping[str, Any]]) -> str:
    least = min(rows, key=lambda row: row["change"])
    return (
        f"{len(rows)} changes; the largest loss is {least['change']:+z.3f} in {least['measure']}, "
        f"{least['run']}."
    )


def shapley(overview: Overview) -> Section:
    """What each group of the context adds."""
    title = "Which part of the context does the work: Shapley shares"
    scored = [row for row in overview.report.rows if row.shapley is not None]
    names = run_names([row.score.condition for row in scored])
    rows = [
        one
        for name, row in zip(names, scored, strict=True)
        if row.shapley is not None
        for group, shares in row.shapley.shares.items()
        for one in change_rows(
            f"{name}: {group.replace('_', ' ')}",
            row.shapley.n,
            shares,
            _METRICS[row.score.acts],
        )
    ]
    if not rows:
        return Section(
            "shapley",
            title,
            "",
            missing="Shapley shares need runs without every subset of sender, recipient and "
            "transmission principle: casewise run --ablate makes them, one for each.",
        )
    return Section(
        "shapley",
        title,
        "What sender, recipient and transmission principle each add to a measure, averaged over "
        "the orders in which they can be added. The three sum to what the whole context does.",
        COLUMNS,
        rows,
        change_chart(rows, "share of the change"),
        _in_words(rows),
    )


def pressures(overview: Overview) -> Section:
    """The change when a conversation is varied; retention and escalation have their own curves."""
    curves = {repr(point.score.condition) for one in overview.retentions for point in one.points}
    return changes(
        overview,
        "pressures",
        "What pressure does: the change when somebody leans on the model",
        lambda condition: (
            variation_of(condition) not in (None, "escalation") and repr(condition) not in curves
        ),
        "The same cases with one thing changed: false authority, urgency, a claim of the safe "
        "context, a context taken back... Changed minus plain, over the cases that both answered. "
        "Right of zero in under-refusal, the model gave way.",
        "No conversation was varied: casewise run --protocol respond --vary urgency,twin-claim.",
        {False: ("accuracy", "both_right"), True: ("under_refusal", "over_refusal")},
    )


def swaps(overview: Overview) -> Section:
    """How often one part of the twin's context flips the verdict or the reply."""
    title = "The smallest change that flips the model"
    found = overview.report.counterfactuals
    names = run_names([one.condition for one in found])
    rows = [
        {"run": f"{name}: {part.replace('_', ' ')}", "n": swapped.n}
        | spread("flips", swapped.flip_rate)
        | spread("toward", swapped.toward)
        for name, one in zip(names, found, strict=True)
        for part, swapped in one.swaps.items()
    ]
    rows = [row for row in rows if row["flips"] is not None]
    if not rows:
        return Section(
            "swaps",
            title,
            "",
            missing="No part of a context was swapped with the twin's: casewise run --swap each.",
        )
    told = {"run:N": "run and part", "flips": "flips", "toward": "to the twin's side"}
    layers = interval_dots(
        alt.Chart(ROWS), "flips", "cases whose answer becomes the other one", told
    )
    return Section(
        "swaps",
        title,
        "One part of each context is taken from its twin. What flips most is what the model goes "
        "by; a part that ought to matter and flips nothing is not read.",
        (
            Column("run and part", Kind.TEXT, key="run"),
            Column("cases", Kind.COUNT, key="n"),
            Column("flips", Kind.NUMBER, key="flips"),
            Column("95 % from", Kind.NUMBER, key="flips_low"),
            Column("to", Kind.NUMBER, key="flips_high"),
            Column("to the twin's side", Kind.NUMBER, key="toward"),
        ),
        rows,
        finish(alt.layer(*layers), rows_height(rows)),
        f"Flip rates of {len(rows)} swapped parts.",
    )


def faithfulness(overview: Overview) -> Section:
    """Whether the parts that explanations lean on matter more when they are removed."""
    title = "Do explanations name what changes the verdict?"
    found = overview.report.faithfulness
    names = run_names([one.condition for one in found])
    rows: list[dict[str, Any]] = [
        {
            "run": name,
            "what": what,
            "n_mentioned": moved.n_mentioned,
            "n_unmentioned": moved.n_unmentioned,
        }
        | spread("mentioned", moved.mentioned)
        | spread("unmentioned", moved.unmentioned)
        | spread("difference", moved.difference)
        for name, one in zip(names, found, strict=True)
        for what, moved in (("verdict changes", one.verdict), ("P(safe) moves", one.p_safe))
        if moved is not None
    ]
    if not rows:
        return Section(
            "faithfulness",
            title,
            "",
            missing="That takes a run that explains itself and runs without single parameters: "
            "casewise run --protocol binary,score --ablate urgency...",
        )
    return Section(
        "faithfulness",
        title,
        "A parameter is removed. If explanations are faithful, the verdict changes more often "
        "where the explanation leans on it than where it passes it over: a difference above 0.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("measured", Kind.TEXT, key="what"),
            Column("leaned on", Kind.COUNT, key="n_mentioned"),
            Column("passed over", Kind.COUNT, key="n_unmentioned"),
            Column("leaned on", Kind.NUMBER, key="mentioned"),
            Column("passed over", Kind.NUMBER, key="unmentioned"),
            Column("difference", Kind.NUMBER, key="difference"),
            Column("95 % from", Kind.NUMBER, key="difference_low"),
            Column("to", Kind.NUMBER, key="difference_high"),
        ),
        rows,
        _faithfulness_chart(rows),
        "; ".join(
            f"{row['run']}, {row['what']}: {_told(row['mentioned'])} where leaned on, "
            f"{_told(row['unmentioned'])} where passed over"
            for row in rows[:3]
        ),
    )


def _told(value: float | None) -> str:
    return "unknown" if value is None else number(value)


def _faithfulness_chart(rows: Sequence[Mapping[str, Any]]) -> Spec:
    folded = alt.Chart(ROWS).transform_fold(["mentioned", "unmentioned"], as_=["side", "value"])
    words = {"mentioned": ("leaned on", BLUE), "unmentioned": ("passed over", ORANGE)}
    named = folded.transform_calculate(
        part="datum.side === 'mentioned' ? 'leaned on' : 'passed over'",
        name="datum.run + ': ' + datum.what",
        low="datum[datum.side + '_low']",
        high="datum[datum.side + '_high']",
    )
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=260, domain=False))
    offset = alt.YOffset("part:N", sort=["leaned on", "passed over"])
    colour = colours("part", dict(words.values()))
    bars = (
        named.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(alt.X("low:Q"), y, offset, x2="high:Q", color=colour)
    )
    dots = (
        named.transform_filter("isValid(datum.value)")
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            alt.X("value:Q", title="change when the parameter is removed (share, or of P(safe))"),
            y,
            offset,
            colour,
            tooltip=tips({"name:N": "", "part:N": "parameter", "value": "change"}),
        )
    )
    return finish(alt.layer(bars, dots), rows_height(range(2 * len(rows)), 30))
