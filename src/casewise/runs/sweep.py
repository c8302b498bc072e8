"""Plan of a sweep: a file with a list of mappings of options, whose lists multiply."""

from dataclasses import fields, replace
from pathlib import Path

from casewise.errors import InputError, UsageError
from casewise.files.yaml import read_plain_yaml
from casewise.options import RunOptions, key
from casewise.runs.plan import Cell, Plan, make_plan, plan_cell


def plan_sweep(path: Path) -> Plan:
    """Read a sweep's file, and check and count all that it asks for; nothing is sent.

    Args:
        path: The file.

    Raises:
        InputError: The file can't be used, with the record and what was expected.
        ModelError: A model that can't do what a protocol needs.
    """
    records = read_plain_yaml(path, "sweep")
    if not isinstance(records, list) or not records:
        raise InputError("no list of options", file=path, expected="- model: ...", found=records)
    cells: dict[str, Cell] = {}
    notes: dict[str, None] = {}
    for number, record in enumerate(records, start=1):
        try:
            if not isinstance(record, dict):
                raise UsageError("no mapping of options")
            plan = make_plan(record, folder=path.parent)
            for cell in plan.cells:
                first = cells.setdefault(cell.identity, cell)
                if first is not cell:
                    cells[cell.identity] = _joined(first, cell)
        except UsageError as error:
            raise InputError(str(error), file=path, record=f"record {number}") from None
        notes |= dict.fromkeys(plan.unasked)
    models = list(dict.fromkeys(cell.model for cell in cells.values()))
    ordered = sorted(cells.values(), key=lambda cell: models.index(cell.model))
    return Plan(tuple(ordered), tuple(notes))


_MOST = ("epochs", "limit")
"""Options of which two records of one run get the most."""


def _joined(first: Cell, other: Cell) -> Cell:
    """The cell of two records that ask one model the same, with the most cases and epochs.

    Raises:
        UsageError: They differ in what tells no runs apart, such as an address.
    """
    apart = {*_MOST, *key(first.request), *key(other.request)}
    for one in fields(RunOptions):
        given = getattr(first.request, one.name), getattr(other.request, one.name)
        if one.name not in apart and given[0] != given[1]:
            raise UsageError(
                f"{one.name} {given[1]!r}: an earlier record asks {other.model} the same with "
                f"{given[0]!r}, and {one.name} tells no runs apart"
            )
    larger = max(first, other, key=lambda cell: cell.planned.condition.size)
    epochs = max(first.request.epochs, other.request.epochs)
    return plan_cell(larger.planned, replace(larger.request, epochs=epochs))
