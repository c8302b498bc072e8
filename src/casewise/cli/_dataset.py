"""``casewise describe`` and ``casewise power``: what cases and their votes are worth."""

from typing import Annotated

from casewise.choices import PowerInputs, PowerTest
from casewise.cli import _complete as complete
from casewise.cli._console import Format, FormatOption, print_as, working
from casewise.cli._main import dataset, reporting, statistics
from casewise.cli._options import (
    argument,
    grouped,
    open_cases,
)
from casewise.errors import UsageError


def describe(
    cases: Annotated[
        str, argument("CASES", "A file of cases, or starter, or casebench.", complete.cases)
    ],
    format: FormatOption = Format.TABLE,
) -> None:
    """Describe the human side of a data set: do people agree, is it sound?

    How much the context moves people, faults of the votes (published rates, ties, raters),
    agreement, and the accuracy that one person, or an oracle, would have. Fractions in 0..1;
    intervals are clustered by query. Faults of texts and pairs: casewise cases audit.

    [bold]Examples[/]

    casewise describe casebench

    casewise describe mine.yaml --format markdown > audit.md

    casewise describe votes.jsonl --format json
    """
    loaded = open_cases(cases)
    with working("counting votes"):
        description = dataset.describe_cases(loaded)
    print_as(format, reporting.description_sheet(description))


@grouped
def power(inputs: PowerInputs, *, format: FormatOption = Format.TABLE) -> None:
    """Work out the votes, cases or pairs of a study, or its power.

    Give two of the difference, the number (--n) and the power; the third is computed.
    Proportions compares the votes on two cases, each judged by people of its own; pairs compares
    two models on the same cases, clustered by query. The third example gives the 21 votes a case
    of the CASE-Bench paper.

    [bold]Examples[/]

    casewise power --test pairs --effect .03 --discordance .1 --rho .2 --power .8

    casewise power --test pairs --margin .05 --discordance .1 --power .8

    casewise power --test proportions --p1 .1 --p2 .6 --power .95

    casewise power --test proportions --p1 .5 --p2 .75 --n 21
    """
    if not inputs.test:
        raise UsageError(f"--test is needed: {', '.join(PowerTest)}")
    print_as(format, reporting.plan_sheet(statistics.plan_power(inputs)))
