"""``casewise export``."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.choices import ExportForm, LabelRule
from casewise.cli import _complete as complete
from casewise.cli._console import err, note, note_all, working
from casewise.cli._late import case_files, exports
from casewise.cli._options import LABEL_RULES, read_rule


def export(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="What to write: FILE.parquet, FILE.csv, or a folder.",
            metavar="FILE|FOLDER",
        ),
    ],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH...",
            help="Log folders, .eval files, judgement tables, or CASE-Bench output files.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        ExportForm | None,
        typer.Option(help="The form. Default: the table that the name of --out ends in."),
    ] = None,
    reveal: Annotated[
        bool,
        typer.Option(
            "--reveal", help="Include queries, contexts, replies and explanations (distressing)."
        ),
    ] = False,
    cases: Annotated[
        str | None,
        typer.Option(
            help="The whole cases, for forms that hold them: a file, starter or casebench. "
            "Default: those in the logs and outputs.",
            metavar="starter|casebench|FILE",
            autocompletion=complete.cases,
        ),
    ] = None,
    labels: Annotated[
        LabelRule | None,
        typer.Option(
            parser=read_rule,
            metavar=LABEL_RULES,
            autocompletion=complete.one_of(lambda: LabelRule),
            help="The truth in the documents of lm-eval. Default: published, else votes, "
            "else intended.",
        ),
    ] = None,
) -> None:
    """Write judgements, logs or cases in another form; texts are withheld.

    Without --reveal, queries, contexts, replies, explanations and error
    messages are left out; ids, categories and lengths stand in for them.
    docs/how-to/exports.md says what each form holds.

    [bold]Examples[/]

    casewise export logs/ --out judgements.parquet

    casewise export logs/ --to redacted-logs --out publishable/

    casewise export logs/ --to hf --out dataset/

    casewise export logs/ --to casebench --reveal --out exp/

    casewise export --to lm-eval --cases starter --reveal --out task/
    """
    form = exports.form_of(out, to)
    loaded = case_files.open_cases(cases) if cases is not None else None
    note_all(loaded.notes if loaded is not None else ())
    request = exports.ExportRequest(
        paths=tuple(paths or ()),
        out=out,
        form=form,
        reveal=reveal,
        cases=loaded.cases if loaded is not None else None,
        labels=labels,
    )
    with working("exporting"):
        done = exports.export_to(request)
    note_all(done.notes)
    if reveal:
        err().print(exports.CONTENT_WARNING, style="yellow")
    whole = reveal or form is ExportForm.REDACTED_LOGS
    note(f"{out}: {done.content}{'' if whole else '; texts withheld (--reveal includes them)'}")
