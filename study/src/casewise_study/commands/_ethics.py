"""``casewise annotate ethics``."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.cli import note, write_out
from casewise_study.commands.shared import StudyFile
from casewise_study.study.planning import open_points
from casewise_study.study.study_file import load_study
from casewise_study.votes.result_files import BOARD, write_folder


def ethics(
    file: StudyFile,
    to: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="ethics.md and ethics.html.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier document.")] = False,
) -> None:
    """Write the document that an ethics board asks for, from the study file.

    Every screen as people see it, consent, data flow, storage, helplines, pay
    by the hour at the median and at the slow tenth, withdrawal, legal basis
    and contacts, with what is still open at its top. A browser prints
    ethics.html, or saves it as PDF.

    Content warning: the document shows a case.

    [bold]Examples[/]

    casewise annotate ethics study.yaml --out ethics
    """
    from casewise_study.app_study.ethics import ethics_document

    study = load_study(file)
    text, page = ethics_document(study)
    files = {"ethics.md": text.encode(), "ethics.html": page.encode()}
    write_folder(to, files, BOARD, force=force)
    for line in open_points(study):
        note(f"still open: {line}")
    write_out(f"{to}\n")
