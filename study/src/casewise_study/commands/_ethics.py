"""``casewise annotate ethics``."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.cli import write_out
from casewise.errors import UsageError
from casewise.files import new_file
from casewise_study.commands.shared import StudyFile, note_open
from casewise_study.study.study_file import load_study


def ethics(
    file: StudyFile,
    to: Annotated[Path, typer.Option("--out", metavar="FILE", help="The page to write (.html).")],
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier document.")] = False,
) -> None:
    """Write the document that an ethics board asks for, from the study file.

    Every screen as people see it, consent, data flow, storage, helplines, pay
    by the hour at the median and at the slow tenth, withdrawal, legal basis
    and contacts, with what is still open at its top. A browser prints
    the page, or saves it as PDF.

    Content warning: the document shows a case.

    [bold]Examples[/]

    casewise annotate ethics study.yaml --out ethics.html
    """
    from casewise_study.app_study.ethics import ethics_document

    study = load_study(file)
    if to.exists() and not force:
        raise UsageError(f"{to} is there already: --force replaces it")
    with new_file(to) as new:
        new.write_text(ethics_document(study), "utf-8")
    note_open(study)
    write_out(f"{to}\n")
