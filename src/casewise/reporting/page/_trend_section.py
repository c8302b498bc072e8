"""The section over time: the three figures of each run, by the date of its log."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import altair as alt

from casewise.dataset import plural
from casewise.reporting.page._parts import (
    GREEN,
    ORANGE,
    ROWS,
    VERMILLION,
    Rows,
    Section,
    Spec,
    choose,
    colours,
    counted,
    finish,
    run_rows,
    section,
    share_scale,
    texts,
    with_ends,
)
from casewise.results import Trend
from casewise.sheets import Column

_MOST_SHAPES = 6
"""Versions that shapes can tell apart; of more the table and the tooltips name each."""


_FEW_DAYS = 5
"""Days up to which the axis shows the time of day."""


def trends(trend: Trend) -> Section:
    """A point a run and figure, in time; runs whose logs have no date are left out."""
    names = run_rows([one.verdict.score.condition for one in trend])
    rows = []
    for run, name in zip(trend, names, strict=True):
        condition = name["condition"].partition(" #")[0]
        named = {"series": f"{name['model']} ({condition})", "condition": condition}
        rows += [named | figure for figure in run.records()]
    return section(
        "trend",
        "Over time",
        "How the figures moved over time, by version of the model",
        rows,
        missing="A trend takes two runs with a log each: logs say when a run ended.",
        text="Each run stands at the time when it ended, with 95 % intervals. Two intervals that "
        "overlap may still differ: casewise compare BEFORE AFTER subtracts case by case.",
        columns=(
            Column("ended (UTC)", key="ended"),
            *texts("version", "condition", "measure"),
            counted(),
            *with_ends("share", "share"),
        ),
        words=lambda: (
            f"{plural(len(trend), 'run')}, from {trend[0].ended:%Y-%m-%d} to "
            f"{trend[-1].ended:%Y-%m-%d}."
        ),
        chart=lambda: _chart(rows),
    )


def _chart(rows: Rows) -> Spec:
    """A line a figure over time, of the model and condition that is chosen: the latest at first."""
    days = (_day(rows[-1]) - _day(rows[0])).days
    x = alt.X(
        "ended:T",
        title="ended (UTC)",
        scale=alt.Scale(type="utc"),
        axis=alt.Axis(format="%Y-%m-%d" if days > _FEW_DAYS else "%m-%d %H:%M", tickCount=6),
    )
    base = (
        alt.Chart(ROWS)
        .transform_filter("datum.series === chosen && isValid(datum.share)")
        .encode(x, colours("measure", _palette(rows)))
    )
    share = alt.Y(
        "share:Q",
        title="share of pairs, of safe cases, of unsafe cases",
        axis=alt.Axis(format=".0%"),
        scale=share_scale("share"),
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        share,
        tooltip=[
            alt.Tooltip("measure:N"),
            alt.Tooltip("version:N"),
            alt.Tooltip("ended:N", title="ended (UTC)"),
            *(
                alt.Tooltip(f"{field}:Q", title=title, format=".3f")
                for field, title in (
                    ("share", "share"),
                    ("share_low", "95 % from"),
                    ("share_high", "to"),
                )
            ),
        ],
    )
    versions = list(dict.fromkeys(row["version"] for row in rows))
    if 1 < len(versions) <= _MOST_SHAPES:
        legend = alt.Legend(title="version", orient="top", labelLimit=0, columns=2)
        dots = dots.encode(
            shape=alt.Shape("version:N", scale=alt.Scale(domain=versions), legend=legend)
        )
    spans = base.mark_rule(strokeWidth=1.5).encode(alt.Y("share_low:Q"), alt.Y2("share_high:Q"))
    series = list(dict.fromkeys(row["series"] for row in reversed(rows)))
    chart = alt.layer(base.mark_line().encode(share), spans, dots)
    return finish(chart.add_params(choose(series, "run")), 320)


def _day(row: Mapping[str, Any]) -> date:
    return datetime.fromisoformat(row["ended"]).date()


def _palette(rows: Rows) -> dict[str, str]:
    """Colours of the three figures, by what judges and what models that act call them."""
    titles = list(dict.fromkeys(row["measure"] for row in rows))
    adapts, *mistakes = titles
    pairs = zip(mistakes, (VERMILLION, ORANGE) * 2, strict=False)
    return {adapts: GREEN, **dict(pairs)}
