"""Parts that the sections share: their form, rows, names of runs, tables and charts."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from casewise.dataset import plural
from casewise.scores import CategoryScore, Estimate, RunCondition, Score
from casewise.sheets import Column, Kind, Row, Table

Spec = dict[str, Any]
"""A Vega-Lite specification."""

Rows = Sequence[Mapping[str, Any]]
"""Flat values that JSON has; None is unknown. A chart is drawn from them, and the download holds
them all, those without a column too."""


@dataclass(frozen=True, slots=True)
class Strips:
    """A chart with a line a row: its name, a dot with its interval, and its numbers in words."""

    value: str
    """The field that is drawn, between the fields ``VALUE_low`` and ``VALUE_high`` if there are."""
    axis: str
    """Name of the axis."""
    group: str = "model"
    """The field whose values are headings above their lines."""
    label: str = "condition"
    """The field that names a line."""
    kind: Kind = Kind.NUMBER
    tone: str = ""
    """The field whose value chooses the colour; empty for one colour."""
    palette: Mapping[str, str] = field(default_factory=dict)
    """Colours by value, for the legend too."""
    stacked: bool = False
    """True if a group is one bar, its rows laid end to end."""
    zero: bool = False
    """True if the axis has 0, with a line there."""
    beside: str = ""
    """The field of a second value, drawn as a ring on the same line; empty is none."""


ASIDE = "aside"
"""The ``kind`` of a row that the table has, and the lines have not."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A chart of coloured cells: the fields of its rows, its columns, and the share in a cell."""

    row: str
    column: str
    value: str


@dataclass(frozen=True, slots=True)
class Section:
    """A finding: its chart, and the table behind it."""

    id: str
    title: str
    """Title: the thing to see in it."""
    text: str
    """Text: the way to read it, and cautions."""
    columns: Sequence[Column] = ()
    rows: Rows = ()
    chart: Strips | Grid | Mapping[str, Any] | None = None
    """Lines, cells, or a specification of data named ``rows``; None where a table says it all."""
    alternative: str = ""
    """The chart in words, for those who can't see it."""
    note: str = ""
    """Note under the rates: how far their grader can be trusted."""
    missing: str = ""
    """Why there is nothing to draw; else empty."""
    open: bool = False
    """True if the table stands open, and not folded under the chart."""
    short: str = ""
    """Its name in the contents; empty is its title."""

    def table(self, most: int) -> Table:
        """The table behind the chart: its first rows."""
        rows = [Row([row.get(column.key) for column in self.columns]) for row in self.rows[:most]]
        return Table(self.columns, rows, self.title)

    @property
    def name(self) -> str:
        """Name in the contents."""
        return self.short or self.title


def section(
    id: str,
    short: str,
    title: str,
    rows: Rows,
    *,
    missing: str,
    text: str,
    columns: Sequence[Column],
    words: Callable[[], str],
    chart: Strips | Grid | Callable[[], Spec] | None = None,
    open: bool = False,
) -> Section:
    """The section that rows make, or the one that says why there are none.

    Args:
        id: Of the element.
        short: Its name in the contents.
        title: What to see in it.
        rows: What was found.
        missing: Why there are no rows, and what would make some.
        text: How to read it.
        columns: Of the table.
        words: Tell the rows in words; called if there are some, as is ``chart``.
        chart: What is drawn.
        open: Whether the table stands open.
    """
    if not rows:
        return Section(id, title, "", missing=missing, short=short)
    drawn = chart() if callable(chart) else chart
    return Section(id, title, text, columns, rows, drawn, words(), open=open, short=short)


def with_ends(heading: str, key: str) -> tuple[Column, Column, Column]:
    """The columns of a figure and of the ends of its interval."""
    return (
        Column(heading, Kind.NUMBER, key=key),
        Column("95 % from", Kind.NUMBER, key=f"{key}_low"),
        Column("to", Kind.NUMBER, key=f"{key}_high"),
    )


RUN = Column("run", Kind.TEXT, key="run")


def counted(heading: str = "judgements", key: str = "n") -> Column:
    """A column of counts."""
    return Column(heading, Kind.COUNT, key=key)


