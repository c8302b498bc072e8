"""Figures of the administrator's page, ready to be read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from casewise.annotation.store import Progress
from casewise.annotation.study import Arm, Study
from casewise.annotation.votes import Collected, PersonStatus, screen
from casewise.cases import Case
from casewise.sheets import UNDEFINED, percent, seconds
from casewise.statistics import agreement


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm."""

    arm: Arm
    votes: int
    wanted: int
    full: int
    """Cells with every vote."""
    cells: int
    agreement: str
    """The chance that two people who judge one case say the same."""


@dataclass(frozen=True, slots=True)
class Figures:
    """All of the page."""

    progress: Progress
    arms: tuple[ArmFigures, ...]
    funnel: tuple[tuple[str, int], ...]
    seconds: str
    checks: str
    flagged: tuple[tuple[str, str], ...]
    """Pseudonyms of people whom a rule of the study flags so far, and why."""
    people: tuple[tuple[str, str, str, int], ...]
    """Pseudonym, status, panel, votes."""


def figures(
    study: Study, progress: Progress, collected: Collected, cases: Sequence[Case] | None = None
) -> Figures:
    """What the administrator is told."""
    votes: dict[str, int] = {}
    for vote in collected.votes:
        votes[vote.rater] = votes.get(vote.rater, 0) + 1
    passed = sum(check.passed for check in collected.checks)
    return Figures(
        progress,
        tuple(_arm(study, progress, arm) for arm in study.arms),
        _funnel(progress),
        seconds(median(progress.seconds) if progress.seconds else None),
        f"{passed} of {len(collected.checks)}" if collected.checks else UNDEFINED,
        tuple(
            (one.rater, "; ".join(flag.reason for flag in one.flags))
            for one in screen(study, collected, cases).people
            if one.flags
        ),
        tuple(
            (one.rater, one.status.replace("_", " "), one.panel, votes.get(one.rater, 0))
            for one in reversed(collected.people)
        ),
    )


def _arm(study: Study, progress: Progress, arm: Arm) -> ArmFigures:
    counts = [
        count
        for cell, count in zip(study.design.cells, progress.counts, strict=True)
        if cell.arm is arm
    ]
    table = np.array(counts, np.float64).reshape(-1, 2)
    value = agreement(table[:, 0], table[:, 1]).pairwise.value if len(table) else math.nan
    return ArmFigures(
        arm,
        int(table.sum()),
        study.votes * len(counts),
        sum(sum(count) >= study.votes for count in counts),
        len(counts),
        percent(value, 0),
    )


def _funnel(progress: Progress) -> tuple[tuple[str, int], ...]:
    people = progress.people
    return (
        ("did not agree", progress.declined),
        ("agreed", sum(people.values())),
        ("failed the comprehension check", people[PersonStatus.SCREENED_OUT]),
        ("passed it", progress.passed),
        ("answered a first page", progress.answered_one),
        ("are at work or have left for now", people[PersonStatus.ACTIVE]),
        ("lost their block to another", people[PersonStatus.ABANDONED]),
        ("withdrew", people[PersonStatus.WITHDRAWN]),
        ("finished", people[PersonStatus.COMPLETED]),
    )
