"""``casewise annotate blocks``, ``prolific`` and ``payments``: to other tools and back."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from casewise.cli import note, working, write_out
from casewise.errors import InputError, UsageError
from casewise.files import csv_text, new_file, read_text
from casewise.sheets import money, plural
from casewise_study.commands.shared import (
    DatabaseOption,
    StudyFile,
    open_store,
    study_keys,
    to_collect,
)
from casewise_study.exchange.blocks_csv import blocks_csv
from casewise_study.exchange.payments import Payment, list_payments
from casewise_study.exchange.prolific import prolific_sheet, study_url
from casewise_study.exchange.submissions import read_standings
from casewise_study.study.accounts import account_fault
from casewise_study.study.planning import check_ready
from casewise_study.study.schema import Platform, Study
from casewise_study.study.study_file import load_study
from casewise_study.votes.result_files import is_in_export, row_of, to_csv


def blocks(
    file: StudyFile,
    to: Annotated[Path, typer.Option("--out", metavar="FILE", help="The CSV file to write.")],
) -> None:
    """Write who is to judge what as CSV, for people who judge with another tool.

    A row a page: block, position, case_id, query_id, arm, check, query, context. One person
    judges one block. Read the votes back by casewise annotate export --votes: rater, case_id
    and verdict of each.

    Content warning: the file holds queries and contexts that may be distressing.

    [bold]Examples[/]

    casewise annotate blocks study.yaml --out blocks.csv

    casewise annotate export study.yaml --votes answers.csv --out votes
    """
    _check_new(to)
    study = _ready(file)
    if study.collection.is_sequential:
        raise UsageError(
            "collection.rule is sequential, so blocks are drawn as people come to the study's own "
            "server; for blocks as CSV plan with --collection fixed"
        )
    with working("reading the cases"):
        content = blocks_csv(study)
    _write_new(to, content)
    note(f"{plural(len(study.design.blocks), 'block')}: one a person, who doesn't see the arms")


def prolific(
    file: StudyFile,
    url: Annotated[str, typer.Option(help="Where the study's server can be reached.")],
    to: Annotated[Path, typer.Option("--out", metavar="FILE", help="The sheet to write (.md).")],
) -> None:
    """Write the settings of a study on Prolific: address, codes, places, time and pay.

    The sheet is to paste from. People are recruited there, and judge on your own server.

    [bold]Examples[/]

    casewise annotate prolific study.yaml --url https://study.example.org/ --out prolific.md
    """
    _check_new(to)
    _write_new(to, prolific_sheet(_ready(file), url).encode())


def _check_new(to: Path) -> None:
    if to.exists():
        raise UsageError(f"{to} is there already: give another name")


def _write_new(to: Path, content: bytes) -> None:
    with new_file(to) as new:
        new.write_bytes(content)
    write_out(f"{to}\n")


def _ready(path: Path) -> Study:
    study = load_study(path)
    if problems := check_ready(study):
        raise InputError(f"not ready for people yet: {'; '.join(problems)}", file=path)
    return study


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
    """List what each payment rests on, by the platform's ids; you decide, on the platform.

    How far each person came, the codes sent and shown, minutes at work, failed checks, flags of
    the screening, the pay of a session, and the hourly pay where they took longer. Platform ids
    come from Prolific's export of submissions. Without a platform people are listed by personal
    code.

    The list identifies people: keep it to yourself, and delete it when everybody is paid.

    [bold]Examples[/]

    casewise annotate payments study.yaml prolific_export.csv --out payments.csv

    casewise annotate payments study.yaml --out payments.csv
    """
    study = load_study(file)
    _check_place(to, force=force)
    platform = study.recruitment.platform
    with open_store(study, file, database) as store:

        def name(account: str) -> str:
            person = store.person(platform_key=store.keys.platform_key(platform, account))
            return person.rater if person else ""

        rows = list_payments(
            study,
            store.collected(),
            exports or [],
            name=name,
            codes=store.codes(),
        )
    names = [field.name for field in fields(Payment)]
    _write_private(to, to_csv(names, map(row_of, rows)).encode())
    done = [payment for payment in rows if payment.code_shown == study.recruitment.completed]
    total = sum(payment.due or payment.pay or 0 for payment in done)
    note(
        f"{len(rows)} in the list, {len(done)} of whom completed the study, which comes to "
        f"{money(total, study.pay.currency)} without fees: it identifies people, so keep it to "
        "yourself"
    )


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

    Whoever follows a link is that person, on any device. With recruitment.signed: true in the
    study file no other link is accepted, so nobody can make up ids. Links are signed by the
    study's secrets: write them where the study is served.

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
    note(f"{plural(len(rows), 'link')}, each of which admits one person: keep them to yourself")


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

    A person is confirmed if the submission is approved or awaits review. People who are not in
    the export, returned, were rejected or timed out lose the place; links that the platform
    signed need no export. No vote is deleted: votes without a place don't count, and count
    again if a later export has the person. The server may run meanwhile; the same export twice
    changes nothing.

    [bold]Examples[/]

    casewise annotate reconcile study.yaml prolific_export.csv
    """
    study = load_study(file)
    platform = study.recruitment.platform
    with open_store(study, file, database) as store:

        def key(account: str) -> str:
            return store.keys.platform_key(platform, account)

        standings = read_standings(
            study, exports, lambda account: store.person(platform_key=key(account)) is not None
        )
        result = store.reconcile({key(account): word for account, word in standings.items()})
        progress = store.progress()
    note(
        f"{plural(result.confirmed, 'person')} confirmed, {result.released} lost a place, "
        f"{result.placed} got one that was released"
    )
    write_out(f"{to_collect(study, progress)}\n")


def _check_place(to: Path, *, force: bool) -> None:
    """Refuse a place that is taken, or one that would be published."""
    if is_in_export(to):
        raise UsageError(f"{to}: the list identifies people, and an export is to be published")
    if to.is_dir() or (to.exists() and not force):
        raise UsageError(f"{to} is there already: give another name, or --force to overwrite it")
