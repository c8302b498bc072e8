"""What a section of the page is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "number", "share", "count"]
"""How a column's values are written: as they are, with three digits, as per cent, whole."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table behind a chart."""

    key: str
    head: str
    kind: Kind = "number"


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
