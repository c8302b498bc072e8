"""Measures of a condition's answers: one table of them, and what their formulas are made from."""

from casewise.measures.table import (
    PARTIAL_WEIGHT,
    AnswerCounts,
    Answers,
    Scoring,
    bounds,
    calls_a_tool,
    compared_measures,
    correctable_measures,
    count_answers,
    family_of,
    find_measure,
    floats,
    gated_measures,
    headline,
    label_fields,
    labelled_rows,
    make_answers,
    measure,
    measures,
    scored_measures,
)
