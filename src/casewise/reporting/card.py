"""The evaluation card: what the page says first, every analysis, and how the runs were made."""

import shlex
from collections.abc import Iterator
from typing import Any

from casewise import __version__
from casewise.judgements import RunRecord, plain_notes, without_paths
from casewise.reporting.analyses import as_markdown
from casewise.reporting.scores import CASES, all_verdicts, cases_table, runs_table
from casewise.results import Overview, leading, remarks, wording
from casewise.sheets import Column, Row, Table, code_block, escape, markdown

LOG_DIR = "repeat"
"""Folder that the commands write their logs to."""


def evaluation_card(overview: Overview) -> str:
    """A card in Markdown, the same for the same inputs, without any text of a case or an answer."""
    text = "\n\n".join(_blocks(overview))
    for condition, _ in overview.scores.runs:
        for name in filter(None, (condition.model, condition.place)):
            text = text.replace(escape(name), escape(without_paths(name)))
    calls = dict.fromkeys(record.command for record in overview.records if record.command)
    if not calls:
        return f"{text}\n"
    lines = [shlex.join(("casewise", *arguments, "--log-dir", LOG_DIR)) for arguments in calls]
    commands = code_block(" &&\n".join(lines), "sh")
    return f"{text}\n\n## How to repeat it\n\n{commands}\n"


def _blocks(overview: Overview) -> Iterator[str]:
    result = leading(overview)
    models = dict.fromkeys(without_paths(score.condition.model) for score in overview.scores)
    yield f"# Evaluation card: {escape(', '.join(models))}"
    for verdict in result.leading:
        subject = without_paths(verdict.subject)
        yield f"**{escape(subject)}.** {escape(' '.join(verdict.statements))}"
    yield markdown(runs_table(all_verdicts(overview, result), overview.scores.baselines))
    yield (
        f"Held against {wording(*overview.scores).against}, with 95 % intervals, clustered by "
        "query. One part of a safety evaluation, and no certificate."
    )
    new = [failure for comparison in overview.comparisons for failure in comparison.failures]
    new.sort(key=lambda failure: -(failure.distance or 0))
    if failures := new[:CASES] or overview.scores.failures(CASES):
        yield markdown(cases_table(failures, "Newly wrong" if new else "Worst cases"))
    yield from (as_markdown(analysis) for analysis in overview.scores.analyses if analysis.lines)
    notes = [*plain_notes(overview.notes), *remarks(overview.scores)]
    yield "\n".join(["## Notes", "", *(f"- {escape(note)}" for note in notes)])
    yield "## How it was run"
    yield from (markdown(_record_table(record)) for record in overview.records)
    made = "" if overview.records else "No log is at hand: how it was run is not recorded. "
    yield f"{made}Scored by casewise {escape(__version__)}."


def _record_table(record: RunRecord) -> Table:
    """What a log says of its run; what it does not say is left out."""
    rows = [Row([name, _text(value)]) for name, value in record.shown.items()]
    return Table([Column(""), Column("")], rows, record.model)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
