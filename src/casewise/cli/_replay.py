"""``casewise replay``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casewise.choices import RULES, Cluster, grading_model, read_grader, rules_first
from casewise.cli import _complete as complete
from casewise.cli._console import Format, FormatOption, err, note, note_all, print_as, working
from casewise.cli._grade import ColumnsOption
from casewise.cli._help import CONVERSATIONS, GRADER, MODEL, OUTPUT, PLACE
from casewise.cli._main import (
    case_files,
    judgement_files,
    polars,
    protocols,
    replies,
    reporting,
    scores,
    transcripts,
)
from casewise.cli._options import (
    Chosen,
    Given,
    argument,
    flag,
    grouped,
    option,
    seed_option,
)
from casewise.cli._run import new_log_dir
from casewise.cli._running import end, fault_lines, note_lacking, print_estimates, run_with_progress
from casewise.errors import InputError, UsageError
from casewise.files import csv_text, is_elsewhere, place_of, write_atomically
from casewise.options import RunOptions, StartOptions, ViewOptions

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
    cluster: Annotated[
        Cluster | None,
        option("What is independent. Default: users, if the file names any.", CONVERSATIONS),
    ] = None,
    sample: Annotated[
        int | None,
        option(
            "Ask only N turns, more where changes are likely, weighted.", CONVERSATIONS, "N", min=2
        ),
    ] = None,
    seed: Annotated[int, seed_option("Of the draw.", CONVERSATIONS)] = 0,
    grader: Annotated[
        str | None,
        option(
            "A model that grades all replies, or rules,PROVIDER/NAME: only those that the rules "
            "doubt. Default: by rules, offline.",
            GRADER,
            "rules|PROVIDER/NAME",
            complete.graders,
        ),
    ] = None,
    mask: Annotated[
        bool,
        flag(
            "--mask",
            "Mask names, addresses, numbers and keys before anything is sent.",
            CONVERSATIONS,
        ),
    ] = False,
    log_dir: Annotated[
        Path | None,
        option("Folder for the logs; the same again resumes a stopped replay.", PLACE, "FOLDER"),
    ] = None,
    shared: Annotated[Given, Chosen(RunOptions, *_SHARED)],
    start: Annotated[Given, Chosen(StartOptions, "same_server", "max_cost")],
    view: Annotated[Given, Chosen(ViewOptions, "dry_run")],
    reveal: Annotated[
        bool, flag("--reveal", "Keep texts in the logs, and show those of changed replies.", OUTPUT)
    ] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Ask the conversations of a file again: what does a new model refuse, or answer, newly?

    Of each conversation the turns up to one of the user's are sent. The new reply stands beside
    the old one, both graded alike; the share that is newly refused, and newly answered, is told
    with exact intervals, of all and by category, with the conversations to read. Nothing leaves
    this machine but the requests to the models that are named; the command says which before it
    sends. Without --reveal, no text is kept or shown.

    [bold]Examples[/]

    casewise replay conversations.jsonl --model openai/gpt-5 --dry-run

    casewise replay conversations.jsonl -m vllm/new -m vllm/old --mask --log-dir logs/replay

    casewise replay conversations.jsonl -m openai/gpt-5 --sample 5000 --format json
    """
    chosen = transcripts.read_chosen(turn)
    if len(model) > 2 or len(set(model)) < len(model):
        raise UsageError("--model: give the new model, and at most one other for the old replies")
    anew = len(model) > 1
    grader = None if grader is None else read_grader(grader)
    folder = place_of(log_dir or new_log_dir())
    if is_elsewhere(folder):
        raise UsageError("--log-dir: a replay keeps its table beside its logs; give a folder here")
    masked = transcripts.open_mask() if mask else None
    named = transcripts.read_columns(columns)

    def read() -> transcripts.Prefixes:
        conversations = transcripts.read_conversations(file, named)
        return transcripts.Prefixes(conversations, chosen, masked)

    with working("reading the conversations"):
        turns, left_out, conversations = _find_turns(read(), file, grader, anew=anew)
    turns = replies.draw_turns(turns, sample, seed)
    asked = _named(read(), turns.filter("drawn")["case_id"])
    # The file's own replies that a model is to grade.
    ungraded = set(turns.filter(polars.col("old_status").is_null())["case_id"])
    recorded = {} if anew else {id: one for id, one in asked.items() if id in ungraded}
    with err().status("loading"):
        from casewise.runs import check_models, make_plan

    cases = tuple(one.case for one in asked.values())
    held = case_files.CaseSet(cases, file.name, case_files.Form.JSONL)
    given = {"model": model, "protocol": "respond", "delivery": "none", "grader": grader}
    plan = make_plan(shared | given, held, withhold=not reveal)
    if len(plan.cells) > len(model):
        raise UsageError("--max-tokens: a replay asks each model once: give one value")
    del asked
    model_grader = grading_model(grader)
    _note_requests(plan, model_grader, len(recorded), masked=mask)
    note_all(dict.fromkeys(line for cell in plan.cells for line in cell.notes))
    if "dry_run" in view:
        note_lacking(check_models(plan.cells))
        print_estimates(plan.estimates)
        return
    before = (
        None
        if anew
        else _recorded(turns, model_grader, recorded, folder, shared.get("max_connections"))
    )
    result = run_with_progress(plan.cells, folder, start.pop("max_cost", None), **start)
    del plan, cases, held
    if not result.logs:
        raise InputError("no reply came", file=str(folder), expected="some: see --log-dir")
    table = judgement_files.read_paths([Path(path) for path in result.logs]).table
    replied = {
        name: replies.ReplayedReplies(name, table.filter(polars.col("model") == name))
        for name in model
    }
    after, before = replied[model[0]], before or replied[model[-1]]
    by_user = turns["user"].is_not_null().any()
    found = replies.compare_replies(
        turns,
        after,
        before,
        cluster or (Cluster.USER if by_user else Cluster.CONVERSATION),
        file=file.name,
        conversations=conversations,
        left_out=left_out,
        asked_anew=anew,
    )
    rows = replies.replay_rows(turns, before, after)
    write_atomically(
        folder / replies.REPLAY_TABLE, csv_text(rows.columns, rows.iter_rows()).encode()
    )
    texts = _texts(found, read(), before, after) if reveal else {}
    print_as(format, reporting.replay_sheet(found, texts))
    cuts = (
        scores.cut_note(name, scores.count_cut(one.rows), acts=True)
        for name, one in replied.items()
    )
    note_all(filter(None, cuts))
    note_all(fault_lines(result))
    note(
        f"each turn with its chance of being drawn: {folder / replies.REPLAY_TABLE}; logs: {folder}"
    )
    end(result, folder)


