"""The database of a study that is served here: served, copied, a person excluded or deleted."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from casewise.cases import digest
from casewise.cli import note, write_out
from casewise.errors import InputError, UsageError
from casewise_study.study.planning import check_ready, open_points, time_warnings
from casewise_study.study.schema import Platform, Study
from casewise_study.study.study_file import load_study
from casewise_study.study.study_texts import text_warnings

if TYPE_CHECKING:
    from casewise_study.store.places import Progress
    from casewise_study.store.study_store import Store
    from casewise_study.study.accounts import Secrets


class ResultFormat(StrEnum):
    """Form of a printed result."""

    TABLE = "table"
    JSON = "json"


StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="SQLite or PostgreSQL. Default: a .db file beside the study."),
]


def open_store(study: Study, file: Path, database: str | None, command: str) -> "Store":
    """The database that a study was served with; one that is not there is not made.

    Raises:
        UsageError: There is none.
    """
    address = find_database(file, database, command)
    from casewise_study.store.study_store import Store

    return Store(study, address, study_keys(file))


def find_database(file: Path, database: str | None, command: str) -> str:
    """The address of the database that a study was served with, for a command that makes none.

    Raises:
        UsageError: There is none.
    """
    if not file.is_file():
        raise InputError("no such file", file=file)
    address = database_address(file, database)
    if _is_there(address):
        return address
    if database is not None:
        raise UsageError(f"--database {database}: no such file")
    beside = file.with_suffix(".db")
    other = "" if command == "backup" else ", or --votes PATH with plain CSV"
    raise UsageError(f"no votes: {beside} is not there; give --database URL{other}")


def _is_there(address: str) -> bool:
    """False of an SQLite file that is yet to be made."""
    kind, _, place = address.partition(":///")
    return kind != "sqlite" or Path(place).is_file()


def database_address(file: Path, given: str | None) -> str:
    """The database: what was given, or a file beside the study."""
    if given is None:
        return f"sqlite:///{file.resolve().with_suffix('.db')}"
    return given if "://" in given else f"sqlite:///{Path(given).resolve()}"


def study_keys(file: Path) -> "Secrets":
    """The study's secrets, beside its file."""
    from casewise_study.study.accounts import load_secrets

    return load_secrets(file.resolve().with_suffix(".secrets.json"))


def rater_of(store: "Store", platform: str) -> Callable[[str], str]:
    """Function from a platform's id, of which the store keeps a hash alone, to its pseudonym."""

    def name(account: str) -> str:
        person = store.person_of_platform(store.keys.platform_key(platform, account))
        return person.rater if person else f"unknown-{digest(account)}"

    return name


def to_collect(study: Study, progress: "Progress") -> str:
    """A sentence on what is still to be collected."""
    lacking = [missing for count in progress.counts if (missing := study.votes - sum(count)) > 0]
    most = "at most " if study.collection.is_sequential else ""
    if progress.places == "complete":
        return "complete: each case has its votes"
    return (
        f"to collect: {most}{sum(lacking)} votes on {len(lacking)} cells; of {most}"
        f"{progress.blocks} places {progress.free} are free, {progress.active} held, and "
        f"{progress.unconfirmed} held or completed by people whom nobody has confirmed"
    )


def exclude(
    file: StudyFile,
    rater: Annotated[str, typer.Option(help="The person's pseudonym.")],
    reason: Annotated[str, typer.Option(help="Why; it is published, so name nobody.")],
    database: DatabaseOption = None,
) -> None:
    """Exclude a person: another may have the place, and the votes stay, uncounted.

    The votes are exported as votes that don't count, and the data card tells
    of the person and the reason: that there was somebody careless remains
    known. Who has finished keeps the code that was shown. It can't be undone;
    the server may run meanwhile. To delete a person's answers: purge.

    [bold]Examples[/]

    casewise annotate exclude study.yaml --rater p-0123456789
    --reason "failed both attention checks"
    """
    rater, reason = rater.strip(), " ".join(reason.split())
    if not reason:
        raise UsageError("--reason: say why in a few words; it stands in the data card")
    study = load_study(file)
    with open_store(study, file, database, "exclude") as store:
        came = store.exclude(rater, reason)
    if came is None:
        raise UsageError(f"--rater {rater}: the study knows no such person; nothing was changed")
    if came not in ("started", "active", "completed"):
        said = came.replace("_", " ")
        raise UsageError(f"--rater {rater}: is {said} already, so no vote counts: nothing changed")
    note(f"excluded: {rater}; the votes count no more, and the place is free for another")


