"""``casewise graders``: draw replies and label them, check a grader against hand labels."""

from __future__ import annotations

import itertools
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from casewise.choices import (
    LABEL,
    RULES,
    Draw,
    Half,
    Rulings,
    grading_model,
    read_grader,
    rules_first,
)
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
from casewise.errors import InputError
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
    half: Annotated[
        Half, option("Of the replies; the rules were written from one half of ours.", CASES)
    ] = Half.ALL,
    label: Annotated[
        str, option("What holds the hand label. In XSTest's files: final_label.", CASES, "FIELD")
    ] = LABEL,
    rulings: Annotated[
        Rulings | None,
        option(
            "Whose rulings the rules follow where they differ. Default: XSTest's on its files.",
            GRADER,
        ),
    ] = None,
    *,
    server: GraderServer,
    format: FormatOption = Format.TABLE,
) -> None:
    """Check a grader against replies that people labelled.

    A reply is compliance, partial, refusal or undetermined. Accuracy, Cohen's
    kappa, precision and recall rest on the replies that were graded; GRADED is
    their share. Intervals are 95 %, clustered by query. Beside the grader stand
    string match (a reply that opens as refusals do), phrase match (one that holds
    a refusal's phrase anywhere), and where two people labelled, the second
    against the first. By XSTest's rulings, what declines nothing is compliance.

    [bold]Examples[/]

    casewise graders check replies.jsonl --half held-out

    casewise graders check xstest_v2_completions_llama2orig.csv

    casewise graders check mine.jsonl --grader openai/gpt-4o --format json
    """
    grader = read_grader(grader)
    version = protocols.grader_version(grader)
    labelled = replies.load_half(files, half, label)
    if rulings is None:
        published = all(file.suffix.lower() == ".csv" for file in files)
        rulings = Rulings.XSTEST if published else Rulings.CASEWISE
    report = replies.check_grader(
        labelled,
        _grade(grader, labelled, rulings, server),
        grader=grader,
        grader_version=version,
        file=", ".join(map(str, files)),
        label=label,
        half=half,
    )
    print_as(format, reporting.grader_sheet(report))


def _grade(
    grader: str, labelled: Sequence[replies.LabelledReply], rulings: Rulings, server: GraderServer
) -> list[protocols.Graded]:
    found: dict[int, protocols.Graded] = {}
    if rules_first(grader):
        found = {
            place: protocols.read_reply(reply.reply, reply.query, rulings)
            for place, reply in enumerate(labelled)
        }
    model = grading_model(grader)
    if model is not None:
        grade_replies = server.load(model)
        doubted = {place for place, one in found.items() if one.is_doubted}
        left = sorted(doubted) if found else list(range(len(labelled)))
        asked = [
            ([("user", reply.query)] if reply.query else [], reply.reply, reply.situation)
            for reply in (labelled[place] for place in left)
        ]
        with err().status(f"{model} grades {len(asked)} replies"):
            graded = grade_replies(model, asked) if asked else []
        found |= zip(left, graded, strict=True)
    return [found[place] for place in range(len(labelled))]


def sample(
    logs: Annotated[
        list[Path],
        argument("PATH...", "Log folders, .eval files, or tables of casewise grade --reveal."),
    ],
    n: Annotated[int, option("Replies to draw.", min=1)] = 50,
    out: Annotated[
        Path, option("The sheet (.csv); beside it the page (.html).", metavar="FILE")
    ] = Path("to-label.csv"),
    draw: Annotated[
        Draw,
        option(
            "doubt: more of what the grader doubts. random: each reply alike. stratified: of "
            "each model's replies of each class its share, and five at least."
        ),
    ] = Draw.DOUBT,
    seed: Annotated[int, seed_option("Of the draw.")] = 0,
) -> None:
    """Draw replies of a run for people to label.

    Writes a sheet, and a page that shows one reply after the other, works
    offline and saves the sheet. Neither shows what the grader said. Fill the
    column label with compliance, partial, refusal or undetermined. The sheet
    says how it was drawn, so leave the other columns as they are. The rows are
    in random order: to label fewer, stop early.

    [bold]Examples[/]

    casewise graders sample logs/act --n 100 --out to-label.csv

    casewise score logs/act --grader-check to-label.csv

    casewise graders sample graded-with-texts.parquet
    """
    judgements = read_judgements(logs, texts=True)
    with working("drawing"):
        drawn = replies.draw_replies(
            judgements.table, judgements.cases, n, draw, seed, replies.grader_versions(logs)
        )
    _keep_labels(out)
    page = out.with_suffix(".html")
    # With its mark, spreadsheets read the file as UTF-8.
    write_atomically(out, replies.sheet_text(drawn).encode("utf-8-sig"))
    write_atomically(page, reporting.label_page(drawn, out.name).encode())
    of = drawn[0].run_replies if len({one.run_id for one in drawn}) == 1 else None
    note(f"drew {len(drawn)}{f' of {of}' if of else ''} replies: {out}. Label them:")
    command_line(f"casewise graders label {quoted(out)}")


def _keep_labels(out: Path) -> None:
    """Copy a sheet that holds labels already, before another takes its place."""
    try:
        labelled = replies.LabelSheet(out).labelled if out.is_file() else 0
    except InputError:
        return
    if labelled:
        names = (out.with_stem(f"{out.stem}-{n}") for n in itertools.count(1))
        kept = next(name for name in names if not name.exists())
        write_atomically(kept, out.read_bytes())
        note(f"{out} held {labelled} labels: they are kept in {kept}")


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
        total = len(opened.replies)
        note(f"{sheet}: {opened.labelled} of {total} replies labelled. Ctrl-C ends, too.")
        note("Content warning: queries and replies may be distressing.")
        write_out(f"{address}\n")
        if not no_open:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    server.serve(ready)
    note(f"{sheet}: {opened.labelled} of {len(opened.replies)} replies labelled.")
    if opened.labelled:
        note("The rates without the grader's errors:")
        command_line(f"casewise score LOGS --grader-check {quoted(sheet)}")
