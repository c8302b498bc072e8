"""Plan of a sweep: a file with a list of mappings of options, whose lists multiply."""

from dataclasses import fields
from pathlib import Path

from casewise.errors import InputError, UsageError
from casewise.files.yaml import read_plain_yaml
from casewise.options import RunOptions
from casewise.runs.plan import Cell, Plan, make_plan


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
                first = cells.setdefault(cell.identity, cell).request
                for field in fields(RunOptions):
                    if getattr(first, field.name) != getattr(cell.request, field.name):
                        raise UsageError(
                            f"{field.name}: an earlier record asks {cell.model} the same with "
                            f"another, and {field.name} tells no runs apart"
                        )
        except UsageError as error:
            raise InputError(str(error), file=path, record=f"record {number}") from None
        notes |= dict.fromkeys(plan.notes)
    models = list(dict.fromkeys(cell.model for cell in cells.values()))
    ordered = sorted(cells.values(), key=lambda cell: models.index(cell.model))
    return Plan(tuple(ordered), tuple(notes))