def run_rows(conditions: Sequence[RunCondition]) -> list[dict[str, Any]]:
    """Names of runs: ``run`` in full, ``model``, and ``condition`` in few words.

    Of its condition stands what the others don't share; else a number tells runs apart.
    """
    told = [one.text.split(", ") for one in conditions]
    shared = set.intersection(*map(set, told)) if told else set()
    parts = [
        (condition.model, ", ".join(part for part in words if part not in shared))
        for condition, words in zip(conditions, told, strict=True)
    ]
    counts, seen = Counter(parts), Counter[tuple[str, str]]()
    rows = []
    for (model, words), whole in zip(parts, told, strict=True):
        seen[model, words] += 1
        number = f" #{seen[model, words]}" if counts[model, words] > 1 else ""
        run = f"{model} ({words})" if words else model
        condition = f"{words or ', '.join(whole)}{number}"
        rows.append({"run": f"{run}{number}", "model": model, "condition": condition})
    return rows


def run_names(conditions: Sequence[RunCondition]) -> list[str]:
    """The name in full of each run."""
    return [row["run"] for row in run_rows(conditions)]


def known(number: float | None) -> float | None:
    """A number, or None where it is undefined or infinite."""
    return number if number is not None and abs(number) < float("inf") else None


def spread(name: str, estimate: Estimate) -> dict[str, float | None]:
    """A measure with the ends of its interval, as a row holds them."""
    low, high = estimate.interval
    return {name: known(estimate.value), f"{name}_low": known(low), f"{name}_high": known(high)}


def mistakes(score: Score | CategoryScore) -> dict[str, float | None]:
    """Over- and under-refusal with intervals; of a judge, what its recalls leave."""
    found = score.measures
    rows: dict[str, float | None] = {}
    for name, recall in (("over_refusal", "safe_recall"), ("under_refusal", "unsafe_recall")):
        if score.acts:
            rows |= spread(name, found[name])
        else:
            value, low, high = spread("", found[recall]).values()
            left = [None if one is None else 1 - one for one in (value, high, low)]
            rows |= dict(zip((name, f"{name}_low", f"{name}_high"), left, strict=True))
    return rows


def plural_runs(rows: Rows) -> str:
    """Number of runs that rows are of: ``1 run``, ``3 runs``."""
    return plural(len({row["run"] for row in rows}), "run")


BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, GREY = "#56B4E9", "#CC79A7", "#888888"
"""Okabe and Ito's colours (2008), which stay apart for colour-blind people."""

COLOURS = {
    BLUE: "blue",
    ORANGE: "orange",
    GREEN: "green",
    VERMILLION: "vermillion",
    SKY: "sky",
    PURPLE: "purple",
    GREY: "grey",
}
"""Their names in the page's style, which makes them lighter on a dark ground."""

SIDES = {"safe": BLUE, "unsafe": VERMILLION}

ROWS = alt.NamedData(name="rows")
"""The section's rows, which the page hands to its chart."""

SEVERAL = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, GREY)
"""For models, where there are no more than these."""


def share(field: str, title: str, *, of_rows: Rows = ()) -> alt.X:
    """A share on the horizontal axis: 0 to 100 %, or only where the rows are."""
    return alt.X(
        f"{field}:Q", title=title, axis=alt.Axis(format=".0%"), scale=share_scale(field, of_rows)
    )


def share_scale(field: str, rows: Rows = ()) -> alt.Scale:
    """From 0 to 1, or only as far as the rows and their intervals reach, in tenths."""
    ends = [row.get(f"{field}{end}") for row in rows for end in ("", "_low", "_high")]
    there = [one for one in ends if one is not None]
    if not there:
        return alt.Scale(domain=[0, 1])
    low, high = int(min(there) * 10) / 10, min(1.0, (int(max(there) * 10) + 1) / 10)
    return alt.Scale(domain=[low, high])


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
    legend = alt.Legend(title=title, orient="top", columns=columns, labelLimit=0)
    scale = alt.Scale(domain=list(palette), range=list(palette.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=legend, sort=None)


def finish(chart: alt.Chart | alt.LayerChart | alt.FacetChart, height: int) -> Spec:
    """The specification, as wide as the page lets it be."""
    # Our own charts are tested; to check each again takes most of the time.
    spec: Spec = chart.properties(width="container", height=height).to_dict(validate=False)
    # What is drawn once and not for every row stands with its mark: the page fills "rows" alone.
    inside = spec.pop("datasets", {})
    for layer in spec.get("layer", []):
        name = layer.get("data", {}).get("name")
        if name in inside:
            layer["data"] = {"values": inside[name]}
    return spec


def choose(runs: Sequence[str], label: str) -> alt.Parameter:
    """A menu of runs; the charts show the chosen one."""
    menu = alt.binding_select(options=list(runs), name=f"{label} ")
    return alt.param("chosen", value=runs[0], bind=menu)
