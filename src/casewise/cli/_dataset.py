"""``casewise describe`` and ``casewise power``: what cases and their votes are worth."""

from typing import Annotated

import typer

from casewise.choices import DRAWS, Parent, PowerTest, ProportionMethod
from casewise.cli import _complete as complete
from casewise.cli._console import Format, FormatOption, note_all, print_as, working
from casewise.cli._late import case_files, dataset, reporting
from casewise.cli._options import seed_option
from casewise.errors import UsageError


def describe(
    cases: Annotated[
        str,
        typer.Argument(
            metavar="CASES",
            help="A file of cases, or starter, or casebench.",
            autocompletion=complete.cases,
        ),
    ],
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Draws of whole queries for intervals; 0: none.")
    ] = DRAWS,
    seed: Annotated[int, seed_option("Of draws, halves and simulations.")] = 0,
    format: FormatOption = Format.TABLE,
) -> None:
    """Describe the human side of a data set: do people agree, is it sound?

    What the context does to votes, how far people agree, how well one person,
    a panel or an oracle could do, and an audit: published rates, ties, raters,
    repeated contexts, broken pairs, near-duplicate queries. Queries are never
    printed. Fractions in 0..1; intervals by drawing whole queries anew.

    [bold]Examples[/]

    casewise describe casebench

    casewise describe mine.yaml --format markdown > audit.md

    casewise describe votes.jsonl --bootstrap 10000 --seed 7 --format json
    """
    loaded = case_files.open_cases(cases)
    note_all(loaded.notes)
    with working("counting votes"):
        description = dataset.describe_cases(loaded, draws=bootstrap, seed=seed)
    print_as(format, reporting.description_sheet(description))


_VOTES = "Votes: shares (proportions)"
_GRADES = "Votes: grades (t, mann-whitney)"
_MODELS = "Two models (pairs)"
_CONTEXTS = "Contexts of a query (rank-agreement, pcc-within-query, context-share, seen-change)"


def power(
    test: Annotated[
        PowerTest | None,
        typer.Option(help="The test that the study will end in.", rich_help_panel="Study"),
    ] = None,
    effect: Annotated[
        float | None,
        typer.Option(
            help="The difference to find: Cohen's d (t, mann-whitney), the difference of two "
            "accuracies in 0..1 (pairs), or the figure of contexts that is expected.",
            rich_help_panel="Study",
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            help="Votes a case; for pairs and contexts, the number of queries.",
            rich_help_panel="Study",
        ),
    ] = None,
    power: Annotated[
        float | None,
        typer.Option(
            help="The chance of finding the difference, such as .8.", rich_help_panel="Study"
        ),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(
            help="The chance of finding a difference where there is none.", rich_help_panel="Study"
        ),
    ] = 0.05,
    one_sided: Annotated[
        bool,
        typer.Option(
            "--one-sided",
            help="Look for a difference in one direction only.",
            rich_help_panel="Study",
        ),
    ] = False,
    p1: Annotated[
        float | None,
        typer.Option(help="Share of safe votes on the one case, 0..1.", rich_help_panel=_VOTES),
    ] = None,
    p2: Annotated[
        float | None,
        typer.Option(help="Share of safe votes on the other, 0..1.", rich_help_panel=_VOTES),
    ] = None,
    method: Annotated[
        ProportionMethod | None,
        typer.Option(
            help="Cohen's arcsine, the pooled z-test, or Fisher's exact test. Default: pooled.",
            rich_help_panel=_VOTES,
        ),
    ] = None,
    superiority: Annotated[
        float | None,
        typer.Option(
            help="P(X < Y), 0..1: the chance that a vote on the one case is below a vote on the "
            "other (mann-whitney by Noether's formula, instead of --effect).",
            rich_help_panel=_GRADES,
        ),
    ] = None,
    parent: Annotated[
        Parent | None,
        typer.Option(
            help="How grades are spread (mann-whitney): decides what ranks cost. "
            "Default: normal (.955); minimum is the worst (.864).",
            rich_help_panel=_GRADES,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="What the second model may be worse by, 0..1, as in casewise gate; instead of "
            "--effect. Power is then the chance that an equal model passes.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    discordance: Annotated[
        float | None,
        typer.Option(
            help="Share of cases on which just one of the models is right, or (seen-change) whose "
            "verdict the context changes, 0..1.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option(
            help="Standard deviation of a case's difference in one epoch, instead of "
            "--discordance.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(
            help="Correlation of the differences of two cases of a query. Default: 0.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    cases_per_query: Annotated[
        int | None,
        typer.Option(
            help="2 for pairs (the default), 1 for cases each with a query of its own; contexts a "
            "query (default: the queries are worked out for several).",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(help="Times that each model judges each case.", rich_help_panel=_MODELS),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            help="Share of the variance of a case's difference that comes anew with every epoch, "
            "0..1. With --effect, --n and --power, the epochs are worked out.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            help="Half the width that the interval is to have, 0..1; instead of --power.",
            rich_help_panel=_CONTEXTS,
        ),
    ] = None,
    reproduce_paper: Annotated[
        bool,
        typer.Option(
            "--reproduce-paper",
            help="List the inputs that ask for the 21 annotators of the CASE-Bench paper.",
            rich_help_panel="Study",
        ),
    ] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """How many votes, cases, pairs or epochs a study needs, and what a number can show.

    Of the difference, the number (--n) and the power, give two: the third is worked out. Tests of
    votes compare two cases, each judged by people of its own; pairs compares two models on the
    same cases, clustered by query. The tests of contexts are of one model against people, over
    queries in any number of contexts; seen-change, of a query with its context and without.
    Without --cases-per-query they show queries for several numbers of contexts.

    [bold]Examples[/]

    casewise power --test t --effect .8 --power .8 --one-sided

    casewise power --test proportions --p1 .5 --p2 .75 --power .9 --method exact

    casewise power --test mann-whitney --n 20 --power .8

    casewise power --test pairs --effect .03 --discordance .1 --rho .2 --power .8

    casewise power --test pairs --effect .03 --sd .3 --n 300 --noise .5 --power .8

    casewise power --test pairs --margin .05 --discordance .1 --power .8

    casewise power --test rank-agreement --effect .6 --power .8

    casewise power --test context-share --effect .4 --interval .1 --cases-per-query 5

    casewise power --test seen-change --effect .1 --discordance .15 --power .8

    casewise power --reproduce-paper
    """
    given = dataset.PowerInputs(
        test=test or PowerTest.T,
        effect=effect,
        n=n,
        power=power,
        alpha=alpha,
        two_sided=not one_sided,
        p1=p1,
        p2=p2,
        method=method,
        margin=margin,
        superiority=superiority,
        parent=parent,
        discordance=discordance,
        sd=sd,
        rho=rho,
        cases_per_query=cases_per_query,
        epochs=epochs,
        noise=noise,
        interval=interval,
    )
    if reproduce_paper:
        if test is not None or given != dataset.PowerInputs(PowerTest.T):
            raise UsageError("--reproduce-paper goes through inputs of its own; give no others")
        print_as(format, reporting.paper_sheet(dataset.search_paper_inputs()))
        return
    if test is None:
        raise UsageError(f"--test is needed: {', '.join(PowerTest)} (or --reproduce-paper)")
    print_as(format, reporting.plan_sheet(dataset.plan_power(given)))
