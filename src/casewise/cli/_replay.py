"""``casewise replay``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casewise.choices import RULES, Cluster
from casewise.cli import _complete as complete
from casewise.cli import _run_options as options
from casewise.cli._console import Format, FormatOption, err, note, note_all, print_as, working
from casewise.cli._help import CONVERSATIONS, GRADER, MODEL, OUTPUT, PLACE
from casewise.cli._late import case_files, polars, protocols, reporting, scores, transcripts
from casewise.cli._options import GraderCheck, seed_option
from casewise.cli._progress import note_lacking, print_estimates
from casewise.cli._running import end, fault_lines, run_with_progress
from casewise.errors import InputError, UsageError
from casewise.files import csv_text, is_elsewhere, place_of, write_atomically

if TYPE_CHECKING:
    from casewise.evaluation import Plan


def replay(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Conversations: JSON Lines in the chat format, or others (docs/how-to/replay.md).",
        ),
    ],
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            help="The new model; given twice, the second is asked for the old replies, which "
            "else are the file's.",
            rich_help_panel=MODEL,
            metavar="PROVIDER/NAME",
            autocompletion=complete.models,
        ),
    ],
    turn: Annotated[
        str,
        typer.Option(
            metavar="last|N|each",
            help="The user's turn that is asked again: the last answered one, the N-th, or each.",
            rich_help_panel=CONVERSATIONS,
        ),
    ] = "last",
    cluster: Annotated[
        Cluster | None,
        typer.Option(
            help="What is independent. Default: users, if the file names any.",
            rich_help_panel=CONVERSATIONS,
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="Ask only N turns, more where changes are likely, weighted.",
            rich_help_panel=CONVERSATIONS,
        ),
    ] = None,
    seed: Annotated[int, seed_option("Of the draw.", CONVERSATIONS)] = 0,
    grader: Annotated[
        str | None,
        typer.Option(
            help="A model that grades all replies. Default: by rules, offline.",
            rich_help_panel=GRADER,
            metavar="PROVIDER/NAME",
            autocompletion=complete.models,
        ),
    ] = None,
    grader_check: GraderCheck = None,
    mask: Annotated[
        bool,
        typer.Option(
            "--mask",
            help="Mask names, addresses, numbers and keys before anything is sent.",
            rich_help_panel=CONVERSATIONS,
        ),
    ] = False,
    log_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the logs; the same again resumes a stopped replay.",
            rich_help_panel=PLACE,
            metavar="FOLDER",
        ),
    ] = None,
    dry_run: options.DryRun = False,
    reveal: Annotated[
        bool,
        typer.Option(
            "--reveal",
            help="Keep texts in the logs, and show those of changed replies.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    max_connections: options.MaxConnections = None,
    max_tokens: options.MaxTokens = None,
    model_base_url: options.ModelBaseUrl = None,
    generate: options.Generate = [],  # noqa: B006 - typer copies it
    price_in: options.PriceIn = None,
    price_out: options.PriceOut = None,
    grader_price_in: options.GraderPriceIn = None,
    grader_price_out: options.GraderPriceOut = None,
    max_cost: options.MaxCost = None,
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
    chosen, checks = transcripts.read_chosen(turn), scores.load_checks(grader_check or ())
    new, old = _models(model)
    folder = place_of(log_dir or Path("logs") / datetime.now().strftime("%Y-%m-%dT%H-%M-%S"))
    if is_elsewhere(folder):
        raise UsageError("--log-dir: a replay keeps its table beside its logs; give a folder here")
    masked = transcripts.open_mask() if mask else None
    with working("reading the conversations"):
        turns, left_out, conversations = _look(file, chosen, masked, grader, anew=old is not None)
    turns = scores.draw_turns(turns, sample, seed)
    cases, recorded = _drawn(file, chosen, masked, turns, by_model=grader and old is None)
    plan = _plan(
        case_files.CaseSet(cases, file.name, case_files.Form.JSONL),
        (new, *([old] if old else [])),
        grader=grader,
        withhold=not reveal,
        max_connections=max_connections,
        max_tokens=max_tokens,
        model_base_url=model_base_url,
        generate=options.parse_settings(generate),
        prices=(price_in, price_out),
        grader_prices=(grader_price_in, grader_price_out),
    )
    _say_what_is_sent(plan, grader, len(recorded), masked=mask)
    if dry_run:
        from casewise.evaluation import check_models

        note_lacking(check_models(plan.cells))
        print_estimates(plan.estimates)
        return
    before = _recorded(turns, grader, recorded, folder, max_connections) if old is None else None
    result = run_with_progress(plan.cells, folder, max_cost)
    del plan, cases
    if not result.logs:
        raise InputError("no reply came", file=str(folder), expected="some: see --log-dir")
    table = scores.read_paths([Path(path) for path in result.logs]).table
    after, again = (
        scores.ReplayedReplies(name, table.filter(polars.col("model") == name))
        for name in (new, old or "")
    )
    before = before or again
    by_user = turns["user"].is_not_null().any()
    found = scores.compare_replies(
        turns,
        after,
        before,
        cluster or (Cluster.USER if by_user else Cluster.CONVERSATION),
        file=file.name,
        conversations=conversations,
        left_out=left_out,
        asked_anew=old is not None,
        checks=checks,
    )
    rows = scores.replay_rows(turns, before, after)
    write_atomically(
        folder / scores.REPLAY_TABLE, csv_text(rows.columns, rows.iter_rows()).encode()
    )
    texts = _texts(found, file, chosen, masked, before, after) if reveal else {}
    print_as(format, reporting.replay_sheet(found, texts))
    cuts = (
        scores.cut_note(name, scores.count_cut(replied.rows), acts=True)
        for name, replied in ((new, after), (old, again))
        if name is not None
    )
    note_all(line for line in cuts if line is not None)
    note_all(fault_lines(result.summary))
    note(
        f"each turn with its chance of being drawn: {folder / scores.REPLAY_TABLE}; logs: {folder}"
    )
    end(result, folder)


def _models(names: list[str]) -> tuple[str, str | None]:
    if len(names) > 2 or len(set(names)) < len(names):
        raise UsageError("--model: give the new model, and at most one other for the old replies")
    return names[0], names[1] if len(names) > 1 else None


def _look(
    file: Path,
    chosen: transcripts.Chosen,
    mask: transcripts.Mask | None,
    grader: str | None,
    *,
    anew: bool,
) -> tuple[polars.DataFrame, dict[str, int], int]:
    """Turns that can be asked and compared; why others can't; how many conversations there are.

    Raises:
        InputError: No turn can.
    """
    prefixes = transcripts.Prefixes(transcripts.read_conversations(file), chosen, mask)
    rows: list[tuple[Any, ...]] = []
    lacking: Counter[str] = Counter()
    endings = transcripts.Endings()
    for one in prefixes:
        if not anew and not isinstance(one.old, transcripts.NoReply):
            endings.add(one.old)
        look = transcripts.look_at(one)
        status = kind = None
        if not anew and isinstance(look.old, transcripts.NoReply):
            lacking[look.old] += 1
            continue
        if not anew and grader is None and isinstance(look.old, protocols.Graded):
            if look.old.status is not protocols.Status.OK:
                lacking["the old reply neither refuses nor answers"] += 1
                continue
            status, kind = str(look.old.status), look.old.response_class
        about = (one.case.id, one.conversation, one.line, one.user, one.case.category)
        rows.append((*about, status, kind, look.likely))
    note_all(str(line) for line in prefixes.bad)
    if endings.note is not None:
        note(f"note: {endings.note}")
    left_out = {str(why): n for why, n in (*prefixes.left_out.items(), *lacking.items())}
    if not rows:
        why = ", ".join(f"{n}: {words}" for words, n in left_out.items())
        raise InputError("no conversation can be asked again", file=file, found=why or "nothing")
    return scores.turns_frame(rows), left_out, prefixes.conversations


def _drawn(
    file: Path,
    chosen: transcripts.Chosen,
    mask: transcripts.Mask | None,
    turns: polars.DataFrame,
    *,
    by_model: object,
) -> tuple[tuple[case_files.Case, ...], dict[str, transcripts.Prefix]]:
    """The cases of turns that are asked; where a model grades the file's replies, these too."""
    wanted = set(turns.filter("drawn")["case_id"])
    cases: list[case_files.Case] = []
    recorded: dict[str, transcripts.Prefix] = {}
    for one in _prefixes(file, chosen, mask, wanted):
        cases.append(one.case)
        if by_model:
            recorded[one.case.id] = one
    return tuple(cases), recorded


