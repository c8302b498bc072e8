"""A result as tables, whichever it is."""

from functools import singledispatch
from typing import Any

from casewise.reporting._compare import comparison_sheet
from casewise.reporting._gate import gate_sheet
from casewise.reporting._scores import score_sheet
from casewise.results import Comparisons, Gate, Result, Scores
from casewise.sheets import Sheet, Table, escape, markdown, terminal


@singledispatch
def sheet_of(result: Result[Any]) -> Sheet:
    """The tables of a result; of a trend, its verdicts and the figures of each run."""
    table = Table.of_records(result.record())
    said = [one.line for one in result.verdicts]
    return Sheet(
        lambda: terminal(*said, table),
        lambda: markdown(*map(escape, said), table),
        result.record,
    )


sheet_of.register(Scores, score_sheet)
sheet_of.register(Comparisons, comparison_sheet)
sheet_of.register(Gate, gate_sheet)
