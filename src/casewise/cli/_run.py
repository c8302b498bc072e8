"""``casewise run``: models under conditions, or a sweep with its matrix of both."""

import math
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casewise.choices import EngineName
from casewise.cli._console import (
    Format,
    command_line,
    err,
    note,
    note_all,
    print_as,
    working,
    write_out,
)
from casewise.cli._options import Chosen, Given, grouped
from casewise.cli._running import (
    end,
    note_lacking,
    print_estimates,
    print_judged,
    run_with_progress,
)
from casewise.errors import UsageError
from casewise.files import address_of, place_of
from casewise.options import NONE, RunOptions, StartOptions, ViewOptions, options_of
from casewise.sheets import Column, Row, Sheet, Table, count, markdown, money, terminal

if TYPE_CHECKING:
    from casewise.runs import Cell, CellState, ClusterOptions, CostEstimate, Done, Plan

_USUAL = ("attempt_timeout",)
"""Options that may stand beside a sweep, for records that don't give them."""


@grouped
def run(
    context: typer.Context,  # noqa: ARG001 - it tells which options were given
    asked: Annotated[Given, Chosen(RunOptions)],
    start: StartOptions,
    view: ViewOptions,
) -> None:
    """Run models over cases in their contexts, and score them against people.

    Without options, the embedded model (135 million parameters, offline) judges the bundled
    starter cases: a first look, in about a minute.

    [bold]Examples[/]

    casewise run

    casewise run --model openai/gpt-4o --cases casebench --protocol binary --dry-run

    casewise run -m vllm/Qwen/Qwen3-8B --cases mine.yaml --ablate none --ablate recipient

    casewise run -m casewise-hf/./my-checkpoint -M dtype=bfloat16

    casewise run -m openai/gpt-5 --protocol binary --generate reasoning_effort=high

    casewise run -m openai/gpt-4o --protocol respond --delivery system,claimed,none

    casewise run -m openai/gpt-4o --protocol respond --deployment therapy-support

    casewise run --model target.yaml --protocol respond --deployment our-card.yaml

    casewise run -m openai/gpt-4o --cases casebench --protocol binary --batch --log-dir logs/a

    casewise run sweep.yaml --max-cost 20

    casewise run sweep.yaml --engine ray --address 10.0.0.1:6379 --log-dir s3://bucket/run
    """
    place = None if start.log_dir is None else place_of(start.log_dir)
    if view.sweep is not None:
        _run_sweep(view.sweep, asked, place or Path("logs") / view.sweep.stem, start, view)
        return
    if view.status or view.format is not Format.TABLE:
        raise UsageError("--status and --format tell of a sweep: casewise run SWEEP --status")
    # Inspect takes seconds to import: --help and the other commands do without it.
    with err().status("loading"):
        from casewise.runs import check_models, make_plan
    # The plain run comes with its changes.
    asked |= {name: (NONE, *asked[name]) for name in ("swap", "vary") if name in asked}
    plan, folder = make_plan(asked), place or new_log_dir()
    note_all(plan.notes)
    _offer_whole(plan, asked, place if view.dry_run else folder)
    if view.dry_run:
        note_lacking(check_models(plan.cells))
        print_estimates(plan.estimates)
        note(minutes_text(plan))
        return
    cluster = cluster_of(start)
    _note_plan(plan, folder)
    result = run_with_progress(
        plan.cells, folder, start.max_cost, cluster, same_server=start.same_server
    )
    # It holds all cases; the scores of many need the room.
    del plan
    print_judged(result, folder)
    end(result, folder)


def new_log_dir() -> Path:
    """Folder of a run's logs where none is named: by its start."""
    return Path("logs") / datetime.now().strftime("%Y-%m-%dT%H-%M-%S")


def cluster_of(start: StartOptions) -> "ClusterOptions | None":
    """The cluster of a start; None is this process.

    Raises:
        UsageError: An option of Ray's without it.
    """
    from casewise.runs import ClusterOptions

    of_ray = ("address", "shard_size", "shard_cpus", "shard_gpus")
    given = {name: value for name in of_ray if (value := getattr(start, name)) is not None}
    if start.engine is EngineName.RAY:
        return ClusterOptions(**given)
    if given:
        raise UsageError(f"--{next(iter(given)).replace('_', '-')} is for --engine ray")
    return None


def _offer_whole(plan: "Plan", asked: Given, folder: Path | None) -> None:
    """Offer the run over whole contexts, where there are shortened ones alone.

    Args:
        plan: The run.
        asked: Its options.
        folder: Folder of the logs, which may hold it already; None of a dry run without one.
    """
    from casewise.logs import resume_line
    from casewise.runs import lone_ablations, make_plan, read_done

    lone = lone_ablations(plan.cells)
    if not lone:
        return
    whole = make_plan(asked | {"ablate": NONE}).cells
    if folder is not None and read_done(whole, folder).judged:
        return
    note(
        f"only contexts without {' or '.join(lone)} are judged: no run over whole contexts is "
        "beside it to say what that changes. With both:"
    )
    command_line(resume_line([*sys.argv[1:], "--ablate", NONE], folder))


