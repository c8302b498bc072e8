"""``casewise annotate simulate``, and what a rehearsal shows."""

import asyncio
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from casewise.annotation.rehearsal.simulated_people import (
    Mishaps,
    Mixture,
    Trace,
    VisitLog,
    machine_rates,
    true_rates,
)
from casewise.annotation.study.schema import Study
from casewise.annotation.study.study_file import load_study
from casewise.annotation.study.study_rules import Savings
from casewise.cases import MAX_SEED
from casewise.cli._annotate_plan_tables import (
    savings_range,
    savings_record,
    savings_table,
    simulated_savings,
)
from casewise.cli._annotate_store import ResultFormat, StudyFile, need_extra
from casewise.cli._console import err, note, out, write_out
from casewise.errors import UsageError
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Table,
    figures,
    money,
    number,
    seconds,
    terminal,
    to_json,
)

if TYPE_CHECKING:
    from casewise.annotation.rehearsal.rehearsal_result import Rehearsal
    from casewise.annotation.rehearsal.rehearse import DrawnStudies


def rehearsal_renderable(
    rehearsal: "Rehearsal", study: Study, simulated: tuple[Savings, ...]
) -> RenderableType:
    """How it went, what the votes tell, whom screening flags, what sequential collection saves."""
    both = rehearsal.savings and savings_table(study, simulated, rehearsal.savings)
    savings = (both, savings_range(study, simulated)) if both else ()
    return terminal(
        _run_table(rehearsal, study),
        _recovery_table(rehearsal),
        _screening_table(rehearsal),
        *rehearsal.division,
        *savings,
    )


def _run_table(rehearsal: "Rehearsal", study: Study) -> Table:
    held = rehearsal.integrity
    decided = "decided, or " if study.collection.is_sequential else ""
    lines: list[tuple[str, Cell]] = [
        (f"people who {outcome.replace('_', ' ')}", count)
        for outcome, count in sorted(rehearsal.outcomes.items())
        if outcome != "full"
    ]
    lines += [
        (f"cases {decided}with exactly {study.votes} votes", f"{held.full} of {held.cells}"),
        ("people who saw a query in two contexts", held.two_arms),
        ("votes lost", held.lost),
        ("votes doubled", held.doubled),
        ("votes that nobody gave", held.foreign),
        ("other broken rules", len(held.oddities)),
        ("hours of people, in the study's time", number(rehearsal.hours, 1)),
        ("cost", money(rehearsal.cost or None, study.pay.currency)),
        ("a page takes, in the median", f"{number(1000 * rehearsal.wait(50), 0)} ms"),
        ("99 % take at most", f"{number(1000 * rehearsal.wait(99), 0)} ms"),
        ("the rehearsal took", seconds(rehearsal.seconds)),
    ]
    return Table([Column(""), Column("", Kind.COUNT)], list(map(Row, lines)), "The rehearsal")


def _recovery_table(rehearsal: "Rehearsal") -> Table:
    both = (rehearsal.recovery, rehearsal.unflagged)
    told_apart = (f"{recovery.told_apart} of {recovery.pairs}" for recovery in both)
    return Table(
        [Column(""), *figures(Kind.SHARE, "all", "without flagged")],
        [
            Row(
                [
                    "95 % intervals that hold the true share",
                    *(recovery.coverage for recovery in both),
                ]
            ),
            Row(["mean error of a share", *(recovery.mean_error for recovery in both)]),
            Row(["queries whose contexts are told apart", *told_apart]),
        ],
        "Do the votes tell the truth?",
    )


def _screening_table(rehearsal: "Rehearsal | DrawnStudies") -> Table:
    return Table(
        [Column("people"), *figures(Kind.COUNT, "done", "flagged"), Column("share", Kind.SHARE, 2)],
        [
            Row([manner.name, manner.n, manner.flagged, manner.share])
            for manner in rehearsal.flagged
        ],
        "Whom does the screening flag?",
    )


