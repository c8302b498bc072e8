"""``casewise annotate serve``: a study's pages, until Ctrl-C."""

from collections.abc import Iterator
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from casewise.annotation.study.planning import check_ready, time_warnings
from casewise.annotation.study.study_file import load_study
from casewise.annotation.study.study_texts import text_warnings
from casewise.annotation.votes.result_files import write_folder
from casewise.cli._annotate_store import DatabaseOption, database_address, need_extra, study_keys
from casewise.cli._console import note, write_out
from casewise.errors import UsageError

_ANYWHERE = ("0.0.0.0", "::")


def serve(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")],
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
    speed: Annotated[
        float, typer.Option(min=1, hidden=True, help="For rehearsals: time runs so much faster.")
    ] = 1,
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
    """
    if write_service is not None:
        _write_service(write_service)
        return
    need_extra("serve")
    # The web framework takes a while to load, and few commands need it.
    from casewise.annotation.app_base import listen
    from casewise.annotation.app_study.study_app import serve as serve_study
    from casewise.annotation.app_study.study_guard import Settings
    from casewise.annotation.store.database import Clock
    from casewise.annotation.store.standing import Progress
    from casewise.annotation.store.study_store import Store

    study = load_study(file)
    problems = check_ready(study)
    if problems and speed == 1:
        raise UsageError(f"{file}: not ready to be served: {'; '.join(problems)}")
    origin = _origin(public_url) if public_url else None
    warnings = (
        time_warnings(study),
        text_warnings(study),
        _open_to_others(host, public_url, behind_proxy),
    )
    for line in (line for lines in warnings for line in lines):
        note(f"warning: {line}")
    keys = study_keys(file)
    clock: Clock | None = None
    if speed != 1:
        # It brings the simulated browsers along, which a real study has no use for.
        from casewise.annotation.rehearsal.rehearse import fast_clock

        clock = fast_clock(speed)
    address = database_address(file, database)
    with Store(study, address, keys, clock=clock) as store:
        store.renew_leases()
        listening = listen(host, port)
        number = listening.getsockname()[1]
        shown = "127.0.0.1" if host in _ANYWHERE else host
        shown = f"[{shown}]" if ":" in shown else shown
        settings = Settings(
            origin or f"http://{shown}:{number}",
            behind_proxy=behind_proxy,
            rate=None if rate == "none" else rate,
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

        serve_study(store, settings, listening, ready=ready)
        progress = store.progress()
        note(f"stopped: {done(progress)}, {progress.active} held")


def _write_service(out: Path) -> None:
    """Write the files that ship with casewise to a new or an empty folder."""
    shipped = files("casewise.data") / "study" / "service"
    write_folder(out, {one.name: one.read_bytes() for one in shipped.iterdir()})
    for name in sorted(one.name for one in shipped.iterdir()):
        write_out(f"{out / name}\n")
    note("each says at its head what to change; docs/how-to/annotation-running.md explains them")


def _open_to_others(host: str, public_url: str | None, behind_proxy: bool) -> Iterator[str]:
    """Warn of what others could read on its way."""
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