def _note_plan(plan: "Plan", folder: Path) -> None:
    from casewise.options import SMOLLM2
    from casewise.runs import total

    models = dict.fromkeys(cell.model for cell in plan.cells)
    conditions = [cell.planned.condition for cell in plan.cells]
    data = dict.fromkeys(one.data.name for one in conditions)
    protocols = dict.fromkeys(str(one.protocol) for one in conditions)
    requests, tokens_in, tokens_out, dollars = total(plan.estimates)
    note(
        f"{', '.join(models)} on {', '.join(data)}: {plan.judgements:,} judgements "
        f"({', '.join(protocols)}); logs in {address_of(folder)}"
    )
    cost = "at unknown prices" if dollars is None else money(dollars, "$")
    note(
        f"{count(requests)} requests, {count(tokens_in)} tokens in and {count(tokens_out)} out, "
        f"{cost}, {minutes_text(plan)}: all estimated"
    )
    if SMOLLM2 in models:
        note("the embedded model is real but tiny: it shows that all works, and judges at chance")


def minutes_text(plan: "Plan") -> str:
    """Minutes that a plan takes, in words."""
    minutes = math.ceil(plan.minutes)
    return f"about {count(minutes)} minute{'s' * (minutes != 1)}"


def _run_sweep(
    path: Path, asked: Given, folder: Path, start: StartOptions, view: ViewOptions
) -> None:
    """Run a sweep, or tell what it asks for (``--dry-run``), or how far it is (``--status``).

    Raises:
        UsageError: Options that the file says itself.
        Exit: Not all was judged.
    """
    if own := next((name for name in asked if name not in _USUAL), None):
        spelling = options_of(RunOptions)[own].spelling
        raise UsageError(f"{spelling}: a sweep's file says this itself; leave the option out")
    if view.dry_run and view.status:
        raise UsageError("--dry-run says what is asked, --status what is done: give one of them")
    with err().status("loading"):
        from casewise.runs import check_models, plan_sweep, read_done
    with working("planning"):
        plan = plan_sweep(path, asked)
        done = read_done(plan.cells, folder)
    note_all(plan.notes)
    _note_plan(plan, folder)
    for other in done.others:
        note(f"in the folder, and not in the file: {other}")
    if view.status:
        print_as(view.format, _matrix_sheet(plan, done))
    elif view.dry_run:
        note_lacking(check_models(plan.cells))
        _print_plan(plan, done, view.format)
    else:
        result = run_with_progress(
            plan.cells, folder, start.max_cost, cluster_of(start), same_server=start.same_server
        )
        if view.format is Format.TABLE:
            print_judged(result, folder)
        print_as(view.format, _matrix_sheet(plan, read_done(plan.cells, folder)))
        end(result, folder)


def _print_plan(plan: "Plan", done: "Done", format: Format) -> None:
    match format:
        case Format.JSON:
            write_out(_matrix_sheet(plan, done).json)
        case Format.MARKDOWN:
            from casewise.api import estimates_table

            write_out(markdown(estimates_table(plan.estimates, with_total=True)))
        case Format.TABLE:
            print_estimates(plan.estimates)
            if done.judged:
                note(f"{done.judged:,} of these judgements are in the folder, and not asked again")


def _matrix_sheet(plan: "Plan", done: "Done") -> Sheet:
    """State of every model under every condition, for each form of output."""
    total = sum(state.total for state in done.states)
    whole = sum(state.state == "done" for state in done.states)
    said = f"{whole} of {len(plan.cells)} done; {done.judged:,} of {total:,} judgements."
    return Sheet(
        lambda: terminal(_matrix(plan.cells, plan.titles, done.states), said),
        lambda: markdown(_matrix(plan.cells, plan.titles, done.states), said),
        lambda: {
            "judged": done.judged,
            "total": total,
            "cells": [
                _record(*one) for one in zip(plan.cells, plan.titles, done.states, strict=True)
            ],
            "not_in_the_file": list(done.others),
        },
    )


def _matrix(cells: "Sequence[Cell]", titles: Sequence[str], states: "Sequence[CellState]") -> Table:
    models = list(dict.fromkeys(cell.model for cell in cells))
    texts = {
        (title, cell.model): _text(state)
        for cell, title, state in zip(cells, titles, states, strict=True)
    }
    return Table(
        [Column("condition"), *map(Column, models)],
        [
            Row([title, *(texts.get((title, model), "") for model in models)])
            for title in dict.fromkeys(titles)
        ],
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


def _record(cell: "Cell", title: str, state: "CellState") -> dict[str, Any]:
    told = cell.planned.condition.identity
    return {
        "model": cell.model,
        "condition": title,
        **{name: told[name] for name in ("protocol", "delivery", "ablation")},
        "cases": cell.planned.condition.data.name,
        "generate": dict(cell.draw.settings),
        "epochs": cell.request.epochs,
        "state": str(state.state),
        "judged": state.judged,
        "total": state.total,
        "errors": state.errors,
        **_asked(cell.estimate),
        **(_asked(cell.grading, "grader_") if cell.grading is not None else {}),
        "log": None if state.log is None else state.log.name,
    }


def _asked(estimate: "CostEstimate", whose: str = "") -> dict[str, Any]:
    """Requests to a model, their tokens and dollars."""
    names = ("requests", "input_tokens", "output_tokens", "cost_usd")
    return {f"{whose}{name}": getattr(estimate, name) for name in names}
