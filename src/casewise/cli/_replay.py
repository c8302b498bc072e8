"""``casewise replay``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.choices import RULES, grading_model, read_grader, rules_first
from casewise.cli import _complete as complete
from casewise.cli._console import Format, FormatOption, err, note, note_all, print_as, working
from casewise.cli._grade import ColumnsOption
from casewise.cli._help import CONVERSATIONS, MODEL, OUTPUT, PLACE
from casewise.cli._main import (
    case_files,
    judgement_files,
    polars,
    protocols,
    replies,
    reporting,
    results,
    transcripts,
)
from casewise.cli._options import (
    Chosen,
    Given,
    RulesOrModel,
    argument,
    flag,
    grouped,
    option,
)
from casewise.cli._run import new_log_dir
from casewise.cli._running import end, fault_lines, note_lacking, print_estimates, run_with_progress
from casewise.errors import InputError, UsageError
from casewise.files import csv_text, is_elsewhere, place_of, write_atomically
from casewise.options import RunOptions, StartOptions

if TYPE_CHECKING:
    from casewise.runs import Plan


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
    turn: Annotated[
        str,
        option(
            "The user's turn that is asked again: the last answered one, the N-th, or each.",
            CONVERSATIONS,
            "last|N|each",
        ),
    ] = "last",
    columns: ColumnsOption = None,
    grader: RulesOrModel = RULES,
    mask: Annotated[
        bool, flag("--mask", "Mask names, addresses, numbers and keys first.", CONVERSATIONS)
    ] = False,
    log_dir: Annotated[
        Path | None,
        option("Folder for the logs; the same again resumes a stopped replay.", PLACE, "FOLDER"),
    ] = None,
    shared: Annotated[Given, Chosen(RunOptions, *_SHARED)],
    start: Annotated[Given, Chosen(StartOptions, "same_server", "max_cost", "dry_run")],
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
    anew = len(model) > 1
    grader = read_grader(grader)
    folder = place_of(log_dir or new_log_dir())
    if is_elsewhere(folder):
        raise UsageError(
            "--log-dir: a replay keeps its table in the log folder; give a local folder"
        )
    prefixes = transcripts.Prefixes(
        transcripts.read_conversations(file, transcripts.read_columns(columns)),
        transcripts.read_chosen(turn),
        transcripts.open_mask() if mask else None,
    )
    with working("reading the conversations"):
        found, graded, left_out = _find_turns(prefixes, file, grader, anew=anew)
    # The file's own replies that a model is to grade.
    ungraded = {} if anew else {id: one for id, one in found.items() if id not in graded}
    with err().status("loading"):
        from casewise.runs import check_models, make_plan

    held = case_files.CaseSet(tuple(one.case for one in found.values()), file.name)
    given = {"model": model, "protocol": "respond", "delivery": "none", "grader": grader}
    plan = make_plan(shared | given, held, withhold=not reveal)
    if len(plan.cells) > len(model):
        raise UsageError("--max-tokens: a replay asks each model once: give one value")
    model_grader = grading_model(grader)
    _note_requests(plan, model_grader, len(ungraded), masked=mask)
    note_all(plan.notes)
    if "dry_run" in start:
        note_lacking(check_models(plan.cells))
        print_estimates(plan.estimates)
        return
    if model_grader is not None and ungraded:
        graded |= _grade_old(model_grader, ungraded, shared.get("max_connections"))
    result = run_with_progress(plan.cells, folder, start.pop("max_cost", None), **start)
    if not result.logs:
        raise InputError("no reply came", file=str(folder), expected="some: see --log-dir")
    # As the logs name them: a bot's file is none of its results.
    replied = _replied(result.logs, [cell.model for cell in plan.cells])
    after, before, *_ = (*replied, _recorded(graded))
    report = replies.compare_replies(
        *(_turns(found), after, before),
        file=file.name,
        conversations=prefixes.conversations,
        left_out=left_out,
    )
    to = folder / replies.REPLAY_TABLE
    write_atomically(to, csv_text(report.rows.columns, report.rows.iter_rows()).encode())
    texts = _texts(report, found, before.rows, after.rows) if reveal else {}
    print_as(format, reporting.replay_sheet(report, texts))
    cuts = (
        results.cut_note(str(one.name), results.count_cut(one.rows), acts=True) for one in replied
    )
    note_all(filter(None, cuts))
    note_all(fault_lines(result))
    note(f"each turn and its classes: {to}; logs: {folder}")
    end(result, folder)


def _replied(logs: Iterable[str | Path], models: Iterable[str]) -> list[replies.ReplayedReplies]:
    """Replies of each model in the logs."""
    table = judgement_files.read_paths([Path(path) for path in logs]).table
    return [replies.ReplayedReplies(one, table.filter(model=one)) for one in models]


def _recorded(graded: Mapping[str, protocols.Graded]) -> replies.ReplayedReplies:
    """The file's own replies."""
    rows = [(id, str(one.status), one.response_class) for id, one in graded.items()]
    schema = dict.fromkeys(("case_id", "status", "response_class"), polars.String)
    return replies.ReplayedReplies(None, polars.DataFrame(rows, schema, orient="row"))


