"""What the charts share: colours, data, and marks with their intervals."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

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
