"""A result as tables, whichever it is."""

from functools import singledispatch
from typing import Any

from casewise.reporting.comparison import comparison_sheet
from casewise.reporting.scores import score_sheet
from casewise.results import Comparisons, Result, Scores
from casewise.sheets import Sheet


@singledispatch
def sheet_of(result: Result[Any], **_: Any) -> Sheet:
    """The tables of a result, with the options of its own sheet."""
    raise TypeError(f"no tables of {type(result).__name__}")


sheet_of.register(Scores, score_sheet)
sheet_of.register(Comparisons, comparison_sheet)
