"""The section over time: the four figures of each run, by the date of its log."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from casewise.reporting.page._parts import (
    BLUE,
    COLOURS,
    GREEN,
    ORANGE,
    VERMILLION,
    Rows,
    Section,
    counted,
    run_rows,
    section,
    texts,
    with_ends,
)
from casewise.reporting.page._plots import Axis, Dot, Panel, Plots, share_axis
from casewise.results import Trend
from casewise.sheets import Column, Kind, number, plural

_FEW_DAYS = 5
"""Days up to which the axis shows the time of day."""


def trends(trend: Trend) -> Section | None:
    """A point a run and figure, in time; runs whose logs have no date are left out."""
    names = run_rows([one.verdict.score.condition for one in trend])
    rows = []
    for run, name in zip(trend, names, strict=True):
        condition = name["condition"].partition(" #")[0]
        named = {"series": f"{name['model']} ({condition})", "condition": condition}
        named |= {"run": name["run"], "date": f"{run.ended:%Y-%m-%d %H:%M}"}
        rows += [figure | named for figure in run.records()]
    return section(
        "trend",
        "Over time",
        "How the figures moved over time, by version of the model",
        rows,
        text="Each run stands at the time when it ended, with 95 % intervals. Two intervals that "
        "overlap may still differ: casewise compare BEFORE AFTER subtracts case by case.",
        columns=(
            Column("ended (UTC)", Kind.DATE, key="date"),
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


def _chart(rows: Rows) -> Plots:
    """A panel for each figure of each model and condition, the latest first: a line over time."""
    times = [_time(row) for row in rows]
    series = list(dict.fromkeys(row["series"] for row in reversed(rows)))
    palette = _palette(rows)
    return Plots(
        _time_axis(min(times), max(times)),
        share_axis("share"),
        [
            Panel(f"{measure}: {one}", dots, joined=True)
            for one in series
            for measure, tone in palette.items()
            for dots in [_dots(rows, one, measure, COLOURS[tone])]
            if dots
        ],
    )


def _dots(rows: Rows, series: str, measure: str, tone: str) -> list[Dot]:
    return [
        Dot(
            _time(row),
            row["share"],
            f"{row['date']} UTC, {row['version']}: {number(row['share'])}",
            y_ends=(row["share_low"], row["share_high"]),
            tone=tone,
            row=row,
        )
        for row in rows
        if (row["series"], row["measure"]) == (series, measure) and row["share"] is not None
    ]


def _time(row: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(row["ended"]).timestamp()


def _time_axis(first: float, last: float) -> Axis:
    """Axis from the first run to the last, with the time at both ends."""
    last = max(last, first + 60)
    form = "%Y-%m-%d" if last - first > _FEW_DAYS * 86_400 else "%m-%d %H:%M"
    ends = [(end, datetime.fromtimestamp(end, UTC).strftime(form)) for end in (first, last)]
    return Axis("ended (UTC)", ends)


def _palette(rows: Rows) -> dict[str, str]:
    """Colours of the four figures, by what judges and what models that act call them."""
    titles = dict.fromkeys(row["measure"] for row in rows)
    follows, false_changes, *mistakes = titles
    pairs = zip(mistakes, (VERMILLION, ORANGE) * 2, strict=False)
    return {follows: GREEN, false_changes: BLUE, **dict(pairs)}
