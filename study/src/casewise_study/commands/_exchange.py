"""``casewise annotate blocks``, ``prolific`` and ``payments``: to other tools and back."""

from collections import Counter
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from casewise.cli import note, working, write_out
from casewise.errors import InputError, UsageError
from casewise.files import csv_text, new_file, read_text
from casewise.sheets import money
from casewise_study.commands.shared import (
    DatabaseOption,
    StudyFile,
    open_store,
    rater_of,
    study_keys,
    to_collect,
)
from casewise_study.exchange.blocks_csv import blocks_csv
from casewise_study.exchange.payments import Payment, Proposal, payments_csv, propose_payments
from casewise_study.exchange.prolific import join_prolific, prolific_files, study_url
from casewise_study.exchange.submissions import read_standings
from casewise_study.study.accounts import account_fault
from casewise_study.study.planning import check_ready
from casewise_study.study.schema import Platform, Study
from casewise_study.study.study_file import load_study
from casewise_study.votes.collected import Collected
from casewise_study.votes.collected_csv import write_collected
from casewise_study.votes.result_files import check_free, is_in_export, write_folder

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="A new or an empty folder.")]


def blocks(
    file: StudyFile,
    to: Annotated[Path, typer.Option("--out", metavar="FILE", help="The CSV file to write.")],
) -> None:
    """Write who is to judge what as CSV, for people who judge with another tool.

    A row a page: block, position, case_id, query_id, arm, check, query, context.
    One person judges one block. The votes come back by casewise annotate export
    --votes: rater, case_id and verdict of each.

    Content warning: the file holds queries and contexts that may be distressing.

    [bold]Examples[/]

    casewise annotate blocks study.yaml --out blocks.csv

    casewise annotate export study.yaml --votes answers.csv --out votes
    """
    if to.exists():
        raise UsageError(f"{to} is there already: give another name")
    study = _ready(file)
    if study.collection.is_sequential:
        raise UsageError(
            "collection.rule is sequential, so blocks are drawn as people come to the study's own "
            "server; for blocks as CSV plan with --collection fixed"
        )
    with working("reading the cases"):
        content = blocks_csv(study)
    with new_file(to) as new:
        new.write_bytes(content)
    write_out(f"{to}\n")
    note(f"{len(study.design.blocks)} blocks: one a person, whose arms the people don't see")


def prolific(
    file: StudyFile,
    url: Annotated[str, typer.Option(help="Where the study's server can be reached.")],
    out: Out,
) -> None:
    """Write the settings of a study on Prolific: address, codes, places, time and pay.

    study.md is to paste from, study.json is the body that Prolific's API takes.
    People are recruited there, and judge on your own server.

    [bold]Examples[/]

    casewise annotate prolific study.yaml --url https://study.example.org/ --out sheet
    """
    check_free(out)
    files = prolific_files(_ready(file), url)
    write_folder(out, files)
    for name in files:
        write_out(f"{out / name}\n")
    note("Next: paste what study.md says, or post study.json to Prolific's API.")


def _ready(path: Path) -> Study:
    study = load_study(path)
    if problems := check_ready(study):
        raise InputError(f"not ready for people yet: {'; '.join(problems)}", file=path)
    return study


def demographics(
    file: StudyFile,
    exports: Annotated[
        list[Path],
        typer.Argument(metavar="EXPORT...", help="Prolific's demographic exports (CSV)."),
    ],
    out: Out,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Taken over, apart by commas; no others are."),
    ] = None,
    only_exported: Annotated[
        bool,
        typer.Option(
            "--only-exported",
            help="Leave out whoever is not in the export, such as colleagues who tried.",
        ),
    ] = False,
    database: DatabaseOption = None,
) -> None:
    """Join Prolific's demographics to the people of the study, as plain CSV.

    Pseudonyms alone are written. The folder is read by casewise annotate
    export --votes.

    [bold]Examples[/]

    casewise annotate demographics study.yaml prolific_export.csv --columns Age,Sex --out people
    """
    if columns is None and not only_exported:
        raise UsageError("give --columns NAMES, or --only-exported")
    check_free(out)
    study = load_study(file)
    names = [stripped for column in (columns or "").split(",") if (stripped := column.strip())]
    with (
        working("reading the export"),
        open_store(study, file, database, "demographics") as store,
    ):
        joined = join_prolific(
            store.collected(),
            exports,
            columns=names,
            name=rater_of(store, Platform.PROLIFIC),
            only_exported=only_exported,
        )
    write_collected(out, joined.collected)
    for line in joined.notes:
        note(f"note: {line}")
    _summarise(joined.collected)
    write_out(f"{out}\n")


def _summarise(collected: Collected) -> None:
    statuses = Counter(person.status for person in collected.people)
    people = ", ".join(f"{count} {status}" for status, count in statuses.items())
    counted = sum(vote.counted for vote in collected.votes)
    note(
        f"{len(collected.people)} people ({people or 'none'}), {len(collected.votes)} votes of "
        f"which {counted} count, {len(collected.checks)} attention checks"
    )


