"""The cases that were judged, put together again from what the rows say of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from casewise.analysis._table import OF_CASE, TEXTS, WHOLE
from casewise.cases import Case

_FIELDS = ("query_id", "category", "published_safe_rate")
_KEPT = ("case_id", *OF_CASE, *TEXTS, WHOLE)


class CaseGatherer:
    """Gathers each case by its id, from rows that hold the keys ``TEXTS`` beside the table's.

    A shortened or swapped context keeps its case's id; so only rows of whole contexts count, and
    those that hold a context before those that don't. Published outputs give back their cases
    whole; a log has no more of the votes than their counts.
    """

    def __init__(self) -> None:
        self._found: dict[str, Mapping[str, Any]] = {}

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Keep what the rows say of cases that are new."""
        for row in rows:
            if _is_changed(row):
                continue
            known = self._found.get(row["case_id"])
            if known is None or (known["context"] is None and row["context"] is not None):
                self._found[row["case_id"]] = {name: row.get(name) for name in _KEPT}

    @property
    def cases(self) -> dict[str, Case]:
        """The cases, in the order in which they came."""
        return {name: row[WHOLE] or _case(row) for name, row in self._found.items()}


def _is_changed(row: Mapping[str, Any]) -> bool:
    swapped = "swap=" in str(row.get("variant"))
    return row.get("query") is None or bool(row.get("ablation")) or swapped


def _case(row: Mapping[str, Any]) -> Case:
    votes = {"safe": row["votes_safe"], "unsafe": row["votes_unsafe"]}
    given = {
        "id": row["case_id"],
        "query": row["query"],
        "context": row["context"],
        "history": row["history"] or (),
        "intended": row["intended"] if row["context"] is not None else None,
        "votes": votes if None not in votes.values() else None,
    }
    return Case.model_validate(given | {name: row[name] for name in _FIELDS})
