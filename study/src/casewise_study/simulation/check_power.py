"""Attention checks that a study needs: simulated clickers among readers, by number of checks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from casewise_study.simulation.simulated_people import CARELESS_SLIP, LENIENCY, SLIP, true_rates
from casewise_study.statistics.unread import Answers, check_ratio, unread, within_error
from casewise_study.study.block_design import arm_codes
from casewise_study.study.reading_times import reading
from casewise_study.study.schema import Study
from casewise_study.votes.screening import LEAST_TIMES

CLICKERS = 0.06
"""Share of people who click without reading, at a reader's pace: their times tell nothing."""

ENOUGH = 0.9
"""Share of them that is to be found."""

_SEEN = 60
"""Clickers in all studies that are drawn."""

_MOST_VOTES = 3000
"""A larger study is folded: of its people every second, third ... answers, on as few cases."""


@dataclass(frozen=True, slots=True)
class CheckPower:
    """Screening by votes and so many attention checks."""

    checks: int
    """Checks a person."""
    found: float
    """Share of the clickers who are flagged, 0..1."""
    flagged: float
    """Share of the readers who are flagged, 0..1."""
    minutes: float
    """Minutes of the checks, as planned."""


def check_power(study: Study, seed: int) -> tuple[CheckPower, ...]:
    """Screen studies drawn over the plan's own design, with each number of checks from 0.

    Readers vote by a case's share and a leniency, and miss few checks; clickers vote and pass
    checks at random. Flagged is who fails too many checks or has probably not read. What checks say
    adds to what votes say, so one fit, with half of the most checks, serves every number.

    Args:
        study: With its design, checks and rules.
        seed: Of the draws.
    """
    rules, blocks = study.screening, study.design.blocks
    fold = -(-sum(map(len, blocks)) // _MOST_VOTES)
    blocks, kept = blocks[::fold], -(-len(study.design.cells) // fold)
    sizes = np.array(list(map(len, blocks)))
    people, rates = len(blocks), logit(true_rates(study, seed)[:kept])
    cell, rater = np.concatenate(blocks) % kept, np.repeat(np.arange(people), sizes)
    group = arm_codes(study.design.cells)[cell]
    most, clickers = len(study.attention.checks), max(1, round(CLICKERS * people))
    flagged = np.zeros((most + 1, 2))
    studies = -(-_SEEN // clickers)
    for number in range(studies):
        random = np.random.default_rng((seed, 0xC11C, number))
        clicks = random.permutation(people) < clickers
        chance = expit(rates[cell] + LENIENCY * random.standard_normal(people)[rater])
        answers = Answers(
            safe=(random.random(len(cell)) < np.where(clicks[rater], 0.5, chance)).astype(float),
            cell=cell,
            rater=rater,
            group=group,
            seconds=np.full(len(cell), np.nan),
            words=np.ones(len(cell)),
            cells=kept,
            raters=people,
        )
        slips = np.where(clicks, CARELESS_SLIP, SLIP)[:, None]
        failed = (random.random((people, most)) < slips).cumsum(axis=1)
        failed = np.column_stack([np.zeros(people, np.int64), failed])
        half = np.full(people, most // 2)
        found = unread(answers, half, failed[:, most // 2])
        by_votes = logit(np.clip(found.chance, 1e-9, 1 - 1e-9)) - found.checks
        for checks, missed in enumerate(failed.T):
            is_flagged = missed > (checks if (limit := rules.attention_failed) is None else limit)
            if rules.unread_share is not None:
                odds = by_votes + check_ratio(np.full(people, checks), missed)
                unread_people = within_error(expit(odds), rules.unread_share)
                is_flagged |= unread_people & (sizes >= LEAST_TIMES)
            flagged[checks] += is_flagged[clicks].sum(), is_flagged[~clicks].sum()
    shares = flagged / studies / [clickers, max(1, people - clickers)]
    minutes = reading(study).planned_check
    return tuple(
        CheckPower(checks, found, wrong, checks * minutes)
        for checks, (found, wrong) in enumerate(shares.tolist())
    )


def enough_checks(study: Study, powers: Sequence[CheckPower]) -> CheckPower:
    """The fewest checks that find ``ENOUGH``; or, if none do, beyond which no more are found.

    At most half as many as cases: more would give them away.
    """
    powers = powers[: 1 + study.design.longest // 2]
    needed = min(ENOUGH, max(power.found for power in powers))
    return next(power for power in powers if power.found >= needed)
