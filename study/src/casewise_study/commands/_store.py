"""``casewise annotate serve``, ``exclude``, ``purge``, ``backup`` and ``restore``."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from casewise.cli import note, write_out
from casewise.errors import UsageError
from casewise.sheets import plural
from casewise_study.commands.shared import (
    DatabaseOption,
    StudyFile,
    database_address,
    find_database,
    note_open,
    open_store,
    study_keys,
    to_collect,
)
from casewise_study.study.planning import check_ready, open_points, time_warnings
from casewise_study.study.schema import Platform, Study
from casewise_study.study.study_file import load_study
from casewise_study.study.study_texts import text_warnings

if TYPE_CHECKING:
    from casewise_study.app_study.guard import Settings
    from casewise_study.store.study_store import Store
    from casewise_study.study.accounts import Secrets

_ANYWHERE = ("0.0.0.0", "::")


def serve(
    file: StudyFile,
    database: DatabaseOption = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 is a free one.")
    ] = 8080,
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Address that people reach, such as https://study.example."
        ),
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option("--behind-proxy", help="Take a person's address from X-Forwarded-For."),
    ] = False,
    rate: Annotated[
        str, typer.Option(help="Requests that one address may make; none: any number.")
    ] = "300/second",
    newcomers: Annotated[
        str | None,
        typer.Option(
            help="People without a signed link who may begin from one address range; none: any "
            "number. Default: a quarter of the places an hour, 5 at least."
        ),
    ] = None,
    trial: Annotated[
        bool,
        typer.Option(
            "--try",
            help="Look at the study before people come, on this computer; nothing is kept.",
        ),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Log requests, without content."),
    ] = None,
    write_service: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write container, compose, proxy and systemd files to start from; serve nothing.",
        ),
    ] = None,
) -> None:
    """Serve a study: people judge its cases on pages in their browsers.

    Every answer is on the disk before the next page is shown: stop and start the server as you
    like. The study file must stay as it is while people take part. Platform ids are kept as keyed
    hashes alone; their key lies in STUDY.secrets.json, readable by you alone: keep it, and never
    publish it.

    Content warning: queries and contexts may be distressing.

    [bold]Examples[/]

    casewise annotate serve study.yaml --try

    casewise annotate serve study.yaml --public-url https://study.example --behind-proxy

    casewise annotate serve study.yaml --database postgresql://me@db.example/study
    """
    if write_service is not None:
        _write_service(write_service)
        return
    note(f"starting {file} ...")
    # The web framework takes a while to load, and few commands need it.
    from casewise_study.app_study.guard import Settings
    from casewise_study.app_study.study_app import listen
    from casewise_study.app_study.study_app import serve as serve_study
    from casewise_study.store.study_store import Store

    study = load_study(file)
    origin = _origin(public_url) if public_url else None
    for line in (*time_warnings(study), *text_warnings(study)):
        note(f"warning: {line}")
    note_open(study)
    is_here = _is_this_computer((urlsplit(origin or "").hostname or host).strip("[]"))
    with ExitStack() as stack:
        if trial:
            if database is not None or not is_here:
                raise UsageError(
                    "--try is for this computer alone, and keeps nothing: drop --database, --host "
                    "and --public-url"
                )
            still_open = (*check_ready(study), *open_points(study))
            study, address, keys = _trial(study, stack)
        else:
            still_open = None
            _check_open(study, file, is_here)
            for line in _open_to_others(study, host, public_url, behind_proxy):
                note(f"warning: {line}")
            address, keys = database_address(file, database), study_keys(file)
        store = stack.enter_context(Store(study, address, keys))
        store.renew_leases()
        listening = listen(host, port)
        usual = f"{max(5, len(study.design.blocks) // 4)}/hour"
        settings = Settings(
            origin or _own_origin(host, listening.getsockname()[1]),
            behind_proxy=behind_proxy,
            rate=None if rate == "none" else rate,
            newcomers=None if newcomers == "none" else newcomers or usual,
            log=log,
            still_open=still_open,
        )
        is_local = host in _ANYWHERE and origin is None
        serve_study(store, settings, listening, lambda: _announce(store, settings, is_local))
        note(f"stopped; {to_collect(study, store.progress())}")


def _trial(study: Study, stack: ExitStack) -> tuple[Study, str, "Secrets"]:
    """The study for anybody without a platform's link, its passing database, and its keys."""
    from casewise_study.study.accounts import Secrets

    anybody = {"platform": Platform.NONE, "signed": False}
    recruitment = study.recruitment.model_copy(update=anybody)
    folder = stack.enter_context(TemporaryDirectory())
    keys = Secrets(*(secrets.token_urlsafe(32) for _ in range(2)))
    return study.model_copy(update={"recruitment": recruitment}), f"sqlite:///{folder}/t.db", keys


