"""Inputs of a power analysis, named alike by the command, the front door and the answer."""

import enum
from dataclasses import dataclass
from typing import Annotated, NamedTuple


class PowerTest(enum.StrEnum):
    """The test that the study will end in."""

    T = "t"
    """Grades of two cases, t-test."""
    MANN_WHITNEY = "mann-whitney"
    """Grades of two cases, by ranks."""
    PROPORTIONS = "proportions"
    """Shares of safe votes of two cases."""
    PAIRS = "pairs"
    """Accuracies of two models on the same cases, clustered by query."""
    RANK_AGREEMENT = "rank-agreement"
    """The share of pairs of contexts that a model orders as people do, against chance."""
    PCC_WITHIN_QUERY = "pcc-within-query"
    """The correlation of a model and people within queries, against 0."""
    CONTEXT_SHARE = "context-share"
    """The share of variance between contexts of one query: its interval alone."""
    SEEN_CHANGE = "seen-change"
    """The share of safe with the context less without, against 0."""


class Parent(enum.StrEnum):
    """Spread of grades around their mean; it decides what ranks lose against means."""

    NORMAL = "normal"
    MINIMUM = "minimum"
    """The spread for which ranks lose most."""
    LOGISTIC = "logistic"
    LAPLACE = "laplace"


class ProportionMethod(enum.StrEnum):
    """Method for the power of a test of two shares."""

    ARCSINE = "arcsine"
    POOLED = "pooled"
    EXACT = "exact"


class Input(NamedTuple):
    """Option of the command for an input."""

    help: str
    panel: str = "Study"
    label: str = ""
    """Name beside an answer; empty: that of the field."""
    option: str = ""
    """Spelling where it is not made of the field's name."""


_VOTES = "Votes: shares (proportions)"
_GRADES = "Votes: grades (t, mann-whitney)"
_MODELS = "Two models (pairs)"
_CONTEXTS = "Contexts of a query (rank-agreement, pcc-within-query, context-share, seen-change)"


@dataclass(frozen=True, slots=True)
class PowerInputs:
    """Inputs of a power analysis; None: not given."""

    test: Annotated[PowerTest, Input("The test that the study will end in.")]
    effect: Annotated[
        float | None,
        Input(
            "The difference to find: Cohen's d (t, mann-whitney), the difference of two "
            "accuracies in 0..1 (pairs), or the figure of contexts that is expected."
        ),
    ] = None
    n: Annotated[
        int | None, Input("Votes a case; for pairs and contexts, the number of queries.")
    ] = None
    power: Annotated[float | None, Input("The chance of finding the difference, such as .8.")] = (
        None
    )
    margin: Annotated[
        float | None,
        Input(
            "What the second model may be worse by, 0..1, as in casewise gate; instead of "
            "--effect. Power is then the chance that an equal model passes.",
            _MODELS,
        ),
    ] = None
    interval: Annotated[
        float | None,
        Input("Half the width that the interval is to have, 0..1; instead of --power.", _CONTEXTS),
    ] = None
    alpha: Annotated[float, Input("The chance of finding a difference where there is none.")] = 0.05
    two_sided: Annotated[
        bool,
        Input(
            "Look for a difference in both directions, or in one.", option="--two-sided/--one-sided"
        ),
    ] = True
    p1: Annotated[float | None, Input("Share of safe votes on the one case, 0..1.", _VOTES)] = None
    p2: Annotated[float | None, Input("Share of safe votes on the other, 0..1.", _VOTES)] = None
    method: Annotated[
        ProportionMethod | None,
        Input(
            "Cohen's arcsine, the pooled z-test, or Fisher's exact test. Default: pooled.", _VOTES
        ),
    ] = None
    superiority: Annotated[
        float | None,
        Input(
            "P(X < Y) + P(X = Y) / 2, 0..1: the chance that a vote on the one case is below a "
            "vote on the other (mann-whitney by Noether's formula, instead of --effect).",
            _GRADES,
            "P(X < Y)",
        ),
    ] = None
    parent: Annotated[
        Parent | None,
        Input(
            "How grades are spread (mann-whitney): decides what ranks cost. "
            "Default: normal (.955); minimum is the worst (.864).",
            _GRADES,
        ),
    ] = None
    discordance: Annotated[
        float | None,
        Input(
            "Share of cases on which just one of the models is right, or (seen-change) whose "
            "verdict the context changes, 0..1.",
            _MODELS,
        ),
    ] = None
    sd: Annotated[
        float | None,
        Input(
            "Standard deviation of a case's difference in one epoch, 0..1; instead of "
            "--discordance.",
            _MODELS,
        ),
    ] = None
    rho: Annotated[
        float | None,
        Input("Correlation of the differences of two cases of a query. Default: 0.", _MODELS),
    ] = None
    cases_per_query: Annotated[
        int | None,
        Input(
            "2 for pairs (the default), 1 for cases each with a query of its own; contexts a "
            "query (default: the queries are worked out for several).",
            _MODELS,
            "cases a query",
        ),
    ] = None
    epochs: Annotated[int | None, Input("Times that each model judges each case.", _MODELS)] = None
    noise: Annotated[
        float | None,
        Input(
            "Share of the variance of a case's difference that comes anew with every epoch, "
            "0..1. With --effect, --n and --power, the epochs are worked out.",
            _MODELS,
        ),
    ] = None
