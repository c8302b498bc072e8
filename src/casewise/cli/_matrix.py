"""A sweep as a matrix: conditions against models, and how far each is."""

from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from casewise.sheets import Cell, Column, Row, Table, markdown, terminal, to_json

if TYPE_CHECKING:
    from casewise.evaluation import CellState, Done, Sweep, SweepCell


def matrix_renderable(sweep: "Sweep", done: "Done") -> RenderableType:
    """The matrix for a terminal."""
    return terminal(_matrix(sweep, done), total_line(sweep, done))


def matrix_markdown(sweep: "Sweep", done: "Done") -> str:
    """The matrix as Markdown."""
    return markdown(_matrix(sweep, done), total_line(sweep, done))


def matrix_json(sweep: "Sweep", done: "Done") -> str:
    """Every model under every condition, with what is asked and what is done."""
    records = [_record(one, state) for one, state in zip(sweep.entries, done.states, strict=True)]
    whole = {
        "sweep": sweep.name,
        "judged": done.judged,
        "total": sum(one.total for one in done.states),
        "cells": records,
        "not_in_the_file": list(done.others),
    }
    return to_json(whole)


def total_line(sweep: "Sweep", done: "Done") -> str:
    """What is done of the whole, in a sentence."""
    total = sum(one.total for one in done.states)
    whole = sum(one.state == "done" for one in done.states)
    cells = len(sweep.entries)
    return f"{whole} of {cells} done; {done.judged:,} of {total:,} judgements."


def _matrix(sweep: "Sweep", done: "Done") -> Table:
    models = list(dict.fromkeys(one.model for one in sweep.entries))
    names = list(dict.fromkeys(one.condition for one in sweep.entries))
    found: dict[tuple[str, str], Cell] = {
        (one.condition, one.model): _text(state)
        for one, state in zip(sweep.entries, done.states, strict=True)
    }
    return Table(
        [Column("condition"), *(Column(model) for model in models)],
        [Row([name, *(found.get((name, model), "") for model in models)]) for name in names],
    )


def _text(state: "CellState") -> str:
    """How far a cell is, in a few characters."""
    errors = f", {state.errors} in error" if state.errors else ""
    match str(state.state):
        case "done":
            return f"done{errors}"
        case "partly":
            return f"{state.judged} of {state.total}"
        case "failed":
            return f"failed, {state.judged} of {state.total}"
    return "not begun"


def _record(one: "SweepCell", state: "CellState") -> dict[str, Any]:
    planned, estimate = one.cell.planned, one.cell.estimate
    condition = planned.condition
    return {
        "model": one.cell.model,
        "name": one.model,
        "condition": one.condition,
        "protocol": str(condition.protocol),
        "delivery": str(condition.delivery),
        "ablation": ",".join(condition.ablation.names) if condition.ablation else None,
        "cases": condition.data.name,
        "generate": dict(one.cell.draw.settings),
        "epochs": one.cell.request.epochs,
        "state": str(state.state),
        "judged": state.judged,
        "total": state.total,
        "errors": state.errors,
        "requests": estimate.requests,
        "input_tokens": estimate.input_tokens,
        "output_tokens": estimate.output_tokens,
        "cost_usd": estimate.cost_usd,
        "log": None if state.log is None else state.log.name,
    }