def rehearsal_record(
    rehearsal: "Rehearsal", study: Study, simulated: tuple[Savings, ...]
) -> dict[str, Any]:
    """The same for programs."""
    both = {"all": rehearsal.recovery, "without_flagged": rehearsal.unflagged}
    return {
        "outcomes": dict(rehearsal.outcomes),
        "sound": rehearsal.integrity.sound,
        **asdict(rehearsal.integrity),
        "recovery": {
            name: asdict(recovery) | {"coverage": recovery.coverage}
            for name, recovery in both.items()
        },
        "flagged": _flagged_record(rehearsal),
        **savings_record(study, simulated, rehearsal.savings),
        "division": list(rehearsal.division),
        "hours": rehearsal.hours,
        "cost": rehearsal.cost,
        "currency": study.pay.currency,
        "requests": len(rehearsal.waits),
        "median_ms": 1000 * rehearsal.wait(50),
        "p99_ms": 1000 * rehearsal.wait(99),
        "retries": rehearsal.retries,
        "seconds": rehearsal.seconds,
    }


def _flagged_record(rehearsal: "Rehearsal | DrawnStudies") -> dict[str, dict[str, int]]:
    return {
        flagged.name: {"n": flagged.n, "flagged": flagged.flagged} for flagged in rehearsal.flagged
    }


SPARE = 4
"""At most so many times the people that the plan needs."""


_of_people = partial(typer.Option, rich_help_panel="Who comes")
_share = partial(_of_people, min=0, max=1)
_of_course = partial(typer.Option, rich_help_panel="How it runs")
"""Options in the panels that this command has of its own."""


def simulate(
    file: StudyFile,
    at_once: Annotated[int, _of_course(min=1, max=500, help="People at the same time.")] = 30,
    speed: Annotated[
        float, _of_course(min=1, max=1000, help="Time runs so many times as fast.")
    ] = 20,
    careless: Annotated[float, _share(help="Share who answer at random, fast.")] = 0.1,
    adversarial: Annotated[
        float, _share(help="Share who say the opposite of what they think.")
    ] = 0,
    biased: Annotated[float, _share(help="Share from a panel that is more lenient.")] = 0,
    machine: Annotated[float, _share(help="Share who answer as one language model does.")] = 0,
    trace: Annotated[
        str,
        _of_people(
            metavar="NAMES",
            help="What these machines leave behind, in turns: none, honeypot, left, copied, "
            "times, tool, with commas between; or each.",
        ),
    ] = "none",
    clicking: Annotated[float, _share(help="Share who answer at random every 3 to 4 s.")] = 0,
    leave: Annotated[float, _share(help="Share who close the browser half-way.")] = 0.04,
    studies: Annotated[
        int | None,
        _of_course(
            min=1,
            max=1000,
            help="Only screen: draw so many studies, without a server, and add up who is flagged.",
        ),
    ] = None,
    seed: Annotated[
        int, _of_course(min=0, max=MAX_SEED, help="Draws the people and what they do.")
    ] = 0,
    database: Annotated[
        str | None,
        _of_course(
            metavar="URL", help="SQLite or PostgreSQL. Default: a file that is deleted afterwards."
        ),
    ] = None,
    format: Annotated[
        ResultFormat, _of_course(help="How to print the result.")
    ] = ResultFormat.TABLE,
) -> None:
    """Rehearse a study with simulated people before you pay for it.

    They come over HTTP to a server of their own, read the pages as people see
    them, and think, slip, leave, withdraw, send twice and go back. In the end
    what they saw and gave is held against the database; the shares of votes
    against the truth that they were drawn from (of cases with votes their
    share, of others a draw); and the screening against who was careless. Under
    sequential collection it shows the votes saved, the labels changed and the
    error of shares, beside every vote.
    The study's own database and secrets are not touched. Exit status 1: a rule
    of the study was broken, or a case lacks votes.

    [bold]Examples[/]

    casewise annotate simulate study.yaml

    casewise annotate simulate study.yaml --careless .2 --biased .3 --seed 7

    casewise annotate simulate study.yaml --machine .3 --trace each --studies 20

    casewise annotate simulate study.yaml --database postgresql://me@localhost/rehearsal
    """
    need_extra("simulate")
    honest = 1 - careless - adversarial - biased - machine - clicking
    if honest < -1e-9:
        raise UsageError(
            "--careless, --adversarial, --biased, --machine and --clicking are more than everybody"
        )
    study = load_study(file)
    traces = _traces(trace)
    mixture = Mixture(max(0.0, honest), careless, adversarial, biased, machine, clicking)
    if studies is not None:
        _screen_only(study, mixture, traces, seed, studies, format)
        return
    rehearsal = _rehearse(file, study, mixture, traces, leave, at_once, speed, seed, database)
    simulated = simulated_savings(study, seed)
    if format is ResultFormat.JSON:
        write_out(to_json(rehearsal_record(rehearsal, study, simulated)))
    else:
        out().print(rehearsal_renderable(rehearsal, study, simulated))
    for oddity in rehearsal.integrity.oddities[:5]:
        note(f"broken: {oddity}")
    if not rehearsal.integrity.sound:
        raise typer.Exit(1)


