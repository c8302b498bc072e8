"""Measures of a condition's answers: one table of them, and what their formulas are made from."""

from casewise.measures._answers import (
    PARTIAL_WEIGHT,
    Answers,
    Scoring,
    calls_a_tool,
    floats,
    label_fields,
    labelled_rows,
    make_answers,
)
from casewise.measures._counted import (
    Counted,
    bounds,
    count_answers,
    family_of,
    headline,
    measure,
)
from casewise.measures._evidence import CONTROLS, Climbed
from casewise.measures._table import (
    compared,
    correctable,
    find,
    gated,
    in_view,
    ladder_measures,
    measures,
    of_rung,
    outcomes,
    rung_measures,
    scored,
)

__all__ = [
    "PARTIAL_WEIGHT",
    "Answers",
    "CONTROLS",
    "Climbed",
    "Counted",
    "Scoring",
    "bounds",
    "calls_a_tool",
    "compared",
    "correctable",
    "count_answers",
    "family_of",
    "find",
    "floats",
    "gated",
    "headline",
    "in_view",
    "label_fields",
    "labelled_rows",
    "ladder_measures",
    "make_answers",
    "measure",
    "measures",
    "of_rung",
    "outcomes",
    "rung_measures",
    "scored",
]