def _turns(
    found: Mapping[str, transcripts.Prefix],
) -> list[tuple[str, str, int, str | None, str | None]]:
    return [
        (id, one.conversation, one.line, one.user, one.case.category) for id, one in found.items()
    ]


def _find_turns(
    prefixes: transcripts.Prefixes, file: Path, grader: str, *, anew: bool
) -> tuple[dict[str, transcripts.Prefix], dict[str, protocols.Graded], dict[str, int]]:
    """Turns to ask by their case, grades by rules of the old replies, the number of others.

    Raises:
        InputError: No turn can be asked.
    """
    found: dict[str, transcripts.Prefix] = {}
    graded: dict[str, protocols.Graded] = {}
    lacking: Counter[str] = Counter()
    endings = transcripts.Endings()
    for one in prefixes:
        if not anew:
            if not isinstance(one.old, transcripts.NoReply):
                endings.add(one.old)
            old = transcripts.grade_old(one)
            if isinstance(old, transcripts.NoReply):
                lacking[old] += 1
                continue
            if (
                one.declined
                or grading_model(grader) is None
                or (rules_first(grader) and not old.is_doubted)
            ):
                if old.status is not protocols.Status.OK:
                    lacking["the old reply neither refuses nor answers"] += 1
                    continue
                graded[one.case.id] = old
        found[one.case.id] = one
    note_all(str(line) for line in prefixes.bad)
    note_all(endings.notes)
    left_out = {str(why): n for why, n in (*prefixes.left_out.items(), *lacking.items())}
    if not found:
        why = ", ".join(f"{n}: {words}" for words, n in left_out.items())
        raise InputError("no conversation can be asked again", file=file, found=why or "nothing")
    return found, graded, left_out


def _note_requests(plan: Plan, grader: str | None, recorded: int, *, masked: bool) -> None:
    requests: Counter[str] = Counter()
    for one in plan.estimates:
        requests[one.model] += one.requests
    if grader is not None and recorded:
        requests[grader] += recorded
    sent = " and ".join(f"{n:,} requests to {name}" for name, n in requests.items())
    what = "masked where a mask was found to be needed" if masked else "as they stand in the file"
    note(f"sends {sent}, texts {what}; nothing else leaves this machine")


def _grade_old(
    grader: str, ungraded: Mapping[str, transcripts.Prefix], max_connections: int | None
) -> dict[str, protocols.Graded]:
    """Grades of the file's own replies by a model."""
    from casewise.runs import grade_replies

    asked = []
    for one in ungraded.values():
        history = [(turn.role, turn.text) for turn in one.case.history]
        asked.append(([*history, ("user", one.case.query)], str(one.old), None))
    with working(f"{grader} grades {len(asked):,} old replies"):
        graded = grade_replies(grader, asked, max_connections=max_connections)
    return dict(zip(ungraded, graded, strict=True))


def _texts(
    report: replies.ReplayReport,
    found: Mapping[str, transcripts.Prefix],
    before: polars.DataFrame,
    after: polars.DataFrame,
) -> dict[str, replies.ReplayTexts]:
    """Texts of the conversations whose replies changed."""

    def answers(rows: polars.DataFrame) -> dict[str, str | None]:
        return dict(rows.select("case_id", "answer").iter_rows())

    new = answers(after)
    old = answers(before) if report.old else {id: str(one.old) for id, one in found.items()}
    return {
        one.case_id: replies.ReplayTexts(
            found[one.case_id].case.query,
            old.get(one.case_id) or _NOT_KEPT,
            new.get(one.case_id) or _NOT_KEPT,
        )
        for one in report.changed
    }


_NOT_KEPT = "(not kept: it was asked without --reveal)"
