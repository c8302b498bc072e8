"""``casewise annotate simulate``: rehearse a study with simulated people."""

import asyncio
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.annotation.study import Study, load_study, study_cases
from casewise.cli._annotate_simulate_tables import rehearsal_record, rehearsal_renderable
from casewise.cli._annotate_store import DatabaseOption, need_extra
from casewise.cli._console import err, note, out, write_out
from casewise.errors import UsageError
from casewise.sheets import to_json

if TYPE_CHECKING:
    from casewise.annotation.rehearsal import Mixture, Rehearsal, VisitLog

SPARE = 4
"""At most so many times the people that the plan needs."""


class Format(StrEnum):
    """How the result is printed."""

    TABLE = "table"
    JSON = "json"


def simulate(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")],
    at_once: Annotated[int, typer.Option(min=1, max=500, help="People at the same time.")] = 30,
    speed: Annotated[
        float, typer.Option(min=1, max=1000, help="Time runs so many times as fast.")
    ] = 20,
    careless: Annotated[
        float, typer.Option(min=0, max=1, help="Share who answer at random, fast.")
    ] = 0.1,
    adversarial: Annotated[
        float, typer.Option(min=0, max=1, help="Share who say the opposite of what they think.")
    ] = 0,
    biased: Annotated[
        float, typer.Option(min=0, max=1, help="Share from a panel that is more lenient.")
    ] = 0,
    leave: Annotated[
        float, typer.Option(min=0, max=1, help="Share who close the browser half-way.")
    ] = 0.04,
    seed: Annotated[int, typer.Option(min=0, help="Draws the people and what they do.")] = 0,
    database: DatabaseOption = None,
    format: Annotated[Format, typer.Option(help="How to print the result.")] = Format.TABLE,
) -> None:
    """Rehearse a study with simulated people before you pay for it.

    They come over HTTP to a server of their own, read the pages as people see
    them, and think, slip, leave, withdraw, send twice and go back. In the end
    what they saw and gave is held against the database; the shares of votes
    against the truth that they were drawn from (of cases with votes their
    share, of others a draw); and the screening against who was careless.
    The study's own database and secrets are not touched. Exit status 1: a rule
    of the study was broken, or a case lacks votes.

    [bold]Examples[/]

    casewise annotate simulate study.yaml

    casewise annotate simulate study.yaml --careless .2 --biased .3 --seed 7

    casewise annotate simulate study.yaml --database postgresql://me@localhost/rehearsal
    """
    need_extra("simulate")
    # The simulated browsers take a while to load, and few commands need them.
    from casewise.annotation.rehearsal import Mixture

    honest = 1 - careless - adversarial - biased
    if honest < -1e-9:
        raise UsageError("--careless, --adversarial and --biased are more than everybody")
    study = load_study(file)
    mixture = Mixture(max(0.0, honest), careless, adversarial, biased)
    found = _rehearse(file, study, mixture, leave, at_once, speed, seed, database)
    if format is Format.JSON:
        write_out(to_json(rehearsal_record(found, study)))
    else:
        out().print(rehearsal_renderable(found, study))
    for oddity in found.integrity.oddities[:5]:
        note(f"broken: {oddity}")
    if not found.integrity.sound:
        raise typer.Exit(1)


def _rehearse(
    file: Path,
    study: Study,
    mixture: "Mixture",
    leave: float,
    at_once: int,
    speed: float,
    seed: int,
    database: str | None,
) -> "Rehearsal":
    from casewise.annotation.rehearsal import (
        Mishaps,
        Scene,
        known_pages,
        read_back,
        send_people,
        served,
        sum_up,
        true_rates,
    )
    from casewise.annotation.store import Secrets, Store

    cases = study_cases(study)
    rates = true_rates(cases, [cell.arm for cell in study.design.cells], seed)
    blocks = len(study.design.blocks)
    done = 0
    with served(file, speed=speed, database=database) as server:
        mishaps = Mishaps(leave=leave)
        scene = Scene(server.url, study, known_pages(study, cases), rates, mishaps, speed)
        with err().status("people are coming") as status:

            def progress(log: "VisitLog") -> None:
                nonlocal done
                done += log.outcome == "completed"
                status.update(f"{done} of {blocks} people are done")

            start = time.monotonic()
            coming = send_people(
                scene,
                mixture,
                seed=seed,
                at_once=min(at_once, blocks),
                most=SPARE * blocks + at_once,
                progress=progress,
            )
            logs = asyncio.run(coming)
            seconds = time.monotonic() - start
        keys = Secrets(server.secret, server.admin)
        with Store(study, cases, server.database, keys) as store:
            collected, raters = read_back(store, logs)
    return sum_up(study, cases, rates, logs, collected, raters, seconds=seconds)
