"""``casewise annotate tasks``, ``collect`` and ``payments``: to platforms and back."""

from collections import Counter
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from casewise.cli import note, working, write_out
from casewise.errors import InputError, UsageError
from casewise.files import csv_text, new_file, read_text
from casewise.sheets import money
from casewise_study.commands._store import (
    DatabaseOption,
    StudyFile,
    open_store,
    rater_of,
    study_keys,
    to_collect,
)
from casewise_study.exchange.payments import Payment, Proposal, payments_csv, propose_payments
from casewise_study.exchange.platform_files import csv_tasks, read_csv_answers
from casewise_study.exchange.prolific import join_prolific, prolific_files, study_url
from casewise_study.exchange.sittings import (
    is_open_to_others,
    keep_salt,
    plan_tasks,
    read_salt,
)
from casewise_study.exchange.submissions import read_standings
from casewise_study.study.accounts import account_fault
from casewise_study.study.planning import check_ready
from casewise_study.study.schema import Platform, Study
from casewise_study.study.study_file import load_study
from casewise_study.votes.collected import Collected
from casewise_study.votes.collected_csv import read_collected, write_collected
from casewise_study.votes.result_files import check_free, is_in_export, write_folder


class Where(StrEnum):
    """Prolific, or any other tool by plain CSV."""

    PROLIFIC = "prolific"
    CSV = "csv"


PlatformName = Annotated[Where, typer.Argument(metavar="PLATFORM", help=", ".join(Where))]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="A new or an empty folder.")]

NEXT = {
    Where.PROLIFIC: "paste what study.md says, or post study.json to Prolific's API",
    Where.CSV: "fill rater and verdict beside study, block and position",
}


def tasks(
    platform: PlatformName,
    study: StudyFile,
    out: Out,
    url: Annotated[
        str | None, typer.Option(help="prolific: where the study's own server can be reached.")
    ] = None,
) -> None:
    """Write a study's tasks as the files that a platform takes.

    prolific: the study's address with its parameters, codes, places and pay;
    people judge on your own server. csv: one row a page, for any other tool.

    Content warning: the files hold queries and contexts that may be distressing.

    [bold]Examples[/]

    casewise annotate tasks csv study.yaml --out tasks

    casewise annotate tasks prolific study.yaml --url https://study.example.org/ --out sheet
    """
    if (url is None) == (platform is Where.PROLIFIC):
        raise UsageError(
            "prolific needs --url, the address of the study's server"
            if url is None
            else f"--url is for prolific, not for {platform}"
        )
    check_free(out)
    with working("reading the cases"):
        planned = plan_tasks(_with_planned_blocks(_ready(study), platform))
    files = csv_tasks(planned) if url is None else prolific_files(planned, url)
    write_folder(out, files)
    for name in files:
        write_out(f"{out / name}\n")
    pages = sum(map(len, planned.blocks))
    note(f"{len(planned.blocks)} blocks, {pages} pages. Next: {NEXT[platform]}.")


def _ready(path: Path) -> Study:
    study = load_study(path)
    if problems := check_ready(study):
        raise InputError(f"not ready for people yet: {'; '.join(problems)}", file=path)
    return study


def _with_planned_blocks(study: Study, platform: Where) -> Study:
    """A study whose blocks the platform's files can hold."""
    if study.collection.is_sequential and platform is not Where.PROLIFIC:
        raise UsageError(
            f"{platform}: collection.rule is sequential, so blocks are drawn as people come to the "
            "study's own server; for files of tasks plan with --collection fixed"
        )
    return study


def collect(
    platform: PlatformName,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="What the platform exports.")
    ],
    study: Annotated[Path, typer.Option(metavar="STUDY", help="The study file (.yaml).")],
    out: Out,
    salt_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Makes pseudonyms of the names of people; made if there is none. Keep it: "
            "the same file gives the same person the same pseudonym.",
        ),
    ] = None,
    panel: Annotated[
        str | None, typer.Option(help="Where people were recruited. Default: the platform.")
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="prolific: what was collected, to join people to."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="prolific: where the study was served. Default: the .db file beside the study.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="prolific: taken over from the export, apart by commas; no more."
        ),
    ] = None,
    only_exported: Annotated[
        bool,
        typer.Option(
            "--only-exported",
            help="prolific: leave out whoever is not in the export, such as colleagues who tried.",
        ),
    ] = False,
) -> None:
    """Take in answers that other tools collected, or Prolific's demographics.

    csv: study, rater, block, position, verdict and, if known, time, seconds,
    confidence, reason. prolific: the demographic export, joined to the people
    of the study's own server (--database), or of --votes under the salt they
    were collected with. With a salt, pseudonyms alone are written.

    A person's first block counts, and a block counts once; what doesn't is told.
    The folder is read by casewise annotate export --votes.

    [bold]Examples[/]

    casewise annotate collect csv answers.csv --study study.yaml
    --salt-file salt.txt --out votes

    casewise annotate collect prolific prolific_export.csv --study study.yaml
    --columns Age,Sex --out votes-with-people
    """
    if platform is Where.PROLIFIC and columns is None and not only_exported:
        raise UsageError("prolific needs --columns NAMES, or --only-exported")
    if platform is not Where.PROLIFIC and (votes or columns or database or only_exported):
        raise UsageError(
            "--votes, --database, --columns and --only-exported are for prolific, "
            f"not for {platform}"
        )
    if votes is None:
        if platform is Where.PROLIFIC and salt_file is not None:
            raise UsageError("--salt-file goes with --votes: a study's server has its own secrets")
    elif database is not None:
        raise UsageError("--votes and --database: give one of them")
    elif salt_file is None:
        raise UsageError("--votes needs --salt-file, the salt that they were collected with")
    check_free(out)
    planned = plan_tasks(_with_planned_blocks(load_study(study), platform))
    salt = None
    if salt_file is not None:
        salt = read_salt(salt_file, create=platform is not Where.PROLIFIC)
    join = partial(
        join_prolific, files=files, columns=_listed(columns), only_exported=only_exported
    )
    with working("reading the answers"):
        if platform is not Where.PROLIFIC:
            name = salt.pseudonym if salt else None
            taken = read_csv_answers(files, planned, name=name, panel=panel or platform)
        elif votes is not None and salt is not None:
            taken = join(read_collected(votes, planned.study), name=salt.pseudonym)
        else:
            # The study's own server knows people by a keyed hash of their account.
            with open_store(planned.study, study, database, "collect prolific") as store:
                taken = join(store.collected(), name=rater_of(store, Where.PROLIFIC))
    if salt is not None:
        keep_salt(salt)
        if salt.new:
            note(f"{salt.path}: a new salt; keep it, and keep it to yourself")
        elif is_open_to_others(salt.path):
            note(f"warning: others can read {salt.path}: chmod 600 {salt.path}")
    write_collected(out, taken.collected)
    for line in taken.notes:
        note(f"note: {line}")
    _summarise(taken.collected)
    write_out(f"{out}\n")


def _listed(columns: str | None) -> list[str]:
    return [stripped for column in (columns or "").split(",") if (stripped := column.strip())]


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
    propose = partial(propose_payments, study, files=exports or [])
    if votes is not None and salt_file is not None:
        salt = read_salt(salt_file, create=False)
        made = propose(read_collected(votes, study), name=salt.pseudonym, codes={})
    else:
        with open_store(study, file, database, "payments") as store:
            codes = store.personal_codes() if platform is Platform.NONE else {}
            made = propose(store.collected(), name=rater_of(store, platform), codes=codes)
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
