"""A result as tables, whichever it is."""

from functools import singledispatch
from typing import Any

from casewise.reporting.analyses import as_table
from casewise.reporting.comparison import comparison_sheet
from casewise.reporting.scores import score_sheet
from casewise.results import Comparisons, Result, Scores, Trend
from casewise.sheets import Sheet, page


@singledispatch
def sheet_of(result: Result[Any], **_: Any) -> Sheet:
    """The tables of a result, with the options of its own sheet."""
    raise TypeError(f"no tables of {type(result).__name__}")


def trend_sheet(trend: Trend) -> Sheet:
    """The verdict on the latest run of each kind, and a row a run."""
    lines = [one.line for one in trend.verdicts]
    return page([*lines, *map(as_table, trend.scores.analysed("trend"))], trend.record)


sheet_of.register(Scores, score_sheet)
sheet_of.register(Comparisons, comparison_sheet)
sheet_of.register(Trend, trend_sheet)
