"""Read a study file, and the cases that it is about."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from casewise.annotation.study._study import Arm, Study
from casewise.cases import Case, load_cases, read_plain_yaml
from casewise.errors import InputError


def load_study(path: Path) -> Study:
    """Load a study from its YAML file.

    Raises:
        InputError: There is no such file, or it can't be used.
    """
    data = read_plain_yaml(path, "study")
    if not isinstance(data, dict):
        raise InputError("not a study", file=path, found=data, expected="a mapping")
    try:
        study = Study.model_validate(data)
    except ValidationError as error:
        detail = error.errors()[0]
        field = ".".join(str(part) for part in detail["loc"])
        raise InputError(
            detail["msg"], file=path, field=field or None, found=detail["input"]
        ) from None
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

    A query's first case lends its query to the arm ``none``. Cases without an intended side
    are in no arm.
    """
    found: dict[tuple[Arm, str], Case] = {}
    asked = set()
    for case in cases:
        if case.query_id not in asked:
            asked.add(case.query_id)
            alone = without_context(case)
            found[Arm.NONE, alone.id] = alone
        if case.intended is not None and case.context is not None:
            found[Arm(case.intended), case.id] = case
    return found


def study_cases(study: Study) -> tuple[Case, ...]:
    """The cases of the study's cells, in their order.

    Raises:
        InputError: The file is gone, or its cases are not those that were planned.
    """
    folder = study.path.parent if study.path else Path()
    made = load_cases(folder / study.cases)
    if made.hash != study.cases_hash:
        raise InputError(
            "the cases have changed since the study was planned",
            file=study.path,
            field="cases_hash",
            found=made.hash,
            expected=study.cases_hash,
        )
    known = by_arm(made.cases)
    missing = [cell for cell in study.design.cells if (cell.arm, cell.case_id) not in known]
    if missing:
        raise InputError(
            "no such case",
            file=study.path,
            field="design.cells",
            found=f"{missing[0].arm} {missing[0].case_id}",
            expected=f"a case of {study.cases}",
        )
    return tuple(known[cell.arm, cell.case_id] for cell in study.design.cells)