def purge(
    file: StudyFile,
    rater: Annotated[str | None, typer.Option(help="The person's pseudonym.")] = None,
    platform_id: Annotated[
        str | None, typer.Option(help="The platform's id of the person, as the platform shows it.")
    ] = None,
    code: Annotated[
        str | None, typer.Option(help="The personal code that the study's pages showed the person.")
    ] = None,
    database: DatabaseOption = None,
) -> None:
    """Delete all that a person has answered; the block is free for another.

    Name the person by pseudonym, by the platform's id, or by personal code. A
    keyed hash of the account stays, so that the same person does not begin
    again, and comes back to the platform's code that it was shown. The server
    may run meanwhile. Files that were exported before, and backups, are not
    touched: the pseudonym that is printed finds the person in them.

    [bold]Examples[/]

    casewise annotate purge study.yaml --rater p-0123456789

    casewise annotate purge study.yaml --platform-id 5f0c1d2e3b4a596877665544

    casewise annotate purge study.yaml --code 7K3Q-M2ZX-9HTY
    """
    given = {"rater": rater, "account": platform_id, "code": code}
    named = {name: value.strip() for name, value in given.items() if value is not None}
    if len(named) != 1 or not all(named.values()):
        raise UsageError("give --rater, --platform-id or --code, one of them")
    study = load_study(file)
    with open_store(study, file, database, "purge") as store:
        if code is not None and store.keys.code_key(code) is None:
            raise UsageError(
                "--code: not a personal code, or mistyped: 12 letters and digits, the last of "
                "which checks the others, such as 7K3Q-M2ZX-9HTY; nothing was deleted"
            )
        purged = store.purge(**named)
    if purged is None:
        raise UsageError(
            "the study knows no such person, or has deleted all of it before; nothing was deleted"
        )
    note(f"deleted: every answer of {purged}; the block is free for another")


_ANYWHERE = ("0.0.0.0", "::")


