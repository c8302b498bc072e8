"""``casewise run FILE``: a sweep, and its matrix of conditions against models."""

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from casewise.cli._console import Format, err, note, note_all, print_as, working, write_out
from casewise.cli._run_options import EngineChoice, RunCost, RunOptions
from casewise.cli._running import (
    end,
    note_lacking,
    print_estimates,
    print_judged,
    run_with_progress,
)
from casewise.errors import UsageError
from casewise.files import address_of
from casewise.sheets import Cell, Column, Row, Sheet, Table, markdown, terminal

if TYPE_CHECKING:
    from casewise.evaluation import CellState, CostEstimate, Done, Sweep, SweepCell


def _matrix_sheet(sweep: "Sweep", done: "Done") -> Sheet:
    """State of every model under every condition, for each form of output."""
    total = sum(state.total for state in done.states)
    whole = sum(state.state == "done" for state in done.states)
    cells = len(sweep.entries)
    said = f"{whole} of {cells} done; {done.judged:,} of {total:,} judgements."
    return Sheet(
        lambda: terminal(_matrix(sweep, done), said),
        lambda: markdown(_matrix(sweep, done), said),
        lambda: {
            "sweep": sweep.name,
            "judged": done.judged,
            "total": total,
            "cells": list(map(_record, sweep.entries, done.states)),
            "not_in_the_file": list(done.others),
        },
    )


def _matrix(sweep: "Sweep", done: "Done") -> Table:
    models = list(dict.fromkeys(entry.model for entry in sweep.entries))
    names = list(dict.fromkeys(entry.condition for entry in sweep.entries))
    cells: dict[tuple[str, str], Cell] = {
        (entry.condition, entry.model): _text(state)
        for entry, state in zip(sweep.entries, done.states, strict=True)
    }
    return Table(
        [Column("condition"), *(Column(model) for model in models)],
        [Row([name, *(cells.get((name, model), "") for model in models)]) for name in names],
    )


def _text(state: "CellState") -> str:
    """Progress of a cell, in a few characters."""
    errors = f", {state.errors} in error" if state.errors else ""
    match str(state.state):
        case "done":
            return f"done{errors}"
        case "partly":
            return f"{state.judged} of {state.total}"
        case "failed":
            return f"failed, {state.judged} of {state.total}"
    return "not begun"


def _record(sweep_cell: "SweepCell", state: "CellState") -> dict[str, Any]:
    cell = sweep_cell.cell
    condition, grading = cell.planned.condition, cell.grading
    told = condition.identity
    return {
        "model": cell.model,
        "name": sweep_cell.model,
        "condition": sweep_cell.condition,
        **{name: told[name] for name in ("protocol", "delivery", "ablation")},
        "cases": condition.data.name,
        "generate": dict(cell.draw.settings),
        "epochs": cell.request.epochs,
        "state": str(state.state),
        "judged": state.judged,
        "total": state.total,
        "errors": state.errors,
        **_asked(cell.estimate),
        **(_asked(grading, "grader_") if grading is not None else {}),
        "log": None if state.log is None else state.log.name,
    }


def _asked(estimate: "CostEstimate", whose: str = "") -> dict[str, Any]:
    """Requests to a model, their tokens and dollars."""
    names = ("requests", "input_tokens", "output_tokens", "cost_usd")
    return {f"{whose}{name}": getattr(estimate, name) for name in names}


WITH_A_SWEEP = {
    *("sweep", "log_dir", "dry_run", "status", "format", "max_cost", "attempt_timeout"),
    "same_server",
    *(field.name for field in fields(EngineChoice)),
}
"""The options that a sweep's file leaves open."""


def check_alone(context: typer.Context) -> None:
    """Refuse options that a sweep's file says itself.

    Raises:
        UsageError: One was given.
    """
    for name in context.params:
        source = context.get_parameter_source(name)
        given = source is not None and source.name != "DEFAULT"
        if given and name not in WITH_A_SWEEP:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option}: a sweep's file says this itself; leave the option out")


def run_sweep(path: Path, options: RunOptions, cost: RunCost, engine: EngineChoice) -> None:
    """Run a sweep, or tell what it asks for (``--dry-run``), or how far it is (``--status``).

    Raises:
        Exit: Not all was judged.
    """
    with err().status("loading"):
        from casewise.evaluation import check_models, plan_sweep, read_done
        from casewise.logs import LogFolder
    if cost.dry_run and options.status:
        raise UsageError("--dry-run says what is asked, --status what is done: give one of them")
    with working("planning"):
        sweep = plan_sweep(path)
        folder = options.log_dir or Path("logs") / sweep.name
        logs = LogFolder(folder)
        done = read_done(sweep.cells, logs)
    note_all(sweep.notes)
    _note_sweep(sweep, done, folder)
    if options.status:
        print_as(options.format, _matrix_sheet(sweep, done))
    elif cost.dry_run:
        note_lacking(check_models(sweep.cells))
        _print_plan(sweep, done, options.format)
    else:
        cells = [cell.patient(options.attempt_timeout) for cell in sweep.cells]
        result = run_with_progress(
            cells,
            logs,
            cost.max_cost,
            engine.cluster(),
            same_server=options.same_server,
        )
        if options.format is Format.TABLE:
            print_judged(result, folder)
        print_as(options.format, _matrix_sheet(sweep, read_done(sweep.cells, logs)))
        end(result, folder)


def _note_sweep(sweep: "Sweep", done: "Done", folder: Path) -> None:
    models = len({entry.model for entry in sweep.entries})
    conditions = len({entry.condition for entry in sweep.entries})
    total = sum(state.total for state in done.states)
    note(
        f"{sweep.name}: {models} models, {conditions} conditions, {len(sweep.entries)} of their "
        f"combinations, {total:,} judgements; logs in {address_of(folder)}"
    )
    for other in done.others:
        note(f"in the folder, and not in the file: {other}")


def _print_plan(sweep: "Sweep", done: "Done", format: Format) -> None:
    estimates = [
        replace(entry.cell.estimate, model=entry.model, condition=entry.title)
        for entry in sweep.entries
    ]
    estimates += [
        replace(entry.cell.grading, grades=entry.model, condition=entry.title)
        for entry in sweep.entries
        if entry.cell.grading is not None
    ]
    match format:
        case Format.JSON:
            write_out(_matrix_sheet(sweep, done).json)
        case Format.MARKDOWN:
            from casewise._front_running import estimates_table

            write_out(markdown(estimates_table(estimates, with_total=True)))
        case Format.TABLE:
            print_estimates(estimates)
            if done.judged:
                note(f"{done.judged:,} of these judgements are in the folder, and not asked again")
