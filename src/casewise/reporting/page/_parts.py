"""What the sections share: their form, rows, names of runs, charts and tables."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from casewise.reporting._scores import describe_condition
from casewise.scores import CategoryScore, Estimate, Score
from casewise.sheets import Column, Row, Table


@dataclass(frozen=True, slots=True)
class Section:
    """A finding: its chart, and the table behind it."""

    id: str
    title: str
    """What to see in it."""
    text: str
    """How to read it, and what to beware of."""
    columns: Sequence[Column] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    """Flat values that JSON has; None is unknown. The chart is drawn from them, and the download
    holds them all, those without a column too."""
    chart: Mapping[str, Any] | None = None
    """A Vega-Lite specification whose data is named ``rows``; None where a table says it all."""
    alternative: str = ""
    """The chart in words, for those who can't see it."""
    note: str = ""
    """What must stand under the rates: how far their grader can be trusted."""
    missing: str = ""
    """Why there is nothing to draw; else empty."""
    open: bool = False
    """Whether the table stands open, and not folded under the chart."""

    def table(self, most: int) -> Table:
        """The table behind the chart: its first rows."""
        rows = [Row([row.get(column.key) for column in self.columns]) for row in self.rows[:most]]
        return Table(self.columns, rows, self.title)


def run_names(conditions: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name a run: its model, and what of its condition the others don't share; else a number."""
    told = [describe_condition(dict(one)).split(", ") for one in conditions]
    shared = set.intersection(*map(set, told)) if told else set()
    names = []
    for condition, parts in zip(conditions, told, strict=True):
        words = ", ".join(part for part in parts if part not in shared)
        names.append(f"{condition['model']} ({words})" if words else str(condition["model"]))
    return _numbered(names)


def _numbered(names: Sequence[str]) -> list[str]:
    """The names, with a number where one stands twice."""
    counts, seen = Counter(names), Counter[str]()
    told = []
    for name in names:
        seen[name] += 1
        told.append(f"{name} #{seen[name]}" if counts[name] > 1 else name)
    return told


def known(number: float | None) -> float | None:
    """A number, or None where it is undefined or infinite."""
    return number if number is not None and abs(number) < float("inf") else None


def spread(name: str, estimate: Estimate) -> dict[str, float | None]:
    """A measure with the ends of its interval, as a row holds them."""
    low, high = estimate.interval
    return {name: known(estimate.value), f"{name}_low": known(low), f"{name}_high": known(high)}


def _complement(name: str, estimate: Estimate) -> dict[str, float | None]:
    """One minus a share: what a recall leaves."""
    low, high = estimate.interval
    ends = {f"{name}_low": known(1 - high), f"{name}_high": known(1 - low)}
    return {name: known(1 - estimate.value)} | ends


def mistakes(score: Score | CategoryScore) -> dict[str, float | None]:
    """Over- and under-refusal with intervals; of a judge, what its recalls leave."""
    found = score.measures
    if score.acts:
        return spread("over_refusal", found["over_refusal"]) | spread(
            "under_refusal", found["under_refusal"]
        )
    return _complement("over_refusal", found["safe_recall"]) | _complement(
        "under_refusal", found["unsafe_recall"]
    )


BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, GREY = "#56B4E9", "#CC79A7", "#888888"
"""Okabe and Ito's colours (2008), which stay apart for colour-blind people."""

SIDES = {"safe": BLUE, "unsafe": VERMILLION}

ROWS = alt.NamedData(name="rows")
"""The section's rows, which the page hands to its chart."""

SEVERAL = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, GREY)
"""For models, where there are no more than these."""

MOST = 60
"""Runs that one chart of rows can show; its table holds them all."""

STEP = 22
"""Pixels a row."""

Spec = dict[str, Any]


def by_run(title: str | None = None) -> alt.Y:
    """Runs from top to bottom, in the order of the rows."""
    return alt.Y("run:N", sort=None, title=title, axis=alt.Axis(labelLimit=220, domain=False))


def share(field: str, title: str) -> alt.X:
    """A share on the horizontal axis, 0 to 100 %."""
    return alt.X(
        f"{field}:Q", title=title, axis=alt.Axis(format=".0%"), scale=alt.Scale(domain=[0, 1])
    )


def tips(pairs: Mapping[str, str]) -> list[alt.Tooltip]:
    """Tooltips by field; numbers with three digits."""
    return [
        alt.Tooltip(f"{field}:Q", title=title, format=".3f")
        if not field.endswith(":N")
        else alt.Tooltip(field, title=title)
        for field, title in pairs.items()
    ]


def some(palette: Mapping[str, str], used: Iterable[object]) -> dict[str, str]:
    """The colours of the values that are used."""
    found = set(used)
    return {name: colour for name, colour in palette.items() if name in found}


def colours(field: str, palette: Mapping[str, str], title: str | None = None) -> alt.Color:
    """A field's values in fixed colours, with a legend above the chart."""
    columns = 2 if max(map(len, palette), default=0) > 24 else 4
    legend = alt.Legend(title=title, orient="top", columns=columns, labelLimit=300)
    scale = alt.Scale(domain=list(palette), range=list(palette.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=legend, sort=None)


def finish(chart: alt.Chart | alt.LayerChart | alt.FacetChart, height: int | None = None) -> Spec:
    """The specification, as wide as the page lets it be."""
    sized = chart.properties(width="container")
    if height is not None:
        sized = sized.properties(height=height)
    spec: Spec = sized.to_dict()
    # What is drawn once and not for every row stands with its mark: the page fills "rows" alone.
    inside = spec.pop("datasets", {})
    for layer in spec.get("layer", []):
        name = layer.get("data", {}).get("name")
        if name in inside:
            layer["data"] = {"values": inside[name]}
    return spec


def interval_dots(
    base: alt.Chart, field: str, title: str, told: Mapping[str, str]
) -> list[alt.Chart]:
    """A share a run, with its interval (``FIELD_low`` to ``FIELD_high``) where it has one."""
    bars = (
        base.transform_filter(f"isValid(datum.{field}_low)")
        .mark_rule(color=BLUE, strokeWidth=2)
        .encode(alt.X(f"{field}_low:Q"), by_run(), x2=f"{field}_high:Q")
    )
    dots = base.mark_point(filled=True, size=70, color=BLUE, opacity=1)
    return [bars, dots.encode(share(field, title), by_run(), tooltip=tips(told))]


def rows_height(rows: Sequence[object], extra: int = 0) -> int:
    """Pixels for a chart with a line a row."""
    return max(2, len(rows)) * STEP + extra


def choose(runs: Sequence[str], label: str) -> alt.Parameter:
    """A menu of runs; the charts show the chosen one."""
    menu = alt.binding_select(options=list(runs), name=f"{label} ")
    return alt.param("chosen", value=runs[0], bind=menu)