def payments(
    file: StudyFile,
    to: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The list, readable by you alone.")
    ],
    exports: Annotated[
        list[Path] | None,
        typer.Argument(metavar="EXPORT...", help="Prolific's exports of submissions (CSV)."),
    ] = None,
    database: DatabaseOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an earlier list.")] = False,
) -> None:
    """List who is to be paid, by the platform's ids: pay, bonus, ask or reject, and why.

    The study holds no platform id: Prolific's export of submissions brings
    them. Without a platform people stand by personal code. Proposals follow
    the rules of the study file; you decide, on the platform. Nobody is
    rejected for judging otherwise than others.

    The list identifies people: it is yours alone, and no export holds it.
    Delete it when everybody is paid.

    [bold]Examples[/]

    casewise annotate payments study.yaml prolific_export.csv --out payments.csv

    casewise annotate payments study.yaml --out payments.csv
    """
    study = load_study(file)
    _check_place(to, force=force)
    platform = study.recruitment.platform
    with open_store(study, file, database, "payments") as store:
        made = propose_payments(
            study,
            store.collected(),
            exports or [],
            name=rater_of(store, platform),
            codes=store.personal_codes() if platform is Platform.NONE else {},
        )
    _write_private(to, payments_csv(made))
    _say_payments(study, made)


def links(
    file: StudyFile,
    people: Annotated[
        Path, typer.Argument(metavar="IDS", help="A text file: one person's id a line.")
    ],
    url: Annotated[str, typer.Option(help="Where the study's server can be reached.")],
    to: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The links, readable by you alone.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite earlier links.")] = False,
) -> None:
    """Write a signed link for each person of a mailing list or a panel of your own.

    Who follows a link is that person, on any device. With recruitment.signed:
    true in the study file no other link is taken, so nobody can make up ids.
    Links are signed by the study's secrets: make them where it is served.

    [bold]Examples[/]

    casewise annotate links study.yaml ids.txt --url https://study.example/ --out links.csv
    """
    if load_study(file).recruitment.platform is not Platform.NONE:
        raise UsageError("the study recruits on a platform, which fills in the ids itself")
    _check_place(to, force=force)
    keys, rows = study_keys(file), []
    for number, line in enumerate(read_text(people).splitlines(), 1):
        if account := line.strip():
            if account_fault(Platform.NONE, account):
                raise InputError(
                    "not an id of one person", file=people, record=f"line {number}", found=account
                )
            query = urlencode({"participant": account, "signature": keys.signature(account)})
            rows.append((account, study_url(url, query)))
    _write_private(to, csv_text(("id", "link"), rows).encode())
    note(f"{len(rows)} links, each of which admits one person: keep them to yourself")


def _write_private(to: Path, content: bytes) -> None:
    with new_file(to, sync=True, mode=0o600) as new:
        new.write_bytes(content)
    write_out(f"{to}\n")


def reconcile(
    file: StudyFile,
    exports: Annotated[
        list[Path], typer.Argument(metavar="EXPORT...", help="As payments reads them (CSV).")
    ],
    database: DatabaseOption = None,
) -> None:
    """Confirm people by the platform's export, and give the places of all others to new people.

    Confirmed is whose submission is approved or awaits review. Who is not in
    the export, returned, was rejected or timed out loses the place; links that
    the platform signed need no export. No vote is deleted: votes without a
    place don't count, and count again if a later export has the person. The
    server may run meanwhile; the same export twice changes nothing.

    [bold]Examples[/]

    casewise annotate reconcile study.yaml prolific_export.csv
    """
    study = load_study(file)
    platform = study.recruitment.platform
    with open_store(study, file, database, "reconcile") as store:

        def key(account: str) -> str:
            return store.keys.platform_key(platform, account)

        said = read_standings(
            study, exports, lambda account: store.person_of_platform(key(account)) is not None
        )
        made = store.reconcile({key(account): word for account, word in said.items()})
        progress = store.progress()
    note(
        f"{made.confirmed} people confirmed, {made.released} lost a place, {made.placed} got one "
        "that was released"
    )
    write_out(f"{to_collect(study, progress)}\n")


def _check_place(to: Path, *, force: bool) -> None:
    """Refuse a place that is taken, or one that would be published."""
    if is_in_export(to):
        raise UsageError(f"{to}: the list identifies people, and an export is to be published")
    if to.is_dir() or (to.exists() and not force):
        raise UsageError(f"{to} is there already: give another name, or --force to overwrite it")


def _say_payments(study: Study, made: tuple[Payment, ...]) -> None:
    counts = Counter(payment.proposed for payment in made)
    parts = [f"{counts[proposal]} {proposal}" for proposal in Proposal if proposal]
    total = sum((payment.pay or 0) + (payment.bonus or 0) for payment in made)
    note(
        f"{', '.join(parts)}; {counts[Proposal.NOTHING]} with nothing left to decide; "
        f"{money(total, study.pay.currency)} in all, without fees"
    )
    if not study.pay.per_hour:
        note("note: pay.per_hour is 0 in the study file, so the list names no amounts")
    note(f"{len(made)} in the list, which identifies people: keep it to yourself")
