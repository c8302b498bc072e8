"""The other case of a pair."""

from collections.abc import Iterable

from casewise.cases._case import Case, Side

_OTHER: dict[Side, Side] = {"safe": "unsafe", "unsafe": "safe"}


def find_twins(cases: Iterable[Case]) -> dict[str, Case]:
    """By the id of a case, the first case of its query that is intended the other way.

    Cases without an intended side, or whose query has only the one, have no twin.
    """
    cases = tuple(cases)
    first: dict[tuple[str, Side], Case] = {}
    for case in cases:
        if case.intended is not None:
            first.setdefault((case.query_id, case.intended), case)
    return {
        case.id: first[case.query_id, _OTHER[case.intended]]
        for case in cases
        if case.intended is not None and (case.query_id, _OTHER[case.intended]) in first
    }