def _check_open(study: Study, file: Path, is_here: bool) -> None:
    """Refuse a study that lacks what people must read, or what is asked before others come."""
    if check_ready(study):
        raise UsageError(f"{file}: not ready to be served: see the list above")
    if open_points(study) and not is_here:
        raise UsageError(
            f"{file}: before people come, say each point above in the file, or waive it there"
        )


def _announce(store: "Store", settings: "Settings", is_local: bool) -> None:
    """Say that people can come, and where."""
    progress = store.progress()
    note(f"{store.study.title}: {to_collect(store.study, progress)}.")
    if is_local:
        note("note: people's own addresses name this computer alone; give --public-url")
    if progress.paused:
        note("note: the study is paused; resume it on the administrator's page")
    share = "everything" if settings.still_open is None else "nothing"
    note(f"Ctrl-C stops; {share} answered is kept.")
    write_out(f"study  {settings.origin}/\n")
    write_out(f"admin  {settings.origin}/admin/enter/{store.keys.admin}\n")


def _write_service(out: Path) -> None:
    """Write the files that ship with casewise to a new or an empty folder."""
    # The room of votes loads scipy, which no other command here needs.
    from casewise_study.votes.result_files import write_folder

    shipped = (files("casewise_study.data") / "service").iterdir()
    contents = {path.name: path.read_bytes() for path in shipped}
    write_folder(out, contents)
    for name in sorted(contents):
        write_out(f"{out / name}\n")
    note("each says at its head what to change; study/docs/annotation-running.md explains them")


def _open_to_others(
    study: Study, host: str, public_url: str | None, behind_proxy: bool
) -> Iterator[str]:
    """Warn of what others could read on its way, and of places that they could take."""
    recruitment = study.recruitment
    if recruitment.platform is not Platform.NONE and not recruitment.signed:
        yield (
            "recruitment.signed is false: ids can be made up, so places are provisional until "
            "casewise annotate reconcile reads the platform's export. Or set it to true, with "
            "Secured external URL on Prolific"
        )
    plain = public_url is not None and public_url.startswith("http:")
    if plain or not (behind_proxy or _is_this_computer(host)):
        yield (
            f"--host {host}: others can read what people answer, as the server itself speaks no "
            "HTTPS. Put a proxy before it that does, and give --behind-proxy and --public-url "
            "https://..."
        )


