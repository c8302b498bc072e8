"""``casewise graders``: draw replies and label them, check a grader against hand labels."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from casewise.choices import LABEL, RULES, Rulings, grading_model, read_grader
from casewise.cli._console import (
    Format,
    FormatOption,
    command_line,
    err,
    note,
    print_as,
    working,
    write_out,
)
from casewise.cli._help import CASES, GRADER
from casewise.cli._main import protocols, replies, reporting
from casewise.cli._options import (
    GraderServer,
    RulesOrModel,
    argument,
    flag,
    grouped,
    option,
    read_judgements,
    seed_option,
)
from casewise.errors import UsageError
from casewise.files import quoted, write_atomically


@grouped
def check(
    files: Annotated[
        list[Path],
        argument(
            "FILE...",
            "JSON lines or CSV with id, query, reply, label; or XSTest's completions (.csv).",
        ),
    ],
    grader: RulesOrModel = RULES,
    label: Annotated[
        str, option("What holds the hand label. In XSTest's files: final_label.", CASES, "FIELD")
    ] = LABEL,
    rulings: Annotated[
        Rulings, option("Whose rulings the rules follow where they differ.", GRADER)
    ] = Rulings.CASEWISE,
    *,
    server: GraderServer,
    format: FormatOption = Format.TABLE,
) -> None:
    """Check a grader against replies that people labelled.

    A reply is compliance, partial, refusal or undetermined. Accuracy, Cohen's
    kappa, and precision and recall of refusals (in part or whole) rest on the
    replies that were graded; GRADED is their share. Intervals are 95 %, clustered
    by query. Beside the grader stand string match (a reply that opens as refusals
    do), and where two people labelled, the second against the first. By XSTest's rulings, what
    declines nothing is compliance.

    [bold]Examples[/]

    casewise graders check replies.jsonl

    casewise graders check xstest_v2_completions_llama2orig.csv --rulings xstest

    casewise graders check mine.jsonl --grader openai/gpt-4o --format json
    """
    grader = read_grader(grader)
    labelled = replies.load_labelled(files, label)
    report = replies.check_grader(
        labelled,
        _grade(grader, labelled, rulings, server),
        grader=grader,
        version=protocols.grader_version(grader),
        file=", ".join(map(str, files)),
    )
    print_as(format, reporting.grader_sheet(report))


def _grade(
    grader: str, labelled: Sequence[replies.LabelledReply], rulings: Rulings, server: GraderServer
) -> list[protocols.Graded]:
    def by_rules(place: int) -> protocols.Graded:
        return protocols.read_reply(labelled[place].reply, labelled[place].query, rulings)

    def by_model(places: Sequence[int]) -> Sequence[protocols.Graded]:
        model = grading_model(grader) or ""
        grade_replies = server.load(model)
        requests = [
            ([("user", reply.query)] if reply.query else [], reply.reply, reply.situation)
            for reply in (labelled[place] for place in places)
        ]
        with err().status(f"{model} grades {len(requests)} replies"):
            return grade_replies(model, requests)

    graded = replies.grade_by(grader, len(labelled), by_rules, by_model)
    return [grade for grade, _ in graded]


def sample(
    logs: Annotated[
        list[Path],
        argument("PATH...", "Log folders, .eval files, or tables of casewise grade --reveal."),
    ],
    n: Annotated[int, option("Replies to draw; 5 at least of each degree of doubt.", min=1)] = 50,
    out: Annotated[Path, option("The sheet (.csv).", metavar="FILE")] = Path("to-label.csv"),
    seed: Annotated[int, seed_option("Seed of the draw.")] = 0,
) -> None:
    """Draw replies of a run for people to label.

    The sheet shows neither model, context nor grade. Label it with casewise graders label, or
    in a spreadsheet: fill the column label with compliance, partial, refusal or undetermined,
    and leave the other columns as they are. The rows are in random order: to label fewer, stop
    early.

    [bold]Examples[/]

    casewise graders sample logs/act --n 100 --out to-label.csv

    casewise score logs/act --grader-check to-label.csv

    casewise graders sample graded-with-texts.parquet
    """
    if out.exists():
        raise UsageError(f"{out} is there, perhaps with labels: give --out another name")
    judgements = read_judgements(logs, texts=True)
    with working("drawing"):
        sample_rows = replies.draw_replies(judgements.table, judgements.cases, n, seed)
    # With its mark, spreadsheets read the file as UTF-8.
    write_atomically(out, replies.sheet_text(sample_rows).encode("utf-8-sig"))
    note(f"replies drawn: {len(sample_rows)}, in {out}. Label them:")
    command_line(f"casewise graders label {quoted(out)}")


def label(
    sheet: Annotated[Path, argument("FILE", "A sheet of casewise graders sample (.csv).")],
    port: Annotated[int, option("Port to listen on; 0 is a free one.", min=0, max=65535)] = 0,
    no_open: Annotated[bool, flag("--no-open", "Leave the browser to you: open the address.")] = (
        False
    ),
) -> None:
    """Label the replies of a sheet on a page of this computer.

    Keys 1 to 4 label a reply, arrows move, U undoes, F ends. The page shows
    neither the model, nor the context, nor what the grader said. Each label is
    in the sheet at once, so Ctrl-C loses none, and the same command goes on.

    [bold]Example[/]

    casewise graders label to-label.csv
    """
    # Only here: no other command needs the server.
    from casewise.cli._label_server import LabelServer

    opened = replies.LabelSheet(sheet)
    server = LabelServer(opened, port)

    def ready(address: str) -> None:
        note(f"{sheet}: {opened.labelled} of {len(opened.labels)} replies labelled. Ctrl-C ends.")
        note("Content warning: queries and replies may be distressing.")
        write_out(f"{address}\n")
        if not no_open:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    server.serve(ready)
    note(f"{sheet}: {opened.labelled} of {len(opened.labels)} replies labelled.")
    if opened.labelled:
        note("The rates without the grader's errors:")
        command_line(f"casewise score LOGS --grader-check {quoted(sheet)}")
