"""A result that shows itself: as records, a data frame, Markdown, and in a notebook."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from casewise.sheets.forms import Sheet, markdown_to_html, to_json

if TYPE_CHECKING:
    import polars as pl


@singledispatch
def sheet_of(result: object, **_: Any) -> Sheet:
    """The tables of a result, with options of its own; ``casewise.reporting`` registers them."""
    raise TypeError(f"no tables of {type(result).__name__}: import casewise.reporting")


class ResultView(ABC):
    """A result that shows itself: as a data frame, as Markdown, and in a notebook."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """The rows as JSON values; what is undefined is None."""

    def to_markdown(self, **options: Any) -> str:
        """The result as Markdown, as the command prints it with ``--format markdown``.

        Args:
            options: Of its own tables: of scores and comparisons ``whole=True`` shows every measure
                and analysis.
        """
        return sheet_of(self, **options).markdown()

    def to_polars(self) -> "pl.DataFrame":
        """The rows as a data frame, with a column for each name that any of them has.

        An interval is a list of its two ends; what has named parts is JSON.
        """
        import polars as pl

        rows = [{name: _cell(value) for name, value in row.items()} for row in self.records()]
        names = dict.fromkeys(name for row in rows for name in row)
        # A first row that lacks a column must not decide which there are.
        whole = [{name: row.get(name) for name in names} for row in rows]
        return pl.DataFrame(whole, infer_schema_length=None, strict=False)

    def __repr__(self) -> str:
        return self.to_markdown().rstrip()

    def _repr_html_(self) -> str:
        return markdown_to_html(self.to_markdown())


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def plain_rows(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records as they would be read back from the JSON that a command prints."""
    rows: list[dict[str, Any]] = json.loads(to_json(records))
    return rows
