"""``casewise annotate payments``: who is paid, for whoever runs the study alone."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from casewise.annotation.exchange.payments import Payment, Proposal, payments_csv, propose_payments
from casewise.annotation.exchange.sittings import read_salt
from casewise.annotation.study.schema import Platform, Study
from casewise.annotation.study.study_file import load_study
from casewise.annotation.votes.collected_csv import read_collected
from casewise.annotation.votes.result_files import is_in_export
from casewise.cli._annotate_store import DatabaseOption, open_store, rater_of
from casewise.cli._console import note, write_out
from casewise.errors import UsageError
from casewise.files import new_file
from casewise.sheets import money


def payments(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")],
    to: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The list, readable by you alone.")
    ],
    exports: Annotated[
        list[Path] | None,
        typer.Argument(metavar="EXPORT...", help="The platform's exports of submissions (CSV)."),
    ] = None,
    database: DatabaseOption = None,
    votes: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="What annotate collect wrote, in place of a database."),
    ] = None,
    salt_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The salt that it was collected with.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an earlier list.")] = False,
) -> None:
    """List who is to be paid, by the platform's ids: pay, bonus, ask or reject, and why.

    The study holds no platform id: the export of submissions from Prolific or
    Mechanical Turk brings them. Without a platform people stand by personal
    code. Proposals follow the rules of the study file; you decide, on the
    platform. Nobody is rejected for judging otherwise than others.

    The list identifies people: it is yours alone, and no export holds it.
    Delete it when everybody is paid.

    [bold]Examples[/]

    casewise annotate payments study.yaml prolific_export.csv --out payments.csv

    casewise annotate payments study.yaml --out payments.csv
    """
    study = load_study(file)
    _check_place(to, force=force)
    if (votes is None) != (salt_file is None) or (votes is not None and database is not None):
        raise UsageError("give --votes FOLDER with its --salt-file, or else --database")
    platform = study.recruitment.platform
    if votes is not None and salt_file is not None:
        salt = read_salt(salt_file, create=False)
        collected = read_collected(votes, study)
        made = propose_payments(study, collected, exports or [], name=salt.pseudonym, codes={})
    else:
        with open_store(study, file, database, "payments") as store:
            codes = store.personal_codes() if platform is Platform.NONE else {}
            name = rater_of(store, platform)
            made = propose_payments(study, store.collected(), exports or [], name=name, codes=codes)
    with new_file(to, sync=True, mode=0o600) as new:
        new.write_bytes(payments_csv(made))
    _say(study, made)
    write_out(f"{to}\n")


def _check_place(to: Path, *, force: bool) -> None:
    """Refuse a place that is taken, or one that would be published."""
    if is_in_export(to):
        raise UsageError(f"{to}: the list identifies people, and an export is to be published")
    if to.is_dir() or (to.exists() and not force):
        raise UsageError(f"{to} is there already: give another name, or --force to overwrite it")


def _say(study: Study, made: tuple[Payment, ...]) -> None:
    counts = Counter(payment.proposed for payment in made)
    parts = [f"{counts[proposal]} {proposal}" for proposal in Proposal if proposal]
    total = sum((payment.pay or 0) + (payment.bonus or 0) for payment in made)
    decided = counts[Proposal.NOTHING]
    note(
        f"{', '.join(parts)}; {decided} with nothing left to decide; "
        f"{money(total, study.pay.currency)} in all, without fees"
    )
    if not study.pay.per_hour:
        note("note: pay.per_hour is 0 in the study file, so the list names no amounts")
    note(f"{len(made)} in the list, which identifies people: keep it to yourself")
