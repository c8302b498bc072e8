"""``casewise replay``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from casewise.choices import RULES, grading_model, read_grader
from casewise.cli import _complete as complete
from casewise.cli._console import Format, FormatOption, err, note, note_all, print_as, working
from casewise.cli._grade import ColumnsOption
from casewise.cli._help import CONVERSATIONS, MODEL, OUTPUT, PLACE
from casewise.cli._main import (
    case_files,
    judgement_files,
    protocols,
    replies,
    reporting,
    results,
    transcripts,
)
from casewise.cli._options import (
    OptionSubset,
    OptionValues,
    RulesOrModel,
    argument,
    flag,
    grouped,
    option,
    warn_of_content,
)
from casewise.cli._run import new_log_dir
from casewise.cli._running import end, fault_lines, note_lacking, print_estimates, run_with_progress
from casewise.errors import InputError, UsageError
from casewise.files import place_of
from casewise.options import RunOptions, StartOptions

SHOWN = 3
"""Unreadable lines that are named."""

_SHARED = (
    *("model_base_url", "max_connections", "max_tokens", "generate"),
    *("price_in", "price_out", "grader_price_in", "grader_price_out"),
)
"""Options that a replay has in common with a run."""


@grouped
def replay(
    context: typer.Context,  # noqa: ARG001 - it tells which options were given
    file: Annotated[
        Path,
        argument(
            "FILE",
            "Conversations: JSON Lines in the chat format, or others (docs/how-to/replay.md).",
        ),
    ],
    model: Annotated[
        tuple[str, ...],
        option(
            "The new model; given twice, the second is asked for the old replies, which "
            "else are the file's.",
            MODEL,
            "PROVIDER/NAME",
            complete.models,
            "--model",
            "-m",
        ),
    ],
    *,
    each_turn: Annotated[
        bool,
        flag("--each-turn", "Ask each of the user's turns, not the last alone.", CONVERSATIONS),
    ] = False,
    columns: ColumnsOption = None,
    grader: RulesOrModel = RULES,
    mask: Annotated[
        bool, flag("--mask", "Mask names, addresses, numbers and keys first.", CONVERSATIONS)
    ] = False,
    log_dir: Annotated[
        Path | None,
        option("Folder for the logs; the same again resumes a stopped replay.", PLACE, "FOLDER"),
    ] = None,
    shared: Annotated[OptionValues, OptionSubset(RunOptions, *_SHARED)],
    start: Annotated[
        OptionValues, OptionSubset(StartOptions, "same_server", "max_cost", "dry_run")
    ],
    reveal: Annotated[
        bool, flag("--reveal", "Keep texts in the logs, and show those of changed replies.", OUTPUT)
    ] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Ask the conversations of a file again: what does a new model refuse, or answer, newly?

    Of each conversation the turns up to one of the user's are sent, and the new reply is
    compared with the old one, both graded alike. Printed are the shares newly refused and newly
    answered, with intervals, in all and by category, and the conversations to read.
    Conversations of one user are one cluster, if the file names users. Only the requests to the
    named models leave this machine; the command lists them first. Without --reveal, no text is
    kept or shown.

    [bold]Examples[/]

    casewise replay conversations.jsonl --model openai/gpt-5 --dry-run

    casewise replay conversations.jsonl -m vllm/new -m vllm/old --mask --log-dir logs/replay

    shuf -n 5000 conversations.jsonl > some.jsonl && casewise replay some.jsonl -m openai/gpt-5
    """
    if len(model) > 2 or len(set(model)) < len(model):
        raise UsageError("--model: give the new model, and at most one other for the old replies")
    grader = read_grader(grader)
    folder = place_of(log_dir or new_log_dir())
    with working("reading the conversations"):
        turns = transcripts.find_turns(
            transcripts.read_conversations(file, transcripts.read_columns(columns)),
            transcripts.open_mask() if mask else None,
            each=each_turn,
            with_old=len(model) == 1,
        )
        graded = replies.grade_old(turns, grader) if len(model) == 1 else {}
    note_all(str(line) for line in turns.bad[:SHOWN])
    note_all(turns.endings.notes)
    if not turns.by_case:
        reasons = ", ".join(f"{n}: {reason}" for reason, n in turns.left_out.items())
        problem = "no conversation can be asked again"
        raise InputError(f"{problem}: {reasons or 'the file holds none'}", file=file)
    with err().status("loading"):
        from casewise.runs import check_models, make_plan

    cases = case_files.CaseSet(tuple(turn.case for turn in turns.by_case.values()), file.name)
    options = {"model": model, "protocol": "respond", "delivery": "none", "grader": grader}
    plan = make_plan(shared | options, cases, withhold=not reveal)
    if len(plan.cells) > len(model):
        raise UsageError("--max-tokens: a replay asks each model once: give one value")
    # The file's own replies that a model is to grade.
    ungraded = [] if len(model) > 1 else [id for id in turns.by_case if id not in graded]
    requests = Counter[str]()
    for estimate in plan.estimates:
        requests[estimate.model] += estimate.requests
    if ungraded:
        requests[str(grading_model(grader))] += len(ungraded)
    sent = " and ".join(f"{n:,} requests to {name}" for name, n in requests.items())
    form = "with what looks personal masked" if mask else "as they stand in the file"
    note(f"sends {sent}, texts {form}; nothing else leaves this machine")
    note_all(plan.notes)
    if "dry_run" in start:
        note_lacking(check_models(plan.cells))
        print_estimates(plan.estimates)
        return
    if ungraded:
        graded |= _grade_old(grader, turns, ungraded, shared.get("max_connections"))
    result = run_with_progress(plan.cells, folder, start.pop("max_cost", None), **start)
    if not result.logs:
        raise InputError("no reply came", file=str(folder), expected="some: see --log-dir")
    table = judgement_files.read_paths([Path(path) for path in result.logs]).table
    # As the logs name them: a bot's file is none of its results.
    names = [cell.model for cell in plan.cells]
    new, *old = (replies.Replies(name, table.filter(model=name)) for name in names)
    report = replies.compare_replies(
        replies.turn_table(turns),
        old[0] if old else replies.recorded_replies(turns, graded),
        new,
        file=file.name,
        conversations=turns.conversations,
        left_out=turns.left_out,
        reveal=reveal,
    )
    if reveal:
        warn_of_content()
    print_as(format, reporting.replay_sheet(report))
    cuts = (
        results.cut_note(str(side.model), results.count_cut(side.rows), acts=True)
        for side in (new, *old)
    )
    note_all(filter(None, cuts))
    note_all(fault_lines(result))
    note(f"logs: {folder}")
    end(result, folder)


def _grade_old(
    grader: str, turns: transcripts.ReplayTurns, ids: Sequence[str], max_connections: int | None
) -> dict[str, protocols.Graded]:
    """Grades of the file's own replies by a model."""
    from casewise.runs import grade_replies

    requests = []
    for asked_turn in (turns.by_case[id] for id in ids):
        history = [(turn.role, turn.text) for turn in asked_turn.case.history]
        requests.append(([*history, ("user", asked_turn.case.query)], asked_turn.old, None))
    model = grading_model(grader) or ""
    with working(f"{model} grades {len(requests):,} old replies"):
        graded = grade_replies(model, requests, max_connections=max_connections)
    return dict(zip(ids, graded, strict=True))
