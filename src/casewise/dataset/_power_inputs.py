"""Checks of the inputs of a power analysis: do they make one question?"""

import math
from dataclasses import fields
from enum import StrEnum

from casewise.choices import PowerInputs, PowerTest
from casewise.errors import UsageError
from casewise.statistics import (
    LEAST_SIZE,
    MOST_EXACT,
    MOST_SIZE,
    PairedDesign,
    ProportionMethod,
    discordance_variance,
)

OF_CONTEXTS = (
    PowerTest.RANK_AGREEMENT,
    PowerTest.PCC_WITHIN_QUERY,
    PowerTest.CONTEXT_SHARE,
    PowerTest.SEEN_CHANGE,
)
"""Tests of any number of contexts of a query."""


class Unknown(StrEnum):
    """Input that is left out, and so worked out."""

    SIZE = "size"
    POWER = "power"
    EFFECT = "effect"
    EPOCHS = "epochs"


_COMMON = "test n power alpha two_sided"
"""Inputs of every test."""

_CONTEXTS = "effect interval cases_per_query"

_QUESTIONS = {
    PowerTest.T: ("effect", "--effect (Cohen's d)"),
    PowerTest.MANN_WHITNEY: ("effect superiority parent", "--effect (Cohen's d) or --superiority"),
    PowerTest.PROPORTIONS: ("p1 p2 method", "--p2 (beside --p1)"),
    PowerTest.PAIRS: (
        "effect margin discordance sd rho cases_per_query epochs noise",
        "--effect (the difference of the accuracies) or --margin",
    ),
    PowerTest.RANK_AGREEMENT: (
        _CONTEXTS,
        "--effect (the share of pairs that are ordered as people do)",
    ),
    PowerTest.PCC_WITHIN_QUERY: (_CONTEXTS, "--effect (the correlation)"),
    PowerTest.CONTEXT_SHARE: (_CONTEXTS, "--effect (the share of variance)"),
    PowerTest.SEEN_CHANGE: (
        f"{_CONTEXTS} discordance rho",
        "--effect (the change in the share of safe)",
    ),
}
"""Own inputs of each test, and the options that give its effect."""


def option(name: str) -> str:
    """The command's option for an input."""
    return "--" + name.replace("_", "-")


def check_inputs(inputs: PowerInputs) -> None:
    """Refuse inputs that are out of range or belong to another test.

    Raises:
        UsageError: Which option, and what it takes.
    """
    own = f"{_COMMON} {_QUESTIONS[inputs.test][0]}".split()
    for field in fields(inputs):
        if field.name not in own and getattr(inputs, field.name) is not None:
            raise UsageError(f"{option(field.name)} doesn't belong to --test {inputs.test}")
    seen = inputs.test is PowerTest.SEEN_CHANGE
    fewest = 2 if inputs.test in OF_CONTEXTS and not seen else 1
    _within(inputs, 0, 1, "alpha", "margin", "interval", open_ends=True)
    _within(inputs, 0, 1, "superiority", "p1", "p2", "discordance", "sd", "noise")
    _within(inputs, 0 if seen else -1, 1, "rho")
    _within(inputs, int(LEAST_SIZE), int(MOST_SIZE), "n")
    _within(inputs, 1, int(MOST_SIZE), "epochs")
    _within(inputs, fewest, int(MOST_SIZE), "cases_per_query")
    if inputs.power is not None and not inputs.alpha < inputs.power < 1:
        raise UsageError(
            f"--power {inputs.power:g}: above --alpha ({inputs.alpha:g}) and below 1; "
            "alpha is reached without any votes or cases"
        )
    if inputs.effect is not None and not 0 < inputs.effect < math.inf:
        raise UsageError(
            f"--effect {inputs.effect:g}: above 0; no study finds a difference of nothing"
        )
    if inputs.superiority is not None:
        _check_superiority(inputs)
    elif inputs.test is PowerTest.PROPORTIONS:
        _check_proportions(inputs)
    elif inputs.test is PowerTest.PAIRS:
        _check_pairs(inputs)
    elif inputs.test in OF_CONTEXTS:
        _check_contexts(inputs)


def find_unknown(inputs: PowerInputs) -> Unknown:
    """Find the input to be worked out: whichever of effect, size and power is left out.

    With all three given, pairs with ``noise`` and without ``epochs`` ask for the epochs.

    Raises:
        UsageError: Too little is given, or too much.
    """
    effect = _QUESTIONS[inputs.test][1]
    effects = (inputs.effect, inputs.margin, inputs.superiority, inputs.p2)
    last = "--power"
    if inputs.test in OF_CONTEXTS:
        last = "--interval" if inputs.test is PowerTest.CONTEXT_SHARE else "--power or --interval"
    missing = {
        Unknown.EFFECT: (effect, all(one is None for one in effects)),
        Unknown.SIZE: ("--n", inputs.n is None),
        Unknown.POWER: (last, inputs.power is None and inputs.interval is None),
    }
    left_out = {unknown: name for unknown, (name, is_missing) in missing.items() if is_missing}
    is_paired = inputs.test is PowerTest.PAIRS
    if len(left_out) == 1:
        if is_paired and inputs.noise is None and (inputs.epochs or 1) > 1:
            raise UsageError("--epochs above 1 needs --noise, the share that epochs average out")
        return next(iter(left_out))
    if left_out:
        raise UsageError(
            f"too little is given: two of {effect}, --n and {last} are needed, and the third is "
            f"worked out (left out: {', '.join(left_out.values())})"
        )
    end = ", and it is worked out"
    if is_paired and inputs.epochs is None:
        if inputs.noise is not None:
            return Unknown.EPOCHS
        end = ", or add --noise to work out the epochs"
    raise UsageError(f"too much is given: leave out {effect}, --n or --power{end}")


