"""``casewise annotate ethics``."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.cli import note, write_out
from casewise_study.commands.shared import StudyFile, open_store
from casewise_study.study.planning import open_points
from casewise_study.study.study_file import load_study
from casewise_study.votes.result_files import BOARD, new_folder


def ethics(
    file: StudyFile,
    to: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="ethics.md, .html and .pdf.")],
    from_pilot: Annotated[
        Path | None,
        typer.Option(metavar="STUDY", help="A pilot that was served: its measured times."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier document.")] = False,
) -> None:
    """Write the document that an ethics board asks for, from the study file.

    Every screen as people see it, consent, data flow, storage, helplines, pay
    by the hour at the median and at the slow tenth, withdrawal, legal basis
    and contacts, with what is still open at its top. The PDF is printed by a
    Chromium, Chrome or Edge of this computer; without one, open ethics.html
    in any browser and save it as PDF.

    Content warning: the document shows a case.

    [bold]Examples[/]

    casewise annotate ethics study.yaml --out ethics

    casewise annotate ethics study.yaml --out ethics --force --from-pilot pilot.yaml
    """
    from casewise_study.app_study.ethics import SessionMinutes, ethics_document, print_pdf

    study = load_study(file)
    if from_pilot is None:
        minutes = SessionMinutes.by_words(study)
    else:
        pilot = load_study(from_pilot)
        with open_store(pilot, from_pilot, None, "ethics") as store:
            minutes = SessionMinutes.measured(pilot, store.collected())
    text, page = ethics_document(study, minutes)
    with new_folder(to, BOARD, force=force) as new:
        (new / "ethics.md").write_text(text, "utf-8")
        (new / "ethics.html").write_text(page, "utf-8")
        printed = print_pdf(new / "ethics.html", new / "ethics.pdf")
    for line in open_points(study):
        note(f"still open: {line}")
    if not printed:
        note(f"no Chromium, Chrome or Edge printed it: save {to / 'ethics.html'} as PDF")
    write_out(f"{to}\n")
