"""``casewise grade``: the replies of conversations that were held elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from casewise.choices import RULES, Delivery, grading_model, read_grader, rules_first
from casewise.cli._console import err, note, note_all, out
from casewise.cli._help import CASES, CONVERSATIONS, OUTPUT
from casewise.cli._main import case_files, protocols, replies, reporting, transcripts
from casewise.cli._options import (
    GraderServer,
    RulesOrModel,
    argument,
    card_option,
    cases_option,
    flag,
    grouped,
    open_cases,
    option,
    out_option,
    warn_of_content,
)
from casewise.cli._running import CountProgress
from casewise.errors import InputError, ModelError, UsageError
from casewise.sheets import count, plural, terminal

ColumnsOption = Annotated[
    str | None,
    option(
        "Names of the file's columns, where they are other than docs/how-to/transcripts.md has "
        "them: reply=Antwort,query=Frage.",
        CONVERSATIONS,
        "FIELD=NAME,...",
    ),
]


@grouped
def grade(
    file: Annotated[
        Path,
        argument(
            "FILE",
            "Conversations: JSON Lines in the chat format, CSV, Parquet, a workbook, logs of "
            "Inspect.",
        ),
    ],
    cases: Annotated[
        str | None, cases_option("The cases that were asked: a file, starter or casebench.", CASES)
    ] = None,
    deployment: Annotated[
        str | None, card_option("A deployment card instead of cases: its name or file.", CASES)
    ] = None,
    to: Annotated[Path, out_option("The judgement table (.parquet).", OUTPUT, "TABLE")] = Path(
        "graded.parquet"
    ),
    grader: RulesOrModel = RULES,
    model_name: Annotated[
        str | None,
        option("Name of the model that replied, instead of the file's.", CONVERSATIONS, "NAME"),
    ] = None,
    delivery: Annotated[
        Delivery, option("Where the context stood in the conversations.", CONVERSATIONS)
    ] = Delivery.SYSTEM,
    columns: ColumnsOption = None,
    reveal: Annotated[
        bool, flag("--reveal", "Keep replies and explanations in the table (distressing).", OUTPUT)
    ] = False,
    *,
    server: GraderServer,
) -> None:
    """Grade replies that were given elsewhere, as casewise run grades its own.

    Each reply is placed in its case: by the id that its conversation names
    (case_id, which may also be that of a card's line), else by the text of the
    query, and where several cases ask it by the context or the earlier turns.
    Others are counted, by reason. The table goes to casewise
    score, compare, report, gate and export. It holds no text unless --reveal.

    [bold]Exit status[/]: 0 done, 2 bad input, or no reply that has a case.

    [bold]Examples[/]

    casewise grade june.jsonl --deployment customer-support --out june.parquet

    casewise grade replies.csv --cases mine.yaml --model-name our-bot-7

    casewise grade logs-of-another-task/ --cases casebench --grader openai/gpt-4o

    casewise grade june.jsonl --deployment clinic --grader rules,openai/gpt-4o
    """
    if to.suffix.lower() != ".parquet":
        raise UsageError(f"--out {to}: the table is Parquet; casewise export writes it as CSV")
    if delivery is Delivery.JUDGE:
        raise UsageError("--delivery judge is of judges: give system, claimed, history or none")
    grader = read_grader(grader)
    card, data = _cases(cases, deployment)
    grading = replies.Grading(
        cases=data,
        card=card,
        file=file.name,
        model=model_name,
        delivery=delivery,
        reveal=reveal,
        grader=grader,
        by_model=_model(grader, server),
    )
    conversations = transcripts.read_conversations(file, transcripts.read_columns(columns))
    with CountProgress(err(), "lines", 100_000) as progress:
        tally = replies.grade_conversations(
            conversations, to, grading, lambda tally: progress(tally.total)
        )
    _print(tally, file)
    if not tally.graded:
        raise InputError(
            f"no reply could be placed in a case of {data.name}",
            file=file,
            expected="conversations that name a case's id (case_id), or ask the query of one case "
            "or with its context, and have a reply",
        )
    if tally.unnamed and not model_name:
        note(
            f"{plural(tally.unnamed, 'conversation')} without the name of a model: called "
            f"{file.name} (--model-name gives another)"
        )
    if reveal:
        warn_of_content()
    whole = "" if reveal else "; texts withheld (--reveal includes them)"
    note(f"{to}: {plural(tally.graded, 'judgement')}{whole}")


def _cases(cases: str | None, deployment: str | None) -> tuple[str | None, case_files.CaseSet]:
    """The name of a deployment card, if one is given, and the cases; else the starter set."""
    if deployment is None:
        return None, open_cases(cases or case_files.STARTER)
    if cases is not None:
        raise UsageError("give --cases or --deployment, not both")
    card = case_files.load_card(deployment)
    return card.name, case_files.CaseSet(case_files.card_cases(card), card.name)


def _model(
    grader: str, server: GraderServer
) -> Callable[[Sequence[replies.UngradedReply]], Sequence[protocols.Graded]]:
    """Grading by a model: a batch in which every request fails ends a run that has just begun."""
    model = grading_model(grader)
    if model is None:
        return lambda _: []
    subject = "replies that the rules doubt" if rules_first(grader) else "replies"
    note(f"sends {subject}, with the turns before them, to {model}; nothing else is sent")
    grade_replies = server.load(model)
    answered = False

    def ask(batch: Sequence[replies.UngradedReply]) -> Sequence[protocols.Graded]:
        nonlocal answered
        requests = []
        for placed in batch:
            before = [(turn.role, turn.content) for turn in placed.reply.before]
            requests.append((before, placed.reply.turn.content, placed.situation, placed.request))
        try:
            graded = grade_replies(model, requests)
        except ModelError as error:
            if not answered:
                raise
            return [protocols.Graded(protocols.Status.ERROR, None, str(error))] * len(batch)
        answered = True
        return graded

    return ask


def _print(tally: replies.LineTally, file: Path) -> None:
    if 0 < tally.graded < tally.total:
        out().print(
            f"{count(tally.graded)} of {count(tally.total)} conversations were placed in a case: "
            "rates say nothing of the others\n"
        )
    out().print(terminal(reporting.tally_table(tally, file.name), *tally.problems))
    note_all(tally.endings.notes)