def _screen_only(
    study: Study,
    mixture: Mixture,
    traces: tuple[Trace, ...],
    seed: int,
    studies: int,
    format: ResultFormat,
) -> None:
    from casewise.annotation.rehearsal.rehearse import screen_drawn

    drawn = screen_drawn(study, mixture, traces, seed, studies)
    if format is ResultFormat.JSON:
        told = {"studies": drawn.studies, "two_groups_told": drawn.told}
        write_out(to_json(told | {"flagged": _flagged_record(drawn)}))
        return
    out().print(
        terminal(
            _screening_table(drawn),
            f"Two groups of people were told of in {drawn.told} of {drawn.studies} studies.",
        )
    )


def _traces(names: str) -> tuple[Trace, ...]:
    if names == "each":
        return tuple(Trace)
    try:
        return tuple(Trace(name.strip()) for name in names.split(","))
    except ValueError:
        raise UsageError(
            f"--trace {names}: expected each, or some of {', '.join(Trace)}, with commas between"
        ) from None


def _rehearse(
    file: Path,
    study: Study,
    mixture: Mixture,
    traces: tuple[Trace, ...],
    leave: float,
    at_once: int,
    speed: float,
    seed: int,
    database: str | None,
) -> "Rehearsal":
    # The simulated browsers take a while to load, and few commands need them.
    from casewise.annotation.rehearsal.rehearsal_result import sum_up
    from casewise.annotation.rehearsal.rehearse import known_pages, read_back, send_people, served
    from casewise.annotation.rehearsal.visit import Scene
    from casewise.annotation.store.study_store import Store

    rates = true_rates(study, seed)
    blocks = len(study.design.blocks)
    done = 0
    with served(file, speed=speed, database=database) as server:
        mishaps = Mishaps(leave=leave)
        pages = known_pages(study)
        scene = Scene(server.url, study, pages, rates, machine_rates(rates, seed), mishaps, speed)
        with err().status("people are coming") as status:

            def progress(log: VisitLog) -> None:
                nonlocal done
                done += log.outcome == "completed"
                status.update(f"{done} of {blocks} people are done")

            start = time.monotonic()
            coming = send_people(
                scene,
                mixture,
                seed=seed,
                traces=traces,
                at_once=min(at_once, blocks),
                most=SPARE * blocks + at_once,
                progress=progress,
            )
            logs = asyncio.run(coming)
            seconds = time.monotonic() - start
        with Store(study, server.database, server.keys) as store:
            collected, raters = read_back(store, logs)
    return sum_up(study, rates, logs, collected, raters, seconds=seconds)
