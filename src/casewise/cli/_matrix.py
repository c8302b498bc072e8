"""A sweep as a matrix: conditions against models, and how far each is."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

if TYPE_CHECKING:
    from casewise.evaluation import CellState, Done, Sweep, SweepCell


def matrix_renderable(sweep: "Sweep", done: "Done") -> RenderableType:
    """The matrix for a terminal."""
    # Imported late: a run needn't load the statistics before its first request.
    from casewise.reporting import PlainTable

    heads, rows = _matrix(sweep, done)
    table = PlainTable("")
    table.add_column("condition")
    for head in heads:
        table.add_column(head, right=True)
    for name, texts in rows:
        table.add_row(name, *texts)
    return Group(table, total_line(sweep, done))


def matrix_markdown(sweep: "Sweep", done: "Done") -> str:
    """The matrix as Markdown."""
    heads, rows = _matrix(sweep, done)
    lines = ["| condition | " + " | ".join(map(_escaped, heads)) + " |"]
    lines.append("|---|" + "---:|" * len(heads))
    lines += [f"| {_escaped(name)} | " + " | ".join(texts) + " |" for name, texts in rows]
    return "\n".join([*lines, "", total_line(sweep, done)]) + "\n"


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
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def total_line(sweep: "Sweep", done: "Done") -> str:
    """What is done of the whole, in a sentence."""
    total = sum(one.total for one in done.states)
    whole = sum(one.state == "done" for one in done.states)
    cells = len(sweep.entries)
    return f"{whole} of {cells} done; {done.judged:,} of {total:,} judgements."


def _matrix(sweep: "Sweep", done: "Done") -> tuple[list[str], list[tuple[str, list[str]]]]:
    heads = list(dict.fromkeys(one.model for one in sweep.entries))
    names = list(dict.fromkeys(one.condition for one in sweep.entries))
    found = {
        (one.condition, one.model): _text(state)
        for one, state in zip(sweep.entries, done.states, strict=True)
    }
    return heads, [(name, [found.get((name, head), "") for head in heads]) for name in names]


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


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def estimates_markdown(sweep: "Sweep") -> str:
    """Requests, tokens and cost of every model under every condition, as Markdown."""
    lines = ["| model | condition | requests | input tokens | output tokens | cost $ |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    found = [one.cell.estimate for one in sweep.entries]
    for one, asked in zip(sweep.entries, found, strict=True):
        numbers = _numbers(asked.requests, asked.input_tokens, asked.output_tokens)
        names = f"| {_escaped(one.model)} | {_escaped(one.title)} | "
        lines.append(f"{names}{numbers} | {_dollars([asked.cost_usd])} |")
    whole = [
        sum(getattr(one, name) for one in found)
        for name in ("requests", "input_tokens", "output_tokens")
    ]
    lines.append(f"| total | | {_numbers(*whole)} | {_dollars([one.cost_usd for one in found])} |")
    return "\n".join(lines) + "\n"


def _numbers(*numbers: int) -> str:
    return " | ".join(f"{one:,}" for one in numbers)


def _dollars(costs: Sequence[float | None]) -> str:
    known = [one for one in costs if one is not None]
    return f"{sum(known):.2f}" if len(known) == len(costs) else "unknown"