def _find_turns(
    prefixes: transcripts.Prefixes, file: Path, grader: str | None, *, anew: bool
) -> tuple[polars.DataFrame, dict[str, int], int]:
    """Turns to ask and compare, the number left out by reason, and that of conversations.

    Raises:
        InputError: No turn can.
    """
    rows: list[tuple[Any, ...]] = []
    lacking: Counter[str] = Counter()
    endings = transcripts.Endings()
    for one in prefixes:
        look = transcripts.look_at(one)
        status = kind = None
        if not anew:
            if not isinstance(one.old, transcripts.NoReply):
                endings.add(one.old)
            if isinstance(look.old, transcripts.NoReply):
                lacking[look.old] += 1
                continue
            by_rules = (
                one.declined
                or grading_model(grader) is None
                or (rules_first(grader) and not look.old.is_doubted)
            )
            if by_rules:
                if look.old.status is not protocols.Status.OK:
                    lacking["the old reply neither refuses nor answers"] += 1
                    continue
                status, kind = str(look.old.status), look.old.response_class
        about = (one.case.id, one.conversation, one.line, one.user, one.case.category)
        rows.append((*about, status, kind, look.likely))
    note_all(str(line) for line in prefixes.bad)
    note_all(endings.notes)
    left_out = {str(why): n for why, n in (*prefixes.left_out.items(), *lacking.items())}
    if not rows:
        why = ", ".join(f"{n}: {words}" for words, n in left_out.items())
        raise InputError("no conversation can be asked again", file=file, found=why or "nothing")
    return replies.turns_frame(rows), left_out, prefixes.conversations


def _named(
    prefixes: transcripts.Prefixes, case_ids: Iterable[str]
) -> dict[str, transcripts.Prefix]:
    """The beginnings of conversations that are asked, by the case that is made of each."""
    wanted = set(case_ids)
    return {one.case.id: one for one in prefixes if one.case.id in wanted}


def _note_requests(plan: Plan, grader: str | None, recorded: int, *, masked: bool) -> None:
    requests: Counter[str] = Counter()
    for one in plan.estimates:
        requests[one.model] += one.requests
    if grader is not None and recorded:
        requests[grader] += recorded
    sent = " and ".join(f"{n:,} requests to {name}" for name, n in requests.items())
    what = "masked where a mask was found to be needed" if masked else "as they stand in the file"
    note(f"sends {sent}, texts {what}; nothing else leaves this machine")


def _recorded(
    turns: polars.DataFrame,
    grader: str | None,
    recorded: Mapping[str, transcripts.Prefix],
    folder: Path,
    max_connections: int | None,
) -> replies.ReplayedReplies:
    """The file's own replies, as they were graded by rules, and are now by a model."""
    by_rules = turns.filter(polars.col("old_status").is_not_null()).select(
        "case_id",
        polars.col("old_status").alias("status"),
        polars.col("old_class").alias("response_class"),
        polars.lit(RULES).alias("graded_by"),
    )
    if grader is None or not recorded:
        return replies.ReplayedReplies("the file", by_rules)
    from casewise.runs import grade_recorded

    asked = {
        id: (
            [*((turn.role, turn.text) for turn in one.case.history), ("user", one.case.query)],
            one.old,
        )
        for id, one in recorded.items()
    }
    with working(f"{grader} grades {len(asked):,} old replies"):
        graded = grade_recorded(grader, asked, folder, max_connections=max_connections)
    found = [(id, str(one.status), one.response_class, grader) for id, one in graded.items()]
    by_model = polars.DataFrame(found, by_rules.schema, orient="row")
    return replies.ReplayedReplies("the file", polars.concat([by_rules, by_model]))


def _texts(
    found: replies.ReplayReport,
    prefixes: transcripts.Prefixes,
    before: replies.ReplayedReplies,
    after: replies.ReplayedReplies,
) -> dict[str, replies.ReplayTexts]:
    """Texts of the conversations whose replies changed."""
    wanted = {one.case_id for one in found.changed}

    def answers(replied: replies.ReplayedReplies) -> dict[str, str | None]:
        if "answer" not in replied.rows.columns:
            return {}
        rows = replied.rows.filter(polars.col("case_id").is_in(wanted)).select("case_id", "answer")
        return dict(rows.iter_rows())

    old, new = answers(before), answers(after)
    return {
        id: replies.ReplayTexts(
            one.case.query,
            (old.get(id) if found.old else one.old) or _NOT_KEPT,
            new.get(id) or _NOT_KEPT,
        )
        for id, one in _named(prefixes, wanted).items()
    }


_NOT_KEPT = "(not kept: it was asked without --reveal)"