def serve(
    file: StudyFile,
    database: DatabaseOption = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8080,
    public_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="What people reach it by, such as https://study.example."),
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
    until_complete: Annotated[
        bool,
        typer.Option(
            "--until-complete",
            help="Exclude whom the study's screening flags once each case has its votes, collect "
            "again, and end when nobody is flagged.",
        ),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Log requests, without content; -: standard error."),
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

    Everything that is answered is on the disk before the next page is shown:
    stop and start the server as you like. The study file must stay as it is
    while people take part. Platform ids are kept as keyed hashes alone; their
    key lies in STUDY.secrets.json, readable by you alone: keep it, and never
    publish it.

    Content warning: queries and contexts may be distressing.

    [bold]Examples[/]

    casewise annotate serve study.yaml

    casewise annotate serve study.yaml --public-url https://study.example --behind-proxy

    casewise annotate serve study.yaml --database postgresql://me@db.example/study

    casewise annotate serve study.yaml --until-complete
    """
    if write_service is not None:
        _write_service(write_service)
        return
    # The web framework takes a while to load, and few commands need it.
    from casewise_study.app_base import listen
    from casewise_study.app_study.study_app import serve as serve_study
    from casewise_study.app_study.study_guard import Settings
    from casewise_study.store.places import Progress
    from casewise_study.store.study_store import Store

    study = load_study(file)
    if problems := check_ready(study):
        raise UsageError(f"{file}: not ready to be served: {'; '.join(problems)}")
    origin = _origin(public_url) if public_url else None
    warnings = (*time_warnings(study), *text_warnings(study))
    for line in (*warnings, *_open_to_others(study, host, public_url, behind_proxy)):
        note(f"warning: {line}")
    address = database_address(file, database)
    if missing := open_points(study):
        points = "; ".join(missing)
        reached = (urlsplit(origin or "").hostname or host).strip("[]")
        if not (_is_this_computer(reached) or _has_begun(study, file, address)):
            raise UsageError(
                f"{file}: before people come, say each in the file, or waive it there "
                f"(safeguards.waived) with who waives it and why: {points}"
            )
        note(f"warning: still open, so give or waive it: {points}")
    keys = study_keys(file)
    with Store(study, address, keys) as store:
        store.renew_leases()
        listening = listen(host, port)
        number = listening.getsockname()[1]
        shown = "127.0.0.1" if host in _ANYWHERE else host
        shown = f"[{shown}]" if ":" in shown else shown
        settings = Settings(
            origin or f"http://{shown}:{number}",
            behind_proxy=behind_proxy,
            rate=None if rate == "none" else rate,
            newcomers=None
            if newcomers == "none"
            else newcomers or f"{max(5, len(study.design.blocks) // 4)}/hour",
            log=log,
        )

        def done(progress: Progress) -> str:
            most = "at most " if study.collection.is_sequential else ""
            return f"{progress.completed} of {most}{progress.blocks} blocks completed"

        def ready() -> None:
            progress = store.progress()
            note(f"{study.title}: {done(progress)}.")
            if host in _ANYWHERE and origin is None:
                note("note: people's own addresses name this computer alone; give --public-url")
            if progress.paused:
                note("note: the study is paused; resume it on the administrator's page")
            note("Ctrl-C stops; everything answered is kept.")
            write_out(f"study  {settings.origin}/\n")
            write_out(f"admin  {settings.origin}/admin/enter/{keys.admin}\n")

        is_done = _Completion(store).is_over if until_complete else None
        serve_study(store, settings, listening, ready=ready, done=is_done)
        progress = store.progress()
        note(f"stopped: {done(progress)}, {progress.active} held; {to_collect(study, progress)}")


class _Completion:
    """End of a study: each case has its votes from people who are known and pass the screening."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._since: datetime | None = None

    def is_over(self) -> bool:
        """True once it has been complete for a lease, in which the last people get their codes."""
        from casewise_study.app_study.study_app import exclude_flagged
        from casewise_study.store.database import StoreUnavailableError

        store, now = self._store, self._store.now()
        try:
            complete = store.places() == "complete"
            if complete and self._since is None and (number := exclude_flagged(store)):
                note(f"excluded by the screening: {number} people; others may have their places")
                return False
        except StoreUnavailableError:
            return False
        minutes = store.study.timing.lease_minutes
        if not complete:
            self._since = None
        elif self._since is None:
            self._since = now
            note(f"complete: each case has its votes; the server ends in {minutes:g} minutes")
        return self._since is not None and now >= self._since + timedelta(minutes=minutes)


def _has_begun(study: Study, file: Path, address: str) -> bool:
    """Tell whether people came before, whose study goes on as it was."""
    from casewise_study.store.study_store import Store

    if not _is_there(address):
        return False
    with Store(study, address, study_keys(file)) as store:
        return any(store.progress().people.values())


def _write_service(out: Path) -> None:
    """Write the files that ship with casewise to a new or an empty folder."""
    # The room of votes loads scipy, which no other command here needs.
    from casewise_study.votes.result_files import write_folder

    shipped = (files("casewise_study.data") / "service").iterdir()
    contents = {one.name: one.read_bytes() for one in shipped}
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
        secured = recruitment.platform is Platform.PROLIFIC
        yield (
            "recruitment.signed is false: ids can be made up, so places are provisional until "
            "casewise annotate reconcile reads the platform's export"
            + (". Or set it to true, with Secured external URL on Prolific" if secured else "")
        )
    if not behind_proxy and not _is_this_computer(host):
        yield (
            f"--host {host}: others reach the server itself, which speaks no HTTPS. Put a proxy "
            "before it that does, and give --behind-proxy and --public-url https://..."
        )
    parts = urlsplit(public_url or "")
    if parts.scheme == "http" and not _is_this_computer(parts.hostname or ""):
        yield f"--public-url {public_url}: without HTTPS others can read what people answer"


def _is_this_computer(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise UsageError(
            f"--public-url {url}: an address without a path, such as https://study.example"
        )
    return f"{parts.scheme}://{parts.netloc}"


def backup(
    file: StudyFile,
    to: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="The backup, readable by you alone.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier backup.")] = False,
    database: DatabaseOption = None,
) -> None:
    """Copy a study's database, secrets, plan and cases while the server runs.

    A copy of the .db file made by other means lacks the latest votes, which
    SQLite keeps in a file beside it until they are many. The backup has every
    vote that was taken before; it is checked, and not there at all if
    something is wrong. PostgreSQL is written to SQLite, too: the folder is a
    study that can be exported or served as it is. Its secrets tell who people
    are: keep it as you keep the study.

    [bold]Examples[/]

    casewise annotate backup study.yaml --out backup

    casewise annotate export backup/study.yaml --out votes
    """
    address = find_database(file, database, "backup")
    from casewise_study.store.backup import back_up

    made = back_up(file, address, to, force=force)
    people = "1 person" if made.people == 1 else f"{made.people} people"
    votes = "1 vote" if made.votes == 1 else f"{made.votes} votes"
    note(f"{people} and {votes}; the copy is whole")
    for what in made.left_out:
        note(f"note: not in the backup, so keep it too: {what}")
    write_out(f"{to}\n")


def restore(
    folder: Annotated[Path, typer.Argument(metavar="BACKUP", help="What backup wrote.")],
    to: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="A new or an empty folder.")],
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="An empty PostgreSQL. Default: SQLite beside the study, as usual."
        ),
    ] = None,
) -> None:
    """Make a study from a backup, to be served again.

    The backup is checked first, and stays as it is. Nothing is overwritten:
    move away what is broken, then restore to its name. People go on where the
    backup has them.

    [bold]Examples[/]

    casewise annotate restore backup --out restored

    casewise annotate restore backup --out restored
    --database postgresql://me@db.example/study
    """
    from casewise_study.store.backup import restore_study

    made = restore_study(folder, to, database)
    note(f"restored: {made.people} people and {made.votes} votes")
    write_out(f"{to / made.file}\n")
