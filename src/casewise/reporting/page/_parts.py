"""Parts of every section: the section itself, its rows, names of runs, columns and charts."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from casewise.errors import some
from casewise.reporting.page._plots import Plots
from casewise.results import Share, refusals
from casewise.scores import CategoryScore, Estimate, RunCondition, Score
from casewise.sheets import Cell, Column, Kind, Link, Row, Table, plural

T = TypeVar("T")

Rows = Sequence[Mapping[str, Any]]
"""Flat values that JSON has; None is unknown. A chart is drawn from them, and the download holds
them all, those without a column too."""


@dataclass(frozen=True, slots=True)
class Strips:
    """A chart with a line a row: its name, a dot with its interval, and its numbers in words."""

    value: str
    """Field of the dots; ``VALUE_low`` and ``VALUE_high`` are the fields of their intervals."""
    axis: str
    """Title of the axis."""
    group: str = "model"
    """Field whose values are headings above the lines."""
    label: str = "condition"
    """Field that names a line."""
    kind: Kind = Kind.NUMBER
    tone: str = ""
    """Field that decides the colour; empty for a single colour."""
    palette: Mapping[str, str] = field(default_factory=dict)
    """Colour of each value of ``tone``."""
    stacked: bool = False
    """True if the rows of a run are one bar, laid end to end."""
    zero: bool = False
    """True if the axis reaches 0 and has a line there."""
    aside: str = ""
    """Field of words under the numbers of a line; empty for none."""
    beside: str = ""
    """Field of a second value, a ring on the same line; empty for none."""


ASIDE = "aside"
"""The ``kind`` of a row that stands in the table, but not in the chart."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page: a chart and the table behind it."""

    id: str
    title: str
    """Heading: the question that it answers, or the finding."""
    text: str
    """Instructions for reading the chart, and cautions."""
    columns: Sequence[Column] = ()
    rows: Rows = ()
    chart: Strips | Plots | None = None
    """Lines or panels; None: a table only."""
    alternative: str = ""
    """The chart in words, for those who can't see it."""
    note: str = ""
    """Note below the chart, on the reliability of the grader."""
    withheld: Sequence[str] = ()
    """Sentences on figures without an interval, one for each reason."""
    open: bool = False
    """True if the table is open, not folded under the chart."""
    short: str = ""
    """Its name in the contents; empty is its title."""

    def table(self, most: int) -> Table:
        """The table behind the chart: its first rows."""
        rows = [Row(_cells(row, self.columns)) for row in self.rows[:most]]
        return Table(self.columns, rows, self.title)

    @property
    def name(self) -> str:
        """Name in the contents."""
        return self.short or self.title


def _cells(row: Mapping[str, Any], columns: Sequence[Column]) -> list[Cell]:
    """Cells of a row; the first leads to its cases."""
    first, *others = (row.get(column.key) for column in columns)
    linked = Link(str(first), row[CASES]) if CASES in row else first
    return [linked, *others]


def section(
    id: str,
    short: str,
    title: str,
    rows: Rows,
    *,
    text: str,
    columns: Sequence[Column],
    words: Callable[[], str],
    chart: Strips | Callable[[], Plots | None] | None = None,
    open: bool = False,
) -> Section | None:
    """Make a section of rows; None without rows.

    The arguments are the fields of ``Section``; ``words`` makes its alternative. It is called only
    if there are rows, as is ``chart``.
    """
    if not rows:
        return None
    drawn = chart() if callable(chart) else chart
    return Section(
        id,
        title,
        text,
        columns,
        rows,
        drawn,
        words(),
        withheld=_withheld(rows, columns),
        open=open,
        short=short,
    )


_NAMED = 3
"""Figures without an interval that a sentence names; more are counted."""


def _withheld(rows: Rows, columns: Sequence[Column]) -> list[str]:
    """A sentence for each reason for which figures of a table have no interval."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for column in columns:
            if reason := row.get(f"{column.key}{WHY}"):
                figure = f"{row.get('measure', column.heading)} ({row[columns[0].key]})"
                found.setdefault(reason, []).append(figure)
    return [
        f"Without an interval: {some(list(dict.fromkeys(names)), _NAMED)}; {reason}."
        for reason, names in found.items()
    ]


def with_ends(heading: str, key: str) -> tuple[Column, ...]:
    """Columns for a figure and both ends of its interval."""
    return keyed(Kind.NUMBER, **{key: heading, f"{key}_low": "95 % from", f"{key}_high": "to"})


def keyed(kind: Kind, **headings: str) -> tuple[Column, ...]:
    """Columns of one kind: their headings by the field that they show."""
    return tuple(Column(heading, kind, key=field) for field, heading in headings.items())


def texts(*fields: str) -> tuple[Column, ...]:
    """Columns of words, headed by the names of their fields."""
    return tuple(Column(field, key=field) for field in fields)


RUN = Column("run", key="run")


def counted(heading: str = "judgements", key: str = "n") -> Column:
    """A column of counts."""
    return Column(heading, Kind.COUNT, key=key)


class RunName(str):
    """Name of a run, or of two, which knows whose it is: its rows lead to its cases."""

    __slots__ = ("conditions",)
    conditions: tuple[RunCondition, ...]

    def __new__(cls, text: str, *conditions: RunCondition) -> "RunName":
        """A name of conditions; of a comparison, the run after and the one before."""
        made = super().__new__(cls, text)
        made.conditions = conditions
        return made


ONLY = "_cases"
"""Key of a row's filters: which of its run's cases it leads to. No table or download has it."""

CASES = "cases"
"""Key of the address of a row's cases, ``#run=0&outcome=wrong``."""


