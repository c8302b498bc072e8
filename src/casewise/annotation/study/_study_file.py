"""Read a study file, and the cases that it is about."""

from collections.abc import Iterable
from pathlib import Path

from casewise.annotation.study._design import query_codes
from casewise.annotation.study._study import Arm, Study
from casewise.cases import CASEBENCH, STARTER, Case, CaseSet, open_cases, read_model
from casewise.errors import InputError

MOST_BYTES = 32_000_000
"""Of a study file; a vote takes about six."""


def load_study(path: Path) -> Study:
    """Load a study from its YAML file.

    Raises:
        InputError: There is no such file, or it can't be used.
    """
    study = read_model(path, Study, "study", most_bytes=MOST_BYTES)
    study._path = path
    return study


def without_context(case: Case) -> Case:
    """The case of the arm ``none``: the query alone."""
    return Case(
        query=case.query,
        query_id=case.query_id,
        category=case.category,
        source=case.source,
        licence=case.licence,
        language=case.language,
    )


def by_arm(cases: Iterable[Case]) -> dict[tuple[Arm, str], Case]:
    """Every case that could be a cell, by its arm and id, in the order of the file.

    In the arm ``none`` is a query's own case without context and earlier turns; where there is
    none, its first case lends its query. Cases without an intended side are in no other arm.
    """
    cases = tuple(cases)
    bare = {
        case.query_id: case for case in reversed(cases) if case.context is None and not case.history
    }
    found: dict[tuple[Arm, str], Case] = {}
    asked = set()
    for case in cases:
        if case.query_id not in asked:
            asked.add(case.query_id)
            alone = bare.get(case.query_id) or without_context(case)
            found[Arm.NONE, alone.id] = alone
        if case.intended is not None and case.context is not None:
            found[Arm(case.intended), case.id] = case
    return found


def open_study_cases(study: Study) -> CaseSet:
    """The file of cases that a study names, or ``starter``, or ``casebench``.

    Raises:
        InputError: The file is gone or can't be used.
        AssetError: CASE-Bench was not fetched yet.
    """
    folder = study.path.parent if study.path else Path()
    known = study.cases in (STARTER, CASEBENCH)
    return open_cases(study.cases if known else folder / study.cases)


def study_cases(study: Study) -> tuple[Case, ...]:
    """The cases of the study's cells, in their order.

    Raises:
        InputError: The file is gone, its cases are not those that were planned, or a block holds
            a query twice.
    """
    made = open_study_cases(study)
    if made.hash != study.cases_hash:
        raise InputError(
            "the cases have changed since the study was planned",
            file=study.path,
            field="cases_hash",
            found=made.hash,
            expected=study.cases_hash,
        )
    known = by_arm(made.cases)
    cells = study.design.cells
    for number, cell in enumerate(cells, 1):
        if cell not in known:
            raise InputError(
                "no such case",
                file=study.path,
                record=f"design.cells, record {number}",
                found=f"{cell.arm} {cell.case_id}",
                expected=f"a case of {study.cases} under this arm",
            )
    cases = tuple(known[cell] for cell in cells)
    queries = query_codes(cases).tolist()
    for number, block in enumerate(study.design.blocks, 1):
        if len({queries[place] for place in block}) < len(block):
            raise InputError(
                "two cells of one query",
                file=study.path,
                record=f"design.blocks, record {number}",
                expected="nobody sees a query twice",
            )
    return cases