def paired_design(inputs: PowerInputs, difference: float) -> PairedDesign:
    """The spread of the differences, from either way to give it."""
    if inputs.sd is not None:
        variance = inputs.sd**2
    else:
        variance = discordance_variance(inputs.discordance or 0.0, difference)
    return PairedDesign(
        variance, inputs.rho or 0.0, inputs.cases_per_query or 2, inputs.noise or 0.0
    )


def _within(
    inputs: PowerInputs, low: float, high: float, *names: str, open_ends: bool = False
) -> None:
    for name in names:
        value = getattr(inputs, name)
        # Written so that NaN is refused too.
        if value is None or (low < value < high if open_ends else low <= value <= high):
            continue
        ends = f"above {low:,} and below {high:,}" if open_ends else f"{low:,} to {high:,}"
        raise UsageError(f"{option(name)} {value:g}: {ends}")


def _check_superiority(inputs: PowerInputs) -> None:
    if inputs.superiority == 0.5:
        raise UsageError("--superiority .5 is no difference at all; no study finds it")
    for other in ("effect", "parent"):
        if getattr(inputs, other) is not None:
            raise UsageError(f"--superiority stands instead of {option(other)}; give one of them")


def _check_proportions(inputs: PowerInputs) -> None:
    if inputs.p1 is None:
        raise UsageError("--test proportions needs --p1, the share of safe votes on one case")
    if inputs.p1 == inputs.p2:
        raise UsageError(f"--p1 and --p2 are both {inputs.p1:g}: there is no difference to find")
    if inputs.method is ProportionMethod.EXACT and (inputs.n or 0) > MOST_EXACT:
        raise UsageError(
            f"--n {inputs.n} with --method exact: up to {MOST_EXACT}; --method pooled is as good "
            "there"
        )


def _check_pairs(inputs: PowerInputs) -> None:
    if (inputs.sd is None) == (inputs.discordance is None):
        raise UsageError(
            "--test pairs needs either --discordance (the share of cases on which just one model "
            "is right) or --sd (of a case's difference)"
        )
    _within(inputs, 0, 1, "effect")
    if inputs.margin is not None and inputs.effect is not None:
        raise UsageError("--margin stands instead of --effect; give one of them")
    for name in ("sd", "discordance"):
        if getattr(inputs, name) == 0:
            raise UsageError(f"{option(name)} 0: two models that never differ can't be told apart")
    _check_design(inputs)


def _check_contexts(inputs: PowerInputs) -> None:
    chance = 0.5 if inputs.test is PowerTest.RANK_AGREEMENT else 0
    _within(inputs, chance, 1, "effect", open_ends=True)
    if inputs.interval is not None:
        if inputs.power is not None or inputs.n is not None:
            raise UsageError("--interval stands instead of --power, and gives --n; drop them")
        if inputs.effect is None:
            effect = _QUESTIONS[inputs.test][1]
            raise UsageError(f"--interval needs {effect}, as it is expected to be")
    if inputs.test is PowerTest.CONTEXT_SHARE and inputs.power is not None:
        raise UsageError("--power: a share of variance is told from nothing; give --interval")
    if inputs.n is not None and inputs.cases_per_query is None:
        raise UsageError("--n needs --cases-per-query, the contexts that each query has")
    if inputs.test is not PowerTest.SEEN_CHANGE:
        return
    if not inputs.discordance:
        raise UsageError(
            "--test seen-change needs --discordance above 0: the share of cases of which seeing "
            "the context changes the verdict"
        )
    _check_design(inputs)


def _check_design(inputs: PowerInputs) -> None:
    """Refuse differences that no spread of verdicts allows."""
    if inputs.effect is not None and inputs.effect > (inputs.discordance or 1):
        raise UsageError(
            f"--effect {inputs.effect:g}: at most --discordance ({inputs.discordance:g}); shares "
            "can't differ by more than verdicts do"
        )
    design = paired_design(inputs, 0.0)
    if design.cases == 1 and inputs.rho is not None:
        raise UsageError("--rho is about several cases of a query; --cases-per-query is 1")
    if not design.possible:
        raise UsageError(
            f"--rho {design.rho:g} can't be with --noise {design.noise:g} and "
            f"{design.cases} cases a query: at most {1 - design.noise:g}, at least "
            f"{-(1 - design.noise) / max(1, design.cases - 1):g}"
        )
