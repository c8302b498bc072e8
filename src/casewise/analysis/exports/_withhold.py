"""The judgement table without texts: their lengths stand in."""

import polars as pl

from casewise.analysis._shown import known_parameters, show_value, shown_by_column
from casewise.analysis._withheld import length_of

TEXT_COLUMNS = ("answer", "explanation", "error")
"""Columns that may quote a query, a context or a reply."""


def withhold(table: pl.DataFrame) -> pl.DataFrame:
    """A table that scores like the one given, and holds no text.

    ``answer``, ``explanation`` and ``error`` make place for ``answer_length``,
    ``explanation_length`` and ``error_length`` (characters); names that don't look like names are
    replaced.
    """
    rules = shown_by_column(known_parameters(table["ablation"].unique(), table["variant"].unique()))
    columns = []
    for name, kind in table.schema.items():
        values = table[name]
        if name in TEXT_COLUMNS:
            lengths = [length_of(text) for text in values]
            columns.append(pl.Series(f"{name}_length", lengths, pl.Int64))
        elif kind == pl.String:
            distinct = values.unique()
            shown = [show_value(name, value, rules) for value in distinct]
            replaced = values.replace_strict(distinct, shown, return_dtype=pl.String)
            columns.append(replaced.alias(name))
        else:
            columns.append(values)
    return pl.DataFrame(columns)
