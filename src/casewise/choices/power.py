"""Inputs of a power analysis, named alike by the command, the front door and the answer."""

import enum
from dataclasses import dataclass
from typing import Annotated

from casewise.choices.input import Input


class PowerTest(enum.StrEnum):
    """The test that the study will end in."""

    PROPORTIONS = "proportions"
    """Shares of safe votes of two cases."""
    PAIRS = "pairs"
    """Accuracies of two models on the same cases, clustered by query."""


_STUDY = "Study"
_VOTES = "Votes: shares (proportions)"
_MODELS = "Two models (pairs)"


@dataclass(frozen=True, slots=True)
class PowerInputs:
    """Inputs of a power analysis; None: not given."""

    test: Annotated[PowerTest, Input("The test that the study will end in.", _STUDY)]
    effect: Annotated[
        float | None,
        Input("Difference of two accuracies to find; or --margin.", _MODELS, least=0, most=1),
    ] = None
    n: Annotated[
        int | None,
        Input("Votes a case; for pairs, the number of queries.", _STUDY, least=2),
    ] = None
    power: Annotated[
        float | None, Input("Chance of finding the difference, such as .8.", _STUDY)
    ] = None
    margin: Annotated[
        float | None,
        Input(
            "What the second model may be worse by, as in casewise gate; instead of --effect. "
            "Power is then the chance that an equal model passes.",
            _MODELS,
            least=0,
            most=1,
        ),
    ] = None
    alpha: Annotated[
        float,
        Input("Chance of finding a difference where there is none.", _STUDY, least=0, most=1),
    ] = 0.05
    two_sided: Annotated[
        bool,
        Input(
            "Look for a difference in both directions, or in one.",
            _STUDY,
            option="--two-sided/--one-sided",
        ),
    ] = True
    p1: Annotated[
        float | None, Input("Share of safe votes on the one case.", _VOTES, least=0, most=1)
    ] = None
    p2: Annotated[
        float | None, Input("Share of safe votes on the other.", _VOTES, least=0, most=1)
    ] = None
    discordance: Annotated[
        float | None,
        Input("Share of cases on which one model alone is right.", _MODELS, least=0, most=1),
    ] = None
    sd: Annotated[
        float | None,
        Input(
            "Standard deviation of a case's difference; instead of --discordance.",
            _MODELS,
            least=0,
            most=1,
        ),
    ] = None
    rho: Annotated[
        float | None,
        Input(
            "Correlation of the differences of two cases of a query. Default: 0.",
            _MODELS,
            least=-1,
            most=1,
        ),
    ] = None
    cases_per_query: Annotated[
        int | None,
        Input(
            "2 (the default), or 1 for cases each with a query of its own.",
            _MODELS,
            least=1,
        ),
    ] = None
