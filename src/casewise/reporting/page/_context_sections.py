"""What the parts of the context do."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt

from casewise.analysis import Estimate, Overview
from casewise.reporting.page._draw import (
    BLUE,
    GREEN,
    GREY,
    MOST,
    ORANGE,
    ROWS,
    VERMILLION,
    Spec,
    by_run,
    colours,
    finish,
    rows_height,
    some,
    tips,
)
from casewise.reporting.page._names import run_names
from casewise.reporting.page._rows import spread
from casewise.reporting.page._section import Section
from casewise.sheets import Column, Kind

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