def link_rows(rows: Rows, runs: Sequence[RunCondition]) -> list[dict[str, Any]]:
    """Rows, each with the address of its cases, if it is of runs whose cases are on the page."""
    places = {condition: place for place, condition in enumerate(runs)}
    return [_linked(row, places) for row in rows]


def _linked(row: Mapping[str, Any], places: Mapping[RunCondition, int]) -> dict[str, Any]:
    plain = {key: value for key, value in row.items() if key != ONLY}
    names = (one for one in row.values() if isinstance(one, RunName))
    found = [places.get(one) for one in next((name.conditions for name in names), ())]
    if not found or None in found:
        return plain
    chosen: dict[str, Any] = dict(zip(("run", "beside"), found, strict=False))
    if isinstance(row.get("category"), str):
        chosen["category"] = row["category"]
    if "case_id" in row:
        chosen["case"] = row["case_id"]
    else:
        chosen |= row.get(ONLY) or ({"view": "differs"} if found[1:] else {"outcome": "wrong"})
    return plain | {CASES: f"#{urlencode(chosen, quote_via=quote)}"}


RESTED = (
    counted("queries", "queries"),
    counted("pairs", "pairs"),
    counted("effective queries", "effective"),
)
"""Columns of ``rested``."""


def rested(found: Estimate) -> dict[str, int | None]:
    """What a figure rests on: queries, pairs of contexts, equally heavy queries."""
    known = not math.isnan(found.effective)
    return {
        "queries": found.clusters,
        "pairs": found.pairs or None,
        "effective": round(found.effective) if known else None,
    }


def run_rows(conditions: Sequence[RunCondition]) -> list[dict[str, Any]]:
    """Names of runs: ``model``, ``condition``, and both as ``run``.

    A condition is named by the parts that not all runs share; runs alike by these get numbers.
    """
    told = [one.text.split(", ") for one in conditions]
    shared = set.intersection(*map(set, told)) if told else set()
    parts = [
        (condition.model, ", ".join(part for part in words if part not in shared))
        for condition, words in zip(conditions, told, strict=True)
    ]
    counts, seen = Counter(parts), Counter[tuple[str, str]]()
    rows = []
    for (model, words), whole, of in zip(parts, told, conditions, strict=True):
        seen[model, words] += 1
        number = f" #{seen[model, words]}" if counts[model, words] > 1 else ""
        run = f"{model} ({words})" if words else model
        condition = f"{words or ', '.join(whole)}{number}"
        rows.append({"run": RunName(f"{run}{number}", of), "model": model, "condition": condition})
    return rows


def run_names(conditions: Sequence[RunCondition]) -> list[RunName]:
    """Names of runs: model and condition."""
    return [row["run"] for row in run_rows(conditions)]


def named_runs(
    found: Sequence[T], condition: Callable[[T], RunCondition] = attrgetter("condition")
) -> list[tuple[RunName, T]]:
    """Results, each with the name of the run that its ``condition`` is of."""
    return list(zip(run_names(list(map(condition, found))), found, strict=True))


def ranked(scores: Sequence[Score]) -> list[tuple[dict[str, Any], Score]]:
    """Scores with the rows of their names, the best first: by accuracy or appropriate replies."""

    def place(score: Score) -> float:
        return -(known(score.measures["appropriate" if score.acts else "accuracy"].value) or 0.0)

    names = run_rows([one.condition for one in scores])
    return sorted(zip(names, scores, strict=True), key=lambda one: place(one[1]))


def best_first(scores: Sequence[Score]) -> list[tuple[RunName, Score]]:
    """Scores with their names, the best first."""
    return [(row["run"], score) for row, score in ranked(scores)]


def known(number: float | None) -> float | None:
    """A number, or None where it is undefined or infinite."""
    return number if number is not None and abs(number) < float("inf") else None


WHY = "_why"
"""Ending of the field that says why a figure has no interval; a figure with one lacks it."""


def spread(name: str, found: Estimate | Share) -> dict[str, Any]:
    """Fields of an estimate: ``NAME``, ``NAME_low``, ``NAME_high``; or why it has no interval."""
    share = found if isinstance(found, Share) else Share.of(found)
    value, low, high = map(known, share[:3])
    ends = {name: value, f"{name}_low": low, f"{name}_high": high}
    told = share.reason and value is not None and not share.fixed
    return ends | ({f"{name}{WHY}": share.reason} if told else {})


def mistakes(score: Score | CategoryScore) -> dict[str, Any]:
    """Fields of a row for over- and under-refusal; for a judge, 1 minus its recalls."""
    over, under = refusals(score)
    return spread("over_refusal", over) | spread("under_refusal", under)


def plural_runs(rows: Rows) -> str:
    """Number of different runs in rows: ``1 run``, ``3 runs``."""
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
"""Names of the colours in the style sheet, which makes them lighter on a dark ground."""

SIDES = {"safe": BLUE, "unsafe": VERMILLION}

SEVERAL = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, GREY)
"""Colours for models, where these suffice."""
