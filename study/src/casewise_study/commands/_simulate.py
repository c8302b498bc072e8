"""``casewise annotate simulate``: whom screening would flag, and what a study would cost."""

from functools import partial
from typing import Annotated

import typer

from casewise.cases import MAX_SEED
from casewise.cli import out, working
from casewise.errors import UsageError
from casewise.sheets import (
    Column,
    Kind,
    Row,
    Table,
    count,
    figures,
    money,
    number,
    terminal,
)
from casewise_study.commands.shared import StudyFile
from casewise_study.simulation.drawn_studies import screen_drawn
from casewise_study.simulation.simulated_people import Mixture
from casewise_study.study.planning import forecast
from casewise_study.study.study_file import load_study

_share = partial(typer.Option, min=0, max=1, rich_help_panel="Who comes")


def simulate(
    file: StudyFile,
    careless: Annotated[float, _share(help="Share who answer at random, fast.")] = 0.1,
    adversarial: Annotated[
        float, _share(help="Share who answer the opposite of their opinion.")
    ] = 0,
    biased: Annotated[float, _share(help="Share from a panel that is more lenient.")] = 0,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="Seed of the people and their answers.")
    ] = 0,
) -> None:
    """Simulate a study before you pay for it: whom the screening flags, and what it costs.

    Simulated people judge all blocks: honest people by a share of each case (of its votes,
    where it has any; else a draw), a leniency and a pace of their own, others as the options
    set. Then the study's rules screen them, and the cost of replacing flagged people is added
    up.

    [bold]Examples[/]

    casewise annotate simulate study.yaml

    casewise annotate simulate study.yaml --careless .2 --biased .3 --seed 7
    """
    honest = 1 - careless - adversarial - biased
    if honest < -1e-9:
        raise UsageError("--careless, --adversarial and --biased are more than everybody")
    study = load_study(file)
    mixture = Mixture(max(0.0, honest), careless, adversarial, biased)
    with working("drawing and screening people"):
        drawn = screen_drawn(study, mixture, seed)
    planned = forecast(study)
    # As many people again as are flagged.
    again = sum(flagged.flagged for flagged in drawn) * planned.cost / planned.people
    columns = [Column("people"), *figures(Kind.COUNT, "done", "flagged")]
    people = [
        Row([flagged.manner.value, flagged.n, flagged.flagged, flagged.flagged / flagged.n])
        for flagged in drawn
    ]
    costs = [
        ("people", count(planned.people)),
        ("hours of all", number(planned.hours, 1)),
        ("cost", money(planned.cost, study.pay.currency) if study.pay.per_hour else "unpaid"),
    ]
    if study.pay.per_hour:
        costs += [("to replace those flagged", money(again, study.pay.currency))]
    out().print(
        terminal(
            Table(
                [*columns, Column("share", Kind.SHARE, 2)], people, "Whom does the screening flag?"
            ),
            Table(
                [Column(""), Column("amount", Kind.NUMBER)], list(map(Row, costs)), "What it costs"
            ),
        )
    )