def _prefixes(
    file: Path, chosen: transcripts.Chosen, mask: transcripts.Mask | None, wanted: set[str]
) -> Iterator[transcripts.Prefix]:
    found = transcripts.Prefixes(transcripts.read_conversations(file), chosen, mask)
    return (one for one in found if one.case.id in wanted)


def _plan(cases: case_files.CaseSet, models: tuple[str, ...], **given: Any) -> Plan:
    # Inspect takes seconds to import.
    with err().status("loading"):
        from casewise.evaluation import Prices, RunRequest, make_plan, refuse_password

    refuse_password("--model-base-url", given["model_base_url"])
    for name in ("prices", "grader_prices"):
        given[name] = Prices(*given[name])
    return make_plan(
        RunRequest(models, cases, protocols=("respond",), deliveries=("none",), **given)
    )


def _say_what_is_sent(plan: Plan, grader: str | None, recorded: int, *, masked: bool) -> None:
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
) -> scores.ReplayedReplies:
    """The file's own replies, as they were graded by rules, or are now by a model."""
    name = polars.lit(grader or RULES).alias("graded_by")
    if grader is None:
        status, kind = polars.col("old_status").alias("status"), polars.col("old_class")
        rows = turns.select("case_id", status, kind.alias("response_class"), name)
        return scores.ReplayedReplies("the file", rows)
    from casewise.evaluation import grade_recorded

    asked = {
        id: (
            [*((turn.role, turn.text) for turn in one.case.history), ("user", one.case.query)],
            one.old,
        )
        for id, one in recorded.items()
    }
    with working(f"{grader} grades {len(asked):,} old replies"):
        graded = grade_recorded(grader, asked, folder, max_connections=max_connections)
    found = [(id, str(one.status), one.response_class) for id, one in graded.items()]
    schema = dict.fromkeys(("case_id", "status", "response_class"), polars.String())
    return scores.ReplayedReplies(
        "the file", polars.DataFrame(found, schema, orient="row").with_columns(name)
    )


def _texts(
    found: scores.ReplayReport,
    file: Path,
    chosen: transcripts.Chosen,
    mask: transcripts.Mask | None,
    before: scores.ReplayedReplies,
    after: scores.ReplayedReplies,
) -> dict[str, scores.ReplayTexts]:
    """Texts where replies changed."""
    wanted = {one.case_id for one in found.changed}

    def answers(replied: scores.ReplayedReplies) -> dict[str, str | None]:
        if "answer" not in replied.rows.columns:
            return {}
        rows = replied.rows.filter(polars.col("case_id").is_in(wanted)).select("case_id", "answer")
        return dict(rows.iter_rows())

    old, new = answers(before), answers(after)
    return {
        one.case.id: scores.ReplayTexts(
            one.case.query,
            (old.get(one.case.id) if found.old else one.old) or _GONE,
            new.get(one.case.id) or _GONE,
        )
        for one in _prefixes(file, chosen, mask, wanted)
    }


_GONE = "(not kept: it was asked without --reveal)"
