"""What a section of the page is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
