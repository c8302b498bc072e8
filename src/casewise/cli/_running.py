"""Running of models with progress, and the report at its end."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from casewise.cli._console import command_line, err, note
from casewise.cli._progress import RunProgress
from casewise.errors import InputError, ModelError
from casewise.files import address_of, is_elsewhere

if TYPE_CHECKING:
    from casewise.evaluation import Budget, Cell, ClusterOptions, Done, RunResult, StartSummary
    from casewise.logs import LogFolder

NOT_ALL_DONE = 1


def run_with_progress(
    cells: Sequence["Cell"],
    log_dir: "Path | LogFolder",
    max_cost: float | None,
    cluster: "ClusterOptions | None" = None,
) -> "RunResult":
    """Run what is still open in a folder, under one progress display.

    Args:
        cells: Models under conditions whose logs the folder is to hold.
        log_dir: The folder of logs; one that was opened is not read again.
        max_cost: Dollars, if there is a limit.
        cluster: Cluster that runs it; None is this process.

    Raises:
        UsageError: A cap without the prices that it needs.
        KeyboardInterrupt: The run was stopped; the command that goes on was printed.
    """
    from casewise.evaluation import (
        Observers,
        has_answers,
        make_budget,
        out_before,
        read_done,
        run_cells,
        told_of_local_models,
    )
    from casewise.logs import LogFolder

    folder = LogFolder.at(log_dir)
    done = read_done(cells, folder)
    total = sum(cell.judgements for cell in cells)
    budget = None if max_cost is None else make_budget(cells, done, max_cost)
    if done.judged:
        note(f"going on: {done.judged:,} of {total:,} were judged before")
    elif has_answers(folder.path):
        note("going on: the answers of the start before were kept, and are not asked for again")
    for line in out_before(folder.path):
        note(line)
    if budget is not None:
        _note_cap(cells, done, budget)
    try:
        with RunProgress(err(), total, done.judged, budget) as progress, told_of_local_models(note):
            observers = Observers(progress, progress.met, progress.say_outage, progress.batches)
            return run_cells(cells, folder, budget=budget, cluster=cluster, observers=observers)
    except KeyboardInterrupt:
        print_resume_command("stopped", folder.path)
        raise
    except ModelError:
        if not is_elsewhere(folder.path) and any(folder.path.glob("*.eval")):
            note(_pointer_to_errors(folder.path))
        raise


def _note_cap(cells: Sequence["Cell"], done: "Done", budget: "Budget") -> None:
    before = f" (${budget.spent:.2f} of it spent before)" if budget.spent else ""
    note(f"stops at ${budget.cap:.2f}{before}")
    left = sum(
        (cell.cost_usd or 0.0) * (1 - state.judged / max(1, state.total))
        for cell, state in zip(cells, done.states, strict=True)
    )
    if budget.spent + left > budget.cap:
        note(
            f"warning: what is left is estimated at ${left:.2f}: "
            "the cap will probably stop it before all is judged"
        )


def print_judged(result: "RunResult", log_dir: Path) -> None:
    """Print the scores of what a run's logs hold."""
    # Only now: the first request need not wait for the statistics to load.
    from casewise.cli._score import print_scores
    from casewise.scores import read_paths

    try:
        print_scores(read_paths([Path(path) for path in result.logs] or [log_dir]).table)
    except InputError:
        if not result.capped:
            raise
        note("nothing was judged yet")
    for line in fault_lines(result.summary):
        note(line)
    where = address_of(log_dir)
    note(f"logs: {where} (inspect view --log-dir {where}; casewise score {where})")


def fault_lines(summary: "StartSummary") -> list[str]:
    """Faults that were met, a line for each model, and answers found of earlier starts."""
    lines = list(summary.notes)
    if summary.answers_before:
        lines.append(f"{summary.answers_before:,} answers were there from the start before")
    if summary.collected:
        lines.append(f"{summary.collected:,} answers were collected from batches sent before")
    for what, by_model in (("met on the way", summary.faults), ("cases in error", summary.errors)):
        for model, kinds in by_model.items():
            shown = ", ".join(f"{n:,} {kind.replace('_', ' ')}" for kind, n in kinds.items())
            lines.append(f"{what}: {model}: {shown}")
    return lines


def end(result: "RunResult", log_dir: Path) -> None:
    """Say what is not finished, and end with status 1 if something is.

    Raises:
        Exit: Not all was judged.
    """
    if result.complete:
        return
    for failure in result.failures:
        err().print(f"not finished: {failure}", markup=False)
    if not result.capped:
        note(_pointer_to_errors(log_dir))
    print_resume_command("not all was judged", log_dir, higher_cap=result.capped)
    raise typer.Exit(NOT_ALL_DONE)


def _pointer_to_errors(log_dir: Path) -> str:
    """Pointer to providers' error messages, which are not printed since they may quote queries."""
    where = address_of(log_dir)
    return f"what providers said of errors is in the logs: inspect view --log-dir {where}"


def print_resume_command(what: str, log_dir: Path, *, higher_cap: bool = False) -> None:
    """Print the command that goes on with the same folder."""
    # Only here: a start need not wait for what scores.
    from casewise.scores import resume_line, without_option

    arguments = sys.argv[1:]
    if higher_cap:
        arguments = [*without_option("--max-cost", arguments), "--max-cost", "MORE"]
    command = resume_line(arguments, log_dir)
    where = address_of(log_dir)
    err().print(f"{what}; what was judged is kept in {where}. To go on:", markup=False)
    command_line(command)
