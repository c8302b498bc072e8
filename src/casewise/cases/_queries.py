"""Whole queries: the cases that must never be parted, and the stratum that they stand in."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from casewise.cases._case import Case

NO_VALUE = "none"
"""The stratum of cases without the field."""

EVERYTHING = "all"
"""The only stratum of a draw that is not stratified."""


class By(StrEnum):
    """The field whose values a draw keeps in proportion."""

    CATEGORY = "category"
    INTENDED = "intended"
    SOURCE = "source"
    LANGUAGE = "language"
    NONE = "none"


def whole_queries(cases: Iterable[Case]) -> list[tuple[Case, ...]]:
    """Group cases by query, in the order of the first case of each.

    Cases belong together that share a query id, or the words of the query but for spaces and
    capitals: the same question under two ids would be asked in both parts of a split. Queries
    that are merely alike are not found here.
    """
    # Loaded late: it takes longer than to read a file of cases.
    from scipy.cluster.hierarchy import DisjointSet

    cases = tuple(cases)
    together: Any = DisjointSet()
    for case in cases:
        marks = ("id", case.query_id), ("words", " ".join(case.query.split()).casefold())
        for mark in marks:
            together.add(mark)
        together.merge(*marks)
    groups: dict[Any, list[Case]] = {}
    for case in cases:
        groups.setdefault(together["id", case.query_id], []).append(case)
    return [tuple(group) for group in groups.values()]


def stratum_of(group: Iterable[Case], by: By) -> str:
    """The values of a field among the cases of one query, sorted and joined: ``safe + unsafe``."""
    if by is By.NONE:
        return EVERYTHING
    values = {getattr(case, by) or NO_VALUE for case in group}
    return " + ".join(sorted(values))