def _is_this_computer(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own_origin(host: str, port: int) -> str:
    shown = "127.0.0.1" if host in _ANYWHERE else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise UsageError(
            f"--public-url {url}: an address without a path, such as https://study.example"
        )
    return f"{parts.scheme}://{parts.netloc}"


def exclude(
    file: StudyFile,
    rater: Annotated[str | None, typer.Option(help="The person's pseudonym.")] = None,
    reason: Annotated[
        str | None, typer.Option(help="Why; it is published, so name nobody.")
    ] = None,
    flagged: Annotated[
        bool, typer.Option("--flagged", help="All whom the study's screening flags, with its why.")
    ] = False,
    database: DatabaseOption = None,
) -> None:
    """Exclude a person: another may have the place, and the votes stay, uncounted.

    The votes are exported as votes that don't count, and the data card has the person's
    pseudonym and the reason. People who have finished keep their code. It can't be undone; the
    server may run meanwhile. To delete a person's answers: purge. Give --flagged once each case
    has its votes, and again until nobody is flagged.

    [bold]Examples[/]

    casewise annotate exclude study.yaml --rater p-0123456789
    --reason "failed both attention checks"

    casewise annotate exclude study.yaml --flagged
    """
    reason = " ".join((reason or "").split())
    if flagged == bool(rater or reason) or bool(rater) != bool(reason):
        raise UsageError("give --rater and --reason, which stands in the data card, or --flagged")
    study = load_study(file)
    with open_store(study, file, database) as store:
        why = _flagged(store) if flagged else {(rater or "").strip(): reason}
        for name, reason in why.items():
            if not store.exclude(name, reason):
                raise UsageError(f"--rater {name}: nobody whose votes count; nothing was changed")
            note(f"excluded: {name}; the votes count no more, and the place is free for another")
        progress = store.progress()
    note(to_collect(study, progress))


def _flagged(store: "Store") -> dict[str, str]:
    """People whom the study's rules flag, and why.

    All who judged are screened together, also those who were excluded so before: else each round
    would flag its own share of them.
    """
    from casewise_study.votes.screening import SCREENED, screen, with_screened

    collected = with_screened(store.collected())
    before = {person.rater for person in collected.people if person.excluded}
    return {
        person.rater: SCREENED + "; ".join(flag.reason for flag in person.flags)
        for person in screen(store.study, collected).people
        if person.flags and person.rater not in before
    }


def purge(
    file: StudyFile,
    person: Annotated[
        str, typer.Argument(help="Pseudonym, personal code, or the platform's id of the person.")
    ],
    database: DatabaseOption = None,
) -> None:
    """Delete all that a person has answered; the block is free for another.

    A keyed hash of the account stays, so that the same person can't begin again, and sees the
    same completion code. The server may run meanwhile. Earlier exports and backups are not
    touched: find the person in them by the printed pseudonym.

    [bold]Examples[/]

    casewise annotate purge study.yaml p-0123456789

    casewise annotate purge study.yaml 7K3Q-M2ZX-9HTY

    casewise annotate purge study.yaml 5f0c1d2e3b4a596877665544
    """
    study = load_study(file)
    with open_store(study, file, database) as store:
        platform, keys = study.recruitment.platform, store.keys
        ways = (
            {"rater": person.strip()},
            {"code_key": keys.code_key(person) or ""},
            {"platform_key": keys.platform_key(platform, person)},
        )
        record = next(filter(None, (store.person(**where) for where in ways)), None)
        if record is None or record.purged:
            raise UsageError(
                f"{person}: the study knows no such person, or has deleted all of it before; "
                "nothing was deleted. Look at each letter of a personal code: the last checks the "
                "others"
            )
        store.purge(record.key)
    note(f"deleted: every answer of {record.rater}; the block is free for another")


def backup(
    file: StudyFile,
    to: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="The backup, readable by you alone.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier backup.")] = False,
    database: DatabaseOption = None,
) -> None:
    """Copy a study's database, secrets, plan and cases while the server runs.

    Don't copy the .db file by other means: the latest votes are in a second file. The backup is
    checked, and removed if something is wrong. PostgreSQL is written to SQLite, too: the folder
    is a study that can be exported or served. Its secrets identify people: keep it as safe as
    the study.

    [bold]Examples[/]

    casewise annotate backup study.yaml --out backup

    casewise annotate export backup/study.yaml --out votes
    """
    address = find_database(file, database)
    from casewise_study.store.backup import back_up

    copy = back_up(file, address, to, force=force)
    note(f"{plural(copy.people, 'person')} and {plural(copy.votes, 'vote')}; the copy is whole")
    for what in copy.left_out:
        note(f"note: not in the backup, so keep it too: {what}")
    write_out(f"{to}\n")


def restore(
    folder: Annotated[Path, typer.Argument(metavar="BACKUP", help="What backup wrote.")],
    to: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="A new or an empty folder.")],
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="An empty PostgreSQL. Default: SQLite in the study's folder."
        ),
    ] = None,
) -> None:
    """Make a study from a backup, to be served again.

    The backup is checked first, and stays as it is. Nothing is overwritten: move a broken study
    away, then restore to its name. People go on where the backup has them.

    [bold]Examples[/]

    casewise annotate restore backup --out restored

    casewise annotate restore backup --out restored
    --database postgresql://me@db.example/study
    """
    from casewise_study.store.backup import restore_study

    copy = restore_study(folder, to, database)
    note(f"restored: {plural(copy.people, 'person')} and {plural(copy.votes, 'vote')}")
    write_out(f"{to / copy.file}\n")
